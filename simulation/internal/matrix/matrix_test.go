package matrix

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/byname"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
)

// The result is the same with any number of processors.
func TestSameWithAnyNumberOfProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	p := Plan{Designs: []string{"setpx-cad", "redlock"}, Faults: []string{"pause", "restart-empty"}, Seeds: long.Number[uint64](38, 6)}
	results := map[string]bool{}
	for number := range long.Number(3, 2) {
		runtime.GOMAXPROCS(1 + number)
		r, err := Play(t.Context(), p, nil)
		require.NoError(t, err)
		require.True(t, r.Ended)
		results[fmt.Sprintf("%+v", r.Matrix())] = true
	}
	require.Len(t, results, 1)
}

// An interruption leaves the results so far: the first seeds of the first cells.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := 0
	p := Plan{Designs: []string{"redlock", "default"}, Faults: []string{"slow", "pause"}, Seeds: 1 << 40}
	r, err := Play(ctx, p, func(runs, of int) {
		assert.Equal(t, 1<<42, of)
		if told = runs; runs == 5 {
			cancel()
		}
	})
	require.NoError(t, err)
	assert.False(t, r.Ended)
	assert.Equal(t, 5, r.Runs)
	assert.Equal(t, 5, told)
	cells := r.Matrix().Cells
	assert.Equal(t, 2, cells[0][0].Runs)
	assert.Equal(t, 1, cells[1][1].Runs)
}

func TestBadPlans(t *testing.T) {
	for says, p := range map[string]Plan{
		`no design "x"`: {Designs: []string{"x"}, Faults: []string{"slow"}},
		`no fault "x"`:  {Designs: []string{"redlock"}, Faults: []string{"x"}},
	} {
		_, err := Play(t.Context(), p, nil)
		require.ErrorContains(t, err, says)
		require.ErrorIs(t, err, byname.ErrUnknown)
	}
	r, err := Play(t.Context(), Plan{}, nil)
	require.NoError(t, err)
	require.True(t, r.Ended)
}

// The logs show findings.
func TestWithLogs(t *testing.T) {
	p := Plan{Designs: []string{"redlock", "token-admit"}, Faults: []string{"pause"}, Seeds: long.Number[uint64](30, 5)}
	r, err := Play(t.Context(), p, nil)
	require.NoError(t, err)
	m, err := r.WithLogs()
	require.NoError(t, err)
	assert.Contains(t, m.Cells[0][0].Log.String(), "VIOLATION two holders")
	assert.Nil(t, m.Cells[1][0].Log)
}

// made is a result with one cell, whose runs have the seeds 7 and 8, and these kinds of violations.
func made(t *testing.T, fault, design string, kinds ...record.ViolationKind) Result {
	t.Helper()
	r, err := Plan{Designs: []string{design}, Faults: []string{fault}}.begin()
	require.NoError(t, err)
	var log record.Log
	for i := range kinds {
		log.Add(0, record.Found, "", "").Violation = &record.Violation{Kind: kinds[i]}
	}
	for seed := range uint64(2) {
		r.cells[0].add(7+seed, r.cells[0].judge(simulation.Result{Log: log}))
	}
	return r
}

// Unexpected outcomes are found, and nothing else.
func TestJudgement(t *testing.T) {
	for _, test := range []struct {
		fault, design string
		kind          record.ViolationKind
		says          string // "": as expected
	}{
		{"cut", "default", record.TwoHolders, "in 2 of 2 runs, first with seed 7: two holders was not expected"},
		{"pause", "token-admit", record.StaleWrite, "no run should break this lock, because the resource sees a holder's token"},
		{"pause", "default", record.TwoHolders, ""},
		{"pause", "default", record.NeverFree, "never free was not expected: some runs may break this lock, because"},
		{"failover", "default", record.TokenOrder, "because servers that have restarted"},
		{"all", "idempotent", record.TokenOrder, ""},
		{"all", "idempotent", record.TwoHolders, ""}, // a belief, see below
		{"all", "idempotent", record.Overvalued, ""}, // another one
		{"evict", "default", record.TokenOrder, "token order"},
		{"all", "default", record.NeverFree, ""},
		{"all", "default", record.Panicked, "panic"},
		{"cut", "no-timeout", record.Stuck, ""},
		{"cut", "value-reused", record.TwoHolders, ""}, // nothing is expected of it
	} {
		r := made(t, test.fault, test.design, test.kind)
		unexpected := r.Unexpected()
		assert.Equal(t, test.says != "", r.Matrix().Cells[0][0].Unexpected, "%+v", test)
		if test.says == "" {
			assert.Empty(t, unexpected, "%+v", test)
			continue
		}
		require.Len(t, unexpected, 1, "%+v", test)
		assert.ErrorContains(t, unexpected[0], test.says)
	}
	assert.Empty(t, made(t, "cut", "default").Unexpected())
}

// A lease with too long a validity counts against the designs that promise its validity, and counts
// in no cell.
func TestOvervaluedCountsInNoCell(t *testing.T) {
	r, err := Play(t.Context(), Plan{Designs: []string{"setpx-cad", "redlock"}, Faults: []string{"rate"}, Seeds: 10}, nil)
	require.NoError(t, err)
	for _, row := range r.Matrix().Cells {
		assert.Positive(t, row[0].Overvalued)
		assert.NotContains(t, row[0].Kinds, string(record.Overvalued))
		assert.Less(t, row[0].Violated, row[0].Runs)
	}
}

// The summary names the faults that break this library and have no row.
func TestOtherFaults(t *testing.T) {
	assert.Equal(t, "Other faults that break this library: evict (100 %).", made(t, "evict", "default", record.TwoHolders).Summary().Others)
	assert.Empty(t, made(t, "pause", "default", record.TwoHolders).Summary().Others)
	assert.Empty(t, made(t, "evict", "redlock", record.TwoHolders).Summary().Others)
	assert.Empty(t, made(t, "evict", "default").Summary().Others)
}

// Beliefs don't count if the resource checks tokens.
func TestWhatCounts(t *testing.T) {
	r := made(t, "pause", "token-admit", record.TwoHolders)
	cell := r.Matrix().Cells[0][0]
	assert.Zero(t, cell.Violated)
	assert.Empty(t, cell.Kinds)
	assert.Equal(t, []string{"a lease was acquired", "a process was paused", "a write was carried out after its lease or the guard refused a write"}, cell.Unreached)
	runs, violated := r.Safe()
	assert.Equal(t, 2, runs)
	assert.Zero(t, violated)
	r = made(t, "pause", "token-admit", record.LostUpdate)
	_, violated = r.Safe()
	assert.Equal(t, 2, violated)
	cell = r.Matrix().Cells[0][0]
	assert.EqualValues(t, 7, cell.Seed)
	assert.Equal(t, map[string]uint64{"lost update": 7}, cell.First)
	runs, _ = made(t, "pause", "default").Safe()
	assert.Zero(t, runs, "violations are expected there")
}
