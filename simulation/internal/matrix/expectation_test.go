package matrix

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
)

// The rules name existing things, give reasons, and cover every cell of the default rows.
func TestRulesAreSound(t *testing.T) {
	for _, r := range rules {
		assert.NotEmpty(t, r.Why)
		assert.NotEmpty(t, r.designs)
		for _, name := range r.designs {
			design(t, name)
		}
		for _, name := range r.faults {
			_, err := ByName(name)
			assert.NoError(t, err)
		}
		if r.Within > 0 {
			assert.Positive(t, r.Within, r.Why)
		}
		if !r.Broken {
			assert.Empty(t, r.Only, r.Why)
		}
	}
	for _, f := range Faults() {
		for _, d := range Rows() {
			_, ok := ExpectationOf(f.Name, d.Name)
			assert.True(t, ok, "%s / %s", d.Name, f.Name)
		}
		_, ok := ExpectationOf(f.Name, "textbook")
		assert.False(t, ok)
	}
}

// A column that breaks no design would prove nothing: each has a design that it surely breaks,
// beside the same design without a feature.
func TestEachColumnBites(t *testing.T) {
	easy := map[string]bool{"setnx": true, "setpx-del": true, "setnx-expire": true}
	without := map[string]string{
		"crash": "what X1 breaks is setnx, more often", "restart-kept": "a server that keeps its data breaks no design",
		"duplicate": "S10b breaks what it breaks", "reconnect": "S10b breaks what it breaks",
	}
	for _, f := range Faults() {
		bites := false
		for _, d := range designs.All() {
			want, ok := ExpectationOf(f.Name, d.Name)
			bites = bites || ok && want.Within > 0 && !easy[d.Name]
		}
		if without[f.Name] == "" {
			assert.True(t, bites, f.Name)
		}
	}
}

func TestPromises(t *testing.T) {
	for name, fenced := range map[string]bool{"setnx": false, "default": false, "token-write": true, "token-admit": true, "idempotent": true, "token-after": true} {
		d := design(t, name)
		assert.Equal(t, fenced, d.Fenced(), name)
		assert.Equal(t, !fenced, promised(d, simulation.TwoHolders), name)
		assert.Equal(t, !fenced, promised(d, simulation.Overvalued), name)
		assert.False(t, harms(d, simulation.Overvalued), name)
		for _, kind := range []simulation.ViolationKind{simulation.StaleWrite, simulation.LostUpdate, simulation.TokenOrder, simulation.NeverFree, simulation.NoProgress, simulation.Stuck} {
			assert.True(t, promised(d, kind), "%s: %s", name, kind)
		}
	}
}

// made is a result with one cell.
func made(fault, design string, runs int, kinds ...simulation.ViolationKind) Result {
	sum := tally{Runs: runs}
	for _, k := range kinds {
		sum.find(k, found{Runs: 1, First: 7})
		sum.Violated = found{Runs: 1, First: 7}
		sum.Broken = 1
	}
	return Result{
		Plan: Plan{Designs: []string{design}, Faults: []string{fault}, Seeds: uint64(runs)}, Ended: true,
		sums: map[task]tally{{Part: ofCell, A: fault, B: design}: sum},
	}
}

// Unexpected outcomes are found, and nothing else.
func TestJudgement(t *testing.T) {
	for _, test := range []struct {
		fault, design string
		runs          int
		kinds         []simulation.ViolationKind
		says          string // "": as expected
	}{
		{"cut", "default", 1000, nil, ""},
		{"cut", "default", 1000, []simulation.ViolationKind{simulation.TwoHolders}, "first with seed 7, and it was not expected"},
		{"pause", "token-admit", 10, []simulation.ViolationKind{simulation.StaleWrite}, "not expected, because the resource sees a holder's token"},
		{"pause", "default", soon, nil, "nothing found in 100 runs, and something was expected"},
		{"pause", "default", soon - 1, nil, ""},
		{"pause", "default", 1, []simulation.ViolationKind{simulation.TwoHolders}, ""},
		{"pause", "default", 1, []simulation.ViolationKind{simulation.NeverFree}, "never free"},
		{"failover", "default", 1000, nil, ""},
		{"failover", "default", 10, []simulation.ViolationKind{simulation.TokenOrder}, "not expected, because servers that have restarted"},
		{"all", "idempotent", 10, []simulation.ViolationKind{simulation.TokenOrder}, ""},
		{"all", "idempotent", 10, []simulation.ViolationKind{simulation.TwoHolders}, ""}, // a belief, see below
		{"evict", "default", 10, []simulation.ViolationKind{simulation.TokenOrder}, "token order in 1 of 10 runs"},
		{"all", "default", 10, []simulation.ViolationKind{simulation.NeverFree}, ""},
		{"all", "default", 10, []simulation.ViolationKind{simulation.Panicked}, "panic in 1 of 10 runs"},
		{"cut", "no-timeout", 10, []simulation.ViolationKind{simulation.Stuck}, ""},
		{"cut", "textbook", 10, []simulation.ViolationKind{simulation.TwoHolders}, ""}, // nothing is expected of it
	} {
		r := made(test.fault, test.design, test.runs, test.kinds...)
		unexpected := r.Unexpected()
		if test.says == "" {
			assert.Empty(t, unexpected, "%+v", test)
			assert.False(t, r.Matrix().Cells[0][0].Unexpected)
			continue
		}
		require.Len(t, unexpected, 1, "%+v", test)
		assert.ErrorContains(t, unexpected[0], test.says)
		assert.True(t, r.Matrix().Cells[0][0].Unexpected)
	}

	interrupted := made("pause", "default", soon)
	interrupted.Ended = false
	assert.Empty(t, interrupted.Unexpected(), "the rest might have shown more")
}

// A lease with too long a validity counts against the designs that promise its validity, and counts
// in no cell.
func TestOvervaluedCountsInNoCell(t *testing.T) {
	f, err := ByName("rate")
	require.NoError(t, err)
	for _, name := range []string{"setpx-cad", "redlock"} {
		d := design(t, name)
		assert.True(t, promised(d, simulation.Overvalued) && !harms(d, simulation.Overvalued), name)
		p := Plan{Designs: []string{name}, Faults: []string{f.Name}, Seeds: 10}
		r, err := Play(t.Context(), p, Pool{})
		require.NoError(t, err)
		cell := r.Matrix().Cells[0][0]
		assert.Positive(t, cell.Overvalued, name)
		assert.NotContains(t, cell.Kinds, string(simulation.Overvalued), name)
		assert.Less(t, cell.Violated, cell.Runs, name)
	}
}

// Beliefs don't count if the resource checks tokens.
func TestWhatCounts(t *testing.T) {
	r := made("pause", "token-admit", 10)
	sum := tally{Runs: 10}
	sum.find(simulation.TwoHolders, found{Runs: 4, First: 3})
	r.sums[task{Part: ofCell, A: "pause", B: "token-admit"}] = sum
	cell := r.Matrix().Cells[0][0]
	assert.Zero(t, cell.Violated)
	assert.Empty(t, cell.Kinds)
	assert.Equal(t, []string{"a lease was acquired", "a process was paused", "a write was carried out after its lease or the guard refused a write"}, cell.Unreached)
	runs, violated := r.Safe()
	assert.Equal(t, 10, runs)
	assert.Zero(t, violated)
}
