package matrix

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/record"
)

// made is a result with one cell, whose run with the seed 7 has these kinds of violations.
func made(t *testing.T, fault, design string, runs int, kinds ...record.ViolationKind) Result {
	t.Helper()
	r, _, err := Plan{Designs: []string{design}, Faults: []string{fault}}.plan()
	require.NoError(t, err)
	var log record.Log
	for i := range kinds {
		log.Add(0, record.Found, "", "").Violation = &record.Violation{Kind: kinds[i]}
	}
	sum := newTally()
	sum.add(job{fault: r.faults[0], design: r.designs[0]}.run(7, simulation.Result{Log: log}))
	sum.Runs = runs
	r.sums[name{fault, design}] = sum
	return r
}

// Unexpected outcomes are found, and nothing else.
func TestJudgement(t *testing.T) {
	for _, test := range []struct {
		fault, design string
		kinds         []record.ViolationKind
		says          string // "": as expected
	}{
		{"cut", "default", nil, ""},
		{"cut", "default", []record.ViolationKind{record.TwoHolders}, "in 1 of 10 runs, first with seed 7: two holders was not expected"},
		{"pause", "token-admit", []record.ViolationKind{record.StaleWrite}, "no run should break this lock, because the resource sees a holder's token"},
		{"pause", "default", nil, ""},
		{"pause", "default", []record.ViolationKind{record.TwoHolders}, ""},
		{"pause", "default", []record.ViolationKind{record.NeverFree}, "never free"},
		{"failover", "default", []record.ViolationKind{record.TokenOrder}, "because servers that have restarted"},
		{"all", "idempotent", []record.ViolationKind{record.TokenOrder}, ""},
		{"all", "idempotent", []record.ViolationKind{record.TwoHolders}, ""}, // a belief, see below
		{"evict", "default", []record.ViolationKind{record.TokenOrder}, "token order"},
		{"all", "default", []record.ViolationKind{record.NeverFree}, ""},
		{"all", "default", []record.ViolationKind{record.Panicked}, "panic"},
		{"cut", "no-timeout", []record.ViolationKind{record.Stuck}, ""},
		{"cut", "value-reused", []record.ViolationKind{record.TwoHolders}, ""}, // nothing is expected of it
	} {
		r := made(t, test.fault, test.design, 10, test.kinds...)
		unexpected := r.Unexpected()
		assert.Equal(t, test.says != "", r.Matrix().Cells[0][0].Unexpected, "%+v", test)
		if test.says == "" {
			assert.Empty(t, unexpected, "%+v", test)
			continue
		}
		require.Len(t, unexpected, 1, "%+v", test)
		assert.ErrorContains(t, unexpected[0], test.says)
	}
}

// A lease with too long a validity counts against the designs that promise its validity, and counts
// in no cell.
func TestOvervaluedCountsInNoCell(t *testing.T) {
	for _, name := range []string{"setpx-cad", "redlock"} {
		p := Plan{Designs: []string{name}, Faults: []string{"rate"}, Seeds: 10}
		r, err := Play(t.Context(), p, nil)
		require.NoError(t, err)
		cell := r.Matrix().Cells[0][0]
		assert.Positive(t, cell.Overvalued, name)
		assert.NotContains(t, cell.Kinds, string(record.Overvalued), name)
		assert.Less(t, cell.Violated, cell.Runs, name)
	}
}

// Beliefs don't count if the resource checks tokens.
func TestWhatCounts(t *testing.T) {
	r := made(t, "pause", "token-admit", 10, record.TwoHolders)
	cell := r.Matrix().Cells[0][0]
	assert.Zero(t, cell.Violated)
	assert.Empty(t, cell.Kinds)
	assert.Equal(t, []string{"a lease was acquired", "a process was paused", "a write was carried out after its lease or the guard refused a write"}, cell.Unreached)
	runs, violated := r.Safe()
	assert.Equal(t, 10, runs)
	assert.Zero(t, violated)
	r = made(t, "pause", "token-admit", 10, record.LostUpdate)
	_, violated = r.Safe()
	assert.Equal(t, 1, violated)
	assert.Equal(t, map[string]uint64{"lost update": 7}, r.Matrix().Cells[0][0].First)
}
