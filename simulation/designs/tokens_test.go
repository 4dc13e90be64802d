package designs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// careless reads and writes without a check of the lease.
func careless(c *simulation.Client, lease simulation.Lease) {
	if value, version, err := c.Read(lease); err == nil {
		_ = c.Write(lease, value+1, version)
	}
}

// S20: c1 is paused between the lock and its first use, and again before its write.
// Between the two c2 gets the lock and writes.
func lateFirstUse() drama {
	schedule := simulation.Schedule{
		{Kind: fault.Pause, Process: "c1", At: at(50 * ms), For: 12 * time.Second},
		{Kind: fault.Pause, Process: "c1", Op: "write", Nth: 1, For: 3 * time.Second},
	}
	return drama{"late first use", simulation.Config{}, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			lease := take(c)
			c.SleepUntil(at(100 * ms))
			careless(c, lease)
		},
		"c2": func(c *simulation.Client) {
			c.SleepUntil(at(11 * time.Second))
			lease := take(c)
			value, version, err := c.Read(lease)
			c.SleepUntil(at(14 * time.Second))
			if err == nil && c.Valid(lease) {
				_ = c.Write(lease, value+1, version)
			}
			c.SleepUntil(at(17 * time.Second))
		},
	})}
}

// S21: c1 has read, and is paused before it writes.
func lateSecondUse() drama {
	schedule := simulation.Schedule{{Kind: fault.Pause, Process: "c1", At: at(50 * ms), For: 12 * time.Second}}
	return drama{"late second use", simulation.Config{}, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			lease := take(c)
			value, version, err := c.Read(lease)
			c.SleepUntil(at(100 * ms))
			if err == nil {
				_ = c.Write(lease, value+1, version)
			}
		},
		"c2": func(c *simulation.Client) {
			c.SleepUntil(at(11 * time.Second))
			update(c, take(c))
			c.SleepUntil(at(17 * time.Second))
		},
	})}
}

// S22: c1 loses a round on A alone, wins the next one on A and B, and is paused before
// its write. c2 wins on B and C, and writes.
func threeCounters() drama {
	schedule := append(cut("c1", "B", at(-50*ms), 300*ms, fault.Both), cut("c1", "C", at(-50*ms), time.Hour, fault.Both)...)
	schedule = append(schedule, cut("c2", "A", at(-50*ms), time.Hour, fault.Both)...)
	schedule = append(schedule, fault.Fault{Kind: fault.Pause, Process: "c1", Op: "write", Nth: 1, For: 12 * time.Second})
	return drama{"three counters", simulation.Config{Servers: 3}, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			take(c) // in vain
			c.SleepUntil(at(500 * ms))
			careless(c, take(c))
		},
		"c2": func(c *simulation.Client) {
			c.SleepUntil(at(11 * time.Second))
			update(c, take(c))
			c.SleepUntil(at(17 * time.Second))
		},
	})}
}

func TestTokens(t *testing.T) {
	all := []record.ViolationKind{record.TwoHolders, record.StaleWrite, record.LostUpdate}
	for _, test := range []struct {
		name   string
		drama  drama
		flawed []record.ViolationKind
		cured  []record.ViolationKind
	}{
		// The cure lets c1's late read pass: it is a guard on writes.
		{"token-after", lateFirstUse(), all, []record.ViolationKind{record.TwoHolders}},
		{"token-current", lateSecondUse(), all, none},
		{"token-naive-max", threeCounters(), []record.ViolationKind{record.TokenOrder, record.TwoHolders, record.LostUpdate}, none},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := test.drama
			r := play(t, test.name, d.cfg, d.schedule, d.work, test.flawed...)
			assert.Zero(t, r.Log.Counts()["the guard refused a write"])
			r = play(t, design(t, test.name).Cure, d.cfg, d.schedule, d.work, test.cured...)
			assert.Equal(t, 1, r.Log.Counts()["the guard refused a write"])
			play(t, "token-admit", d.cfg, d.schedule, d.work, none...)
		})
	}
}

// With a guard that admits tokens, a token that is fetched late protects the data, but the
// guard refuses the wrong client.
func TestTokenAfterBeforeAGuardThatAdmits(t *testing.T) {
	d := lateFirstUse()
	cfg := design(t, "token-after").Configure(d.cfg)
	cfg.Guard = simulation.GuardAdmits
	for seed := range uint64(seeds) {
		r, err := simulation.Run(seed, cfg, d.schedule, d.work)
		require.NoError(t, err)
		assert.Equal(t, []record.ViolationKind{record.StaleWrite, record.TwoHolders}, r.Kinds())
		assert.Equal(t, 1, did(r, "c1", "write"), "the late client")
		assert.Equal(t, 0, did(r, "c2", "write"), "the holder")
	}
}
