package search_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// Promises and assumptions have the numbers and the words of package quorum.
func TestNamesAreThoseOfPackageQuorum(t *testing.T) {
	doc, err := os.ReadFile("../../quorum/doc.go")
	require.NoError(t, err)
	list := func(heading string) []string {
		_, text, found := strings.Cut(string(doc), "// # "+heading+"\n")
		require.True(t, found, heading)
		text, _, _ = strings.Cut(text, "// # ")
		text = regexp.MustCompile(`\n// +`).ReplaceAllString(text, " ")
		var points []string
		for n := 1; ; n++ {
			_, after, found := strings.Cut(text, fmt.Sprintf(" %d. ", n))
			if !found {
				return points
			}
			points, text = append(points, after), after
		}
	}
	promised := list("What is guaranteed")
	require.Len(t, promised, 5)
	for i, text := range promised {
		name := search.Promise(i + 1).String()
		assert.True(t, strings.HasPrefix(strings.ToLower(text), name+". "), "%s: %s", name, text)
	}
	assumed := list("What is assumed")
	require.Len(t, assumed, 7)
	for i, text := range assumed {
		_, name, _ := strings.Cut(search.Breach{Assumption: i + 1}.String(), " (")
		name, _, _ = strings.Cut(name, "): ")
		assert.Regexp(t, "^"+strings.ToUpper(name[:1])+regexp.QuoteMeta(name[1:])+`[.:( ]`, text)
	}
}

// A finding breaks the assumption that it is about, and a promise only if the assumptions cover all
// faults.
func TestBlame(t *testing.T) {
	for _, test := range []struct {
		workload, design string
		faults           []fault.Kind
		kind             record.ViolationKind
		from             uint64 // the search begins at a seed that finds it
		want             string // a pattern
	}{
		{"mixed", "default", []fault.Kind{fault.Pause}, record.TwoHolders, 451, `^assumption 1 \(holders notice their deadline\): c\d was paused after it had checked its lease$`},
		{"mixed", "default", []fault.Kind{fault.Duplicate}, record.LostUpdate, 7, `^assumption 1 .*: a request of c\d reached the resource twice$`},
		{"mixed", "guarded", []fault.Kind{fault.Suspend}, record.TwoHolders, 19, `assumption 2 \(servers count a TTL .*\): the clocks of a suspended machine, c\d's, stood still$`},
		{"mixed", "default", []fault.Kind{fault.Evict}, record.TwoHolders, 132, `^assumption 3 \(a vote stands for its TTL\): [A-E] evicted a key`},
		{"mixed", "default", []fault.Kind{fault.SplitBrain}, record.TwoHolders, 5, `^assumption 3 .*: [A-E] continued to answer beside`},
		{"mixed", "unwatched", []fault.Kind{fault.Switch}, record.TwoHolders, 0, `^assumption 3 .*: two servers answered behind [A-E]'s address for longer than MaxTTL exceeds the TTL`},
		{"mixed", "unwatched", []fault.Kind{fault.Restart}, record.TwoHolders, 272, `^promise 1 \(mutual exclusion\): the assumptions cover all that went wrong$`},
		{"mixed", "forgetful", []fault.Kind{fault.Cut}, record.TwoHolders, 0, `^promise 1 \(mutual exclusion\)`},
	} {
		t.Run(fmt.Sprintf("%s %s %v", test.workload, test.design, test.faults), func(t *testing.T) {
			space := search.Space{Setup: search.Setup{Workload: test.workload, Design: test.design}, Faults: test.faults}
			for from := test.from; from < test.from+5_000; from += 5 {
				report, err := search.Search(t.Context(), registry(), space, search.Options{From: from, To: from + 5})
				require.NoError(t, err)
				for _, f := range report.Findings {
					if f.Kind != test.kind {
						continue
					}
					shrunk, err := search.Shrink(t.Context(), registry(), f.Setup, f.Kind)
					require.NoError(t, err)
					blame, err := registry().Blame(shrunk.Setup, f.Kind)
					require.NoError(t, err)
					if matched, err := regexp.MatchString(test.want, blame.String()); err == nil && matched {
						assert.Equal(t, strings.HasPrefix(test.want, "^promise"), !blame.Excused())
						return
					}
					t.Logf("seed %d: %v, %v", f.First, blame, shrunk.Setup.Schedule)
				}
			}
			assert.Fail(t, "not found", "%s", test.want)
		})
	}
	for _, s := range []search.Setup{{Workload: "sing"}, setup("default")} {
		_, err := registry().Blame(s, record.TwoHolders)
		require.ErrorIs(t, err, search.ErrSetup)
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
