package mutants

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/simulation/internal/long"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func source(t *testing.T) Source {
	t.Helper()
	s, err := Open(t.Context(), ".")
	require.NoError(t, err)
	return s
}

func TestMarkers(t *testing.T) {
	list, err := markersIn("a.go", "package a\n\n//guard:one  the first\n//guard:one-more  the second\nvar a = 1\n")
	require.NoError(t, err)
	assert.Equal(t, []Marker{{"one", "the first", "a.go", 5, 63, 72}, {"one-more", "the second", "a.go", 5, 63, 72}}, list)
	list, err = markersIn("a.lua", "if a then\n  --guard:lua  in Lua, too\n  b()\nend\n")
	require.NoError(t, err)
	assert.Equal(t, []Marker{{"lua", "in Lua, too", "a.lua", 3, 37, 42}}, list)

	for name, text := range map[string]string{
		"no sentence":       "//guard:one\nvar a = 1\n",
		"one space":         "//guard:one the first\nvar a = 1\n",
		"a bad name":        "//guard:One  the first\nvar a = 1\n",
		"no directive":      "// guard:one  the first\nvar a = 1\n",
		"above a comment":   "//guard:one  the first\n// a\nvar a = 1\n",
		"above no line":     "//guard:one  the first\n\nvar a = 1\n",
		"at the file's end": "//guard:one  the first\n",
	} {
		_, err := markersIn("a.go", text)
		assert.ErrorIs(t, err, errMarker, name)
	}
	s := Source{texts: map[string]string{}}
	require.NoError(t, s.add("quorum/b.lua", "--guard:two  the second\na()\n"))
	err = s.add("fencing/c.go", "//guard:two  again\nvar c = 1\n")
	require.ErrorIs(t, err, errMarker)
	assert.ErrorContains(t, err, "two is in quorum/b.lua:2 and in fencing/c.go:2")
}

// Every marker has a mutant. A guarantee without one is untested.
func TestEveryMarkerHasAMutant(t *testing.T) {
	broken := map[string]bool{}
	for _, m := range All() {
		for _, e := range m.Edits {
			broken[e.Marker] = true
		}
	}
	markers := source(t).Markers
	require.Greater(t, len(markers), 100)
	for _, m := range markers {
		assert.True(t, broken[m.Name], "%s:%d: no mutant breaks %s", m.File, m.Line, m.Name)
	}
}

// Every mutant has a name of its own and fits the current source, and the test that has to catch it exists. If the source
// has changed, rewrite the mutant: its marker says which guarantee to break.
func TestList(t *testing.T) {
	_, err := source(t).switched(All())
	require.NoError(t, err)
	seen, tests := map[string]bool{}, map[string]string{}
	for _, m := range All() {
		assert.Regexp(t, `^[a-z0-9]+(-[a-z0-9]+)*$`, m.Name)
		assert.LessOrEqual(t, len(m.Name), 30, m.Name)
		assert.False(t, seen[m.Name], "%s is there twice", m.Name)
		seen[m.Name] = true
		folder := m.Detector.Package
		if tests[folder] == "" {
			files, err := filepath.Glob(filepath.Join("../../..", folder, "*_test.go"))
			require.NoError(t, err)
			for _, file := range files {
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				tests[folder] += string(text)
			}
		}
		test, _, _ := strings.Cut(strings.TrimPrefix(m.Detector.Test, "^"), "/")
		assert.Regexp(t, `(?m)^func `+strings.Replace(test, "$", `\(`, 1), tests[folder], m.Name)
	}
}

func TestSelect(t *testing.T) {
	all, err := Select()
	require.NoError(t, err)
	assert.Len(t, all, len(All()))
	some, err := Select("set-without-nx", "no-drift")
	require.NoError(t, err)
	require.Len(t, some, 2)
	assert.Equal(t, "no-drift", some[0].Name, "in the list's order")
	_, err = Select("no-drift", "no-such-thing")
	require.ErrorIs(t, err, errUnknown)
	assert.ErrorContains(t, err, `"no-such-thing"`)
	assert.ErrorContains(t, err, "no-elapsed-check, ")
	_, err = parse("# Time: it passes\n\nearly: somebody")
	require.EqualError(t, err, `line 3: "somebody" is no detector, want a package and a pattern of its tests`)
}

func TestStale(t *testing.T) {
	s := source(t)
	const marker, line = "wall-clock-alone", "return Instant{Mono: now.Sub(r.base), Wall: now.Round(0)}"
	for says, e := range map[string]edit{
		"begins 0 times":          {Marker: marker, Old: "no such text", New: "x"},
		"begins 0 times in it":    {Marker: marker, Old: "package drift", New: "package adrift"}, // in another line
		"begins 2 times":          {Marker: marker, Old: "now", New: "then"},
		"begins 58 times":         {Marker: marker, New: "x"},
		`no marker "no-such-one"`: {Marker: "no-such-one", Old: "a", New: "b"},
		"can't be switched on":    {Marker: marker, Old: line + "\n}", New: "}"},
	} {
		_, err := s.switched([]mutant{{Name: "stale", Edits: []edit{e}}})
		require.ErrorIs(t, err, errStale, says)
		assert.ErrorContains(t, err, "stale: ")
		assert.ErrorContains(t, err, says)
	}
}

func TestSourceIsNeeded(t *testing.T) {
	_, err := Open(t.Context(), t.TempDir())
	require.ErrorIs(t, err, ErrSource)
	assert.ErrorContains(t, err, "run this in a checkout of github.com/redquorum/redlock")

	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "go.mod"), []byte("module example.com/other\n\ngo 1.26\n"), 0o600))
	_, err = Open(t.Context(), other)
	require.ErrorIs(t, err, ErrSource)
	assert.ErrorContains(t, err, "example.com/other")

	t.Setenv("PATH", t.TempDir())
	_, err = Open(t.Context(), ".")
	require.ErrorIs(t, err, ErrSource)
	assert.ErrorContains(t, err, "go tool")
}

// Two mutants are caught, one of them in a script; two change nothing that their tests look at. An interruption stops all
// processes. No file is left behind.
func TestOutcomes(t *testing.T) {
	long.Test(t, "it builds test programs; the command mutants does so, too")
	t.Setenv("TMPDIR", t.TempDir())
	s := source(t)
	list, err := Select("guard-passes-lower", "redis-guard-forgets")
	require.NoError(t, err)
	one := func(name, new string) mutant {
		return mutant{Name: name, Edits: []edit{{Marker: "guard-remembers", Old: "k.highest = t", New: new}},
			Detector: Detector{Package: "./fencing", Test: "^TestMemoryContract$"}}
	}
	elsewhere := list[0]
	elsewhere.Name, elsewhere.Detector.Test = "other-detector", "^TestWriteNil$"
	list = append(list, elsewhere, one("comment", "k.highest = t /* the same */"))
	results := map[string]Result{}
	require.NoError(t, Run(t.Context(), s, list, 2, func(r Result) { results[r.Name] = r }))
	require.Len(t, results, len(list))
	for name, by := range map[string]string{"guard-passes-lower": "TestMemoryContract/Order", "redis-guard-forgets": "TestContract/miniredis"} {
		assert.Contains(t, results[name].By, by)
	}
	for name, says := range map[string]string{"other-detector": "NOT by ^TestWriteNil$", "comment": "NOT by ^TestMemoryContract$"} {
		assert.False(t, results[name].Caught())
		assert.Contains(t, results[name].String(), says)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.ErrorIs(t, Run(ctx, s, list, 1, func(Result) { cancel() }), context.Canceled)

	tell := func(Result) {}
	require.ErrorContains(t, Run(t.Context(), s, []mutant{one("no-go", "k.highest = nothing")}, 1, tell), "undefined: nothing")
	missing := one("missing", "k.highest = 0")
	missing.Detector.Test = "^TestThatIsNotThere$"
	require.ErrorContains(t, Run(t.Context(), s, []mutant{missing}, 1, tell), "no test that matches ^TestThatIsNotThere$")
	t.Setenv("FAIL", "1")
	fails := one("fails", "k.highest = t + 0")
	fails.Detector = Detector{Package: "./simulation/internal/mutants", Test: "^TestThatFailsIfAsked$"}
	require.ErrorIs(t, Run(t.Context(), s, []mutant{fails}, 1, tell), ErrUnmodified)

	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	assert.Empty(t, left, "nothing is left behind")
}

// TestThatFailsIfAsked is a detector for TestOutcomes.
func TestThatFailsIfAsked(t *testing.T) {
	assert.Empty(t, os.Getenv("FAIL"))
}

// The name of a failed test is read from its output.
func TestFailure(t *testing.T) {
	for output, want := range map[string]string{
		"=== RUN   TestA\n    a_test.go:7: got 1, want 2\n--- FAIL: TestA (0.00s)\nFAIL\n":                                                "TestA",
		"=== RUN   TestA\n=== RUN   TestA/sub\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/sub (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\n": "TestA/sub",
		"=== RUN   TestA\nfatal error: all goroutines are asleep - deadlock!\n":                                                           "",
	} {
		assert.Equal(t, want, failure(output), output)
	}
}
