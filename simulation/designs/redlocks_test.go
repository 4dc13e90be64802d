package designs_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// S8: the replica that takes over lacks C's last command.
func replicaLags() drama {
	return voteLost("replica lags", fault.Fault{Kind: fault.Failover, Server: "C", At: at(150 * ms), By: 200 * ms})
}

// S19: c1 has A, B and C only, and is extended once it reaches the others again. Then C
// loses the key.
func bareMajority() drama {
	schedule := append(cut("c1", "DE", at(-50*ms), 500*ms, fault.Both),
		fault.Fault{Kind: fault.Evict, Server: "C", Key: key, At: at(5 * time.Second)})
	return drama{"bare majority", simulation.Config{}, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			lease := take(c)
			c.SleepUntil(at(4 * time.Second))
			_ = c.Extend(lease)
			c.SleepUntil(at(8 * time.Second))
			if c.Valid(lease) {
				update(c, lease)
			}
			_ = c.Release(lease)
		},
		"c2": hold(at(6*time.Second), at(7*time.Second)),
	})}
}

// S24: c1 is paused before its write. c2 gets the lock and reads; then c1's write arrives, and
// then c2's.
func lateWriteAfterARead() drama {
	schedule := simulation.Schedule{{Kind: fault.Pause, Process: "c1", Op: "write", Nth: 1, For: 12 * time.Second}}
	return drama{"late write after a read", simulation.Config{}, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			update(c, take(c))
		},
		"c2": func(c *simulation.Client) {
			c.SleepUntil(at(11 * time.Second))
			lease := take(c)
			value, version, err := c.Read(lease)
			c.SleepUntil(at(15 * time.Second))
			if err == nil && c.Valid(lease) {
				_ = c.Write(lease, value+1, version)
			}
			c.Sleep(time.Second)
		},
	})}
}

// A write that arrives twice, the second time after another of the same holder.
func repeatedWrite() drama {
	schedule := simulation.Schedule{{Kind: fault.Duplicate, Process: "c1", Server: fault.Resource, Op: "write", Nth: 1, By: time.Second}}
	return drama{"repeated write", simulation.Config{}, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			lease := take(c)
			update(c, lease)
			update(c, lease)
			c.Sleep(2 * time.Second)
			update(c, lease)
			_ = c.Release(lease)
		},
	})}
}

// The purpose of each feature: the first row without a violation has it.
func TestFeatures(t *testing.T) {
	rows := []string{"redlock", "quarantine", "monitor", "topup", "default", "token-write", "token-admit", "idempotent"}
	two := []record.ViolationKind{record.TwoHolders}
	all := []record.ViolationKind{record.TwoHolders, record.StaleWrite, record.LostUpdate}
	for _, test := range []struct {
		drama drama
		// by row; other rows have no violation
		harmed map[string][]record.ViolationKind
	}{
		{restart(), map[string][]record.ViolationKind{"redlock": two}},
		{replicaLags(), map[string][]record.ViolationKind{"redlock": two}},
		{jump(), map[string][]record.ViolationKind{"redlock": two, "quarantine": two}},
		{bareMajority(), map[string][]record.ViolationKind{
			"redlock": two, "quarantine": two, "monitor": two,
		}},
		{pauseAfterTheCheck(), map[string][]record.ViolationKind{
			"redlock": all, "quarantine": all, "monitor": all, "topup": all, "default": all,
		}},
		{lateWriteAfterARead(), map[string][]record.ViolationKind{
			"redlock": all, "quarantine": all, "monitor": all, "topup": all, "default": all, "token-write": all,
		}},
		{repeatedWrite(), map[string][]record.ViolationKind{
			"redlock": {record.LostUpdate}, "quarantine": {record.LostUpdate}, "monitor": {record.LostUpdate}, "topup": {record.LostUpdate},
			"default": {record.LostUpdate}, "token-write": {record.LostUpdate}, "token-admit": {record.LostUpdate},
		}},
	} {
		for _, row := range rows {
			t.Run(test.drama.name+" "+row, func(t *testing.T) {
				d := test.drama
				r := play(t, row, d.cfg, d.schedule, d.work, test.harmed[row]...)
				assert.Positive(t, did(r, "c1", "acquired"))
			})
		}
	}
}

// S14: c1 knows A, B and C, and has A and B while it doesn't reach C. c2 knows all five.
// One client has locked before, so that the other can notice.
func TestSetsDiffer(t *testing.T) {
	schedule := cut("c1", "C", at(time.Second), time.Hour, fault.Both)
	work := parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			hold(at(0), at(500*ms))(c)
			hold(at(2*time.Second), at(8*time.Second))(c)
		},
		"c2": func(c *simulation.Client) {
			c.SleepUntil(at(4 * time.Second))
			_, err := c.TryAcquire(key)
			if errors.Is(err, wire.ErrSetMismatch) {
				c.Note("told so")
			}
		},
	})
	r := play(t, "sets-differ", simulation.Config{}, schedule, work, record.TwoHolders)
	assert.Equal(t, 1, did(r, "c2", "acquired"))
	r = play(t, "sets-checked", simulation.Config{}, schedule, work, none...)
	assert.Equal(t, 2, did(r, "c1", "acquired"))
	assert.Equal(t, 0, did(r, "c2", "acquired"))
	assert.Equal(t, 1, did(r, "c2", "noted"), "and knows why")
}
