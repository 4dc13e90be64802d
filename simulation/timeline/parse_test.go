package timeline_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/timeline"
)

// runs is all that is played here.
var runs = map[string]run{
	"pause":        pauseAfterTheCheck(simulation.Unguarded),
	"pause-fenced": pauseAfterTheCheck(simulation.GuardAdmits),
	"jump":         clockJumps(),
	"crash":        crashWithoutFsync(),
	"extensions":   extensions(),
	"failover":     failsOver(),
	"commands":     commands(),
	"alias":        secondName(),
	"trouble":      trouble(),
}

func parse(t testing.TB, trace []byte) *timeline.Timeline {
	t.Helper()
	tl, err := timeline.Parse(trace)
	require.NoError(t, err)
	return tl
}

func TestEveryLineOfRealRunsIsUnderstood(t *testing.T) {
	for name := range runs {
		t.Run(name, func(t *testing.T) {
			result := result(t, name)
			tl := parse(t, result.Trace)
			assert.Empty(t, tl.Unknown)
			assert.Equal(t, result.Ended, max(tl.End, result.Ended), "no line is later than the run's end")

			// What the kernel found is what the trace says.
			require.Len(t, tl.Violations, len(result.Violations))
			for i, v := range result.Violations {
				assert.Equal(t, string(v.Kind), tl.Violations[i].Kind)
				assert.Equal(t, v.At, tl.Violations[i].At)
				assert.Equal(t, v.Text, tl.Violations[i].Text)
			}
			history := map[string]int{}
			for _, e := range result.History {
				history[e.What]++
			}
			marks := map[string]int{}
			for _, m := range tl.Marks {
				marks[string(m.Kind)]++
			}
			for _, what := range []string{"asked", "acquired", "refused", "extended", "looked", "released", "noted"} {
				assert.Equal(t, history[what], marks[what], what)
			}
			effects := 0
			for _, a := range tl.Accesses {
				if !a.Refused && !a.Repeated {
					effects++
				}
			}
			assert.Equal(t, history["read"]+history["write"], effects)
		})
	}
}

// lines has an example of each kind of line that the kernel writes, by the word
// that its source has after the name.
var lines = map[string]string{
	"starts":         "0.000000 c1 starts",
	"ends":           "1.000000 c1 ends",
	"crashes":        "1.000000 c1 crashes",
	"suffers":        "1.000000 c1 suffers pause for=12000000000 shuffled",
	"is back":        "1.000000 A is back",
	"hears":          "1.000000 c1 hears A#1",
	"gives up":       "1.000000 c1 gives up A#1",
	"is cut off":     "1.000000 c1 is cut off A#1",
	"ignores":        "1.000000 c1 ignores A#1",
	"loses":          "1.000000 c1 loses A#1",
	"again":          "1.000000 A again c1#1",
	"distrusts":      "1.000000 c1 distrusts A for=10100000000",
	"falls back":     "1.000000 A falls back",
	"has":            "1.000000 A has key=k until=ever",
	"calls":          "1.000000 A calls c1 key=k lost",
	"called by":      "1.000000 c1 called by A key=k",
	"cannot hear":    "1.000000 c1 cannot hear A",
	"listen":         "1.000000 A listen c1#1 granted",
	"wait":           "1.000000 A wait c1#1 int=1",
	"sends":          "1.000000 c1 sends c2 a letter",
	"takes a letter": "1.000000 c1 takes a letter",
	"extended":       "1.000000 c1 extended k token=7 validity=9000000000",
}

// spoken finds the words that the kernel's source writes into traces after a name:
// the first argument of s, where s is called on what at gave.
func spoken(t *testing.T) map[string]token.Position {
	t.Helper()
	files, err := filepath.Glob("../*.go")
	require.NoError(t, err)
	set, found := token.NewFileSet(), map[string]token.Position{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 || method(call) != "s" {
				return true
			}
			on, ok := call.Fun.(*ast.SelectorExpr).X.(*ast.CallExpr)
			if !ok || method(on) != "at" {
				return true
			}
			if word, ok := call.Args[0].(*ast.BasicLit); ok {
				text, err := strconv.Unquote(word.Value)
				require.NoError(t, err)
				found[text] = set.Position(word.Pos())
			}
			return true
		})
	}
	return found
}

func method(call *ast.CallExpr) string {
	if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
		return selector.Sel.Name
	}
	return ""
}

// A kind of line that is added to the kernel has to be understood here.
func TestEveryLineThatTheKernelCanWriteIsUnderstood(t *testing.T) {
	words := spoken(t)
	require.Greater(t, len(words), 10, "the kernel's source writes traces in another way now: look for it there")
	for word, where := range words {
		assert.Contains(t, lines, word, "%v writes %q into traces: teach it to Parse, and add an example to lines", where, word)
	}
	for word, example := range lines {
		assert.Contains(t, words, word, "the kernel doesn't write this any more")
		trace := "0.000000 c1 starts\n0.500000 c1 acquire A#1\n0.600000 A acquire c1#1 granted key=k until=10000000000\n" + example + "\n"
		assert.Empty(t, parse(t, []byte(trace)).Unknown, word)
	}
}

// All kinds of violations that the kernel's source declares are known by name.
func TestKindsOfViolations(t *testing.T) {
	files, err := filepath.Glob("../*.go")
	require.NoError(t, err)
	found := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			kind, typed := spec.Type.(*ast.Ident)
			value, literal := spec.Values[0].(*ast.BasicLit)
			if !typed || !literal || kind.Name != "ViolationKind" {
				return true
			}
			found++
			words, err := strconv.Unquote(value.Value)
			require.NoError(t, err)
			tl := parse(t, []byte("1.000000 VIOLATION "+words+" c1 did it\n"))
			assert.Equal(t, []timeline.Violation{{At: ms, Kind: words, Text: "c1 did it", Line: 1}}, tl.Violations)
			return true
		})
	}
	assert.Greater(t, found, 5)
}

func TestBeliefAndTruthOfAPause(t *testing.T) {
	tl := parse(t, result(t, "pause").Trace)
	assert.Equal(t, []string{"c1", "c2"}, tl.Processes)
	assert.Equal(t, []string{"A", "B", "C", "D", "E"}, tl.Servers)
	assert.Equal(t, []string{"k"}, tl.Keys())
	assert.Equal(t, 3, tl.Quorum())

	require.Len(t, tl.Beliefs, 2)
	first, second := tl.Beliefs[0], tl.Beliefs[1]
	assert.Equal(t, "c1", first.Process)
	assert.Equal(t, "ran out", first.End)
	assert.Greater(t, first.Until-first.From, 9*time.Second)
	assert.Equal(t, "c2", second.Process)
	assert.Equal(t, "released", second.End)
	assert.Greater(t, second.Token, first.Token)
	assert.Empty(t, tl.Overlaps(), "c1 believes nothing any more when it writes, it just doesn't look")

	require.Len(t, tl.Tenures, 10)
	for _, n := range tl.Tenures {
		if n.Process == "c1" {
			assert.Equal(t, "expired", n.End)
			assert.Equal(t, 10*time.Second, n.Until-n.From)
		} else {
			assert.Equal(t, "deleted", n.End)
		}
	}
	whole := tl.Truth()[0]
	for _, s := range tl.Truth() {
		if s.Process == "c1" && len(s.Servers) > len(whole.Servers) {
			whole = s
		}
	}
	assert.Equal(t, []string{"A", "B", "C", "D", "E"}, whole.Servers)
	assert.True(t, whole.Quorum)

	var pause *timeline.Span
	for i, s := range tl.Spans {
		if s.Kind == "pause" {
			pause = &tl.Spans[i]
		}
	}
	require.NotNil(t, pause)
	assert.Equal(t, 12*time.Second, pause.Until-pause.From)
	late := tl.Accesses[len(tl.Accesses)-1]
	assert.Equal(t, "c1", late.Process)
	assert.Equal(t, "write", late.Op)
	assert.Equal(t, pause.Until, late.Sent)
}

func TestTheGuardsRefusal(t *testing.T) {
	tl := parse(t, result(t, "pause-fenced").Trace)
	var refused []timeline.Access
	for _, a := range tl.Accesses {
		if a.Refused {
			refused = append(refused, a)
		}
	}
	require.Len(t, refused, 1)
	assert.Equal(t, "c1", refused[0].Process)
	assert.Equal(t, tl.Beliefs[0].Token, refused[0].Token)
	assert.Empty(t, tl.Violations)
}

func TestTwoBeliefsAfterAClockJump(t *testing.T) {
	for _, name := range []string{"jump", "crash", "failover"} {
		tl := parse(t, result(t, name).Trace)
		require.Len(t, tl.Overlaps(), 1, name)
		o := tl.Overlaps()[0]
		assert.Equal(t, "c1", o.First)
		assert.Equal(t, "c2", o.Second)
		assert.InDelta(t, time.Second, o.Until-o.From, float64(50*ms), "c2 holds it for a second")
		for _, s := range tl.Truth() {
			if s.From >= at(120*ms) && s.Process == "c1" {
				assert.False(t, s.Quorum, "%s: %v", name, s)
				assert.NotContains(t, s.Servers, "C")
			}
		}
		lost := 0
		for _, m := range tl.Messages {
			if m.Lost == timeline.Request {
				lost++
				assert.Equal(t, timeline.None, m.Arrived)
			}
		}
		assert.Positive(t, lost, "D and E are cut off")
	}
}

// What a holder believes is counted by its own clocks: while they stand still it
// lasts.
func TestBeliefByClocksThatStandStill(t *testing.T) {
	tl := parse(t, result(t, "extensions").Trace)
	first := tl.Beliefs[0]
	assert.Equal(t, "c1", first.Process)
	assert.Greater(t, first.Until, at(24*time.Second), "15 s of standstill don't count")
	require.Len(t, tl.Overlaps(), 1)

	// A belief that the checks found to hold must hold here.
	for _, v := range tl.Violations {
		holds := 0
		for _, b := range tl.Beliefs {
			if b.From <= v.At && v.At < b.Until {
				holds++
			}
		}
		assert.Equal(t, 2, holds, "%v", v)
	}
}

func TestClocks(t *testing.T) {
	const got = "0.000000 c1 starts\n1000.000000 c1 acquired k token=1 validity=9000000000\n"
	for name, c := range map[string]struct {
		trace string
		until time.Duration
	}{
		"right":        {"", 10 * time.Second},
		"forward":      {"2000.000000 c1 suffers step by=3000000000\n", 7 * time.Second},
		"back":         {"2000.000000 c1 suffers step by=-3000000000\n", 10 * time.Second}, // the monotonic clock knows better
		"slow":         {"2000.000000 c1 suffers rate ppm=-500000\n", 18 * time.Second},
		"fast":         {"2000.000000 c1 suffers rate ppm=500000\n", 2*time.Second + 5333333333},
		"asleep":       {"2000.000000 c1 suffers suspend for=4000000000\n", 10 * time.Second}, // the wall clock goes
		"frozen":       {"2000.000000 c1 suffers suspend for=4000000000 frozen\n", 14 * time.Second},
		"another's":    {"2000.000000 c2 suffers step by=3000000000\n", 10 * time.Second},
		"looked":       {"2000.000000 c1 looked k token=1 validity=5000000000\n", 7 * time.Second},
		"far too far":  {"2000.000000 c1 suffers step by=9000000000000000000\n", 2 * time.Second},
		"not a number": {"2000.000000 c1 suffers step by=x\n", 10 * time.Second},
	} {
		tl := parse(t, []byte(got+c.trace+"60000.000000 c1 ends\n"))
		require.Len(t, tl.Beliefs, 1, name)
		assert.InDelta(t, c.until, tl.Beliefs[0].Until, 10, name)
		assert.Equal(t, "ran out", tl.Beliefs[0].End, name)
	}
}

func TestUnknownLinesAndWordsArePassedOver(t *testing.T) {
	tl := parse(t, []byte("0.000000 c1 starts\nhello\n1.000000 c1 dances\n2.000000 c1 asked k mood=good \n3.000000\n"+
		"4.000000 A acquire c1#1 granted token=176713.007389 VIOLATION two\n5.000000 c1 acquire A#2 colour=red\n"+
		"5.500000 A acquire c1#2 granted key=k until=9000000000 colour=red\n"))
	var numbers []int
	for _, u := range tl.Unknown {
		numbers = append(numbers, u.Number)
	}
	assert.Equal(t, []int{2, 3, 5}, numbers)
	assert.Equal(t, "hello", tl.Unknown[0].Text)
	assert.Equal(t, []string{"k"}, tl.Keys())
	require.NotEmpty(t, tl.Tenures)
	assert.True(t, tl.Tenures[len(tl.Tenures)-1].Open, "it stands when the trace ends")
}

// A server's second name may look like anything.
func TestSecondNames(t *testing.T) {
	for _, name := range []string{"a2", "A-copy", "Another", "B2"} {
		tl := parse(t, []byte("0.000000 c1 starts\n0.000000 c1 asked k\n1.000000 c1 acquire A#1\n1.000000 c1 acquire "+name+"#1\n"+
			"2.000000 A acquire c1#1 granted key=k until=9000000000\n3.000000 A acquire c1#1 granted key=k database=1 until=9000000000\n"+
			"3.000000 "+name+" loses c1#1\n4.000000 c1 gives up "+name+"#1\n"))
		assert.Empty(t, tl.Unknown, name)
		assert.Equal(t, []string{"c1"}, tl.Processes)
		assert.Equal(t, []string{"A"}, tl.Servers)
		require.Len(t, tl.Messages, 2)
		second := tl.Messages[1]
		assert.Equal(t, "A", second.Place)
		assert.Equal(t, 3*ms, second.Arrived)
		assert.Equal(t, 4*ms, second.GaveUp)
		assert.Equal(t, timeline.Reply, second.Lost)
		assert.Len(t, tl.Tenures, 2, "a key in each of its databases")
	}
}

func TestNotATrace(t *testing.T) {
	for _, text := range []string{"", "\n", "hello\nworld\n", "{\"json\": true}", "1.5 c1 starts"} {
		_, err := timeline.Parse([]byte(text))
		require.ErrorIs(t, err, timeline.ErrTrace, "%q", text)
	}
}

// FuzzParse: whatever the text, nothing panics, and what is read can be drawn.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.trace")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, name := range files {
		trace, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(string(trace[:min(len(trace), 4000)]))
	}
	for _, line := range lines {
		f.Add(line)
	}
	f.Add("1.000000 - suffers cut\n9223372036853.000000 c1-* suffers cut for=9223372036854775807\n1.000000 c1 acquired k validity=9223372036854775807")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 20_000 {
			return
		}
		tl, err := timeline.Parse([]byte(text))
		if err != nil {
			return
		}
		var out strings.Builder
		require.NoError(t, tl.Text(&out, timeline.TextOptions{Width: 1}))
		out.Reset()
		require.NoError(t, tl.SVG(&out, timeline.SVGOptions{Watching: true}))
		wellFormed(t, out.String())
	})
}
