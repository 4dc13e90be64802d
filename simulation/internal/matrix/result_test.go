package matrix

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/record"
)

func design(t *testing.T, name string) designs.Design {
	t.Helper()
	d, err := designs.ByName(name)
	require.NoError(t, err)
	return d
}

// made is a result with one cell.
func made(fault, design string, runs int, kinds ...record.ViolationKind) Result {
	sum := tally{Runs: runs}
	for _, k := range kinds {
		sum.find(k, found{Runs: 1, First: 7})
		sum.Violated = found{Runs: 1, First: 7}
		sum.Broken = 1
	}
	return Result{
		Plan: Plan{Designs: []string{design}, Faults: []string{fault}, Seeds: uint64(runs)}, Ended: true,
		sums: map[task]tally{{fault, design}: sum},
	}
}

// soon is the number of runs in which most cells must show a violation.
var soon = func() int {
	e, _ := cells.ExpectationOf("pause", "default")
	return e.Within
}()

// Unexpected outcomes are found, and nothing else.
func TestJudgement(t *testing.T) {
	for _, test := range []struct {
		fault, design string
		runs          int
		kinds         []record.ViolationKind
		says          string // "": as expected
	}{
		{"cut", "default", 1000, nil, ""},
		{"cut", "default", 1000, []record.ViolationKind{record.TwoHolders}, "first with seed 7, and it was not expected"},
		{"pause", "token-admit", 10, []record.ViolationKind{record.StaleWrite}, "not expected, because the resource sees a holder's token"},
		{"pause", "default", soon, nil, "nothing found in 100 runs, and something was expected"},
		{"pause", "default", soon - 1, nil, ""},
		{"pause", "default", 1, []record.ViolationKind{record.TwoHolders}, ""},
		{"pause", "default", 1, []record.ViolationKind{record.NeverFree}, "never free"},
		{"failover", "default", 1000, nil, ""},
		{"failover", "default", 10, []record.ViolationKind{record.TokenOrder}, "not expected, because servers that have restarted"},
		{"all", "idempotent", 10, []record.ViolationKind{record.TokenOrder}, ""},
		{"all", "idempotent", 10, []record.ViolationKind{record.TwoHolders}, ""}, // a belief, see below
		{"evict", "default", 10, []record.ViolationKind{record.TokenOrder}, "token order in 1 of 10 runs"},
		{"all", "default", 10, []record.ViolationKind{record.NeverFree}, ""},
		{"all", "default", 10, []record.ViolationKind{record.Panicked}, "panic in 1 of 10 runs"},
		{"cut", "no-timeout", 10, []record.ViolationKind{record.Stuck}, ""},
		{"cut", "value-reused", 10, []record.ViolationKind{record.TwoHolders}, ""}, // nothing is expected of it
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
	f, err := cells.ByName("rate")
	require.NoError(t, err)
	for _, name := range []string{"setpx-cad", "redlock"} {
		d := design(t, name)
		assert.True(t, cells.Promised(d, record.Overvalued) && !cells.Harms(d, record.Overvalued), name)
		p := Plan{Designs: []string{name}, Faults: []string{f.Name}, Seeds: 10}
		r, err := Play(t.Context(), p, Pool{})
		require.NoError(t, err)
		cell := r.Matrix().Cells[0][0]
		assert.Positive(t, cell.Overvalued, name)
		assert.NotContains(t, cell.Kinds, string(record.Overvalued), name)
		assert.Less(t, cell.Violated, cell.Runs, name)
	}
}

// Beliefs don't count if the resource checks tokens.
func TestWhatCounts(t *testing.T) {
	r := made("pause", "token-admit", 10)
	sum := tally{Runs: 10}
	sum.find(record.TwoHolders, found{Runs: 4, First: 3})
	r.sums[task{"pause", "token-admit"}] = sum
	cell := r.Matrix().Cells[0][0]
	assert.Zero(t, cell.Violated)
	assert.Empty(t, cell.Kinds)
	assert.Equal(t, []string{"a lease was acquired", "a process was paused", "a write was carried out after its lease or the guard refused a write"}, cell.Unreached)
	runs, violated := r.Safe()
	assert.Equal(t, 10, runs)
	assert.Zero(t, violated)
}
