package machine

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
)

// If the machine allows less than the library does, a scenario with the situation isn't a run of the machine.
func TestStricterMachines(t *testing.T) {
	for name, stricter := range map[string]struct {
		scenario string
		rule
	}{
		"counters leave no token out":       {"S1", rule{Grant, "", func(_ *Machine, s *Server, _ *Round, st *Step) bool { return st.Token == s.Counter+1 }}},
		"each try has a vote":               {"S4", rule{Try, "", func(*Machine, *Server, *Round, *Step) bool { return false }}},
		"tries without a vote set no key":   {"S7", rule{Try, "", func(_ *Machine, _ *Server, _ *Round, st *Step) bool { return st.Round == 0 }}},
		"a grant is no more than the clock": {"S1", rule{Grant, "", func(_ *Machine, _ *Server, _ *Round, st *Step) bool { return st.Token <= st.Clock }}},
		"all servers must agree":            {"S1", rule{Win, "", func(m *Machine, _ *Server, r *Round, st *Step) bool { return len(st.Votes) == len(m.Servers) }}},
		"no vote needs a raise": {"S22", rule{Win, "", func(_ *Machine, _ *Server, r *Round, st *Step) bool {
			return r.all(st, func(v *Vote) bool { return v.Token == st.Token })
		}}},
		"a raise is for rounds that aren't won":  {"passed on", rule{Raise, "", func(_ *Machine, _ *Server, r *Round, _ *Step) bool { return !r.Won }}},
		"no vote is low":                         {"S7f", rule{Grant, "", func(_ *Machine, _ *Server, _ *Round, st *Step) bool { return st.Token == st.Counter }}},
		"a lease is restored where it was voted": {"restored", rule{Restore, "", func(_ *Machine, _ *Server, r *Round, st *Step) bool { return r.voted(st.Server) }}},
		"a restart loses nothing":                {"S7", rule{Restart, "", func(_ *Machine, s *Server, _ *Round, st *Step) bool { return st.Counter == s.Counter }}},
		"a restart loses all":                    {"S7c", rule{Restart, "", func(_ *Machine, _ *Server, _ *Round, st *Step) bool { return st.Counter == 0 }}},
		"counters are never lost within a run":   {"S26b", rule{Lose, "", func(*Machine, *Server, *Round, *Step) bool { return false }}},
		"keys of leases don't go":                {"S1", rule{Delete, "", func(m *Machine, s *Server, _ *Round, _ *Step) bool { return !m.Rounds[s.Holder-1].Valid }}},
	} {
		t.Run(name, func(t *testing.T) {
			var log record.Log
			switch stricter.scenario {
			case "restored":
				log = restored(t)
			case "passed on":
				log = passedOn(t)
			default:
				log = played(t, stricter.scenario)
			}
			require.NoError(t, Check(log))
			_, err := compare(log, append(rules(), stricter.rule))
			require.ErrorIs(t, err, ErrRun)
			require.ErrorIs(t, err, ErrNoStep)
			assert.ErrorContains(t, err, string(stricter.kind))
		})
	}
}

// played is a run of the library in a scenario.
func played(t *testing.T, scenario string) record.Log {
	t.Helper()
	s, err := scenarios.ByID(scenario)
	require.NoError(t, err)
	d, err := s.Design("default")
	require.NoError(t, err)
	r, err := s.Play(0, d)
	require.NoError(t, err)
	return r.Log
}

// restored is a run in which an extension sets the key on a server that the acquisition didn't reach.
func restored(t *testing.T) record.Log {
	t.Helper()
	cut := fault.Fault{Kind: fault.Cut, Process: "c1", Server: "C", For: 1500 * time.Millisecond}
	r, err := simulation.Run(1, simulation.Config{Servers: 3}, simulation.Schedule{cut}, func(c *simulation.Client) {
		c.SleepUntil(time.Second)
		lease, err := c.TryAcquire("k")
		if err == nil {
			c.SleepUntil(2 * time.Second)
			_ = c.Extend(lease)
		}
	})
	require.NoError(t, err)
	return r.Log
}

// passedOn is a run in which a lease is passed on from one goroutine of a client to another.
func passedOn(t *testing.T) record.Log {
	t.Helper()
	r, err := simulation.Run(1, simulation.Config{Processes: 1}, nil, func(c *simulation.Client) {
		take := func(c *simulation.Client) {
			if lease, err := c.Acquire("k"); err == nil {
				_ = c.Release(lease)
			}
		}
		c.Go(take)
		take(c)
	})
	require.NoError(t, err)
	return r.Log
}

// The error names the first event that isn't a step.
func TestFirstEvent(t *testing.T) {
	log := played(t, "S22")
	require.NoError(t, Check(log))
	changed := 0
	for e := range log.All() {
		if e.Kind == record.Voted && e.Op == "acquire" && e.Words == "granted" {
			changed++
			e.Change.Locks[0].Before.Counter++
			err := Check(log)
			require.ErrorIs(t, err, ErrRun)
			assert.ErrorContains(t, err, "acquire "+e.Process+"#", "it has the event's line")
			assert.ErrorContains(t, err, "before it, the counter was ")
			e.Change.Locks[0].Before.Counter--
		}
	}
	assert.Positive(t, changed)
}

// A server that carries out a request twice can set the key again for a round that lost it. Then a raise
// counts, and two leases have the same token. Neither TCP connections nor the library repeat a request,
// but a proxy might.
func TestRequestThatIsCarriedOutTwice(t *testing.T) {
	const ms = time.Millisecond
	cfg := simulation.Config{Servers: 3, LatencyMin: ms, LatencyMax: ms}
	cfg.Quorum.Lab.Notifications = quorum.Off
	at := func(d time.Duration) time.Duration { return 3*time.Second + d }
	schedule := simulation.Schedule{
		// A round of c2 that only B grants, so that its counter is ahead.
		{Kind: fault.Cut, Process: "c2", Server: "A", At: at(-time.Second - 5*ms), For: 500 * ms},
		{Kind: fault.Cut, Process: "c2", Server: "C", At: at(-time.Second - 5*ms), For: 500 * ms},
		{Kind: fault.Cut, Process: "c1", Server: "C", At: at(-5 * ms), For: time.Second},
		{Kind: fault.Duplicate, Process: "c1", Server: "A", Op: "acquire", Nth: 1, By: 30 * ms},
		{Kind: fault.Delay, Process: "c1", Server: "A", Op: "raise", Nth: 1, By: 50 * ms},
		{Kind: fault.Evict, Server: "A", Key: "k", At: at(10 * ms)},
	}
	take := func(c *simulation.Client, until time.Duration, hold time.Duration) {
		c.SleepUntil(until)
		if lease, err := c.TryAcquire("k"); err == nil {
			c.Sleep(hold)
			_ = c.Release(lease)
		}
	}
	work := func(c *simulation.Client) {
		if c.Name == "c1" {
			take(c, at(0), time.Second)
			return
		}
		take(c, time.Second, ms)
		take(c, at(-time.Second), ms)
		take(c, at(15*ms), 2*ms)
	}
	r, err := simulation.Run(1, cfg, schedule, work)
	require.NoError(t, err)
	assert.Equal(t, []record.ViolationKind{record.TokenOrder}, r.Kinds())
	require.ErrorIs(t, Check(r.Log), ErrBroken)
	r, err = simulation.Run(1, cfg, slices.DeleteFunc(schedule, func(f fault.Fault) bool { return f.Kind == fault.Duplicate }), work)
	require.NoError(t, err)
	assert.Empty(t, r.Kinds())
	require.NoError(t, Check(r.Log))
}
