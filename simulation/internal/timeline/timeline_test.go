package timeline_test

import (
	"cmp"
	"encoding/xml"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/record"
)

const ms = time.Millisecond

// drawn is the drawing of a run.
func drawn(tl *timeline.Timeline) *drawing.Canvas {
	var c drawing.Canvas
	tl.Draw(&c)
	return &c
}

// extent is from where to where a text goes.
func extent(s drawing.Shape) (from, until float64) {
	classes, wide := strings.Fields(s.Class), drawing.Wide(s.Class, s.Text)
	switch {
	case slices.Contains(classes, "e"):
		return s.X - wide, s.X
	case slices.Contains(classes, "m"):
		return s.X - wide/2, s.X + wide/2
	}
	return s.X, s.X + wide
}

// whole checks a picture: it is well-formed, everything is on it, no text is cut off, on another one, under a line
// or away from its own, and its classes have a style.
func whole(t *testing.T, name string, c *drawing.Canvas) string {
	t.Helper()
	svg := c.Inline()
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := decoder.Token(); err != nil {
			require.ErrorIs(t, err, io.EOF, name)
			break
		}
	}
	for _, wrong := range []string{"NaN", "Inf", "%!"} {
		assert.NotContains(t, svg, wrong, name)
	}
	for i, s := range c.Shapes {
		for _, class := range strings.Fields(s.Class) {
			assert.Contains(t, drawing.Page(), ".rl ."+class, name)
		}
		if s.Text == "" {
			assert.True(t, s.X >= 0 && s.X+s.W <= drawing.Width && s.Y >= 0 && s.Y+s.H <= c.Height, "%s: %+v", name, s)
			continue
		}
		from, until := extent(s)
		assert.True(t, from >= -1 && until <= cmp.Or(c.Width, drawing.Width)+1 && s.Y < c.Height, "%s: %q is cut off", name, s.Text)
		if ofFault := strings.HasPrefix(s.Class, "fa"); ofFault || strings.HasPrefix(s.Text, "!!") {
			assert.True(t, slices.ContainsFunc(c.Shapes, func(o drawing.Shape) bool {
				return o.Class == map[bool]string{true: "fl", false: "vl"}[ofFault] && min(math.Abs(o.X-from), math.Abs(o.X-until)) < 4
			}), "%s: %q isn't beside its line", name, s.Text)
		}
		line := -1
		for j, o := range c.Shapes {
			switch oFrom, oUntil := extent(o); {
			case j < i && o.Text != "" && math.Abs(o.Y-s.Y) < 9:
				assert.True(t, oUntil <= from || until <= oFrom, "%s: %q is on %q", name, s.Text, o.Text)
			case (o.Class == "fl" || o.Class == "vl") && from < o.X && o.X+o.W < until && o.Y < s.Y && s.Y-9 < o.Y+o.H:
				line = j
			case o.H > 9 && o.X <= from && until <= o.X+o.W && o.Y <= s.Y-9 && s.Y <= o.Y+o.H && j < i:
				line = -1 // it is behind this box
			}
		}
		assert.Negative(t, line, "%s: a line goes through %q", name, s.Text)
	}
	return svg
}

// played is the timeline of a run of a scenario with a design.
func played(t *testing.T, id, design string) *timeline.Timeline {
	t.Helper()
	s, err := scenarios.ByID(id)
	require.NoError(t, err)
	d, err := s.Design(design)
	require.NoError(t, err)
	r, err := s.Play(1, d)
	require.NoError(t, err)
	return timeline.Of(r.Log)
}

// random is the timeline of a run with random faults.
func random(t *testing.T, name, design string, seed uint64) *timeline.Timeline {
	t.Helper()
	f, err := cells.ByName(name)
	require.NoError(t, err)
	d, err := designs.ByName(design)
	require.NoError(t, err)
	r, err := f.Play(seed, d)
	require.NoError(t, err)
	return timeline.Of(r.Log)
}

func text(t *testing.T, tl *timeline.Timeline) string {
	t.Helper()
	var b strings.Builder
	tl.Text(&b, "a <b> & c")
	return b.String()
}

// Each scenario with each design is told and drawn: nothing is too wide or cut off, and the
// violations are those of the verdict. A picture stays small, because a report carries hundreds of
// them, compressed. Ten clients that try and try again take the most.
func TestEveryScenario(t *testing.T) {
	for i, s := range scenarios.All() {
		if i%4 > 0 && !long.Asked() {
			continue
		}
		for i, d := range s.Designs() {
			r, err := s.Play(1, d)
			require.NoError(t, err)
			name, tl := s.ID+" "+d.Name, timeline.Of(r.Log)
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

// So are runs with random faults of each kind.
func TestEveryFault(t *testing.T) {
	for _, f := range cells.Faults() {
		for i, d := range designs.All() {
			if i%long.Number(1, 9) > 0 {
				continue
			}
			r, err := f.Play(1, d)
			require.NoError(t, err)
			tl := timeline.Of(r.Log)
			whole(t, f.Name+" "+d.Name, drawn(tl))
			assert.True(t, d.Servers > 1 || !slices.Contains(tl.Servers, "B"), "%s %s: nobody uses it", f.Name, d.Name)
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
			[]string{"stopped for 12 s", "!! two holders, stale write, lost update", "c1 writes", "c1 holds k from 1 00", `class="dal"`, "Violated: two holders, stale write and lost update."}},
		{"S1", "token-admit", []string{"REFUSED by the guard"}, []string{"c1&#39;s write is REFUSED", "Nothing is violated."}},
		{"S4", "redlock", []string{"C: clock JUMPS by +15 s", "too few servers have c1's k, for 4.9 s"}, []string{"C: clock JUMPS by +15 s", `class="un"`, `class="both"`}},
		{"X1", "default", nil, []string{"c1: CRASH"}},
		{"S17", "setpx-del", []string{"c1 DELETES ANOTHER'S k on A"}, nil},
		{"S13", "listed-checked", []string{"granted A B C"}, nil},
	} {
		tl := played(t, test.scenario, test.design)
		shown := strings.Join(strings.Fields(text(t, tl)), " ")
		for _, words := range test.told {
			assert.Contains(t, shown, words, "%s with %s", test.scenario, test.design)
		}
		for _, words := range test.drawn {
			assert.Contains(t, drawn(tl).Inline(), words, "%s with %s", test.scenario, test.design)
		}
	}
	// A server that is back at once isn't down until the end.
	for _, s := range drawn(played(t, "S8", "default")).Shapes {
		assert.False(t, s.Class == "wait" && s.W > 1, "%+v", s)
	}
}

// A server with two masters is one of the majority, and has a holder's key if the master that the holder reaches has it.
func TestOldMastersCountOnce(t *testing.T) {
	assert.NotContains(t, text(t, played(t, "S31", "default")), "too few", "A, B and C' have it")
	assert.NotContains(t, text(t, random(t, "split-brain", "default", 3)), "too few", "all have each key")
	assert.Contains(t, text(t, random(t, "split-brain", "default", 16)), "too few servers have c2's k, for 157 ms", "the old masters are demoted")
}

// A drawing of a part of the run says what comes after it, and names the witness.
func TestParts(t *testing.T) {
	assert.Contains(t, whole(t, "rate", drawn(random(t, "rate", "default", 23))), "continues to 19.2 s, !! no progress →")
	assert.Contains(t, whole(t, "pause", drawn(random(t, "pause", "token-admit", 0))), ">witness<")
}

// A belief ends when the record says so. If the holder is told another validity afterwards, it is
// another belief.
func TestBeliefs(t *testing.T) {
	event := func(kind record.EventKind, at, until time.Duration) *record.Event {
		return &record.Event{At: at, Kind: kind, Process: "c1", Key: "k", Lease: 1, Validity: 1, Truth: &record.Truth{Until: until}}
	}
	for name, c := range map[string]struct {
		then  *record.Event
		until []time.Duration
	}{
		"one":             {&record.Event{}, []time.Duration{3 * time.Second}},
		"its clocks jump": {event(record.Believed, time.Second, 2*time.Second), []time.Duration{2 * time.Second}},
		"extended":        {event(record.Extended, time.Second, 5*time.Second), []time.Duration{5 * time.Second}},
		"again":           {event(record.Looked, 4*time.Second, 6*time.Second), []time.Duration{3 * time.Second, 6 * time.Second}},
		"beyond the end":  {event(record.Looked, time.Second, record.Forever), []time.Duration{9 * time.Second}},
		"crashed":         {&record.Event{At: time.Second, Kind: record.Crashed, Process: "c1"}, []time.Duration{time.Second}},
		"nothing known":   {&record.Event{At: time.Second, Kind: record.Looked, Process: "c1", Lease: 2}, []time.Duration{3 * time.Second}},
	} {
		tl := timeline.Of(record.Log{event(record.Acquired, 0, 3*time.Second), c.then, {At: 9 * time.Second, Kind: record.Ended, Process: "c1"}})
		var until []time.Duration
		for _, b := range tl.Beliefs {
			until = append(until, b.Until)
		}
		assert.Equal(t, c.until, until, name)
	}
}

// Runs in which little happens have pictures, too.
func TestLittleRuns(t *testing.T) {
	pause := func(at, length time.Duration, kind fault.Kind) *record.Event {
		return &record.Event{At: at, Kind: record.Suffered, Process: "c1", Fault: &fault.Fault{Kind: kind, For: length}}
	}
	got := func(token fencing.Token) *record.Event {
		return &record.Event{Kind: record.Acquired, Process: "c1", Key: "k", Token: token}
	}
	end := &record.Event{At: time.Second, Kind: record.Ended, Process: "c1"}
	write := record.Event{At: 2 * ms, Kind: record.Write, Process: "c1", Place: fault.Resource, N: 1, Version: 1}
	again := write
	again.At, again.Words = 5*ms, "repeated"
	for name, test := range map[string]struct {
		log              record.Log
		told, not, drawn string
	}{
		"nothing": {},
		"a start": {log: record.Log{{Kind: record.Started, Process: "c1"}}},
		"a refusal": {log: record.Log{
			{At: ms, Kind: record.Asked, Process: "c1", Key: "k"},
			{At: 2 * ms, Kind: record.Refused, Process: "c1", Key: "k", Words: "quorum: lock is taken"},
		}, told: "2.000 ms  c1 asks for k and is refused: lock is taken"},
		"a repeated request": {log: record.Log{
			{At: ms, Kind: record.Sent, Process: "c1", Place: fault.Resource, N: 1, Op: "write"}, &write,
			{At: 5 * ms, Kind: record.RequestDuplicated, Process: "c1", Place: fault.Resource, N: 1}, &again,
		}, told: "arrives again: answered, not executed again"},
		"beyond the end":         {log: record.Log{pause(ms, time.Hour, fault.Pause), end}, told: "1.000 ms  c1 is PAUSED for 60 min", not: "runs again"},
		"one stop in another":    {log: record.Log{pause(ms, 500*ms, fault.Pause), pause(100*ms, 300*ms, fault.Pause), end}, drawn: "stopped for 500 ms"},
		"stops of two kinds":     {log: record.Log{pause(ms, 500*ms, fault.Pause), pause(100*ms, 600*ms, fault.Suspend), end}, drawn: "stopped for 699 ms"},
		"tokens that look alike": {log: record.Log{got(1767225601001825), got(1767225601101825)}, told: "token …001825"},
	} {
		tl := timeline.Of(test.log)
		assert.Contains(t, text(t, tl), test.told, name)
		assert.Contains(t, whole(t, name, drawn(tl)), test.drawn, name)
		if test.not != "" {
			assert.NotContains(t, text(t, tl), test.not, name)
		}
	}
}
