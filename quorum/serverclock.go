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
// further ahead of the slowest clock than a counter should be: one that is ahead of its clock reserves
// no tokens, and if it is lost where nobody waits, later tokens may be smaller.
//
// So neither a clock far ahead nor a slow server counts unless a quorum is like it.
func (c *core) startToken(now drift.Instant) fencing.Token {
	var buffers [2][bufferedInstances]int64
	known, latencies := buffers[0][:0], buffers[1][:0]
	for _, m := range c.members {
		if m.silent.Load() {
			continue
		}
		if ahead := m.serverClock.ahead.Load(); ahead != 0 {
			known, latencies = append(known, ahead), append(latencies, m.serverClock.latency.Load())
		}
	}
	quorum, most := c.majority.Q, min(c.cfg.ahead(), c.cfg.InstanceTimeout)/2
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
	//guard:start-above-the-clocks  new counters start at a token that all servers can start at
	token := fencing.Token(max(0, now.Mono.Microseconds()+last+lead))
	if !token.Valid() {
		return 0
	}
	return token
}
