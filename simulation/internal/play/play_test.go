package play_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/play"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

const ms = time.Millisecond

func TestPlay(t *testing.T) {
	s, err := scenarios.ByID("S4")
	require.NoError(t, err)
	d, err := s.Design("redlock")
	require.NoError(t, err)
	want, err := s.Play(3, d)
	require.NoError(t, err)
	run := playRun(t, play.Setup{Base: "s4", Design: "redlock", Seed: 3})
	assert.Equal(t, want.Log.Digest(), run.Result.Log.Digest(), "the scenario's")
	assert.Equal(t, "stale write, two holders", run.Expected)

	for _, base := range []string{"S4", "pause"} {
		run := playRun(t, play.Setup{Base: base, Design: "redlock", Seed: 3})
		require.NoError(t, run.Unexpected)
		require.NotEmpty(t, run.Schedule)
		again := playRun(t, play.Setup{Base: base, Design: "redlock", Seed: 3, Schedule: run.Schedule})
		assert.Equal(t, run.Result.Log.Digest(), again.Result.Log.Digest(), "the same faults")
		assert.Equal(t, "anything", again.Expected)
		calm := playRun(t, play.Setup{Base: base, Design: "redlock", Seed: 3, Schedule: simulation.Schedule{}})
		assert.Empty(t, calm.Schedule)
		assert.Equal(t, "none", play.Found(calm.Result), "no faults, no violations")
		assert.NotEqual(t, run.Result.Log.Digest(), calm.Result.Log.Digest())
	}
}

func playRun(t *testing.T, setup play.Setup) play.Run {
	t.Helper()
	run, err := play.Play(setup)
	require.NoError(t, err)
	return run
}

// What explore found is played as it was found.
func TestPlayWorkload(t *testing.T) {
	d, err := designs.ByName("redlock")
	require.NoError(t, err)
	space := search.Space{Workload: search.Mixed(), Design: d}
	for _, schedule := range []simulation.Schedule{nil, {{Kind: fault.Evict, Server: fault.Any, At: 2 * time.Second}}} {
		want, err := space.Play(search.Setup{Seed: 7, Schedule: schedule})
		require.NoError(t, err)
		run := playRun(t, play.Setup{Base: "mixed", Design: "redlock", Seed: 7, Schedule: schedule})
		assert.Equal(t, want.Log.Digest(), run.Result.Log.Digest())
		assert.Equal(t, "anything", run.Expected)
		require.NoError(t, run.Unexpected)
	}
	_, err = play.Play(play.Setup{Base: "mixed", Design: "paper"})
	require.ErrorIs(t, err, designs.ErrUnknown)
}

func TestPlayNamesWhatIsUnknown(t *testing.T) {
	_, err := play.Play(play.Setup{Base: "S99"})
	require.ErrorIs(t, err, scenarios.ErrUnknown)
	require.ErrorContains(t, err, `"S99"`)
	require.ErrorContains(t, err, "there are slow, pause", "the faults")
	_, err = play.Play(play.Setup{Base: "S1", Design: "nonsense"})
	require.ErrorIs(t, err, scenarios.ErrUnknown)
	_, err = play.Play(play.Setup{Base: "pause", Design: "nonsense"})
	require.ErrorIs(t, err, designs.ErrUnknown)
	_, err = play.Play(play.Setup{Base: "S1", Schedule: simulation.Schedule{{Kind: fault.Pause, Process: "c9"}}})
	require.ErrorIs(t, err, simulation.ErrConfig)
}

// Every kind of fault is described, its example can be played where it belongs, and then happens.
func TestFaultKinds(t *testing.T) {
	described := fault.All()
	var kinds []fault.Kind
	for _, k := range described {
		kinds = append(kinds, k.Kind)
		assert.NotEmpty(t, k.Title)
		assert.True(t, k.Text != "" || k.Kind == fault.Crash, "timelines have no words for %s", k.Kind)
		fields := fieldsOf(t, k.Example)
		delete(fields, "kind")
		for name := range fields {
			assert.Contains(t, k.Uses, name, "%s's example has a field that it doesn't use", k.Kind)
		}
		for _, f := range placed(k) {
			run, err := play.Play(play.Setup{Base: "S1", Schedule: simulation.Schedule{f}})
			require.NoError(t, err, "%+v", f)
			happened := slices.ContainsFunc(slices.Collect(run.Result.Log.All()), func(e *record.Event) bool {
				return e.Kind == record.Crashed && f.Kind == fault.Crash || e.Fault != nil && e.Fault.Kind == f.Kind
			})
			assert.True(t, happened, "%+v", f)
		}
	}
	assert.ElementsMatch(t, fault.Kinds(), kinds)
}

// placed returns the kind's example, wherever it can happen.
func placed(k fault.Traits) (all []fault.Fault) {
	f := k.Example
	f.At = 1001 * ms // the clients are at work
	if k.Where != "server" {
		f := f
		f.Process = "c1"
		if k.Where == "link" {
			f.Server = "C"
		}
		all = append(all, f)
	}
	if k.Where == "server" || k.Where == "either" {
		f.Server = "C"
		all = append(all, f)
	}
	return all
}

func fieldsOf(t *testing.T, of any) map[string]any {
	t.Helper()
	text, err := json.Marshal(of)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	return fields
}

// run is an answer, as far as these tests read it.
type run struct {
	Error     string
	Verdict   string
	Hash      string
	Own       bool
	Expected  string
	Legend    []string
	Nobody    bool
	Begin     time.Duration
	Idle      []int
	Arguments string
	Schedule  simulation.Schedule
	Processes []string
	Servers   []string
	SVG       string
	Steps     []timeline.Step
}

func ask(t *testing.T, request string) (r run) {
	t.Helper()
	text := play.Answer([]byte(request))
	assert.NotContains(t, string(text), ":null", "a program needs no second case")
	require.NoError(t, json.Unmarshal(text, &r))
	return r
}

func TestAnswerToRun(t *testing.T) {
	r := ask(t, `{"base": "S1", "design": "default", "seed": "18446744073709551615"}`)
	require.Empty(t, r.Error)
	assert.Equal(t, r.Expected, r.Verdict)
	assert.True(t, r.Own)
	assert.Equal(t, "run S1 -design default -seed 18446744073709551615", r.Arguments)
	require.Len(t, r.Schedule, 1)
	assert.Equal(t, fault.Pause, r.Schedule[0].Kind)

	assert.Equal(t, []string{"c1", "c2"}, r.Processes)
	assert.Equal(t, []string{"A", "B", "C", "D", "E"}, r.Servers)
	assert.True(t, strings.HasPrefix(r.SVG, "<svg "))
	assert.True(t, slices.ContainsFunc(r.Steps, func(s timeline.Step) bool { return strings.HasPrefix(s.Text, "c1 GETS k") }), "%v", r.Steps)
	assert.True(t, slices.ContainsFunc(r.Steps, func(s timeline.Step) bool { return s.Alarm }), "%v", r.Steps)
}

// The legend explains what is drawn, and only that.
func TestLegend(t *testing.T) {
	const dashes = "Red dashes: too few servers have the client's key."
	paused := ask(t, `{"base": "S1", "design": "token-admit", "seed": "0"}`)
	assert.Contains(t, paused.Legend, "Green ring: the resource refuses an operation.")
	assert.Contains(t, paused.Legend, "Tokens: c1 …207, c2 …208.")
	assert.NotContains(t, paused.Legend, dashes)
	late := ask(t, `{"base": "S1", "design": "default", "seed": "0"}`)
	assert.Contains(t, late.Legend, `"two holders": c1 (token …207) sent a write of "k" after c2 (token …208) had got it.`)
	jump := ask(t, `{"base": "S4", "design": "redlock", "seed": "0"}`)
	assert.Contains(t, jump.Legend, dashes)
	assert.Contains(t, jump.Legend, `"two holders": c2 got "k" while c1 still had 9.7 s of it.`)
	assert.False(t, jump.Nobody)
	nobody := ask(t, `{"base": "S6c", "design": "default", "seed": "0"}`)
	assert.True(t, nobody.Nobody)
	assert.Equal(t, "none", nobody.Verdict)
}

// A fault that comes after the lease changes nothing, and one at the moment that the answer names does.
func TestIdleFaults(t *testing.T) {
	calm := ask(t, `{"base": "S1", "seed": "0", "schedule": []}`)
	assert.Empty(t, calm.Idle)
	r := ask(t, fmt.Sprintf(`{"base": "S1", "seed": "0", "schedule": [{"kind": "pause", "process": "c1", "at": "1100ms", "for": "2s"}, {"kind": "pause", "process": "c1", "at_ns": %d, "for": "12s"}, {"kind": "pause", "process": "c2", "op": "write", "nth": 9, "for": "2s"}]}`, calm.Begin))
	require.Empty(t, r.Error)
	assert.Equal(t, []int{0, 2}, r.Idle)
}

func TestAnswerToRunWithSchedule(t *testing.T) {
	r := ask(t, `{"base": "S1", "seed": "0", "schedule": [{"kind": "crash", "process": "c1", "at": "1100ms"}]}`)
	require.Empty(t, r.Error)
	assert.False(t, r.Own)
	assert.Equal(t, "anything", r.Expected)
	assert.Equal(t, simulation.Schedule{{Kind: fault.Crash, Process: "c1", At: 1100 * ms}}, r.Schedule)
	assert.Equal(t, `run S1 -design default -seed 0 -schedule '[{"kind":"crash","at_ns":1100000000,"process":"c1"}]'`, r.Arguments)
	own := ask(t, `{"base": "S1", "seed": "0", "schedule": null}`)
	assert.True(t, own.Own)
	assert.NotEqual(t, r.Hash, own.Hash)
	none := ask(t, `{"base": "S1", "seed": "0", "schedule": []}`)
	assert.False(t, none.Own)
	assert.NotNil(t, none.Schedule, "a list, not null")
	assert.Empty(t, none.Schedule)
}

func TestAnswerToNonsense(t *testing.T) {
	for request, says := range map[string]string{
		``:                             "bad request",
		`[]`:                           "bad request",
		`{"colour": 1}`:                `unknown field "colour"`,
		`{"base": "S1", "seed": "-1"}`: `seed is "-1", want a whole number from "0" to "18446744073709551615"`,
		`{"base": "S99", "seed": "0"}`: `no scenario "S99"`,
		`{"base": "S1", "seed": "0", "schedule": {}}`:                   "the schedule can't be read",
		`{"base": "S1", "seed": "0", "schedule": [{"kind": "sneeze"}]}`: `no such kind "sneeze"`,
	} {
		assert.Contains(t, ask(t, request).Error, says, "%.80s", request)
	}
}
