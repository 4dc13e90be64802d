package search_test

import (
	"context"
	"io"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// find searches a space without worker processes.
func find(t *testing.T, space search.Space, to uint64) search.Report {
	t.Helper()
	report, err := search.Search(t.Context(), registry(), space, search.Options{To: to})
	require.NoError(t, err)
	return report
}

// first plays consecutive seeds of a space, from one close below it, until one shows a violation of
// a kind.
func first(t *testing.T, space search.Space, of record.ViolationKind, from uint64) search.Finding {
	t.Helper()
	const step = 8
	for end := from + 400; from < end; from += step {
		report, err := search.Search(t.Context(), registry(), space, search.Options{From: from, To: from + step})
		require.NoError(t, err)
		for _, f := range report.Kinds() {
			if f.Kind == of {
				return f
			}
		}
	}
	require.Fail(t, "no such violation, so nothing is shown", "%q in 400 seeds", of)
	return search.Finding{}
}

// few is how many runs a test plays if their number doesn't matter.
func few() uint64 { return long.Number[uint64](64, 32) }

func draw(design string) search.Space {
	return search.Space{Setup: setup(design)}
}

// kind returns the finding of a kind, or fails.
func kind(t *testing.T, report search.Report, kind record.ViolationKind) search.Finding {
	t.Helper()
	kinds := report.Kinds()
	i := slices.IndexFunc(kinds, func(f search.Finding) bool { return f.Kind == kind })
	require.GreaterOrEqual(t, i, 0, "no %q in %v", kind, kinds)
	return kinds[i]
}

// The findings don't depend on the number of workers, or on whether there are any.
func TestSameOutcomeWithAnyNumberOfWorkers(t *testing.T) {
	space := draw("forgetful")
	runs := few() / 2
	want := find(t, space, runs)
	require.True(t, want.Ended)
	require.Equal(t, runs, want.Runs)
	first := kind(t, want, record.TwoHolders)
	assert.Equal(t, first.First, first.Setup.Seed)
	for _, workers := range []int{1, 2, 3} {
		var told []uint64
		report, err := search.Search(t.Context(), registry(), space, search.Options{
			To: runs, Workers: workers, Worker: worker,
			Progress: func(b search.Batch) { told = append(told, b.To) },
		})
		require.NoError(t, err)
		require.Equal(t, want, report, "%d workers", workers)
		assert.True(t, slices.IsSorted(told))
		assert.Equal(t, runs, told[len(told)-1])
	}
}

// A run that kills its worker is named, with the worker's output.
func TestWorkersThatDie(t *testing.T) {
	space := search.Space{Setup: search.Setup{Workload: "kills the process", Design: "default"}, Faults: []fault.Kind{fault.Hang}}
	report, err := search.Search(t.Context(), registry(), space, search.Options{From: 60, To: 80, Workers: 1, Worker: worker})
	require.ErrorContains(t, err, "a worker process ended while it played run 70: exit status 7\nout of order")
	assert.False(t, report.Ended)
}

// A deadlock doesn't kill the worker: it is found.
func TestDeadlocksAreFound(t *testing.T) {
	space := search.Space{Setup: search.Setup{Workload: "never ends", Design: "default"}, Faults: []fault.Kind{fault.Lose}}
	report, err := search.Search(t.Context(), registry(), space, search.Options{To: 6, Workers: 1, Worker: worker})
	require.NoError(t, err)
	assert.Equal(t, uint64(3), kind(t, report, record.Stuck).First)
}

func TestWorkersThatCannotStart(t *testing.T) {
	for says, program := range map[string]string{"no such file": "/nowhere/to/be/found", "exit status 1": "false"} {
		worker := func(ctx context.Context, in io.Reader, out, errs io.Writer) error {
			return runs(exec.CommandContext(ctx, program), in, out, errs)
		}
		_, err := search.Search(t.Context(), registry(), draw("default"), search.Options{To: 100, Workers: 2, Worker: worker})
		assert.ErrorContains(t, err, "a worker process ended before it played anything: ")
		assert.ErrorContains(t, err, says)
	}
}

// An interrupted search has the findings so far, without a gap.
func TestInterruption(t *testing.T) {
	for _, workers := range []int{0, 2} {
		ctx, cancel := context.WithCancel(t.Context())
		report, err := search.Search(ctx, registry(), draw("forgetful"), search.Options{
			To: 1 << 40, Workers: workers, Worker: worker,
			Progress: func(b search.Batch) {
				if b.Runs >= 32 {
					cancel()
				}
			},
		})
		cancel()
		require.NoError(t, err)
		assert.False(t, report.Ended)
		assert.GreaterOrEqual(t, report.Runs, uint64(32))
		assert.Equal(t, find(t, draw("forgetful"), report.To).Batch, report.Batch, "%d workers", workers)
	}
}

// An interruption ends a run, not only a search: the workload ends the context, and would otherwise
// continue forever.
func TestRunIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := simulation.RunContext(ctx, 1, simulation.Config{Horizon: 1 << 62, MaxEvents: 1 << 40}, nil, func(c *simulation.Client) {
		for c.Sleep(time.Second); ; c.Sleep(time.Second) {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "interrupted after 1s of virtual time")
}

func TestFaultsAreRestricted(t *testing.T) {
	space := draw("default")
	space.Faults = []fault.Kind{fault.Pause}
	report := find(t, space, few()/2)
	assert.Positive(t, report.Counts["a process was paused"])
	assert.Zero(t, report.Counts["a process crashed"])
	assert.Contains(t, report.Unreached(), "a process crashed")
	assert.NotContains(t, report.Unreached(), "a process was paused")
}

func TestBadSpaces(t *testing.T) {
	search1 := func(change func(*search.Space, *search.Options)) error {
		space, options := draw("default"), search.Options{To: 1}
		change(&space, &options)
		_, err := search.Search(t.Context(), registry(), space, options)
		return err
	}
	for says, change := range map[string]func(*search.Space, *search.Options){
		`no workload "sing"; there are mixed, crowd, relay, terms`: func(s *search.Space, _ *search.Options) { s.Workload = "sing" },
		`no design "x"; there are default`:                         func(s *search.Space, _ *search.Options) { s.Design = "x" },
		`no fault "rain"`:                                          func(s *search.Space, _ *search.Options) { s.Faults = []fault.Kind{"rain"} },
		"at most 2000 faults":                                      func(s *search.Space, _ *search.Options) { s.Most = 2000 },
		"cover none of the faults [evict split-brain]": func(s *search.Space, _ *search.Options) {
			s.Within, s.Faults = true, []fault.Kind{fault.Evict, fault.SplitBrain}
		},
		"from 2 to 1":      func(_ *search.Space, o *search.Options) { o.From = 2 },
		"-1 workers":       func(_ *search.Space, o *search.Options) { o.Workers = -1 },
		"without a Worker": func(_ *search.Space, o *search.Options) { o.Workers = 1 },
	} {
		err := search1(change)
		require.ErrorIs(t, err, search.ErrSetup, "%s", says)
		assert.ErrorContains(t, err, says)
	}
	// A worker process reports that as well: here its registry has no such workload.
	r := registry()
	r.Workloads = append(r.Workloads, search.Workload{Name: "mine alone", Work: workload("mixed").Work})
	_, err := search.Search(t.Context(), r, search.Space{Setup: search.Setup{Workload: "mine alone", Design: "default"}}, search.Options{To: 1, Workers: 1, Worker: worker})
	require.ErrorIs(t, err, search.ErrSetup)
	assert.ErrorContains(t, err, "a worker says")
}
