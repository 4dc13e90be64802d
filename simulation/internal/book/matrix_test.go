package book_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/internal/matrix"
	"github.com/redquorum/redlock/simulation/internal/report"
)

func init() {
	generators["matrix"] = func([]string) (string, error) { return matrixTable() }
	generators["overvalued"] = func([]string) (string, error) { return overvaluedTable() }
	generators["reasons"] = func([]string) (string, error) { return reasons() }
	generators["harm"] = harmOf
	generators["safe"] = func([]string) (string, error) { return safeRuns() }
	generators["curves"] = func([]string) (string, error) { return curveLinks() }
	for _, id := range curveIDs {
		generatedFiles["figures/"+id+".svg"] = func() ([]byte, error) { return curveFile(id) }
	}
}

// curveIDs are the curves that have a picture.
var curveIDs = []string{"pause", "rate", "crash", "failover", "split"}

// recording is the latest matrix. Playing all of it takes minutes, so a file keeps it, with a
// sample: the outcomes of a few seeds of each cell. A change of the library, the simulation or a
// design that changes outcomes changes the sample.
type recording struct {
	Seeds        uint64         `json:"seeds"`
	Runs         int            `json:"runs"`
	SafeRuns     int            `json:"safe_runs"`
	SafeViolated int            `json:"safe_violated"`
	Sample       string         `json:"sample"`
	Matrix       report.Matrix  `json:"matrix"`
	Curves       []report.Curve `json:"curves"`
}

const (
	recordingFile = "testdata/matrix.json"
	// recordedSeeds is the number of seeds for each cell of the recording.
	recordedSeeds = 100
	// sampleSeeds is the number of seeds for each cell of the sample.
	sampleSeeds = 1
)

// sample plays a little of everything and returns its fingerprint.
var sample = sync.OnceValues(func() (string, error) {
	plan := matrix.DefaultPlan()
	plan.Seeds, plan.ScenarioSeeds, plan.CurveSeeds = sampleSeeds, 0, 0
	played, err := matrix.Play(context.Background(), plan, matrix.Pool{})
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	if err := played.Matrix().JSON(&text); err != nil {
		return "", err
	}
	sum := sha256.Sum256(text.Bytes())
	return hex.EncodeToString(sum[:]), nil
})

// recorded returns the recording; with -update it is recorded again first, if its sample has
// changed.
var recorded = sync.OnceValues(func() (recording, error) {
	r, err := readRecorded[recording](recordingFile)
	if !*update {
		return r, err
	}
	now, sampleErr := sample()
	if sampleErr != nil || err == nil && now == r.Sample {
		return r, sampleErr
	}
	return playAll(now)
})

func playAll(sample string) (recording, error) {
	plan := matrix.DefaultPlan()
	plan.Seeds, plan.ScenarioSeeds = recordedSeeds, 0
	played, err := matrix.Play(context.Background(), plan, matrix.Pool{})
	if err != nil {
		return recording{}, err
	}
	r := recording{Seeds: plan.Seeds, Runs: played.Runs, Sample: sample, Matrix: played.Matrix(), Curves: played.Curves()}
	r.SafeRuns, r.SafeViolated = played.Safe()
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return r, err
	}
	return r, os.WriteFile(recordingFile, append(text, '\n'), 0o644)
}

func TestRecordedMatrixIsFresh(t *testing.T) {
	if !long.Asked() && !*update {
		t.Skip("it plays every cell once")
	}
	r, err := recorded()
	require.NoError(t, err)
	now, err := sample()
	require.NoError(t, err)
	if !assert.Equal(t, r.Sample, now) {
		t.Errorf(stale, recordingFile)
	}
	assert.Zero(t, r.SafeViolated, "where no violation is expected there is none")
	var have []string
	for _, c := range r.Curves {
		have = append(have, c.ID)
	}
	assert.ElementsMatch(t, curveIDs, have, "every curve has its picture")
}

// matrixTable is the matrix in percent. The confidence intervals are in the
// command's own output.
func matrixTable() (string, error) {
	r, err := recorded()
	if err != nil {
		return "", err
	}
	head := "design"
	for _, f := range r.Matrix.Faults {
		head += " | " + f.Name
	}
	var rows [][]string
	for i, d := range r.Matrix.Designs {
		row := []string{"`" + d.Name + "`"}
		for j := range r.Matrix.Faults {
			row = append(row, percent(r.Matrix.At(i, j)))
		}
		rows = append(rows, row)
	}
	return fmt.Sprintf("%s\nEach cell: the share of %d runs with a violation. 0: none. ?: none, but what it depends on never happened in these runs, so it shows nothing. Empty: not played.\n",
		table(head, rows), r.Seeds), nil
}

// harmOf says in how many runs of a design which faults did harm.
func harmOf(design []string) (string, error) {
	r, err := recorded()
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(r.Matrix.Designs, func(d report.Axis) bool { return slices.Equal(design, []string{d.Name}) })
	if i < 0 {
		return "", fmt.Errorf("the matrix has no design %q", design)
	}
	var which []string
	runs, harmed := 0, 0
	for j, f := range r.Matrix.Faults {
		c := r.Matrix.At(i, j)
		runs, harmed = runs+c.Runs, harmed+c.Violated
		if c.Violated > 0 {
			which = append(which, fmt.Sprintf("`%s` in %d", f.Name, c.Violated))
		}
	}
	return fmt.Sprintf("In %d of %d runs, %d for each of %d kinds of fault, something was harmed: %s. The other %d kinds did no harm.",
		harmed, runs, r.Seeds, len(r.Matrix.Faults), strings.Join(which, ", "), len(r.Matrix.Faults)-len(which)), nil
}

// overvaluedTable has the columns in which clocks, delays or nothing at all decide how long a key
// lasts.
func overvaluedTable() (string, error) {
	r, err := recorded()
	if err != nil {
		return "", err
	}
	shown := []string{"slow", "delay", "rate-small", "rate", "step-server"}
	var rows [][]string
	for i, d := range r.Matrix.Designs {
		row := []string{"`" + d.Name + "`"}
		played := false
		for _, name := range shown {
			c := r.Matrix.At(i, slices.IndexFunc(r.Matrix.Faults, func(f report.Axis) bool { return f.Name == name }))
			played = played || c.Runs > 0
			c.Violated, c.Unreached = c.Overvalued, nil
			row = append(row, percent(c))
		}
		if played {
			rows = append(rows, row)
		}
	}
	return table("design | "+strings.Join(shown, " | "), rows), nil
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

// reasons says for each fault which designs break, how often that is expected, and why, with the
// text of the matrix's expectations.
func reasons() (string, error) {
	r, err := recorded()
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, f := range r.Matrix.Faults {
		var order []cells.Expectation
		by := map[string][]string{}
		for _, d := range r.Matrix.Designs {
			e, known := cells.ExpectationOf(f.Name, d.Name)
			if !known || !e.Broken {
				continue
			}
			of := e.Often() + e.Why
			if by[of] == nil {
				order = append(order, e)
			}
			by[of] = append(by[of], "`"+d.Name+"`")
		}
		for _, e := range order {
			rows = append(rows, []string{"`" + f.Name + "`", strings.Join(by[e.Often()+e.Why], ", "), e.Often(), e.Why})
		}
	}
	return table("fault | designs | broken | because", rows), nil
}

func safeRuns() (string, error) {
	r, err := recorded()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("In the cells where no violation is expected there were %d in %d runs, of %d runs in all.", r.SafeViolated, r.SafeRuns, r.Runs), nil
}

func curveLinks() (string, error) {
	r, err := recorded()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, c := range r.Curves {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n![%s](figures/%s.svg)\n\n", c.Title, c.Words, c.Title, c.ID)
	}
	return b.String(), nil
}

func curveFile(id string) ([]byte, error) {
	r, err := recorded()
	if err != nil {
		return nil, err
	}
	for _, c := range r.Curves {
		if c.ID == id {
			var svg bytes.Buffer
			err := c.SVG(&svg)
			return svg.Bytes(), err
		}
	}
	return nil, fmt.Errorf("there is no curve %q", id)
}
