package simulation_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
)

// crowd is clients that try at once, each nearest to another server, as a job does that cron starts on several
// machines.
type crowd struct {
	servers, clients int
	jitter           time.Duration
	faulty           fault.Kind // of one server, from beginning to end; "" for none
}

// In every try exactly one of a crowd gets the lock, and all others are told that it is taken, soon if all servers
// answer.
func TestOneOfThoseThatTryAtOnceGetsTheLock(t *testing.T) {
	split := 0
	for seed := range long.Number[uint64](300, 60) {
		c := crowd{
			servers: []int{3, 5}[seed%2],
			clients: []int{3, 20}[seed/2%2],
			jitter:  []time.Duration{0, 100 * time.Microsecond, 2 * ms, 5 * ms, 20 * ms}[seed/4%5],
			faulty:  []fault.Kind{"", fault.Restart, fault.Hang}[seed/20%3],
		}
		t.Run(fmt.Sprintf("%d %+v", seed, c), func(t *testing.T) { split += c.tries(t, seed) })
	}
	require.Greater(t, split, 100, "votes were split")
}

// tries returns how many tries took more than one round of the winner's.
func (cr crowd) tries(t *testing.T, seed uint64) (split int) {
	t.Helper()
	const tries, period = 20, 2 * time.Second
	var schedule simulation.Schedule
	for c := range cr.clients {
		for s := range cr.servers {
			if s != c%cr.servers { // a server in another zone
				schedule = append(schedule, fault.Fault{Kind: fault.Delay, Process: fmt.Sprint("c", c+1), Server: string(rune('A' + s)), By: 500 * time.Microsecond, For: (tries + 2) * period})
			}
		}
	}
	if cr.faulty != "" {
		schedule = append(schedule, fault.Fault{Kind: cr.faulty, Server: string(rune('A' + int(seed)%cr.servers)), For: (tries + 2) * period})
	}
	cfg := simulation.Config{
		Servers: cr.servers, Processes: cr.clients, LatencyMin: 50 * time.Microsecond, LatencyMax: 300 * time.Microsecond, Progress: -1,
	}
	var mu sync.Mutex
	winners, rounds := make([]int, tries), make([]int, tries)
	wrong, longest := "", time.Duration(0)
	r := run(t, seed, cfg, schedule, func(c *simulation.Client) {
		_, _ = c.Coordinator.Verify(c.Context())
		for n := range tries {
			at := time.Duration(n+1) * period
			if cr.jitter > 0 {
				at += time.Duration(c.Pick(uint64(n), int(cr.jitter)))
			}
			c.SleepUntil(at)
			asked := c.Clock().Now()
			lease, err := c.TryAcquire(fmt.Sprint("job/", n))
			mu.Lock()
			longest = max(longest, c.Clock().Since(asked))
			if err == nil {
				winners[n]++
			} else if !errors.Is(err, quorum.ErrTaken) {
				wrong = err.Error()
			}
			if lost, ok := errors.AsType[*quorum.RoundError](err); ok && lost.Holder != nil && lost.Holder.Owner != "" {
				rounds[n]++
			}
			mu.Unlock()
			if lease != nil {
				c.Sleep(time.Second)
				_ = c.Release(lease)
			}
		}
	})
	require.Empty(t, r.Kinds(), "%v", r.Log.Violations())
	require.Empty(t, wrong)
	if cr.faulty == "" {
		require.Less(t, longest, 50*ms)
	}
	for n := range tries {
		require.Equal(t, 1, winners[n], "try %d", n)
		if rounds[n] > 0 {
			split++
		}
	}
	return split
}
