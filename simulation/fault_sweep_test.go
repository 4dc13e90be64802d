package simulation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// guarded lists the faults that the library guards against, with its quarantine and its clock
// monitor: servers that restart without their data, replicas that lag, clocks that jump, an
// unreliable network, and clients that crash.
var guarded = []fault.Kind{
	fault.Crash, fault.Step, fault.Restart, fault.Hang, fault.Failover,
	fault.Cut, fault.Lose, fault.Delay, fault.Reorder, fault.Duplicate, fault.Reconnect, fault.Reboot, fault.Lag,
}

// sweep runs many random schedules of such faults, and counts the kinds of violations and other
// events.
func sweep(t *testing.T, seeds uint64, cfg simulation.Config, kinds []fault.Kind, more ...fault.Fault) (violations map[record.ViolationKind]int, counts map[string]int) {
	t.Helper()
	violations, counts = map[record.ViolationKind]int{}, map[string]int{}
	for seed := range seeds {
		schedule, r := swept(t, seed, cfg, kinds, more...)
		for _, kind := range r.Kinds() {
			if violations[kind]++; violations[kind] == 1 {
				t.Logf("seed %d: %v\n%+v", seed, r.Log.Violations()[0], schedule)
			}
		}
		for what, n := range r.Log.Counts() {
			counts[what] += n
		}
	}
	return violations, counts
}

// swept is one of these runs.
func swept(t *testing.T, seed uint64, cfg simulation.Config, kinds []fault.Kind, more ...fault.Fault) (simulation.Schedule, simulation.Result) {
	t.Helper()
	schedule := simulation.Draw(seed, cfg, kinds, 16, 10*time.Second)
	schedule = slices.DeleteFunc(schedule, func(f fault.Fault) bool {
		// A lock doesn't protect against a write that is late or arrives twice.
		return f.Server == fault.Resource && cfg.Guard != simulation.GuardIdempotent
	})
	schedule = append(schedule, more...)
	r, err := simulation.Run(seed, cfg, schedule, watchAndContend)
	require.NoError(t, err)
	return schedule, r
}

// watchAndContend is a workload of clients that all want one lock, and verified the instances
// before any fault.
func watchAndContend(c *simulation.Client) {
	if _, err := c.Coordinator.Verify(c.Context()); err != nil {
		c.Note("verify failed")
	}
	for turn, had := uint64(0), 0; turn < 24 && had < 4; turn++ {
		lease := take(c)
		if lease == nil {
			c.Sleep(time.Duration(c.Pick(4*turn, 300)+30) * ms)
			continue
		}
		had++
		if c.Pick(4*turn+1, 2) == 0 {
			c.KeepAlive(lease)
		}
		update(c, lease)
		c.Sleep(time.Duration(c.Pick(4*turn+2, 2500)) * ms)
		if c.Valid(lease) {
			update(c, lease)
		}
		_ = c.Release(lease) // the checks see the outcome
	}
}

func TestNothingGoesWrongThatIsGuardedAgainst(t *testing.T) {
	cfg := simulation.Config{Processes: 3, Witness: true, Quorum: quorum.Config{Terms: quorum.Terms{TTL: 2 * time.Second}}}
	violations, counts := sweep(t, some(300), cfg, guarded)
	assert.Empty(t, violations)
	for _, what := range []string{"a quarantine began: restarted", "a quarantine began: clock jumped", "a process crashed", "a reply came too late", "a lease was extended"} {
		assert.Positive(t, counts[what], "%q never happened, so nothing is shown: %v", what, counts)
	}

	// The same without the guards: the faults have an effect.
	cfg.Quorum.RestartQuarantine, cfg.Quorum.ClockMonitor = quorum.Off, quorum.Off
	for seed, bitten := uint64(0), false; !bitten; seed++ {
		require.Less(t, seed, uint64(300), "no fault bites, so nothing is shown")
		_, r := swept(t, seed, cfg, guarded)
		bitten = slices.Contains(r.Kinds(), record.TwoHolders)
		for _, kind := range []record.ViolationKind{record.Stuck, record.LeftOver, record.Panicked, record.NeverFree} {
			assert.NotContains(t, r.Kinds(), kind, "seed %d", seed)
		}
	}
}

// Whatever happens to clients and clocks, a resource that checks tokens and repetitions loses
// nothing.
func TestNothingIsLostWithTheStrongestGuard(t *testing.T) {
	cfg := simulation.Config{Processes: 3, Guard: simulation.GuardIdempotent, Quorum: quorum.Config{Terms: quorum.Terms{TTL: 2 * time.Second}}}
	kinds := append([]fault.Kind{fault.Pause, fault.Suspend, fault.Rate}, guarded...)
	pause := fault.Fault{Kind: fault.Pause, Process: "c1", Op: "write", Nth: 2, For: 3 * time.Second}
	violations, counts := sweep(t, some(300), cfg, kinds, pause)
	assert.Zero(t, violations[record.StaleWrite]+violations[record.LostUpdate]+violations[record.TokenOrder], "%v", violations)
	for _, what := range []string{"the guard refused a write", "the guard refused a read", "the resource recognised a repeated write", "a process was paused"} {
		assert.Positive(t, counts[what], "%q never happened, so nothing is shown: %v", what, counts)
	}
	cfg.Guard = simulation.Unguarded
	violations, _ = sweep(t, some(150), cfg, kinds, pause)
	assert.Positive(t, violations[record.StaleWrite], "%v", violations)
}
