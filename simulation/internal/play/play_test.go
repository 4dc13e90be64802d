package play

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/byname"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

const ms = time.Millisecond

func played(t *testing.T, setup Setup) Run {
	t.Helper()
	run, err := Play(setup)
	require.NoError(t, err)
	return run
}

func TestPlay(t *testing.T) {
	s, err := scenarios.ByID("S4")
	require.NoError(t, err)
	d, err := s.Design("redlock")
	require.NoError(t, err)
	want, err := s.Play(3, d)
	require.NoError(t, err)
	run := played(t, Setup{Base: "s4", Design: "redlock", Seed: 3})
	assert.Equal(t, want.Log.Digest(), run.Result.Log.Digest(), "the scenario's")
	assert.Equal(t, "S4", run.Base)
	assert.Equal(t, "stale write, two holders", run.Expected)
	assert.Equal(t, "no progress", Found(played(t, Setup{Base: "S12", Design: "lockstep"}).Result), "what the scenario demands")

	for _, base := range []string{"S4", "pause"} {
		run := played(t, Setup{Base: base, Design: "redlock", Seed: 3})
		require.NoError(t, run.Unexpected)
		require.NotEmpty(t, run.Faults)
		again := played(t, Setup{Base: base, Design: "redlock", Seed: 3, Schedule: run.Faults})
		assert.Equal(t, run.Result.Log.Digest(), again.Result.Log.Digest(), "the same faults")
		assert.Equal(t, "anything", again.Expected)
		calm := played(t, Setup{Base: base, Design: "redlock", Seed: 3, Schedule: simulation.Schedule{}})
		assert.Empty(t, calm.Faults)
		assert.Equal(t, "none", Found(calm.Result), "no faults, no violations")
		assert.NotEqual(t, run.Result.Log.Digest(), calm.Result.Log.Digest())
	}

	// What explore found is played as it was found.
	space := search.Space{Workload: search.Mixed(), Design: d}
	for _, schedule := range []simulation.Schedule{nil, {{Kind: fault.Evict, Server: fault.Any, At: 2 * time.Second}}} {
		want, err := space.Play(7, schedule)
		require.NoError(t, err)
		run := played(t, Setup{Base: "mixed", Design: "redlock", Seed: 7, Schedule: schedule})
		assert.Equal(t, want.Log.Digest(), run.Result.Log.Digest())
		assert.Equal(t, "anything", run.Expected)
		require.NoError(t, run.Unexpected)
	}
}

func TestPlayNamesWhatIsUnknown(t *testing.T) {
	for setup, want := range map[*Setup]error{
		{Base: "S99"}:                       byname.ErrUnknown,
		{Base: "S1", Design: "nonsense"}:    byname.ErrUnknown,
		{Base: "pause", Design: "nonsense"}: byname.ErrUnknown,
		{Base: "mixed", Design: "paper"}:    byname.ErrUnknown,
		{Base: "S1", Schedule: simulation.Schedule{{Kind: fault.Pause, Process: "c9"}}}: simulation.ErrConfig,
	} {
		_, err := Play(*setup)
		require.ErrorIs(t, err, want, "%+v", setup)
	}
	_, err := Play(Setup{Base: "S99"})
	require.ErrorContains(t, err, `"S99"`)
	require.ErrorContains(t, err, "there are slow, pause", "the faults")
}

// Every kind of fault is described, its example can be played where it belongs, and then happens.
func TestFaultKinds(t *testing.T) {
	places := map[fault.Where][][2]string{
		fault.OnProcess: {{"c1", ""}}, fault.OnServer: {{"", "C"}}, fault.OnEither: {{"c1", ""}, {"", "C"}}, fault.OnLink: {{"c1", "C"}},
	}
	var kinds []fault.Kind
	for _, k := range fault.All() {
		kinds = append(kinds, k.Kind)
		assert.NotEmpty(t, k.Title)
		assert.True(t, k.Text != "" || k.Kind == fault.Crash, "timelines have no words for %s", k.Kind)
		assert.Empty(t, k.Example.Ignored(), "%s's example has a field that it doesn't use", k.Kind)
		for _, place := range places[k.Where] {
			f := k.Example
			f.At, f.Process, f.Server = 1001*ms, place[0], place[1] // the clients are at work
			run := played(t, Setup{Base: "S1", Schedule: simulation.Schedule{f}})
			happened := slices.ContainsFunc(slices.Collect(run.Result.Log.All()), func(e *record.Event) bool {
				return e.Kind == record.Crashed && f.Kind == fault.Crash || e.Fault != nil && e.Fault.Kind == f.Kind
			})
			assert.True(t, happened, "%+v", f)
		}
	}
	assert.ElementsMatch(t, fault.Kinds(), kinds)
}

func ask(t *testing.T, request string) (a answer) {
	t.Helper()
	text := Answer([]byte(request))
	assert.NotContains(t, string(text), ":null", "a program needs no second case")
	assert.NotContains(t, string(text), `{"error"`)
	require.NoError(t, json.Unmarshal(text, &a))
	return a
}

func TestAnswer(t *testing.T) {
	a := ask(t, `{"base": "S1", "design": "default", "seed": "18446744073709551615"}`)
	assert.Equal(t, a.Expected, a.Verdict)
	assert.Equal(t, "run S1 -design default -seed 18446744073709551615", a.Arguments)
	require.Len(t, a.Schedule, 1)
	assert.Equal(t, fault.Pause, a.Schedule[0].Kind)
	assert.Equal(t, []string{"c1", "c2"}, a.Processes)
	assert.Equal(t, []string{"A", "B", "C", "D", "E"}, a.Servers)
	assert.True(t, strings.HasPrefix(a.SVG, "<svg "))
	assert.True(t, slices.ContainsFunc(a.Steps, func(s timeline.Step) bool { return strings.HasPrefix(s.Text, "c1 GETS k") }), "%v", a.Steps)
	assert.True(t, slices.ContainsFunc(a.Steps, func(s timeline.Step) bool { return s.Alarm }), "%v", a.Steps)

	other := ask(t, `{"base": "S1", "seed": "0", "schedule": [{"kind": "crash", "process": "c1", "at": "1100ms"}]}`)
	assert.Equal(t, "anything", other.Expected)
	assert.Equal(t, simulation.Schedule{{Kind: fault.Crash, Process: "c1", At: 1100 * ms}}, other.Schedule)
	assert.Equal(t, `run S1 -design default -seed 0 -schedule '[{"kind":"crash","at_ns":1100000000,"process":"c1"}]'`, other.Arguments)
	own := ask(t, `{"base": "S1", "seed": "0", "schedule": null}`)
	assert.NotEqual(t, other.Hash, own.Hash)
	none := ask(t, `{"base": "S1", "seed": "0", "schedule": []}`)
	assert.Empty(t, none.Schedule)
	assert.True(t, ask(t, `{"base": "S6c", "design": "default", "seed": "0"}`).Nobody)
	assert.Equal(t, 1004500*time.Microsecond, none.Begin, "c1 has the lock")
}

// The legend explains this run's tokens and violations.
func TestLegend(t *testing.T) {
	late := ask(t, `{"base": "S1", "design": "default", "seed": "0"}`)
	assert.Subset(t, late.Legend, []string{"Tokens: c1 …207, c2 …208.", `"two holders": c1 (token …207) sent a write of "k" after c2 (token …208) had got it.`})
	jump := ask(t, `{"base": "S4", "design": "redlock", "seed": "0"}`)
	assert.Contains(t, jump.Legend, `"two holders": c2 got "k" while c1 still had 9.7 s of it.`)
	assert.False(t, jump.Nobody)
}

func TestAnswerToNonsense(t *testing.T) {
	for request, says := range map[string]string{
		``:                             "bad request",
		`[]`:                           "bad request",
		`{"colour": 1}`:                `unknown field \"colour\"`,
		`{"base": "S1", "seed": "-1"}`: `cannot unmarshal number -1 into Go struct field .Seed`,
		`{"base": "S99", "seed": "0"}`: `no scenario \"S99\"`,
		`{"base": "S1", "seed": "0", "schedule": {}}`:                   "the schedule can't be read",
		`{"base": "S1", "seed": "0", "schedule": [{"kind": "sneeze"}]}`: `no such kind \"sneeze\"`,
	} {
		answer := string(Answer([]byte(request)))
		assert.True(t, strings.HasPrefix(answer, `{"error":`), answer)
		assert.Contains(t, answer, says, "%.80s", request)
	}
}
