package quorum

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
)

// LinesOf is how many keys a Coordinator needs to keep a queue for.
func LinesOf(c *Coordinator) int {
	c.locals.mu.Lock()
	defer c.locals.mu.Unlock()
	c.locals.sweepLocked()
	return len(c.locals.queues)
}

// OrderFor is the order in which instances are asked one by one about a key.
func OrderFor(c *Coordinator, key string) []int { return c.orderFor(key) }

// The client's machine was suspended: its monotonic clock stood still. Meanwhile the
// server was demoted and promoted, and gave up the history that tells of it. The time
// since the client last saw the server counts by the wall clock, too.
func TestASuspendedClientDoesNotMissAPromotion(t *testing.T) {
	at := func(mono, wall time.Duration) drift.Instant {
		return drift.Instant{Mono: mono, Wall: time.Unix(1_800_000_000, 0).Add(wall)}
	}
	id := func(repl string) Identity {
		return Identity{RunID: "run", ReplID: repl, Role: RoleMaster, Uptime: 100 * time.Hour, Served: 100 * time.Hour}
	}
	for name, c := range map[string]struct {
		sent, asked, answered drift.Instant
		trusted               bool
	}{
		"awake":          {at(1*time.Second, 1*time.Second), at(9*time.Second, 9*time.Second), at(9*time.Second, 9*time.Second), true},
		"suspended":      {at(1*time.Second, 1*time.Second), at(2*time.Second, 5*time.Minute), at(2*time.Second, 5*time.Minute), false},
		"asked long ago": {at(1*time.Second, 1*time.Second), at(71*time.Second, 71*time.Second), at(71*time.Second, 71*time.Second), false},
		"answered late":  {at(1*time.Second, 1*time.Second), at(2*time.Second, 2*time.Second), at(71*time.Second, 71*time.Second), false},
	} {
		q := quarantine{length: 10 * time.Minute}
		q.identify(id("one"), at(0, 0), at(0, 0))
		q.confirmed("one", c.sent)
		q.confirmed("one", at(0, 0)) // sent before, answered later
		q.identify(id("two"), c.asked, c.answered)
		if c.trusted {
			require.Nil(t, q.check(c.answered), name)
		} else {
			require.NotNil(t, q.check(c.answered), name)
		}
	}
}
