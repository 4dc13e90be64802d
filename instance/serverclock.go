package instance

import (
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// serverClock is what the client knows of the server's clock: from the last reply that carried it. The
// zero serverClock knows nothing.
//
// A new counter starts at this guess. A counter that doesn't start above the server's clock is lifted by
// the request that made it, and one that starts too far ahead of the clock doesn't count. Others go on from a
// guess only if the counter was evicted and the request that made it anew was lost, too.
type serverClock struct{ last atomic.Pointer[reading] }

// reading is one of the server's clock.
type reading struct {
	at     drift.Instant // by this client's clocks
	server time.Time
}

// suspended is by how much this client's two clocks may disagree for a guess to be made.
const suspended = 50 * time.Millisecond

func (c *serverClock) saw(server time.Time, at drift.Instant) {
	if !server.IsZero() {
		c.last.Store(&reading{at, server})
	}
}

// start is where a new counter starts: where the request says or, without that, at the clock. known is false
// if there is no guess: then it starts at 1, which is low for everybody.
func (c *serverClock) start(f *wire.Fence, now drift.Instant) (start int64, known bool) {
	r := c.last.Load()
	if r == nil {
		return 1, false
	}
	mono, wall := now.Mono-r.at.Mono, now.Wall.Sub(r.at.Wall)
	// After a suspension of this machine the guess lags.
	if d := mono - wall; d > suspended || d < -suspended {
		return 1, false
	}
	clock := r.server.Add(mono).UnixMicro()
	if start = int64(f.Token); start > max(0, clock-f.Ahead.Microseconds()) && start <= clock+f.Ahead.Microseconds() {
		return start, true
	}
	return clock, clock > 0
}
