package simulation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
)

// splitInTwo is a schedule in which A splits in two at 500, and c1 and c2 share only A: c1 reaches
// B and C, and c2 D and E.
func splitInTwo(length time.Duration) simulation.Schedule {
	s := simulation.Schedule{{Kind: fault.SplitBrain, Process: "c1", Server: "A", At: 500 * ms, For: length}}
	for process, servers := range map[string]string{"c1": "DE", "c2": "BC"} {
		for _, server := range servers {
			s = append(s, fault.Fault{Kind: fault.Cut, Process: process, Server: string(server), At: 400 * ms})
		}
	}
	slices.SortFunc(s, func(a, b fault.Fault) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return s
}

// holdAndTry has c1 hold the lock for as long as possible, and c2 ask for it.
func holdAndTry(c *simulation.Client) {
	if _, err := c.Coordinator.Verify(c.Context()); err != nil {
		c.Note("verify failed")
	}
	if c.Index == 0 {
		c.SleepUntil(time.Second)
		if lease := take(c); lease != nil {
			c.KeepAlive(lease)
			c.Sleep(6 * time.Second)
			_ = c.Release(lease)
		}
		return
	}
	for c.SleepUntil(1200 * ms); ; c.Sleep(200 * ms) {
		if lease := take(c); lease != nil {
			_ = c.Release(lease)
			return
		}
	}
}

func TestSplitBrain(t *testing.T) {
	play := func(t *testing.T, length time.Duration, quarantine quorum.Switch) (simulation.Result, string) {
		cfg := simulation.Config{Quorum: quorum.Config{Terms: quorum.Terms{TTL: 2 * time.Second}, RestartQuarantine: quarantine}}
		r, err := simulation.Run(1, cfg, splitInTwo(length), holdAndTry)
		require.NoError(t, err)
		require.Equal(t, 1, r.Log.Counts()["a server split in two"])
		return r, r.Log.String()
	}
	t.Run("without quarantine", func(t *testing.T) {
		r, trace := play(t, 3*time.Second, quorum.Off)
		assert.Contains(t, r.Kinds(), record.TwoHolders)
		assert.Contains(t, trace, "500.000000 A suffers split-brain for=3000000000 process=c1")
		granted := func(server, process string) bool {
			for line := range strings.Lines(trace) {
				if strings.Contains(line, " "+server+" acquire "+process+"#") && strings.Contains(line, "granted") {
					return true
				}
			}
			return false
		}
		assert.True(t, granted("A'", "c1"), "the old master grants to c1")
		assert.True(t, granted("A", "c2"), "the new one to c2")
		assert.False(t, granted("A", "c1") || granted("A'", "c2"))
		_, after, found := strings.Cut(trace, "3500.000000 A is back")
		require.True(t, found)
		assert.Contains(t, trace, "3500.000000 A' has key=k gone", "what the old one did alone is lost")
		assert.NotContains(t, after, "A' extend", "nobody reaches it any more")
		assert.Contains(t, after, "A extend c1#", "c1 reaches the new one")
	})
	t.Run("quarantine", func(t *testing.T) {
		// It keeps c2 from A for a TTL. It can't know that the old one continues.
		r, trace := play(t, 5*time.Second, quorum.On)
		assert.Contains(t, r.Kinds(), record.TwoHolders)
		assert.Contains(t, trace, "c2 quarantines A")
		at := slices.IndexFunc(r.Log.History(), func(e record.Event) bool { return e.Process == "c2" && e.Kind == record.Acquired })
		require.GreaterOrEqual(t, at, 0)
		assert.Greater(t, r.Log.History()[at].At, 2500*ms, "not before the quarantine was over")
	})
	t.Run("without an end", func(t *testing.T) {
		_, trace := play(t, 0, quorum.Off)
		assert.NotContains(t, trace, "A is back")
		assert.Contains(t, trace, "A' release c1#")
	})
}

// Whatever happens to servers at the same time, and to their connections, every run ends.
func TestFaultsOfServersTogether(t *testing.T) {
	kinds := []fault.Kind{
		fault.SplitBrain, fault.Switch, fault.Hang, fault.Restart, fault.Failover, fault.Lag, fault.Crash, fault.Reboot,
	}
	for seed := range long.Number[uint64](150, 30) {
		cfg := contended()
		cfg.Replicas = int(seed % 3)
		cfg.WaitReplicas = min(cfg.Replicas, int(seed/3%2))
		schedule := simulation.Draw(seed, cfg, kinds, 8, 10*time.Second)
		r := run(t, seed, cfg, schedule, contend)
		for _, kind := range r.Kinds() {
			require.NotContains(t, []record.ViolationKind{record.Stuck, record.LeftOver, record.Panicked, record.NeverFree, record.NoProgress}, kind, "seed %d\n%v", seed, schedule)
		}
	}
}
