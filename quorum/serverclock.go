package quorum

import (
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
)

// serverClock is a guess at what a server's clock shows, from the last reply that carried it.
// No safety depends on it: servers bound what they do with a guess (Fence.Token).
type serverClock struct {
	ahead   atomic.Int64 // of the local monotonic clock, in microseconds; 0: not known
	latency atomic.Int64 // of replies, an average in microseconds
}

// learn takes in a reply that carried the clock.
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

// startToken is the token at which the counters of a new resource should start in a round that
// begins now: above the clock that each server will probably show when it is asked, so that all
// can start at the same token, and none has to be raised. It is 0 if the clock of a server isn't
// known, or if the clocks differ by more than a quarter of MaxTTL.
func (c *core) startToken(now drift.Instant) fencing.Token {
	var first, last, latency int64
	for i, m := range c.members {
		ahead := m.serverClock.ahead.Load()
		if ahead == 0 {
			return 0
		}
		if i == 0 {
			first, last = ahead, ahead
		}
		first, last = min(first, ahead), max(last, ahead)
		latency = max(latency, m.serverClock.latency.Load())
	}
	// The guess is behind by the way of the last reply, and the request has a way to go. The
	// rest is for requests that are slower than the average.
	latency = min(4*latency, c.cfg.InstanceTimeout.Microseconds())
	if last-first+latency > c.cfg.ahead().Microseconds()/2 {
		return 0
	}
	//guard:start-above-the-clocks  new counters start at a token that all servers can start at
	token := fencing.Token(max(0, now.Mono.Microseconds()+last+latency))
	if !token.Valid() {
		return 0
	}
	return token
}
