package timeline_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
)

const (
	ms  = time.Millisecond
	key = "k"
)

// at counts from one second on: before that the processes verify the servers.
func at(d time.Duration) time.Duration { return time.Second + d }

// run is a run to draw.
type run struct {
	cfg      simulation.Config
	schedule simulation.Schedule
	parts    map[string]simulation.Workload
}

// played are the results of the runs, by their names.
var played = map[string]simulation.Result{}

// result returns the result of a run.
func result(t testing.TB, name string) simulation.Result {
	t.Helper()
	r, ok := played[name]
	if !ok {
		r = runs[name].play(t)
		played[name] = r
	}
	return r
}

func (r run) play(t testing.TB) simulation.Result {
	t.Helper()
	result, err := simulation.Run(1, r.cfg, r.schedule, func(c *simulation.Client) {
		if part := r.parts[c.Name]; part != nil {
			part(c)
		}
	})
	require.NoError(t, err)
	return result
}

// uses is a process that acquires the lock at a moment, updates the resource, keeps the lock
// for some time and releases it.
func uses(from, holds time.Duration) simulation.Workload {
	return func(c *simulation.Client) {
		c.SleepUntil(at(from))
		lease, err := c.TryAcquire(key)
		if err != nil {
			return
		}
		value, version, err := c.Read(lease)
		if err == nil && c.Valid(lease) {
			_ = c.Write(lease, value+1, version) // the checks see the outcome
		}
		c.Sleep(holds)
		_ = c.Release(lease)
	}
}

// pauseAfterTheCheck: c1 is paused between its check of the lease and its write.
func pauseAfterTheCheck(guard simulation.Guarding) run {
	return run{
		cfg:      simulation.Config{Guard: guard},
		schedule: simulation.Schedule{{Kind: fault.Pause, Process: "c1", Op: "write", Nth: 1, For: 12 * time.Second}},
		parts:    map[string]simulation.Workload{"c1": uses(0, 0), "c2": uses(10_100*ms, 5*time.Second)},
	}
}

// oneVoteLost: c1 gets A, B and C, then a fault hits C, and c2 asks.
func oneVoteLost(what fault.Fault) run {
	what.Server = "C"
	return run{
		cfg: simulation.Config{Quorum: quorum.Config{RestartQuarantine: quorum.Off, ClockMonitor: quorum.Off}},
		schedule: simulation.Schedule{
			{Kind: fault.Cut, Process: "c1", Server: "D", At: at(-50 * ms)},
			{Kind: fault.Cut, Process: "c1", Server: "E", At: at(-50 * ms)},
			what,
		},
		parts: map[string]simulation.Workload{"c1": uses(0, 5*time.Second), "c2": uses(200*ms, time.Second)},
	}
}

func clockJumps() run {
	return oneVoteLost(fault.Fault{Kind: fault.Step, At: at(100 * ms), By: 15 * time.Second})
}

func crashWithoutFsync() run {
	return oneVoteLost(fault.Fault{Kind: fault.Restart, At: at(50 * ms), For: 100 * ms})
}

// extensions: c1 extends its lease, is suspended with clocks that stand still, and
// extends again; c2 asks during all this.
func extensions() run {
	return run{
		schedule: simulation.Schedule{{Kind: fault.Suspend, Process: "c1", At: at(9 * time.Second), For: 15 * time.Second, Frozen: true}},
		parts: map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				c.SleepUntil(at(0))
				lease, err := c.TryAcquire(key)
				if err != nil {
					return
				}
				for range 3 {
					c.Sleep(5 * time.Second)
					if err := c.Extend(lease); err != nil {
						c.Note("not extended")
					}
				}
				_ = c.Release(lease)
			},
			"c2": func(c *simulation.Client) {
				c.SleepUntil(at(2 * time.Second))
				for range 40 {
					if lease, err := c.TryAcquire(key); err == nil {
						_, _, _ = c.Read(lease) // only that it is seen
						_ = c.Release(lease)
						return
					}
					c.Sleep(800 * ms)
				}
			},
		},
	}
}

// trouble: five processes and every kind of fault in a log.
func trouble() run {
	work := func(c *simulation.Client) {
		c.SleepUntil(at(time.Duration(c.Index) * 3 * ms))
		for range 12 {
			if lease, err := c.TryAcquire(key); err == nil {
				value, version, err := c.Read(lease)
				if err == nil && c.Valid(lease) {
					_ = c.Write(lease, value+1, version) // the checks see the outcome
				}
				c.Sleep(300 * ms)
				_ = c.Extend(lease)  // whether it works
				_ = c.Release(lease) // is not what is tested
			}
			c.Sleep(time.Duration(200+c.Pick(0, 300)) * ms)
		}
	}
	return run{
		cfg: simulation.Config{Processes: 5, Guard: simulation.GuardAdmits, Witness: true},
		schedule: simulation.Schedule{
			{Kind: fault.Pause, Process: "c1", At: at(50 * ms), For: 400 * ms},
			{Kind: fault.Suspend, Process: "c2", At: at(700 * ms), For: 900 * ms},
			{Kind: fault.Crash, Process: "c3", Op: "write", Nth: 1},
			{Kind: fault.Step, Process: "c4", At: at(300 * ms), By: -time.Second},
			{Kind: fault.Rate, Process: "c4", At: at(500 * ms), PPM: 20_000},
			{Kind: fault.Reboot, Process: "c5", At: at(2500 * ms), For: 500 * ms},
			{Kind: fault.Step, Server: "A", At: at(900 * ms), By: 15 * time.Second},
			{Kind: fault.Rate, Server: "A", At: at(950 * ms), PPM: -20_000},
			{Kind: fault.Restart, Server: "B", At: at(1200 * ms), For: 100 * ms, Keep: fault.KeepSecond},
			{Kind: fault.Hang, Server: "C", At: at(1500 * ms), For: 700 * ms},
			{Kind: fault.Flush, Server: "D", At: at(1900 * ms)},
			{Kind: fault.Evict, Server: "E", At: at(2100 * ms), Key: key},
			{Kind: fault.Cut, Process: "c1", Server: "D", At: at(600 * ms), For: time.Second, Way: fault.Replies},
			{Kind: fault.Lose, Process: "*", Server: "*", At: at(3 * time.Second), For: time.Second, PPM: 200_000},
			{Kind: fault.Delay, Process: "c2", Server: fault.Resource, At: at(2 * time.Second), For: time.Second, By: 2 * time.Second},
			{Kind: fault.Delay, Process: "c4", Server: "B", At: at(0), For: 5 * time.Second, By: 250 * ms, Way: fault.Replies},
			{Kind: fault.Duplicate, Process: "*", Server: "*", At: at(2 * time.Second), For: 2 * time.Second, PPM: 500_000},
			{Kind: fault.Reorder, Process: "c1", Server: "A", At: at(2 * time.Second), For: 2 * time.Second, By: 5 * ms},
			{Kind: fault.Reconnect, Process: "c2", Server: "A", At: at(2200 * ms)},
		},
		parts: map[string]simulation.Workload{"c1": work, "c2": work, "c3": work, "c4": work, "c5": work},
	}
}

// failsOver: an empty replica takes over from C.
func failsOver() run {
	return oneVoteLost(fault.Fault{Kind: fault.Failover, At: at(50 * ms), For: 20 * ms, By: 10 * time.Second})
}

// commands: a lock by plain Redis commands on one server.
func commands() run {
	return run{
		cfg: simulation.Config{Servers: 1, Locker: newPlain},
		schedule: simulation.Schedule{
			{Kind: fault.Pause, Process: "c1", At: at(500 * ms), For: 12 * time.Second},
		},
		parts: map[string]simulation.Workload{"c1": uses(0, time.Second), "c2": uses(10_100*ms, 5*time.Second)},
	}
}

// plain is SET NX PX and a DEL without a comparison.
type plain struct{ p simulation.Process }

func newPlain(p simulation.Process) (simulation.Locker, error) { return plain{p}, nil }

func (l plain) TryAcquire(ctx context.Context, key string) (simulation.Lease, error) {
	reply, err := l.p.Redis[0].Do(ctx, "SET", key, l.p.Name, "NX", "PX", "10000")
	if err == nil && reply.Null {
		err = quorum.ErrTaken
	}
	if err != nil {
		return nil, err
	}
	return &plainLease{l, key}, nil
}

func (l plain) Acquire(ctx context.Context, key string) (simulation.Lease, error) {
	return l.TryAcquire(ctx, key)
}
func (l plain) Close(context.Context) error { return nil }

type plainLease struct {
	l   plain
	key string
}

func (p *plainLease) Key() string                  { return p.key }
func (p *plainLease) Value() string                { return p.l.p.Name }
func (p *plainLease) Token() fencing.Token         { return 0 }
func (p *plainLease) Validity() time.Duration      { return 10 * time.Second }
func (p *plainLease) Extend(context.Context) error { return nil }
func (p *plainLease) Release(ctx context.Context) error {
	_, err := p.l.p.Redis[0].Do(ctx, "DEL", p.key)
	return err
}

// secondName: the server A is in the list twice, with two databases.
func secondName() run {
	return run{
		cfg:   simulation.Config{Servers: 4, Aliases: []simulation.Alias{{Name: "a2", Server: "A", Database: 1}}},
		parts: map[string]simulation.Workload{"c1": uses(0, time.Second), "c2": uses(500*ms, time.Second)},
	}
}
