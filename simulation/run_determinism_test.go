package simulation_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
)

// contend is a workload that uses most of the library: clients that wait for one of two locks, on
// one to three goroutines each, read, write, extend and release, in a random order.
func contend(c *simulation.Client) {
	if c.Goroutine == 0 {
		for range c.Pick(100, 3) {
			c.Go(contend)
		}
	}
	for turn := range uint64(2) {
		c.Sleep(time.Duration(c.Pick(10*turn, 3000)) * time.Millisecond)
		lease := get(c, []string{"k", "l"}[c.Pick(10*turn+1, 4)/3], c.Pick(10*turn+6, 4) == 0)
		if lease == nil {
			continue
		}
		if c.Pick(10*turn+2, 2) == 0 {
			c.KeepAlive(lease)
		}
		update(c, lease)
		c.Sleep(time.Duration(c.Pick(10*turn+3, 4000)) * time.Millisecond)
		if c.Pick(10*turn+4, 2) == 0 {
			if err := c.Extend(lease); err != nil {
				c.Note("not extended")
			}
		}
		if c.Valid(lease) {
			update(c, lease)
		}
		if c.Pick(10*turn+5, 4) != 0 {
			if err := c.Release(lease); err != nil {
				c.Note("not released")
			}
		}
	}
}

// get waits for the lock, by Acquire or by trying again and again.
func get(c *simulation.Client, name string, polls bool) simulation.Lease {
	if !polls {
		lease, _ := c.Acquire(name) // if there is an error there is no lease, and the trace has the error
		return lease
	}
	for range 20 {
		if lease, err := c.TryAcquire(name); err == nil {
			return lease
		}
		c.Sleep(700 * ms)
	}
	return nil
}

// unprotected reports for which seeds the library runs without its quarantine.
func unprotected(seed uint64) bool { return seed%4 >= 2 }

// contended is its Config.
func contended() simulation.Config {
	return simulation.Config{
		Processes: 3,
		Quorum:    quorum.Config{TTL: 5 * time.Second, MaxWait: 20 * time.Second},
		Witness:   true,
	}
}

// digested are the kinds of faults in the runs of testdata/digests.txt. A new kind would change every
// draw, and with it what the file says of the others, so it stays out.
var digested = []fault.Kind{
	fault.Pause, fault.Suspend, fault.Crash, fault.Step, fault.Rate, fault.Restart, fault.Hang, fault.Failover, fault.Cut, fault.Lose, fault.Delay,
	fault.Reboot, fault.Evict, fault.Flush, fault.Duplicate, fault.Reorder, fault.Lag, fault.SplitBrain, fault.Switch,
}

// drawn plays the seed with a schedule of some kinds of faults that is drawn from it as well.
func drawn(t testing.TB, seed uint64, kinds []fault.Kind) (simulation.Schedule, simulation.Result) {
	t.Helper()
	cfg := contended()
	cfg.Replicas = int(seed % 3)
	if seed%5 < 2 { // fast, or slow and in any order
		cfg.LatencyMax = []time.Duration{100 * time.Microsecond, 30 * ms}[seed%5]
	}
	cfg.Guard = []simulation.Guarding{simulation.Unguarded, simulation.GuardWrites, simulation.GuardAdmits, simulation.GuardIdempotent}[seed%4]
	if unprotected(seed) {
		cfg.Quorum.Lab.RestartQuarantine, cfg.Quorum.Lab.ClockMonitor = quorum.Off, quorum.Off
	}
	schedule := simulation.Draw(seed, cfg, kinds, 8, 20*time.Second)
	r, err := simulation.Run(seed, cfg, schedule, contend)
	require.NoError(t, err, "%+v", schedule)
	return schedule, r
}

var (
	rewrite = flag.Bool("update", false, "rewrite testdata/digests.txt")
	replay  = flag.Int("seed", -1, "only print the trace of this seed")
)

// The traces of three hundred seeds are the same as when the file was written: on this machine and on
// others, without the race detector and with it, which changes the scheduling of goroutines more
// than anything else. The file has a digest for each seed, ten on a line.
func TestTracesAreTheSameAsBefore(t *testing.T) {
	const file = "testdata/digests.txt"
	digest := func(seed uint64) string {
		_, r := drawn(t, seed, digested)
		return r.Log.Digest()[:8]
	}
	if *replay >= 0 {
		schedule, r := drawn(t, uint64(*replay), digested)
		fmt.Printf("%+v\n%s", schedule, r.Log)
		return
	}
	if *rewrite {
		var text strings.Builder
		for seed := range uint64(300) {
			text.WriteString(digest(seed) + []string{" ", "\n"}[seed%10/9])
		}
		require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o644))
		return
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err, "write it with: go test ./simulation -run TracesAreTheSame -update")
	want := strings.Fields(string(text))
	// Each seventh, because the settings in drawn change with the seed in other steps.
	first, step := long.Number[uint64](0, 4), long.Number[uint64](1, 7)
	for seed := first; seed < 300; seed += step {
		require.Equal(t, want[seed], digest(seed), `the trace of seed %[1]d has changed, as the first one. To see how, compare what this prints here and in a checkout of the commit before:
	go test ./simulation -v -run TracesAreTheSame -seed %[1]d
If you know which change of the library or the simulation did it, and that it should: go test ./simulation -run TracesAreTheSame -update`, seed)
	}
}
