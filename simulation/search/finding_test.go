package search_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// Assumptions have the numbers and the words of package quorum.
func TestNamesAreThoseOfPackageQuorum(t *testing.T) {
	doc, err := os.ReadFile("../../quorum/doc.go")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(doc), "// # What is assumed\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "// # ")
	text = regexp.MustCompile(`\n// +`).ReplaceAllString(text, " ")
	points := regexp.MustCompile(` [1-9]\. `).Split(text, -1)[1:]
	require.Len(t, points, 7)
	for i, point := range points {
		_, name, _ := strings.Cut(strings.TrimSuffix(search.Assumption(i+1).String(), ")"), " (")
		assert.Regexp(t, "^"+strings.ToUpper(name[:1])+regexp.QuoteMeta(name[1:])+`[.:( ]`, point)
	}
}

// A finding is due to the assumption that its faults break, and to none if the assumptions cover all
// of them.
func TestAssumptionOfAFinding(t *testing.T) {
	for _, test := range []struct {
		design string
		faults []fault.Kind
		kind   record.ViolationKind
		from   uint64 // the search begins at a seed that finds it
		want   search.Assumption
	}{
		{"default", []fault.Kind{fault.Pause}, record.TwoHolders, 451, 1},
		{"default", []fault.Kind{fault.Duplicate}, record.LostUpdate, 7, 1},
		{"guarded", []fault.Kind{fault.Suspend}, record.TwoHolders, 19, 2},
		{"default", []fault.Kind{fault.Evict}, record.TwoHolders, 132, 3},
		{"default", []fault.Kind{fault.SplitBrain}, record.TwoHolders, 5, 4},
		{"unwatched", []fault.Kind{fault.Switch}, record.TwoHolders, 0, 3},
		{"unwatched", []fault.Kind{fault.Restart}, record.TwoHolders, 272, 0},
		{"forgetful", []fault.Kind{fault.Cut}, record.TwoHolders, 0, 0},
	} {
		t.Run(fmt.Sprintf("%s %v", test.design, test.faults), func(t *testing.T) {
			f := first(t, drawn("mixed", test.design, test.faults...), test.kind, test.from)
			small, _, err := search.Shrink(t.Context(), registry(), f.Setup, f.Kind)
			require.NoError(t, err)
			r, err := registry().Play(small)
			require.NoError(t, err)
			findings, err := registry().Findings(0, small, r)
			require.NoError(t, err)
			i := slices.IndexFunc(findings, func(f search.Finding) bool { return f.Kind == test.kind })
			require.GreaterOrEqual(t, i, 0)
			assert.Equal(t, test.want, findings[i].Assumption, "%v", small.Schedule)
		})
	}
}

// Within the assumptions the library has no violation, and servers that grant everything have many.
func TestWithin(t *testing.T) {
	workloads := []string{"mixed", "relay", "crowd"}
	if !long.Asked() {
		workloads = workloads[:1]
	}
	for _, workload := range workloads {
		for design, finds := range map[string]bool{"default": false, "guarded": false, "forgetful": true} {
			space := search.Space{Setup: search.Setup{Workload: workload, Design: design}, Within: true}
			report := find(t, space, few()*2)
			for _, f := range report.Findings {
				assert.Zero(t, f.Assumption, "%s %s seed %d: %s", workload, design, f.First, f.Text)
			}
			assert.Equal(t, finds, report.Violating > 0, "%s %s: %v", workload, design, report.Findings)
			for _, never := range []string{"a key was evicted", "a server split in two"} {
				assert.Zero(t, report.Counts[never], "%s", never)
			}
			for _, reached := range []string{"a process was paused", "a clock was stepped", "a server was restarted", "a server was flushed", "a server failed over", "a request was lost"} {
				assert.Positive(t, report.Counts[reached], "%s", reached)
			}
		}
	}
}
