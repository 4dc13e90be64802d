package mutants

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/internal/orders"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
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
	require.Greater(t, len(markers), 200)
	for _, m := range markers {
		assert.True(t, broken[m.Name], "%s:%d: no mutant breaks %s", m.File, m.Line, m.Name)
	}
}

// No two markers state the same guarantee. If several lines uphold one guarantee, each
// marker states what its line contributes.
func TestGuaranteesDiffer(t *testing.T) {
	markers, err := source(t).Markers()
	require.NoError(t, err)
	seen := map[string]string{}
	for _, m := range markers {
		assert.Empty(t, seen[m.Guarantee], "%s says the same: %s", m.Name, m.Guarantee)
		seen[m.Guarantee] = m.Name
		assert.LessOrEqual(t, len(m.Guarantee), 110, m.Name)
		assert.NotRegexp(t, `[.;]$`, m.Guarantee, m.Name)
	}
}

func TestList(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen, edits := map[string]bool{}, map[string]string{}
	all := All()
	require.GreaterOrEqual(t, len(all), 25)
	for _, m := range all {
		assert.Regexp(t, name, m.Name)
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
	var stories []string
	for _, s := range append(scenarios.All(), scenarios.ForMutants()...) {
		stories = append(stories, s.ID)
	}
	for _, s := range scenarios.Sweeps() {
		for _, value := range s.Values {
			stories = append(stories, s.At(value).ID)
		}
	}
	var searches []string
	for _, s := range Searches() {
		searches = append(searches, s.Name)
		_, err := designs.ByName(s.Design)
		assert.NoError(t, err, s.Name)
		assert.NotZero(t, s.Seeds, s.Name)
		for _, kind := range s.Faults {
			assert.Contains(t, fault.Kinds(), fault.Kind(kind), s.Name)
		}
	}
	tests := map[string][]string{} // by package, which many mutants have in common
	for _, m := range All() {
		for _, j := range append([]Detector{m.Detector}, m.Also...) {
			switch {
			case j.Scenario != "":
				assert.Contains(t, stories, j.Scenario, m.Name)
			case j.Search != "":
				assert.Contains(t, searches, j.Search, m.Name)
			case j.Walk != "":
				plan, err := orders.Small(j.Walk)
				assert.NoError(t, err, m.Name)
				assert.Subset(t, orders.Names(), plan.Worlds, m.Name)
				assert.Subset(t, orders.Kinds(), plan.Faults, m.Name)
			default:
				assert.DirExists(t, filepath.Join("../../..", j.Package), m.Name)
				if tests[j.Package] == nil {
					tests[j.Package] = testsIn(t, filepath.Join("../../..", j.Package))
				}
				pattern, _, _ := strings.Cut(j.Test, "/")
				assert.True(t, slices.ContainsFunc(tests[j.Package], regexp.MustCompile(pattern).MatchString), "%s: no test is called %s", m.Name, j.Test)
			}
		}
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

// Three mutants are caught, each by another kind of detector; one changes nothing; two
// fail. These are quick. The command runs all mutants.
func TestOutcomes(t *testing.T) {
	long.Test(t, "it builds and runs test binaries for a minute")
	t.Setenv("TMPDIR", t.TempDir())
	s := source(t)
	list, err := Select("no-elapsed-check", "guard-passes-lower", "small-jumps-add-up")
	require.NoError(t, err)
	one := func(name, old, new string) mutant {
		return mutant{Name: name, Edits: []edit{{Marker: "guard-remembers", Old: old, New: new}},
			Detector: Detector{Package: "./fencing", Test: "^TestMemoryContract$"}}
	}
	elsewhere := list[slices.IndexFunc(list, func(m mutant) bool { return m.Name == "guard-passes-lower" })]
	elsewhere.Name, elsewhere.Detector.Test = "other-detector", "^TestWriteNil$"
	list = append(list, elsewhere,
		one("comment", "k.highest = t", "k.highest = t /* the same */"),
		one("no-go", "k.highest = t", "k.highest = nothing"),
		one("stale", "no such text", ""))

	told := map[string]Result{}
	report, err := Run(t.Context(), s, Options{Mutants: list, Progress: func(name string, begins bool, r Result) {
		if !begins {
			told[name] = r
		}
	}})
	require.NoError(t, err)
	require.Equal(t, outcomeSurvived, report.Unbroken.Outcome, report.Unbroken.Says)
	require.Greater(t, report.Unbroken.Runs, 30)
	require.False(t, report.OK())
	require.Len(t, report.Results, len(list))
	for i, want := range []struct {
		name    string
		outcome outcome
		by      string
		says    string
	}{
		{"no-elapsed-check", outcomeCaught, "S3 with ", ""},
		{"small-jumps-add-up", outcomeCaught, "TestMonitor", ""},
		{"guard-passes-lower", outcomeCaught, "TestMemoryContract/Order", "want a *fencing.StaleError"},
		{"other-detector", outcomeCaught, "", ""},
		{"comment", outcomeSurvived, "", ""},
		{"no-go", outcomeBroken, "", "doesn't compile"},
		{"stale", outcomeBroken, "", "stale"},
	} {
		r := report.Results[i]
		assert.Equal(t, want.name, r.Name)
		assert.Equal(t, want.outcome, r.Outcome, "%s: %s %s", r.Name, r.By, r.Says)
		assert.Contains(t, r.By, want.by)
		assert.Contains(t, r.Says, want.says)
		assert.Equal(t, want.outcome == outcomeCaught && want.name != "other-detector", r.AsExpected, r.Name)
		assert.Equal(t, r, told[want.name])
	}
	words := report.Summary()
	for _, says := range []string{"no detector reports anything", "4 of 7 mutants caught", "1 of them NOT BY THEIR OWN DETECTOR", "1 SURVIVED", "2 failed"} {
		assert.Contains(t, words, says)
	}
	assert.Contains(t, told["comment"].Line(), "NONE, in ")
	assert.Contains(t, told["other-detector"].Line(), "not by")
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	assert.Empty(t, left, "nothing is left behind")
}

// An interruption stops all processes and leaves no files.
func TestInterruption(t *testing.T) {
	long.Test(t, "it builds test binaries")
	t.Setenv("TMPDIR", t.TempDir())
	s := source(t)
	list, err := Select("no-drift", "set-without-nx")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := time.Now()
	report, err := Run(ctx, s, Options{Mutants: list, Parallel: 1, Progress: func(name string, begins bool, _ Result) {
		if name == "set-without-nx" && begins {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, report.Results, 1, "finished results are kept")
	assert.Equal(t, "no-drift", report.Results[0].Name)
	assert.False(t, report.OK())
	assert.True(t, strings.HasPrefix(report.Summary(), "INTERRUPTED after 1 of 2 mutants. Only these are counted.\n"), report.Summary())
	assert.Less(t, time.Since(began), time.Minute)
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	assert.Empty(t, left)

	_, err = Run(t.Context(), s, Options{Parallel: 65})
	require.ErrorContains(t, err, "Parallel is 65")
}

// Rows are no wider than a terminal.
func TestRows(t *testing.T) {
	assert.LessOrEqual(t, len(Heading()), 101)
	from := source(t)
	for _, m := range All() {
		assert.LessOrEqual(t, len(m.Name), 30, m.Name)
		r := Result{Name: m.Name, Guarantee: from.Guarantee(m), Outcome: outcomeCaught, By: strings.Repeat("TestSomething/", 9), Took: 12 * time.Second, Runs: 9999}
		for line := range strings.Lines(r.Line()) {
			assert.LessOrEqual(t, len(line), 102, line)
		}
	}
	assert.Equal(t, "  why\n", strings.SplitAfter(Result{Name: "x", Outcome: outcomeBroken, Says: "why"}.Line(), "\n")[1])
}
