package mutants

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/long"
)

var play = flag.Bool("mutants", false, "TestMutants plays the mutants, all of them in minutes")

const root = "../../.."

func opened(t *testing.T) source {
	t.Helper()
	path, err := filepath.Abs(root)
	require.NoError(t, err)
	s, err := open(path)
	require.NoError(t, err)
	return s
}

// Each mutant is caught by the test that is meant to catch it.
func TestMutants(t *testing.T) {
	if !*play {
		t.Skip("with -mutants it runs")
	}
	s := opened(t)
	p, err := s.prepare(t.Context(), t.TempDir(), all())
	require.NoError(t, err)
	for _, m := range all() {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			caught, err := p.caught(t.Context(), m)
			require.NoError(t, err)
			require.True(t, caught, "%s doesn't notice that this is broken: %s", m.Detector.Test, s.markers[m.Edits[0].Marker].guarantee)
		})
	}
}

func TestMarkers(t *testing.T) {
	s := source{texts: map[string]string{}, markers: map[string]marker{}}
	require.NoError(t, s.add("a.go", "package a\n\n//guard:one  the first\n//guard:one-more  the second\nvar a = 1\n"))
	require.NoError(t, s.add("a.lua", "if a then\n  --guard:lua  in Lua, too\n  b()\nend\n"))
	assert.Equal(t, map[string]marker{"one": {"the first", "a.go", 63, 73}, "one-more": {"the second", "a.go", 63, 73}, "lua": {"in Lua, too", "a.lua", 37, 43}}, s.markers)
	for says, text := range map[string]string{
		"want guard:name, two spaces and a sentence": "//guard:no-sentence\nvar a = 1\n",
		`b.go has "//guard:One  the first"`:          "//guard:One  the first",
		`b.go has "// guard:one  no directive\n"`:    "// guard:one  no directive\nvar a = 1\n",
		"the marker lua is in a.lua and in b.go":     "//guard:lua  again\nvar c = 1\n",
	} {
		assert.ErrorContains(t, s.add("b.go", text), says)
	}
}

// Every marker has a mutant. A guarantee without one is untested.
func TestEveryMarkerHasAMutant(t *testing.T) {
	markers := opened(t).markers
	require.Greater(t, len(markers), 100)
	for _, m := range all() {
		for _, e := range m.Edits {
			delete(markers, e.Marker)
		}
	}
	assert.Empty(t, markers, "no mutant breaks these")
}

// Every mutant has a name of its own and fits the current source, and the test that has to catch it exists. If the source
// has changed, rewrite the mutant: its marker says which guarantee to break.
func TestList(t *testing.T) {
	_, err := opened(t).switched(all())
	require.NoError(t, err)
	seen, tests := map[string]bool{}, map[string]string{}
	for _, m := range all() {
		assert.False(t, seen[m.Name], "%s is there twice", m.Name)
		seen[m.Name] = true
		folder := m.Detector.Package
		if tests[folder] == "" {
			files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
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

func TestStale(t *testing.T) {
	s := opened(t)
	const marker, line = "wall-clock-alone", "return Instant{Mono: now.Sub(r.base), Wall: now.Round(0)}"
	for says, e := range map[string]edit{
		"begins 0 times":          {Marker: marker, Old: "package drift", New: "package adrift"}, // in another line
		"begins 2 times":          {Marker: marker, Old: "now", New: "then"},
		"begins 59 times":         {Marker: marker, New: "x"},
		`no marker "no-such-one"`: {Marker: "no-such-one", Old: "a", New: "b"},
		"can't be switched on":    {Marker: marker, Old: line + "\n}", New: "}"},
	} {
		_, err := s.switched([]mutant{{Name: "gone", Edits: []edit{e}}})
		require.ErrorContains(t, err, "gone: stale: ")
		assert.ErrorContains(t, err, says)
	}
}

// Two mutants are caught, one of them in a script; two change nothing that their tests look at. Without a test, or with
// one that always fails, no result counts.
func TestOutcomes(t *testing.T) {
	long.Test(t, "it builds test programs; TestMutants does so, too")
	t.Setenv("FAIL", "1")
	var list []mutant
	for _, m := range all() {
		if m.Name == "guard-passes-lower" || m.Name == "redis-guard-forgets" {
			list = append(list, m)
		}
	}
	one := func(name, new string, d detector) mutant {
		return mutant{Name: name, Edits: []edit{{Marker: "guard-remembers", Old: "k.highest = t", New: new}}, Detector: d}
	}
	contract := detector{"./fencing", "^TestMemoryContract$"}
	elsewhere := list[0]
	elsewhere.Name, elsewhere.Detector.Test = "elsewhere", "^TestWriteNil$"
	list = append(list, elsewhere, one("comment", "k.highest = t /* the same */", contract),
		one("fails", "k.highest = t + 0", detector{"./simulation/internal/mutants", "^TestThatFailsIfAsked$"}))
	p, err := opened(t).prepare(t.Context(), t.TempDir(), list)
	require.NoError(t, err)
	for i, want := range []bool{true, true, false, false} {
		caught, err := p.caught(t.Context(), list[i])
		require.NoError(t, err)
		assert.Equal(t, want, caught, list[i].Name)
	}
	_, err = p.caught(t.Context(), list[4])
	require.ErrorContains(t, err, "^TestThatFailsIfAsked$ fails without a mutant, so no result counts: --- FAIL: ")

	p, err = opened(t).prepare(t.Context(), t.TempDir(), []mutant{one("no-go", "k.highest = nothing", contract)})
	require.NoError(t, err)
	_, err = p.caught(t.Context(), mutant{Detector: contract})
	require.ErrorContains(t, err, "undefined: nothing")
}

// TestThatFailsIfAsked is a detector for TestOutcomes.
func TestThatFailsIfAsked(t *testing.T) {
	assert.Empty(t, os.Getenv("FAIL"))
}
