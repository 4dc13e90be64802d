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
	s := Source{texts: map[string]string{}}
	require.NoError(t, s.add("a.go", "package a\n\n//guard:one  the first\n//guard:one-more  the second\nvar a = 1\n"))
	require.NoError(t, s.add("a.lua", "if a then\n  --guard:lua  in Lua, too\n  b()\nend\n"))
	assert.Equal(t, []Marker{{"one", "the first", "a.go", 5, 63, 72}, {"one-more", "the second", "a.go", 5, 63, 72}, {"lua", "in Lua, too", "a.lua", 3, 37, 42}}, s.Markers)
	for says, text := range map[string]string{
		`b.go:1 is "//guard:no-sentence", want guard:name, two spaces and a sentence`: "//guard:no-sentence\nvar a = 1\n",
		`b.go:1 is "//guard:One  the first"`:                                          "//guard:One  the first\nvar a = 1\n",
		`b.go:1 is "// guard:one  no directive"`:                                      "// guard:one  no directive\nvar a = 1\n",
		"the marker lua is in a.lua:3 and in b.go:1":                                  "//guard:lua  again\nvar c = 1\n",
	} {
		assert.ErrorContains(t, s.add("b.go", text), says)
	}
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
	some, err := Select("set-without-nx", "no-drift")
	require.NoError(t, err)
	require.Len(t, some, 2)
	assert.Equal(t, "no-drift", some[0].Name, "in the list's order")
}

func TestStale(t *testing.T) {
	s := source(t)
	const marker, line = "wall-clock-alone", "return Instant{Mono: now.Sub(r.base), Wall: now.Round(0)}"
	for says, e := range map[string]edit{
		"begins 0 times":          {Marker: marker, Old: "package drift", New: "package adrift"}, // in another line
		"begins 2 times":          {Marker: marker, Old: "now", New: "then"},
		"begins 58 times":         {Marker: marker, New: "x"},
		`no marker "no-such-one"`: {Marker: "no-such-one", Old: "a", New: "b"},
		"can't be switched on":    {Marker: marker, Old: line + "\n}", New: "}"},
	} {
		_, err := s.switched([]mutant{{Name: "gone", Edits: []edit{e}}})
		require.ErrorContains(t, err, "gone: stale: ")
		assert.ErrorContains(t, err, says)
	}
}

func TestSourceIsNeeded(t *testing.T) {
	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "go.mod"), []byte("module example.com/other\n\ngo 1.26\n"), 0o600))
	for folder, in := range map[string]string{t.TempDir(): `this is in "command-line-arguments"`, other: `this is in "example.com/other"`} {
		_, err := Open(t.Context(), folder)
		require.ErrorIs(t, err, ErrSource)
		assert.ErrorContains(t, err, "run this in a checkout of github.com/redquorum/redlock ("+in)
	}
	t.Setenv("PATH", t.TempDir())
	_, err := Open(t.Context(), ".")
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
			Detector: detector{Package: "./fencing", Test: "^TestMemoryContract$"}}
	}
	elsewhere := list[0]
	elsewhere.Name, elsewhere.Detector.Test = "other-detector", "^TestWriteNil$"
	list = append(list, elsewhere, one("comment", "k.highest = t /* the same */"))
	results := map[string]Result{}
	require.NoError(t, Run(t.Context(), s, list, 2, func(r Result) { results[r.Name] = r }))
	require.Len(t, results, len(list))
	for name, says := range map[string]string{
		"guard-passes-lower": "s  ^TestMemory", "redis-guard-forgets": "s  ^TestContract$/^miniredis$",
		"other-detector": "NOT by ^TestWriteNil$", "comment": "NOT by ^TestMemoryContract$\n  breaks: ",
	} {
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
	fails.Detector = detector{Package: "./simulation/internal/mutants", Test: "^TestThatFailsIfAsked$"}
	require.ErrorContains(t, Run(t.Context(), s, []mutant{fails}, 1, tell), "^TestThatFailsIfAsked$ fails without a mutant, so no result counts: --- FAIL: ")

	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	assert.Empty(t, left, "nothing is left behind")
}

// TestThatFailsIfAsked is a detector for TestOutcomes.
func TestThatFailsIfAsked(t *testing.T) {
	assert.Empty(t, os.Getenv("FAIL"))
}
