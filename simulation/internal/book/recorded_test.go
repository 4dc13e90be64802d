package book_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/live"
	"github.com/redquorum/redlock/simulation/internal/origin"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// readRecorded reads a file of testdata, in which a command or a test has recorded results.
func readRecorded[T any](t *testing.T, file string) (r T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(read(t, file)), &r), file)
	return r
}

func writeRecorded(t *testing.T, file string, r any) {
	t.Helper()
	text, err := json.MarshalIndent(r, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(text, '\n'), 0o644))
}

// recordedFile says when and where recordings of real servers were made. The benchmarks' file says it itself, and a test
// plays a sample of the simulation's recording again.
const recordedFile = "testdata/recorded.json"

var justRecorded = flag.String("recorded", "", "note of this `part` that it was recorded now, on the commit that is checked out; with -update")

// recordedSentence says how a part was recorded, and whether the lock has changed since then.
func recordedSentence(t *testing.T, words []string) string {
	part, all := words[0], readRecorded[map[string]origin.Origin](t, recordedFile)
	if *update && *justRecorded == part {
		now, err := origin.Of(t.Context(), "..")
		require.NoError(t, err)
		require.NotEqual(t, "unknown", now.Commit, "git doesn't know the commit that was recorded")
		now.Commit = strings.TrimSuffix(now.Commit, "-dirty") // only by what was recorded: .ci/record demands that
		all[part] = now
		writeRecorded(t, recordedFile, all)
	}
	require.Contains(t, all, part, "run .ci/record %s", part)
	return fill(t, "recorded", all[part])
}

// benchResults is what the benchmark program has written (.ci/record bench). Figures differ from machine to machine; no
// test says what they must be.
type benchResults struct {
	origin.Origin
	Server, Go string
	Rounds     int
	Seconds    float64
	Parts      map[string][]benchRow
}

type benchRow struct {
	Contender, State                          string
	Servers, Processes, Workers, Keys, Leases int
	Figures                                   map[string]float64
	Ratios                                    map[string]struct{ Median float64 }
}

func benchmarks(t *testing.T) benchResults {
	return readRecorded[benchResults](t, "testdata/bench.json")
}

// benchTable is the table of a part: words are the part and, if not all rows are shown, the numbers of workers that
// are.
func benchTable(t *testing.T, words []string) string {
	rows := slices.DeleteFunc(benchmarks(t).Parts[words[0]], func(r benchRow) bool {
		return len(words) > 1 && !slices.Contains(words[1:], strconv.Itoa(r.Workers))
	})
	require.NotEmpty(t, rows)
	return fill(t, words[0], rows)
}

// benchSettings says how the benchmarks were recorded.
func benchSettings(t *testing.T, _ []string) string { return fill(t, "bench-settings", benchmarks(t)) }

// speed compares this library with redsync in a sentence, for readers who want no table: words are a number of workers.
func speed(t *testing.T, words []string) string {
	rows := map[string]benchRow{}
	for _, row := range benchmarks(t).Parts["throughput"] {
		rows[fmt.Sprint(row.Workers, " ", row.Contender)] = row
	}
	return fill(t, "speed", map[string]benchRow{"One": rows["1 redlock"], "Many": rows[words[0]+" redlock"], "Redsync": rows["1 redsync"]})
}

// recordedLive are the latest outcomes of the scenarios on real servers, those on the installed server first. .ci/record
// live writes them. That takes minutes, so a test can't repeat it. It checks them against the simulation's current
// verdicts.
func recordedLive(t *testing.T) (all []live.Report) {
	files, err := filepath.Glob("testdata/live/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files, "run .ci/record live")
	for _, file := range files {
		all = append(all, readRecorded[live.Report](t, file))
	}
	return all
}

func TestRecordedLiveRunIsFresh(t *testing.T) {
	for _, r := range recordedLive(t) {
		recorded := map[string]bool{}
		for _, l := range r.Lines {
			recorded[l.Scenario] = true
			assert.True(t, l.OK(), "%s with %s on %s", l.Scenario, l.Design, r.Server)
			s, err := scenarios.ByID(l.Scenario)
			require.NoError(t, err)
			_, err = s.Design(l.Design)
			require.NoError(t, err)
			if l.Skipped == "" {
				assert.Equal(t, live.Visible(s, l.Design).String(), scenarios.Verdict{Kinds: l.Seen}.String(), "%s with %s: the simulation says something else now; run .ci/record live", l.Scenario, l.Design)
			}
		}
		for _, a := range live.Cases() {
			assert.True(t, recorded[a.Scenario], "%s is played live and not recorded on %s: run .ci/record live", a.Scenario, r.Server)
		}
	}
}

// liveTable has a row for each scenario.
func liveTable(t *testing.T, _ []string) string { return fill(t, "live", recordedLive(t)[0].Lines) }

// liveServers has a row for each kind of server.
func liveServers(t *testing.T, _ []string) string {
	var rows [][]string
	for _, r := range recordedLive(t) {
		again := 0
		for _, l := range r.Lines {
			if l.Plays > 1 {
				again++
			}
		}
		rows = append(rows, []string{r.Server, strconv.Itoa(r.Played), strconv.Itoa(r.Played - r.Disagreements), strconv.Itoa(again), strconv.Itoa(r.Skipped)})
	}
	return table("servers | plays | agreed | of them not in the first play | skipped", rows)
}
