package book_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/internal/matrix"
	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/record"
)

// recording is the latest matrix. Playing all of it takes minutes, so a file keeps it, with the fingerprint of a sample
// that tells when it is out of date. A change of the library, the simulation, a design, a fault or an expectation that
// changes outcomes changes the sample.
type recording struct {
	Recorded     string        `json:"recorded"` // the day
	Seeds        uint64        `json:"seeds"`
	SafeRuns     int           `json:"safe_runs"`
	SafeViolated int           `json:"safe_violated"`
	Sample       string        `json:"sample"`
	Matrix       report.Matrix `json:"matrix"`
}

const (
	recordingFile = "testdata/matrix.json"
	// recordedSeeds is the number of seeds for each cell of the recording.
	recordedSeeds = 100
)

// play plays so many seeds of each cell.
func play(t *testing.T, seeds uint64) matrix.Result {
	t.Helper()
	plan := matrix.DefaultPlan()
	plan.Seeds = seeds
	played, err := matrix.Play(t.Context(), plan, nil)
	require.NoError(t, err)
	return played
}

var again sync.Once

// sampled plays each cell once. It returns the fingerprint of that, and of what is expected.
func sampled(t *testing.T) string {
	t.Helper()
	sum := sha256.New()
	for _, f := range cells.Faults() {
		for _, d := range designs.All() {
			if want, ok := cells.ExpectationOf(f.Name, d.Name); ok {
				fmt.Fprintln(sum, f.Name, d.Name, want.May)
			}
		}
	}
	require.NoError(t, json.NewEncoder(sum).Encode(play(t, 1).Matrix()))
	return hex.EncodeToString(sum.Sum(nil))
}

// recorded returns the recording; with -update it is recorded again first, if its sample has changed, or if there is
// none. It has only what is expected.
func recorded(t *testing.T) recording {
	t.Helper()
	again.Do(func() {
		_, err := os.Stat(recordingFile)
		if !*update || err == nil && sampled(t) == readRecorded[recording](t, recordingFile).Sample {
			return
		}
		played := play(t, recordedSeeds)
		r := recording{Recorded: time.Now().Format("2 January 2006"), Seeds: recordedSeeds, Sample: sampled(t), Matrix: played.Matrix()}
		r.SafeRuns, r.SafeViolated = played.Safe()
		for i, d := range r.Matrix.Designs {
			for j, f := range r.Matrix.Faults {
				require.False(t, r.Matrix.At(i, j).Unexpected, "%s with %s isn't as package cells expects: change the expectation or the fault's shape", d.Name, f.Name)
			}
		}
		writeRecorded(t, recordingFile, r)
	})
	return readRecorded[recording](t, recordingFile)
}

func TestRecordedMatrixIsFresh(t *testing.T) {
	if !*update {
		long.Test(t, "it plays every cell once")
	}
	if recorded(t).Sample != sampled(t) {
		t.Errorf(stale, recordingFile)
	}
}

// matrixTable is the matrix in percent, with a line for each design that is played with a few faults
// only. The confidence intervals are in the command's own output.
func matrixTable(t *testing.T, _ []string) string {
	r := recorded(t)
	head := "design"
	for _, f := range r.Matrix.Faults {
		head += " | " + f.Name
	}
	var rows [][]string
	var few strings.Builder
	for i, d := range r.Matrix.Designs {
		row, played := []string{"`" + d.Name + "`"}, []string{}
		for j, f := range r.Matrix.Faults {
			share := percent(r.Matrix.At(i, j))
			row = append(row, strings.TrimPrefix(strings.Replace(share, " %", "", 1), "0"))
			if share != "" {
				played = append(played, f.Name+" "+share)
			}
		}
		if len(played) == len(r.Matrix.Faults) {
			rows = append(rows, row)
		} else {
			fmt.Fprintf(&few, "- `%s`: %s\n", d.Name, strings.Join(played, ", "))
		}
	}
	return fmt.Sprintf("Runs with a violation, in percent of %d. Empty: none. ?: none, but what it depends on never happened.\n\n%s\nPlayed with the faults that matter to them:\n\n%s",
		r.Seeds, table(head, rows), few.String())
}

// byFault has a column for each design, and a row for each fault: words are the designs, separated by commas, and the
// faults.
func byFault(r recording, words []string, show func(report.Cell) string) string {
	designs := strings.Split(words[0], ",")
	var rows [][]string
	for _, fault := range words[1:] {
		row := []string{"`" + fault + "`"}
		for _, design := range designs {
			row = append(row, show(r.cell(design, fault)))
		}
		rows = append(rows, row)
	}
	return table("fault | `"+strings.Join(designs, "` | `")+"`", rows)
}

// overvalued counts leases that were promised for too long.
func overvalued(t *testing.T, words []string) string {
	return byFault(recorded(t), words, func(c report.Cell) string {
		c.Violated = c.Overvalued
		return percent(c)
	})
}

// plain has columns' names that need no legend.
var plain = strings.NewReplacer("`setpx-cad`", "one Redis", "`redlock`", "Redlock as published", "`default`", "this library", "`token-admit`", "with token checks")

// intervals has the rates with their confidence intervals.
func intervals(t *testing.T, words []string) string {
	return plain.Replace(byFault(recorded(t), words, func(c report.Cell) string {
		low, high := c.Interval()
		return fmt.Sprintf("%.0f %% (%.0f to %.0f)", 100*c.Rate(), 100*low, 100*high)
	}))
}

// cell is that of a design and a fault, by their names.
func (r recording) cell(design, fault string) report.Cell {
	at := func(axis []report.Axis, name string) int {
		return slices.IndexFunc(axis, func(a report.Axis) bool { return a.Name == name })
	}
	return r.Matrix.At(at(r.Matrix.Designs, design), at(r.Matrix.Faults, fault))
}

func percent(c report.Cell) string {
	switch {
	case c.Runs == 0:
		return ""
	case c.Violated > 0:
		return fmt.Sprintf("**%.0f %%**", 100*c.Rate())
	case len(c.Unreached) > 0:
		return "?"
	default:
		return "0"
	}
}

// faultTable says what each fault of the matrix is.
func faultTable(t *testing.T, _ []string) string { return fill(t, "faults", recorded(t).Matrix.Faults) }

// harm counts runs with harm, and names the other faults that did any. Its columns have names that need no legend.
func harm(t *testing.T, words []string) string {
	r := recorded(t)
	for kind := range r.cell("default", "rate").Kinds {
		require.Contains(t, []record.ViolationKind{record.NeverFree, record.NoProgress}, record.ViolationKind(kind), "the text says that with rate nobody gets this library's lock")
	}
	require.Contains(t, r.cell("redlock", "rate").Kinds, string(record.TwoHolders), "the text says so")
	designs, held := strings.Split(words[0], ","), 0
	var others []string
	for _, f := range r.Matrix.Faults {
		switch {
		case slices.Contains(words[1:], f.Name):
		case slices.ContainsFunc(designs, func(design string) bool { return r.cell(design, f.Name).Violated > 0 }):
			others = append(others, "`"+f.Name+"`")
		default:
			held++
		}
	}
	counted := plain.Replace(byFault(r, words, percent))
	counted = strings.NewReplacer("| fault |", fmt.Sprintf("| fault (%% of %d runs with harm) |", r.Seeds), " %", "").Replace(counted)
	return fmt.Sprintf(`%s
With clocks at wrong rates, what goes wrong is that Redlock has two holders, and that nobody gets this library's lock, because it ignores such servers.
Other faults that did harm: %s. The other %d did none.`,
		counted, strings.Join(others, ", "), held)
}

// runsInAll says how many runs there are, and in how many of them the lock held as expected.
func runsInAll(t *testing.T, _ []string) string {
	r, runs := recorded(t), 0
	for _, design := range r.Matrix.Cells {
		for _, c := range design {
			runs += c.Runs
		}
	}
	return fmt.Sprintf("Of %s runs with all designs, %s were expected to be harmless, and %s were. Recorded on %s.",
		timeline.Grouped(int64(runs)), timeline.Grouped(int64(r.SafeRuns)), timeline.Grouped(int64(r.SafeRuns-r.SafeViolated)), r.Recorded)
}
