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

// Clients that try at once, each nearest to another server, as a job does that cron starts on several
// machines. In every try exactly one of them gets the lock, and all others are told that it is taken, soon
// if all servers answer.
func TestOneOfThoseThatTryAtOnceGetsTheLock(t *testing.T) {
	tries := long.Number(100, 20)
	for _, faulty := range []fault.Kind{"", fault.Restart, fault.Hang} {
		for _, servers := range []int{3, 5} {
			for _, clients := range []int{3, 20} {
				for _, jitter := range []time.Duration{0, 100 * time.Microsecond, 2 * ms, 5 * ms, 20 * ms} {
					if faulty != "" && servers == 5 && !long.Asked() {
						continue
					}
					t.Run(fmt.Sprintf("%d servers %s, %d clients, jitter %v", servers, faulty, clients, jitter), func(t *testing.T) {
						t.Parallel()
						split := 0
						for seed := range uint64(tries / 20) {
							split += tryAtOnce(t, seed, servers, clients, jitter, 20, faulty)
						}
						t.Logf("%d of %d were split", split, tries)
						if jitter < ms {
							require.NotZero(t, split, "no votes were split")
						}
					})
				}
			}
		}
	}
}

// tryAtOnce returns how many tries took more than one round of the winner's.
func tryAtOnce(t *testing.T, seed uint64, servers, clients int, jitter time.Duration, tries int, faulty fault.Kind) (split int) {
	t.Helper()
	const period = 2 * time.Second
	var schedule simulation.Schedule
	for c := range clients {
		for s := range servers {
			if s != c%servers { // a server in another zone
				schedule = append(schedule, fault.Fault{Kind: fault.Delay, Process: fmt.Sprint("c", c+1), Server: string(rune('A' + s)), By: 500 * time.Microsecond, For: time.Duration(tries+2) * period})
			}
		}
	}
	if faulty != "" {
		schedule = append(schedule, fault.Fault{Kind: faulty, Server: string(rune('A' + int(seed)%servers)), For: time.Duration(tries+2) * period})
	}
	cfg := simulation.Config{
		Servers: servers, Processes: clients, LatencyMin: 50 * time.Microsecond, LatencyMax: 300 * time.Microsecond, MaxEvents: 10_000_000,
		Progress: -1,
	}
	var mu sync.Mutex
	winners, rounds := make([]int, tries), make([]int, tries)
	wrong, longest := "", time.Duration(0)
	r, err := simulation.Run(seed, cfg, schedule, func(c *simulation.Client) {
		_, _ = c.Coordinator.Verify(c.Context())
		for n := range tries {
			at := time.Duration(n+1) * period
			if jitter > 0 {
				at += time.Duration(c.Pick(uint64(n), int(jitter)))
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
	require.NoError(t, err)
	require.Empty(t, r.Kinds(), "seed %d: %v", seed, r.Log.Violations())
	require.Empty(t, wrong, "seed %d", seed)
	if faulty == "" {
		require.Less(t, longest, 50*ms, "seed %d", seed)
	}
	for n := range tries {
		require.Equal(t, 1, winners[n], "seed %d, try %d", seed, n)
		if rounds[n] > 0 {
			split++
		}
	}
	return split
}
