package machine

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// If the machine allows less than the library does, some run of the library isn't a run of the machine.
func TestStricterMachines(t *testing.T) {
	var logs []record.Log
	for _, id := range []string{"S7d", "S8", "S17", "S22", "S26", "X5"} {
		s, err := scenarios.ByID(id)
		require.NoError(t, err)
		for _, name := range []string{"default", "token-admit"} {
			d, err := s.Design(name)
			require.NoError(t, err)
			r, err := s.Play(0, d)
			require.NoError(t, err)
			logs = append(logs, r.Log)
		}
	}
	registry := search.Registry{Workloads: search.Workloads(), Designs: designs.All()}
	for _, w := range registry.Workloads {
		d, err := registry.Design(w, "default")
		require.NoError(t, err)
		cfg := d.Configure(w.Base)
		for seed := range uint64(6) {
			r, err := registry.Play(search.Setup{Workload: w.Name, Design: d.Name, Seed: seed, Schedule: simulation.Draw(seed, cfg, fault.Kinds(), 6, w.Span)})
			require.NoError(t, err)
			logs = append(logs, r.Log)
		}
	}
	for name, stricter := range map[string]rule{
		"counters leave no token out":       {Grant, "", func(_ *Machine, s *Server, _ *Round, st *Step) bool { return st.First == s.Counter+1 }},
		"no tokens are reserved":            {Grant, "", func(_ *Machine, _ *Server, _ *Round, st *Step) bool { return st.First == st.Last }},
		"a grant is no more than the clock": {Grant, "", func(_ *Machine, _ *Server, _ *Round, st *Step) bool { return st.Last <= st.Clock }},
		"all servers must agree":            {Win, "", func(m *Machine, _ *Server, r *Round, st *Step) bool { return len(st.Votes) == len(m.Servers) }},
		"no vote needs a raise": {Win, "", func(_ *Machine, _ *Server, r *Round, st *Step) bool {
			return r.all(st, func(v *Vote) bool { return v.Last == st.Last })
		}},
		"a raise is for rounds that aren't won":  {Raise, "", func(_ *Machine, _ *Server, r *Round, _ *Step) bool { return !r.Won }},
		"a lease is restored where it was voted": {Restore, "", func(_ *Machine, _ *Server, r *Round, st *Step) bool { return r.voted(st.Server) }},
		"a restart loses nothing":                {Restart, "", func(_ *Machine, s *Server, _ *Round, st *Step) bool { return st.Last == s.Counter }},
		"a restart loses all":                    {Restart, "", func(_ *Machine, _ *Server, _ *Round, st *Step) bool { return st.Last == 0 }},
		"counters are never lost within a run":   {Lose, "", func(*Machine, *Server, *Round, *Step) bool { return false }},
		"keys of leases don't go":                {Delete, "", func(m *Machine, s *Server, _ *Round, _ *Step) bool { return !m.Rounds[s.Holder-1].Valid }},
	} {
		t.Run(name, func(t *testing.T) {
			var found error
			for _, log := range logs {
				if _, err := compare(log, append(rules(), stricter)); err != nil {
					found = err
					break
				}
			}
			require.ErrorIs(t, found, ErrRun)
			require.ErrorIs(t, found, ErrNoStep)
			assert.ErrorContains(t, found, string(stricter.kind))
		})
	}
	for _, log := range logs {
		require.NoError(t, Check(log))
	}
}

// The error names the first event that isn't a step.
func TestFirstEvent(t *testing.T) {
	s, err := scenarios.ByID("S22")
	require.NoError(t, err)
	d, err := s.Design("default")
	require.NoError(t, err)
	r, err := s.Play(0, d)
	require.NoError(t, err)
	require.NoError(t, Check(r.Log))
	changed := 0
	for e := range r.Log.All() {
		if e.Kind == record.Voted && e.Op == "acquire" && e.Words == "granted" {
			changed++
			e.Change.Locks[0].After.Counter++
			err := Check(r.Log)
			require.ErrorIs(t, err, ErrRun)
			assert.ErrorContains(t, err, "acquire "+e.Process+"#", "it has the event's line")
			assert.ErrorContains(t, err, "the counter of \"k\" is ")
			e.Change.Locks[0].After.Counter--
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
	cfg.Quorum.Cohorts, cfg.Quorum.Notifications = quorum.Off, quorum.Off
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
