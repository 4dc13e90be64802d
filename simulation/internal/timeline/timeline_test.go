package timeline_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/record"
)

const (
	ms  = time.Millisecond
	key = "k"
)

// some is every scenario, or one of four.
func some(all []scenarios.Scenario) []scenarios.Scenario {
	if long.Asked() {
		return all
	}
	var few []scenarios.Scenario
	for i := 0; i < len(all); i += 4 {
		few = append(few, all[i])
	}
	return few
}

// played is the run of a scenario with a design.
func played(t *testing.T, id, design string) simulation.Result {
	t.Helper()
	s, err := scenarios.ByID(id)
	require.NoError(t, err)
	d, err := s.Design(design)
	require.NoError(t, err)
	return result(t, s, d)
}

func result(t *testing.T, s scenarios.Scenario, d designs.Design) simulation.Result {
	t.Helper()
	r, err := s.Play(1, d)
	require.NoError(t, err, "%s %s", s.ID, d.Name)
	return r
}

func text(t *testing.T, tl *timeline.Timeline) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, tl.Text(&b, "a <b> & c"))
	return b.String()
}

// Each scenario with each design is told and drawn: nothing is too wide or cut off, and the
// violations are those of the verdict. A picture stays small, because a report carries hundreds of
// them, compressed. Ten clients that try and try again take the most.
func TestEveryScenario(t *testing.T) {
	for _, s := range some(scenarios.All()) {
		for i, d := range s.Designs() {
			name, r := s.ID+" "+d.Name, result(t, s, d)
			tl := timeline.Of(r.Log)
			shown := text(t, tl)
			for line := range strings.Lines(shown) {
				assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 100, "%s: %s", name, line)
			}
			assert.NotContains(t, shown, "?'s ", "%s: whose key it is", name)
			assert.Equal(t, len(r.Log.Violations()), strings.Count(shown, "  !! "), name)
			for _, kind := range r.Kinds() {
				assert.Contains(t, shown, "!! "+strings.ToUpper(string(kind)), name)
			}
			if i%5 == 0 {
				assert.Less(t, len(whole(t, name, drawn(tl))), 45_000, name)
			}
		}
	}
}

// These words must be in the text and in the drawing.
func TestWhatHappenedIsShown(t *testing.T) {
	for _, test := range []struct {
		scenario, design string
		told, drawn      []string
	}{
		{"S1", "default", []string{"c1 is PAUSED for 12 s", "c1's validity of k", "has expired on A B C D E", "c1 runs again", "!! TWO HOLDERS"},
			[]string{"paused for 12 s", "!! two holders, stale write, lost update", "c1 writes", "c1 holds k from 1 00", `class="dal"`, "Violated: two holders, stale write and lost update.", "a &lt;b&gt; &amp; c"}},
		{"S1", "token-admit", []string{"REFUSED by the guard"}, []string{"c1&#39;s write is REFUSED", "Nothing is violated."}},
		{"S4", "redlock", []string{"C's clock JUMPS by +15 s", "too few servers have c1's k, for 4.9 s"}, []string{"C: clock JUMPS by +15 s", `class="un"`, `class="both"`}},
		{"X1", "default", nil, []string{"c1 crashes"}},
		{"S17", "setpx-del", []string{"c1 DELETES ANOTHER'S k on A"}, nil},
		{"S13", "listed-checked", []string{"granted A B C"}, nil},
	} {
		tl := timeline.Of(played(t, test.scenario, test.design).Log)
		shown := strings.Join(strings.Fields(text(t, tl)), " ")
		for _, part := range []struct {
			out   string
			words []string
		}{{shown, test.told}, {drawn(tl).Inline(), test.drawn}} {
			for _, words := range part.words {
				assert.Contains(t, part.out, words, "%s with %s", test.scenario, test.design)
			}
		}
	}
}

// holds is a lease that a process believes in until a moment.
func holds(process string, lease int, from, until time.Duration) record.Event {
	return record.Event{At: from, Kind: record.Acquired, Process: process, Key: key, Lease: lease, Truth: &record.Truth{Until: until}}
}

// A belief ends when the record says so. If the holder is told another validity afterwards, it is
// another belief.
func TestBeliefs(t *testing.T) {
	later := func(kind record.EventKind, at, until time.Duration) record.Event {
		return record.Event{At: at, Kind: kind, Process: "c1", Key: key, Lease: 1, Validity: 1, Truth: &record.Truth{Until: until}}
	}
	end := record.Event{At: 9 * time.Second, Kind: record.Ended, Process: "c1"}
	for name, c := range map[string]struct {
		events []record.Event
		until  []time.Duration
	}{
		"one":             {nil, []time.Duration{3 * time.Second}},
		"its clocks jump": {[]record.Event{later(record.Believed, time.Second, 2*time.Second)}, []time.Duration{2 * time.Second}},
		"extended":        {[]record.Event{later(record.Extended, time.Second, 5*time.Second)}, []time.Duration{5 * time.Second}},
		"again":           {[]record.Event{later(record.Looked, 4*time.Second, 6*time.Second)}, []time.Duration{3 * time.Second, 6 * time.Second}},
		"beyond the end":  {[]record.Event{later(record.Looked, time.Second, record.Forever)}, []time.Duration{9 * time.Second}},
		"crashed":         {[]record.Event{{At: time.Second, Kind: record.Crashed, Process: "c1"}}, []time.Duration{time.Second}},
		"nothing known":   {[]record.Event{{At: time.Second, Kind: record.Looked, Process: "c1", Lease: 2}}, []time.Duration{3 * time.Second}},
	} {
		tl := timeline.Of(record.Log{append(append([]record.Event{holds("c1", 1, 0, 3*time.Second)}, c.events...), end)})
		var until []time.Duration
		for _, b := range tl.Beliefs {
			until = append(until, b.Until)
		}
		assert.Equal(t, c.until, until, name)
	}
}

// A second copy of a request is a repeated message, not another operation.
func TestRepeatedRequest(t *testing.T) {
	use := record.Event{At: 2 * ms, Kind: record.Write, Process: "c1", Place: fault.Resource, N: 1, Version: 1}
	again := use
	again.At, again.Words = 5*ms, "repeated"
	tl := timeline.Of(record.Log{{
		{At: ms, Kind: record.Sent, Process: "c1", Place: fault.Resource, N: 1, Op: "write"}, use,
		{At: 5 * ms, Kind: record.RequestDuplicated, Process: "c1", Place: fault.Resource, N: 1}, again,
	}})
	assert.Contains(t, text(t, tl), "arrives again: answered, not executed again")
}

// What would happen after the end of a run isn't told.
func TestPauseBeyondTheEnd(t *testing.T) {
	shown := text(t, timeline.Of(record.Log{{
		{At: ms, Kind: record.Suffered, Process: "c1", Fault: &fault.Fault{Kind: fault.Pause, For: time.Hour}},
		{At: time.Second, Kind: record.Ended, Process: "c1"},
	}}))
	assert.Contains(t, shown, "1.000 ms  c1 is PAUSED for 60 min")
	assert.NotContains(t, shown, "runs again")
}

// A server that is back at once isn't down until the end.
func TestBackAtOnce(t *testing.T) {
	for _, s := range drawn(timeline.Of(played(t, "S8", "default").Log)).Shapes {
		assert.False(t, s.Class == "wait" && s.W > 1, "%+v", s)
	}
}

// full fails to write.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }

func TestErrorsOfTheWriter(t *testing.T) {
	require.ErrorIs(t, timeline.Of(nil).Text(full{}, ""), errors.ErrUnsupported)
}

// Of the violations, a drawing shows only those that are asked for.
func TestDrawSomeViolations(t *testing.T) {
	shown := drawn(timeline.Of(played(t, "S1", "default").Log), "lost update").Inline()
	assert.Contains(t, shown, "!! lost update")
	assert.NotContains(t, shown, "!! two holders")
}
