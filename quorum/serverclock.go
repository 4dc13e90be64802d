package quorum

import (
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/drift"
)

// serverClock is what is known of one server's clock: from the last reply that carried it. The zero
// serverClock knows nothing.
//
// Coordinators guess what the servers' clocks show, so that the counters of a new resource start at
// the same token on all servers. No safety depends on a guess: servers bound what they do with it
// (wire.Fence.Token). It only saves the second stage of a round.
type serverClock struct {
	ahead   atomic.Int64 // of the local monotonic clock, in microseconds; 0: not known
	latency atomic.Int64 // of replies, an average in microseconds
}

// learn takes in a reply that carried the clock, or the zero Time.
func (c *serverClock) learn(clock time.Time, sent, received drift.Instant) {
	if clock.IsZero() {
		return
	}
	latency := (received.Mono - sent.Mono).Microseconds()
	if before := c.latency.Load(); before > 0 {
		latency = before + (latency-before)/8
	}
	c.latency.Store(max(latency, 1))
	c.ahead.Store(clock.UnixMicro() - received.Mono.Microseconds())
}
