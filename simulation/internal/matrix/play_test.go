package matrix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/internal/report"
)

// inBytes is a complete result, in bytes.
func inBytes(t *testing.T, r Result) string {
	t.Helper()
	var b bytes.Buffer
	all := report.Report{Matrix: r.Matrix(), Runs: r.Runs}
	require.NoError(t, json.NewEncoder(&b).Encode(all))
	all.Matrix.Text(&b)
	return b.String()
}

// The result is the same with any number of processors.
func TestSameWithAnyNumberOfProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	p := Plan{
		Designs: []string{"setpx-cad", "redlock"}, Faults: []string{"pause", "restart-empty"}, Seeds: few(chunk + 8),
	}
	results := map[string]bool{}
	for number := range long.Number(3, 2) {
		runtime.GOMAXPROCS(1 + number)
		r, err := Play(t.Context(), p, nil)
		require.NoError(t, err)
		require.True(t, r.Ended)
		results[inBytes(t, r)] = true
	}
	require.Len(t, results, 1)
}

// An interruption leaves the results so far.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := 0
	p := Plan{Designs: []string{"redlock", "default"}, Faults: []string{"slow", "pause"}, Seeds: 2 * chunk}
	r, err := Play(ctx, p, func(runs, of int) {
		assert.Equal(t, 8*chunk, of)
		told = runs
		cancel()
	})
	require.NoError(t, err)
	assert.False(t, r.Ended)
	assert.Equal(t, chunk, r.Runs)
	assert.Equal(t, chunk, told)
	assert.Equal(t, chunk, r.Matrix().Cells[0][0].Runs, "the first seeds of the first cell")
	assert.Zero(t, r.Matrix().Cells[1][1].Runs)
}

func TestBadPlans(t *testing.T) {
	for says, p := range map[string]Plan{
		"no design":    {Designs: []string{"x"}, Faults: []string{"slow"}},
		"no fault":     {Designs: []string{"redlock"}, Faults: []string{"x"}},
		"named twice":  {Designs: []string{"redlock", "redlock"}, Faults: []string{"slow"}},
		"some of both": {Designs: []string{"redlock"}},
		"at most":      {Seeds: 1 << 60},
	} {
		_, err := Play(t.Context(), p, nil)
		require.ErrorContains(t, err, says)
		known := errors.Is(err, ErrPlan) || errors.Is(err, cells.ErrUnknown) || errors.Is(err, designs.ErrUnknown)
		require.True(t, known, "%v", err)
	}
	r, err := Play(t.Context(), Plan{}, nil)
	require.NoError(t, err)
	require.True(t, r.Ended)
}

// The logs show findings.
func TestWithLogs(t *testing.T) {
	p := Plan{Designs: []string{"redlock", "token-admit"}, Faults: []string{"pause"}, Seeds: few(30)}
	r, err := Play(t.Context(), p, nil)
	require.NoError(t, err)
	m, err := r.WithLogs()
	require.NoError(t, err)
	assert.Contains(t, m.Cells[0][0].Log.String(), "VIOLATION two holders")
	assert.Nil(t, m.Cells[1][0].Log)
}
