package quorum

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
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

// startToken is the token at which the counters of a new resource should start in a round that begins
// now: above the clock that each server will probably show when it is asked, so that all can
// start there. It returns 0 if fewer clocks than the quorum are known, or if the token would be
// further ahead of the slowest clock than a counter should be: if one that is ahead of its clock is lost
// where nobody waits, later tokens may be smaller.
//
// So neither a clock far ahead nor a slow server counts unless a quorum is like it.
func (c *core) startToken(now drift.Instant) fencing.Token {
	known, latencies := make([]int64, 0, 5), make([]int64, 0, 5)
	for _, s := range c.servers {
		if s.silent.Load() {
			continue
		}
		if ahead := s.clock.ahead.Load(); ahead != 0 {
			known, latencies = append(known, ahead), append(latencies, s.clock.latency.Load())
		}
	}
	quorum, most := c.majority.Q, min(c.cfg.ahead()/2, 4*c.cfg.InstanceTimeout)
	if len(known) < quorum {
		return 0
	}
	slices.Sort(known)
	slices.Sort(latencies)
	// A guess is behind by the way of the last reply, and the request has a way to go. The rest
	// is for requests that are slower than the average.
	lead := 4 * latencies[quorum-1]
	last := known[quorum-1]
	for _, ahead := range known[quorum:] {
		if ahead-known[quorum-1] <= lead {
			last = ahead
		}
	}
	if last-known[0]+lead > most.Microseconds() {
		return 0
	}
	// All servers can start their counters there, because it is above each one's clock.
	token := fencing.Token(max(0, now.Mono.Microseconds()+last+lead))
	if !token.Valid() {
		return 0
	}
	return token
}
