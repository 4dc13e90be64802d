package matrix

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/farm"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
)

// Every cell is as expected, as far as a few seeds can show; finding a violation needs more.
func TestNothingUnexpected(t *testing.T) {
	long.Test(t, "it plays every cell")
	p := DefaultPlan()
	p.Seeds, p.ScenarioSeeds, p.CurveSeeds = few(3), 0, 0
	r, err := Play(t.Context(), p, Pool{})
	require.NoError(t, err)
	require.True(t, r.Ended)
	for _, err := range r.Unexpected() {
		t.Error(err)
	}
	runs, violated := r.Safe()
	assert.Greater(t, runs, 100*int(p.Seeds))
	assert.Zero(t, violated)
}

// Designs that break under a fault are found.
func TestWhatBreaksIsFound(t *testing.T) {
	seeds := uint64(soon)
	long.Test(t, "it takes many runs")
	p := Plan{Designs: []string{"setpx-cad", "redlock", "default", "token-admit"}, Faults: []string{"pause", "restart-empty"}, Seeds: seeds}
	r, err := Play(t.Context(), p, Pool{})
	require.NoError(t, err)
	assert.Empty(t, r.Unexpected())
	m := r.Matrix()
	for i, want := range [][]bool{{true, true}, {true, true}, {true, false}, {false, false}} {
		for j, violated := range want {
			cell := m.Cells[i][j]
			assert.Equal(t, violated, cell.Violated > 0, "%s / %s", m.Designs[i].Name, m.Faults[j].Name)
			assert.Empty(t, cell.Unreached)
			if violated {
				assertFirst(t, p.Faults[j], p.Designs[i], cell)
			}
		}
	}
}

// assertFirst plays a cell's first seed with a violation again, and the seeds before it.
func assertFirst(t *testing.T, fault, name string, cell report.Cell) {
	t.Helper()
	f, err := cells.ByName(fault)
	require.NoError(t, err)
	for seed := range cell.Seed + 1 {
		r, err := f.Play(seed, design(t, name))
		require.NoError(t, err)
		require.Equal(t, seed == cell.Seed, len(r.Log.Violations()) > 0, "%s / %s, seed %d", name, fault, seed)
	}
	assert.Equal(t, command(fault, name, cell.Seed), cell.Command)
}

// inBytes is a complete result, in bytes.
func inBytes(t *testing.T, r Result) string {
	t.Helper()
	var b bytes.Buffer
	all := report.Report{Matrix: r.Matrix(), Verdicts: r.Verdicts(), Curves: r.Curves(), Runs: r.Runs}
	require.NoError(t, all.JSON(&b))
	require.NoError(t, all.Matrix.Text(&b))
	require.NoError(t, r.VerdictTable(&b))
	require.NoError(t, r.CurveTable(&b))
	return b.String()
}

// The result is the same with no worker, one and two.
func TestSameWithAnyNumberOfWorkers(t *testing.T) {
	p := Plan{
		Designs: []string{"setpx-cad", "redlock"}, Faults: []string{"pause", "restart-empty"}, Seeds: few(chunk + 8),
		Scenarios: []string{"S1", "S4"}, ScenarioSeeds: 2, CurveSeeds: 1,
	}
	var first string
	for workers := range 3 {
		if !long.Asked() && workers == 1 {
			continue
		}
		r, err := Play(t.Context(), p, Pool{Workers: workers, Command: process(asWorker)})
		require.NoError(t, err)
		require.True(t, r.Ended)
		if workers == 0 {
			first = inBytes(t, r)
			require.Contains(t, first, `"redlock"`)
			continue
		}
		require.Equal(t, first, inBytes(t, r), "%d workers", workers)
	}
}

// An interruption leaves the results so far.
func TestInterrupted(t *testing.T) {
	for workers := range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var told atomic.Int64
		p := Plan{Designs: []string{"redlock", "default"}, Faults: []string{"slow", "pause"}, Seeds: 2 * chunk}
		r, err := Play(ctx, p, Pool{Workers: workers, Command: process(asWorker), Progress: func(runs, of int) {
			assert.Equal(t, 8*chunk, of)
			told.Store(int64(runs))
			cancel()
		}})
		require.NoError(t, err)
		assert.False(t, r.Ended)
		assert.Equal(t, chunk, r.Runs)
		assert.Equal(t, int64(chunk), told.Load())
		assert.Equal(t, chunk, r.Matrix().Cells[0][0].Runs, "the first seeds of the first cell")
		assert.Zero(t, r.Matrix().Cells[1][1].Runs)
	}
}

func TestWorkersThatFail(t *testing.T) {
	p := Plan{Designs: []string{"redlock"}, Faults: []string{"slow"}, Seeds: 1}
	_, err := Play(t.Context(), p, Pool{Workers: 2, Command: process(asDying)})
	require.ErrorContains(t, err, "a worker process ended before it played anything")
	require.ErrorContains(t, err, "exit status 7")
	require.ErrorContains(t, err, "out of order")

	_, err = Play(t.Context(), p, Pool{Workers: 1, Command: func(ctx context.Context) farm.Command { return exec.CommandContext(ctx, "/nowhere/at/all") }})
	require.ErrorContains(t, err, "no worker could be started")
}

// If a worker is killed, its task is played once more.
func TestWorkersThatAreKilled(t *testing.T) {
	p := Plan{Designs: []string{"redlock"}, Faults: []string{"slow"}, Seeds: 2}
	started := 0
	r, err := Play(t.Context(), p, Pool{Workers: 1, Command: func(ctx context.Context) farm.Command {
		if started++; started == 1 {
			return process(asDying)(ctx)
		}
		return process(asWorker)(ctx)
	}})
	require.NoError(t, err)
	assert.True(t, r.Ended)
	assert.Equal(t, 2, r.Runs)
	assert.Equal(t, 2, r.Planned)
}

func TestServe(t *testing.T) {
	for says, what := range map[string]string{
		`"runs":2`:                         `{"part":"cell","a":"slow","b":"redlock"}`,
		`no fault \"x\"`:                   `{"part":"cell","a":"x"}`,
		`isn't played with a design \"x\"`: `{"part":"verdict","a":"S1","b":"x"}`,
		`has no point \"9/9\"`:             `{"part":"curve","a":"pause","b":"9/9"}`,
		`no part \"song\"`:                 `{"part":"song"}`,
	} {
		var out bytes.Buffer
		err := Serve(strings.NewReader(`{}{"what":`+what+`,"from":0,"to":2}`), &out)
		require.Contains(t, out.String(), says)
		require.Equal(t, says == `"runs":2`, err == nil, "%v", err)
	}
}

func TestBadPlans(t *testing.T) {
	good := Pool{}
	for says, p := range map[string]Plan{
		"no such design": {Designs: []string{"x"}, Faults: []string{"slow"}},
		"no fault":       {Designs: []string{"redlock"}, Faults: []string{"x"}},
		"named twice":    {Designs: []string{"redlock", "redlock"}, Faults: []string{"slow"}},
		"some of both":   {Designs: []string{"redlock"}},
		"no scenario":    {Scenarios: []string{"S99"}},
		"at most":        {Seeds: 1 << 60},
	} {
		_, err := Play(t.Context(), p, good)
		require.ErrorContains(t, err, says)
		known := errors.Is(err, ErrPlan) || errors.Is(err, cells.ErrUnknown) || errors.Is(err, designs.ErrUnknown) || errors.Is(err, scenarios.ErrUnknown)
		require.True(t, known, "%v", err)
	}
	_, err := Play(t.Context(), Plan{}, Pool{Workers: -1})
	require.ErrorIs(t, err, ErrPlan)
	_, err = Play(t.Context(), Plan{}, Pool{Workers: 1})
	require.ErrorIs(t, err, ErrPlan)
	r, err := Play(t.Context(), Plan{}, good)
	require.NoError(t, err)
	require.True(t, r.Ended)
	require.Empty(t, r.Curves())
	require.Empty(t, r.Verdicts())
}

// The table of verdicts is the scenarios' own, within 100 columns.
func TestVerdictTable(t *testing.T) {
	p := Plan{ScenarioSeeds: 1, Scenarios: []string{"S1", "S4", "S17"}}
	r, err := Play(t.Context(), p, Pool{})
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, r.VerdictTable(&b))
	rows := map[string]string{}
	for line := range strings.Lines(b.String()) {
		line = strings.TrimRight(line, "\n")
		require.LessOrEqual(t, utf8.RuneCountInString(line), 100)
		id, _, _ := strings.Cut(line, " ")
		rows[id] = line
	}
	column := func(id, name string) string {
		for i, d := range cells.Rows() {
			if d.Name == name {
				return rows[id][6+2*i : 7+2*i]
			}
		}
		return "?"
	}
	assert.Equal(t, "v", column("S1", "default"))
	assert.Equal(t, ".", column("S1", "token-admit"))
	assert.Equal(t, "v", column("S4", "redlock"))
	assert.Equal(t, ".", column("S4", "monitor"))
	assert.Equal(t, "v", column("S17", "setpx-del"))
	assert.Contains(t, rows["S4"], "A server's clock jumps forward")
	assert.NotContains(t, b.String(), "S2 ")
	for _, row := range r.Verdicts() {
		assert.True(t, row.OK, "%+v", row)
		assert.Equal(t, row.Expected, row.Seen)
	}
}

// A scenario with another outcome is reported, with the first seed.
func TestVerdictsThatAreWrong(t *testing.T) {
	r := Result{Plan: Plan{Scenarios: []string{"S1"}, ScenarioSeeds: 3}, Ended: true, sums: map[task]tally{}}
	sum := tally{Runs: 3}
	sum.Wrong.add(found{1, 2, "found nothing"})
	sum.Wrong.add(found{1, 1, "found too much"})
	r.sums[task{Part: ofVerdict, A: "S1", B: "default"}] = sum
	rows := r.Verdicts()
	require.Len(t, rows, 1)
	assert.False(t, rows[0].OK)
	assert.Equal(t, uint64(1), rows[0].Seed)
	require.Len(t, r.Unexpected(), 1)
	assert.ErrorContains(t, r.Unexpected()[0], "found too much (redlocksim run S1 -design default -seed 1)")
	var b strings.Builder
	require.NoError(t, r.VerdictTable(&b))
	assert.Regexp(t, `(?m)^S1 .*!`, b.String())
}

// Tallies are the same in any order.
func TestTally(t *testing.T) {
	parts := []tally{
		{Runs: 2, Events: 5, Violated: found{1, 9, "b"}, Kinds: map[record.ViolationKind]found{"x": {1, 9, ""}}, Counts: map[string]int{"c": 1}, Sum: 4, Squares: 16},
		{Runs: 3, Events: 6, Violated: found{2, 4, "a"}, Kinds: map[record.ViolationKind]found{"x": {2, 4, ""}, "y": {1, 5, ""}}, Counts: map[string]int{"c": 2, "d": 1}, Wrong: found{1, 4, "w"}},
		{Runs: 1},
	}
	var want tally
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		var sum tally
		for _, i := range order {
			sum.add(parts[i])
		}
		if want.Runs == 0 {
			want = sum
			assert.Equal(t, tally{
				Runs: 6, Events: 11, Violated: found{3, 4, "a"}, Kinds: map[record.ViolationKind]found{"x": {3, 4, ""}, "y": {1, 5, ""}},
				Counts: map[string]int{"c": 3, "d": 1}, Wrong: found{1, 4, "w"}, Sum: 4, Squares: 16,
			}, sum)
		}
		assert.Equal(t, want, sum)
	}
	assert.Equal(t, 1, parts[0].Counts["c"], "what is added stays as it was")
}

// Wilson's intervals, against published values.
func TestIntervals(t *testing.T) {
	for _, test := range []struct {
		hits, runs int
		low, high  float64
	}{
		{0, 10, 0, .2775}, {5, 10, .2366, .7634}, {10, 100, .0552, .1744}, {10, 10, .7225, 1}, {0, 0, 0, 1},
	} {
		low, high := report.Cell{Runs: test.runs, Violated: test.hits}.Interval()
		assert.InDelta(t, test.low, low, .0001, "%+v", test)
		assert.InDelta(t, test.high, high, .0001, "%+v", test)
	}
}

// Timelines show findings, and are linked.
func TestTimelines(t *testing.T) {
	p := Plan{Designs: []string{"redlock", "token-admit"}, Faults: []string{"pause"}, Seeds: few(30), Scenarios: []string{"S1", "S4", "S7"}, ScenarioSeeds: 1}
	r, err := Play(t.Context(), p, Pool{})
	require.NoError(t, err)
	lines, err := r.Timelines()
	require.NoError(t, err)
	page := report.Report{Matrix: r.Matrix(), Verdicts: r.Verdicts()}
	lines.Link(&page)
	require.Len(t, page.Timelines, 4, "one of each scenario, and one of the cells")
	var html bytes.Buffer
	require.NoError(t, report.HTML(&html, page))
	ids := map[string]string{}
	for _, run := range page.Timelines {
		ids[run.ID] = run.Log.String()
	}
	assert.Contains(t, ids[page.Matrix.Cells[0][0].Timeline], "VIOLATION two holders")
	assert.Empty(t, page.Matrix.Cells[1][0].Timeline)
	linked := 0
	for _, row := range page.Verdicts {
		if row.Timeline == "" {
			continue
		}
		linked++
		for _, kind := range row.Seen {
			assert.Contains(t, ids[row.Timeline], "VIOLATION "+kind)
		}
	}
	assert.Equal(t, 3, linked)
	(*Timelines)(nil).Link(&page)
}
