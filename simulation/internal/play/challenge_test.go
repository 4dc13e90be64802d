package play_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/play"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// asked is an answer to a request to search or to shrink.
type asked struct {
	Error      string
	Runs       int
	Next, Seed string
	Found      bool
	Schedule   simulation.Schedule
	Verdict    string
	Kind       record.ViolationKind
}

func answer(t *testing.T, request string) (a asked) {
	t.Helper()
	require.NoError(t, json.Unmarshal(play.Answer([]byte(request)), &a))
	return a
}

func quoted(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// A search that is asked for in parts finds the same as in one, what it finds can be played, and
// shrinking keeps the harm.
func TestSearchAndShrink(t *testing.T) {
	request := func(from string, count int) string {
		return fmt.Sprintf(`{"do": "search", "base": "slow", "design": "redlock", "seed": %q, "kinds": ["pause", "restart"], "most": 6, "count": %d}`, from, count)
	}
	whole := answer(t, request("0", 300))
	require.Empty(t, whole.Error)
	require.True(t, whole.Found)
	runs, part := 0, asked{Next: "0"}
	for !part.Found {
		part = answer(t, request(part.Next, 7))
		require.Empty(t, part.Error)
		runs += part.Runs
	}
	assert.Equal(t, whole.Runs, runs)
	assert.Equal(t, whole.Seed, part.Seed)
	assert.Equal(t, whole.Schedule, part.Schedule)

	state := fmt.Sprintf(`"base": "slow", "design": "redlock", "seed": %q, "schedule": %s}`, whole.Seed, quoted(t, whole.Schedule))
	assert.Equal(t, whole.Verdict, ask(t, `{"do": "run", `+state).Verdict)
	small := answer(t, `{"do": "shrink", `+state)
	require.Empty(t, small.Error)
	require.NotEmpty(t, small.Schedule)
	assert.LessOrEqual(t, len(small.Schedule), len(whole.Schedule))
	assert.Positive(t, small.Runs)
	for i := range small.Schedule { // none is there without need
		less := append(append(simulation.Schedule{}, small.Schedule[:i]...), small.Schedule[i+1:]...)
		assert.NotContains(t, ask(t, fmt.Sprintf(`{"do": "run", "base": "slow", "design": "redlock", "seed": %q, "schedule": %s}`, whole.Seed, quoted(t, less))).Verdict, string(small.Kind))
	}
	assert.Contains(t, ask(t, fmt.Sprintf(`{"do": "run", "base": "slow", "design": "redlock", "seed": %q, "schedule": %s}`, whole.Seed, quoted(t, small.Schedule))).Verdict, string(small.Kind))
}

// A search that finds nothing says how far it came. That nobody gets the lock is no finding.
func TestSearchFindsNothing(t *testing.T) {
	none := answer(t, `{"do": "search", "base": "S1", "design": "token-admit", "seed": "18446744073709551605", "kinds": ["pause", "restart", "cut"], "most": 6, "count": 10}`)
	require.Empty(t, none.Error)
	assert.False(t, none.Found)
	assert.Equal(t, 10, none.Runs)
	assert.Equal(t, "18446744073709551615", none.Next)

	blocked := `{"do": "run", "base": "X1", "design": "setnx", "seed": "0"}`
	require.Equal(t, "never free, no progress", ask(t, blocked).Verdict)
	assert.Contains(t, answer(t, strings.Replace(blocked, `"run"`, `"shrink"`, 1)).Error, "violates nothing")
}

// What is recorded by the registry plays the same trace as here.
func TestRegistry(t *testing.T) {
	for _, setup := range []play.Setup{
		{Base: "S1", Design: "default", Seed: 7}, {Base: "S6c", Design: "unwatched-fenced", Seed: 3}, {Base: "restart-1sec", Design: "default", Seed: 2},
	} {
		run, err := play.Play(setup)
		require.NoError(t, err)
		file, err := search.Record(play.Registry(), search.Setup{Workload: setup.Base, Design: setup.Design, Seed: setup.Seed, Schedule: run.Schedule}, "")
		require.NoError(t, err)
		assert.Equal(t, run.Result.Log.Digest(), file.Digest, "%+v", setup)
	}
}
