package mutants

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// Every mutant fits the current source. If the source has changed, rewrite the mutant: its
// marker says which guarantee to break.
func TestNoneIsStale(t *testing.T) {
	s := source(t)
	for _, m := range All() {
		assert.NoError(t, s.Check(m))
	}
}

// Every marker has a mutant. A guarantee without one is untested.
func TestEveryMarkerHasAMutant(t *testing.T) {
	broken := map[string]bool{}
	for _, m := range All() {
		for _, name := range m.Markers() {
			broken[name] = true
		}
	}
	markers, err := source(t).Markers()
	require.NoError(t, err)
	require.Greater(t, len(markers), 100)
	for _, m := range markers {
		assert.True(t, broken[m.Name], "%s:%d: no mutant breaks %s", m.File, m.Line, m.Name)
	}
}

func TestList(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen, edits := map[string]bool{}, map[string]string{}
	all := All()
	require.GreaterOrEqual(t, len(all), 100)
	for _, m := range all {
		assert.Regexp(t, name, m.Name)
		assert.LessOrEqual(t, len(m.Name), 30, m.Name)
		assert.False(t, seen[m.Name], "%s is there twice", m.Name)
		seen[m.Name] = true
		assert.NotEmpty(t, m.Edits, m.Name)
		raw, err := json.Marshal(m.Edits)
		require.NoError(t, err)
		assert.Empty(t, edits[string(raw)], "%s is the same as another", m.Name)
		edits[string(raw)] = m.Name
	}
}

// Every named detector exists.
func TestDetectors(t *testing.T) {
	tests := map[string][]string{} // by package, which many mutants have in common
	for _, m := range All() {
		folder := filepath.Join("../../..", m.Detector.Package)
		if tests[folder] == nil {
			tests[folder] = testsIn(t, folder)
		}
		pattern, _, _ := strings.Cut(m.Detector.Test, "/")
		assert.True(t, slices.ContainsFunc(tests[folder], regexp.MustCompile(pattern).MatchString), "%s: no test is called %s", m.Name, m.Detector.Test)
	}
}

// testsIn lists the tests of a package.
func testsIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	var names []string
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(raw)) {
			if rest, ok := strings.CutPrefix(line, "func Test"); ok {
				name, _, _ := strings.Cut(rest, "(")
				names = append(names, "Test"+name)
			}
		}
	}
	return names
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
}

func TestStale(t *testing.T) {
	s := source(t)
	const marker, line = "wall-clock-alone", "return Instant{Mono: now.Sub(r.base), Wall: now.Round(0)}"
	for says, e := range map[string]edit{
		"begins 0 times":          {Marker: marker, Old: "no such text", New: "x"},
		"begins 0 times in it":    {Marker: marker, Old: "package drift", New: "package adrift"}, // in another line
		"begins 2 times":          {Marker: marker, Old: "now", New: "then"},
		"Old equals New":          {Marker: marker, Old: line, New: line},
		"empty Old":               {Marker: marker, New: "x"},
		`no marker "no-such-one"`: {Marker: "no-such-one", Old: "a", New: "b"},
	} {
		err := s.Check(mutant{Name: "stale", Edits: []edit{e}})
		require.ErrorIs(t, err, errStale, says)
		assert.ErrorContains(t, err, "stale: ")
		assert.ErrorContains(t, err, says)
	}
	// The second edit sees what the first one made.
	require.NoError(t, s.Check(mutant{Edits: []edit{
		{Marker: marker, Old: "now.Sub", New: "then.Sub"}, {Marker: marker, Old: "then.Sub", New: "now.Sub"},
	}}))
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

// All mutants compile. Otherwise that would be found out only when they are run.
func TestMutantsCompile(t *testing.T) {
	long.Test(t, "it compiles a copy of the library")
	s := source(t)
	texts, apart, err := s.together(All())
	require.NoError(t, err)
	assert.Less(t, len(apart), 30, "these are built one by one: %q", apart)
	overlay, err := s.overlay(texts, t.TempDir())
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "./drift/...", "./fencing/...", "./quorum/...", "./instance/...")
	cmd.Dir = s.root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// Two mutants are caught, one of them in a script; two change nothing that their tests look at; one is
// stale.
func TestOutcomes(t *testing.T) {
	long.Test(t, "it builds test programs; the command mutants does so, too")
	t.Setenv("TMPDIR", t.TempDir())
	s := source(t)
	list, err := Select("guard-passes-lower", "redis-guard-forgets")
	require.NoError(t, err)
	one := func(name, old, new string) mutant {
		return mutant{Name: name, Edits: []edit{{Marker: "guard-remembers", Old: old, New: new}},
			Detector: Detector{Package: "./fencing", Test: "^TestMemoryContract$"}}
	}
	elsewhere := list[0]
	elsewhere.Name, elsewhere.Detector.Test = "other-detector", "^TestWriteNil$"
	list = append(list, elsewhere, one("comment", "k.highest = t", "k.highest = t /* the same */"), one("stale", "no such text", ""))
	results := map[string]Result{}
	require.NoError(t, Run(t.Context(), s, list, 2, func(r Result) { results[r.Name] = r }))
	require.Len(t, results, len(list))
	for name, by := range map[string]string{"guard-passes-lower": "TestMemoryContract/Order", "redis-guard-forgets": "TestContract/miniredis"} {
		assert.True(t, results[name].Caught(), results[name])
		assert.Contains(t, results[name].By, by)
	}
	for name, says := range map[string]string{"other-detector": "NOT by TestWriteNil", "comment": "NOT by TestMemoryContract", "stale": "stale: "} {
		assert.False(t, results[name].Caught())
		assert.Contains(t, results[name].String(), says)
	}
	require.ErrorIs(t, results["stale"].Err, errStale)

	// One that doesn't compile, and a detector that fails on its own.
	tell := func(Result) {}
	require.ErrorIs(t, Run(t.Context(), s, []mutant{one("no-go", "k.highest = t", "k.highest = nothing")}, 1, tell), errBuild)
	t.Setenv("FAIL", "1")
	fails := one("fails", "k.highest = t", "k.highest = t + 0")
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

// An interruption stops all processes and leaves no files.
func TestInterruption(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := source(t)
	list, err := Select("guard-passes-lower", "guard-forgets")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var told []string
	err = Run(ctx, s, list, 1, func(r Result) {
		assert.True(t, r.Caught(), r)
		told = append(told, r.Name)
		cancel()
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []string{"guard-passes-lower"}, told)
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// The name of a failed test is read from its output.
func TestFailure(t *testing.T) {
	for output, want := range map[string]string{
		"=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\n":                                                                                "",
		"=== RUN   TestA\n    a_test.go:7: got 1, want 2\n--- FAIL: TestA (0.00s)\nFAIL\n":                                                "TestA",
		"=== RUN   TestA\n=== RUN   TestA/sub\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/sub (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\n": "TestA/sub",
		"=== RUN   TestA\n=== RUN   TestA/sub\npanic: runtime error: index out of range\n\ngoroutine 7 [running]:\n":                      "TestA/sub",
	} {
		assert.Equal(t, want, failure(output), output)
	}
}

func TestParse(t *testing.T) {
	all, err := parse("// a comment\n\n# Time: it passes\n\nearly: ./quorum ^TestX$/^y$\n@ mark\n-a\n-\tb\n@ other\n-c\n+d\n\nlate: ./drift ^TestX$\n@ mark\n-e\n")
	require.NoError(t, err)
	require.Equal(t, []mutant{
		{Name: "early", Edits: []edit{{"mark", "a\n\tb", ""}, {"other", "c", "d"}}, Detector: Detector{Package: "./quorum", Test: "^TestX$/^y$"}},
		{Name: "late", Edits: []edit{{"mark", "e", ""}}, Detector: Detector{Package: "./drift", Test: "^TestX$"}},
	}, all)
	_, err = parse("# Time: it passes\n\nearly: somebody")
	require.EqualError(t, err, `line 3: "somebody" is no detector, want a package and a pattern of its tests`)
}

// A mutant that changes the bodies of functions can be switched on. Others can't.
func TestChangedBodies(t *testing.T) {
	const original = "package p\n\nvar v = 1\n\nfunc a(int) (err error) { return nil }\n\nfunc (t *T) b() { println() }\n"
	bodies, ok := changedBodies(original, strings.Replace(original, "nil", "err", 1))
	require.True(t, ok)
	require.Equal(t, map[int]string{0: " return err "}, bodies)
	_, ok = changedBodies(original, strings.Replace(original, "= 1", "= 2", 1))
	require.False(t, ok)
	_, ok = changedBodies(original, strings.Replace(original, "(int)", "(int8)", 1))
	require.False(t, ok)
}
