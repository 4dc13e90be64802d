package book_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/internal/matrix"
	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/record"
)

func init() {
	for name, generate := range map[string]func(recording, []string) (string, error){
		"matrix": matrixTable, "overvalued": overvalued, "faults": faultTable, "harm": harmOf, "intervals": intervals, "runs": runsInAll,
	} {
		generators[name] = func(words []string) (string, error) {
			r, err := recorded()
			if err != nil {
				return "", err
			}
			return generate(r, words)
		}
	}
	generatedFiles["figures/matrix.svg"] = heatMap
}

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
func play(seeds uint64) (matrix.Result, error) {
	plan := matrix.DefaultPlan()
	plan.Seeds = seeds
	return matrix.Play(context.Background(), plan, nil)
}

// sample plays each cell once. It returns the fingerprint of that, and of what is expected.
var sample = sync.OnceValues(func() (string, error) {
	played, err := play(1)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, f := range cells.Faults() {
		for _, d := range designs.All() {
			if want, ok := cells.ExpectationOf(f.Name, d.Name); ok {
				fmt.Fprintln(sum, f.Name, d.Name, want.May)
			}
		}
	}
	err = json.NewEncoder(sum).Encode(played.Matrix())
	return hex.EncodeToString(sum.Sum(nil)), err
})

// recorded returns the recording; with -update it is recorded again first, if its sample has changed, or if there is
// none.
var recorded = sync.OnceValues(func() (recording, error) {
	r, err := readRecorded[recording](recordingFile)
	if !*update {
		return r, err
	}
	sampled, failed := sample()
	if failed != nil || err == nil && sampled == r.Sample {
		return r, failed
	}
	played, err := play(recordedSeeds)
	if err != nil {
		return recording{}, err
	}
	r = recording{Recorded: time.Now().Format("2 January 2006"), Seeds: recordedSeeds, Sample: sampled, Matrix: played.Matrix()}
	r.SafeRuns, r.SafeViolated = played.Safe()
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return r, err
	}
	return r, os.WriteFile(recordingFile, append(text, '\n'), 0o644)
})

func TestRecordedMatrixIsFresh(t *testing.T) {
	if !*update {
		long.Test(t, "it plays every cell once")
	}
	r, err := recorded()
	require.NoError(t, err)
	sampled, err := sample()
	require.NoError(t, err)
	if r.Sample != sampled {
		t.Errorf(stale, recordingFile)
	}
}

// What was recorded is what is expected. A column that breaks no design would prove nothing, and some designs break in
// any. What dead clients do is shown by keys that never expire.
func TestRecordedMatrixIsExpected(t *testing.T) {
	r, err := recorded()
	require.NoError(t, err)
	assert.Zero(t, r.SafeViolated, "where no violation is expected there is none")
	easy := []string{"setnx", "setnx-expire", "setpx-del", "semisync"}
	for j, f := range r.Matrix.Faults {
		bites := f.Name == "crash"
		for i, axis := range r.Matrix.Designs {
			c := r.Matrix.At(i, j)
			assert.False(t, c.Unexpected, "%s with %s isn't as package cells expects: change the expectation or the fault's shape, and remove %s to record it again", axis.Name, f.Name, recordingFile)
			d, err := designs.ByName(axis.Name)
			require.NoError(t, err)
			bites = bites || c.Violated > 0 && !slices.Contains(easy, d.Name) || c.Overvalued > 0 && d.Servers == 5
		}
		assert.True(t, bites, "%s breaks no design", f.Name)
	}
}

// matrixTable is the matrix in percent, with a line for each design that is played with a few faults
// only. The confidence intervals are in the command's own output.
func matrixTable(r recording, _ []string) (string, error) {
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
		r.Seeds, table(head, rows), few.String()), nil
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
func overvalued(r recording, words []string) (string, error) {
	return byFault(r, words, func(c report.Cell) string {
		c.Violated = c.Overvalued
		return percent(c)
	}), nil
}

// plain has columns' names that need no legend.
var plain = strings.NewReplacer("`setpx-cad`", "one Redis", "`redlock`", "Redlock as published", "`default`", "this library", "`token-admit`", "with token checks")

// intervals has the rates with their confidence intervals.
func intervals(r recording, words []string) (string, error) {
	return plain.Replace(byFault(r, words, func(c report.Cell) string {
		low, high := c.Interval()
		return fmt.Sprintf("%.0f %% (%.0f to %.0f)", 100*c.Rate(), 100*low, 100*high)
	})), nil
}

// cell is that of a design and a fault, by their names.
func (r recording) cell(design, fault string) report.Cell {
	return r.Matrix.At(slices.IndexFunc(r.Matrix.Designs, axis(design)), slices.IndexFunc(r.Matrix.Faults, axis(fault)))
}

func axis(name string) func(report.Axis) bool {
	return func(a report.Axis) bool { return a.Name == name }
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
func faultTable(r recording, _ []string) (string, error) {
	var rows [][]string
	for _, f := range r.Matrix.Faults {
		rows = append(rows, []string{"`" + f.Name + "`", f.Title})
	}
	return table("fault | what happens in a run", rows), nil
}

// harmOf counts runs with harm, and names the other faults that did any. Its columns have names that need no legend.
func harmOf(r recording, words []string) (string, error) {
	designs := strings.Split(words[0], ",")
	var others []string
	for _, f := range r.Matrix.Faults {
		if !slices.Contains(words[1:], f.Name) && slices.ContainsFunc(designs, func(design string) bool { return r.cell(design, f.Name).Violated > 0 }) {
			others = append(others, "`"+f.Name+"`")
		}
	}
	held := len(r.Matrix.Faults) - len(words[1:]) - len(others)
	counted := byFault(r, words, percent)
	counted = strings.NewReplacer("| fault |", fmt.Sprintf("| fault (%% of %d runs with harm) |", r.Seeds), " %", "").Replace(plain.Replace(counted))
	if !nobodyGotIt(r.cell("default", "rate")) || r.cell("redlock", "rate").Kinds[string(record.TwoHolders)] == 0 {
		return "", errors.New("the text says that with rate nobody gets this library's lock, and Redlock has two holders")
	}
	return fmt.Sprintf(`%s
With clocks at wrong rates, what goes wrong is that Redlock has two holders, and that nobody gets this library's lock, because it ignores such servers.
Other faults that did harm: %s. The other %d did none.`,
		counted, strings.Join(others, ", "), held), nil
}

// nobodyGotIt reports whether the harm was only that nobody got the lock.
func nobodyGotIt(c report.Cell) bool {
	for kind := range c.Kinds {
		if kind != string(record.NeverFree) && kind != string(record.NoProgress) {
			return false
		}
	}
	return c.Violated > 0
}

// runsInAll says how many runs there are, and in how many of them the lock held as expected.
func runsInAll(r recording, _ []string) (string, error) {
	runs := 0
	for _, design := range r.Matrix.Cells {
		for _, c := range design {
			runs += c.Runs
		}
	}
	return fmt.Sprintf("Of %s runs with all designs, %s were expected to be harmless, and %s were. Recorded on %s.",
		timeline.Grouped(int64(runs)), timeline.Grouped(int64(r.SafeRuns)), timeline.Grouped(int64(r.SafeRuns-r.SafeViolated)), r.Recorded), nil
}
