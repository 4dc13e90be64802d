package scenarios_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
)

// A check that can't fail proves nothing.
func TestCheckSaysNo(t *testing.T) {
	two := []record.ViolationKind{record.TwoHolders}
	found := simulation.Result{Log: record.Log{{Kind: record.Found, Violation: &record.Violation{Kind: record.TwoHolders}}}}
	quiet := simulation.Result{Log: record.Log{
		{Kind: record.Counted, Words: "a process was paused"}, {Kind: record.Write, Process: "c1"},
	}}
	for _, test := range []struct {
		name    string
		verdict scenarios.Verdict
		result  simulation.Result
		says    string // "" for yes
	}{
		{"as expected", scenarios.Verdict{Kinds: two}, found, ""},
		{"nothing, as expected", scenarios.Verdict{}, quiet, ""},
		{"another kind", scenarios.Verdict{Kinds: []record.ViolationKind{record.LostUpdate}}, found, "found two holders, want lost update"},
		{"more kinds", scenarios.Verdict{}, found, "found two holders, want none"},
		{"nothing where something was due", scenarios.Verdict{Kinds: two}, quiet, "found none, want two holders"},
		{"reached, by a counter and by the history", scenarios.Verdict{Reached: []string{"a process was paused", "c1 write"}}, quiet, ""},
		{"not reached", scenarios.Verdict{Reached: []string{"c2 write"}}, quiet, `"c2 write" never happened`},
		{"what mustn't", scenarios.Verdict{Never: []string{"c1 write"}}, quiet, `"c1 write" happened 1 times, and mustn't`},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := designs.Design{Name: "some"}
			s := scenarios.Scenario{ID: "S0", Verdicts: map[string]scenarios.Verdict{d.Name: test.verdict}}
			err := s.Check(test.result, d)
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, scenarios.ErrUnexpected)
			assert.ErrorContains(t, err, "S0 with some: ")
			assert.ErrorContains(t, err, test.says)
		})
	}
	s := scenarios.Scenario{ID: "S0", Reached: []string{"never"}, Verdicts: map[string]scenarios.Verdict{"some": {}}}
	require.ErrorContains(t, s.Check(quiet, designs.Design{Name: "some"}), `"never" never happened`, "the scenario's own")
	require.ErrorIs(t, s.Check(quiet, designs.Design{Name: "other"}), scenarios.ErrUnknown)
}

// A client must get the lock between two moments of the scenario, which begins after a
// second.
func TestFree(t *testing.T) {
	acquired := func(process string, at time.Duration) simulation.Result {
		return simulation.Result{Log: record.Log{{At: at, Process: process, Kind: record.Asked}, {At: at, Process: process, Kind: record.Acquired}}}
	}
	demand := scenarios.Free{Process: "c2", After: time.Second, By: 2 * time.Second}
	anybody := demand
	anybody.Process = fault.Any
	for _, test := range []struct {
		name   string
		demand scenarios.Free
		result simulation.Result
		broken bool
	}{
		{"in time", demand, acquired("c2", 2500*time.Millisecond), false},
		{"at the last moment", demand, acquired("c2", 3*time.Second), false},
		{"too late", demand, acquired("c2", 3001*time.Millisecond), true},
		{"too early", demand, acquired("c2", 1999*time.Millisecond), true},
		{"another", demand, acquired("c1", 2500*time.Millisecond), true},
		{"anybody", anybody, acquired("c1", 2500*time.Millisecond), false},
		{"nobody", anybody, simulation.Result{}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := scenarios.Scenario{Free: []scenarios.Free{test.demand}}
			r := s.Judge(test.result)
			if !test.broken {
				assert.Empty(t, r.Log.Violations())
				return
			}
			require.Len(t, r.Log.Violations(), 1)
			assert.Equal(t, record.NoProgress, r.Log.Violations()[0].Kind)
			assert.Equal(t, 3*time.Second, r.Log.Violations()[0].At)
		})
	}
}
