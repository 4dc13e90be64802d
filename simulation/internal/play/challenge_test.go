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

// asked is an answer to a request that isn't "run".
type asked struct {
	Error      string
	Runs       int
	Next, Seed string
	Found      bool
	Schedule   simulation.Schedule
	Verdict    string
	Kind       record.ViolationKind
	Name, Text string
	Base, Hash string
	Design     string
}

func answer(t *testing.T, request string) asked {
	t.Helper()
	var a asked
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

// A replay file of the page is one of the command's: it plays the same trace there, and opens as the
// same run.
func TestRecordAndOpen(t *testing.T) {
	for _, test := range []struct{ base, design, seed, schedule string }{
		{"S1", "default", "7", "null"},
		{"S1", "token-admit", "18446744073709551615", `[{"kind": "crash", "process": "c1", "at": "1100ms"}]`},
		{"S6c", "unwatched-fenced", "3", "null"},
		{"S8", "replica-async", "1", "[]"},
		{"pause", "redlock", "2", "null"},
		{"restart-1sec", "default", "2", "null"},
	} {
		state := fmt.Sprintf(`"base": %q, "design": %q, "seed": %q, "schedule": %s}`, test.base, test.design, test.seed, test.schedule)
		run := ask(t, `{"do": "run", `+state)
		require.Empty(t, run.Error)
		file := answer(t, `{"do": "record", `+state)
		require.Empty(t, file.Error)
		assert.Equal(t, "redlock-"+test.base+"-"+test.design+"-"+test.seed+".json", file.Name)

		decoded, err := search.Decode(play.Registry(), []byte(file.Text))
		require.NoError(t, err)
		assert.Equal(t, run.Hash, decoded.Digest, "%+v", test)
		replay, err := decoded.Replay(t.Context(), play.Registry())
		require.NoError(t, err)
		assert.True(t, replay.Identical)

		opened := answer(t, `{"do": "open", "file": `+quoted(t, file.Text)+`}`)
		require.Empty(t, opened.Error)
		assert.Equal(t, []string{test.base, test.design, test.seed, run.Hash}, []string{opened.Base, opened.Design, opened.Seed, opened.Hash})
		assert.Equal(t, run.Schedule, opened.Schedule)
	}
}

func TestChallengeNonsense(t *testing.T) {
	file := answer(t, `{"do": "record", "base": "S1", "design": "default", "seed": "1"}`).Text
	three := 3
	smaller, err := search.Record(play.Registry(), search.Setup{Workload: "S1", Design: "default", Changes: search.Changes{Servers: &three}}, "")
	require.NoError(t, err)
	changed, err := smaller.Encode()
	require.NoError(t, err)
	for request, says := range map[string]string{
		`{"do": "search", "base": "S1", "seed": "0", "most": 4}`:                                        "count is 0 runs, want 1 to 1000",
		`{"do": "search", "base": "S1", "seed": "0", "most": 4, "count": 1001}`:                         "count is 1001 runs",
		`{"do": "search", "base": "S1", "seed": "0", "count": 1}`:                                       "most is 0 faults, want 1 to 1000",
		`{"do": "search", "base": "S1", "seed": "18446744073709551615", "most": 1, "count": 1}`:         "the seeds end at 18446744073709551615",
		`{"do": "search", "base": "S1", "seed": "0", "most": 1, "count": 1, "kinds": ["sneeze"]}`:       `no fault "sneeze"; there are [pause`,
		`{"do": "search", "base": "S99", "seed": "0", "most": 1, "count": 1}`:                           `no scenario "S99"`,
		`{"do": "shrink", "base": "S1", "seed": "0", "schedule": []}`:                                   "the schedule violates nothing",
		`{"do": "shrink", "base": "S1", "seed": "0", "schedule": [{"kind": "pause", "process": "c9"}]}`: `c9`,
		`{"do": "record", "base": "S1", "seed": "0", "schedule": {}}`:                                   "the schedule can't be read",
		`{"do": "open", "file": ""}`:                                    "it is empty",
		`{"do": "open", "file": "x"}`:                                   "it isn't a replay file",
		`{"do": "open", "file": ` + quoted(t, file[:len(file)/2]) + `}`: "cut off after",
		`{"do": "open", "file": ` + quoted(t, strings.Replace(file, `"version": 2`, `"version": 3`, 1)) + `}`: "it is of version 3",
		`{"do": "open", "file": ` + quoted(t, string(changed)) + `}`:                                          "use redlocksim replay",
	} {
		assert.Contains(t, answer(t, request).Error, says, "%.90s", request)
	}
}
