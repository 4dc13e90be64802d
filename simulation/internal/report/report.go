// Package report writes the results of simulations: a matrix of lock designs and faults,
// verdicts, curves and timelines. It writes a self-contained HTML page, text for a terminal, or
// JSON. The output depends only on the input, which is plain data.
package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/redquorum/redlock/simulation/record"
)

// Report is the content of a page. Empty parts are left out.
type Report struct {
	// Title is the title of the page.
	Title string `json:"title"`
	// Version is the version of the code, such as a commit.
	Version string `json:"version,omitempty"`
	// Command is the command line that makes the report.
	Command string `json:"command,omitempty"`
	// Seeds are the seeds of the runs, such as "0:1000".
	Seeds string `json:"seeds,omitempty"`
	// Runs is the number of runs.
	Runs int `json:"runs,omitempty"`
	// Notes are paragraphs of plain text about how the report was made.
	Notes []string `json:"notes,omitempty"`

	Opening   *Opening      `json:"opening,omitempty"`
	Summary   *Summary      `json:"summary,omitempty"`
	Matrix    Matrix        `json:"matrix"`
	Verdicts  []VerdictRow  `json:"verdicts,omitempty"`
	Curves    []Curve       `json:"curves,omitempty"`
	Timelines []TimelineRun `json:"timelines,omitempty"`
}

// JSON writes the report as JSON, indented.
func (r Report) JSON(w io.Writer) error { return encode(w, r) }

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("report: writing JSON: %w", err)
	}
	return nil
}

// VerdictRow is the result of a scenario with one design, and the expected result.
type VerdictRow struct {
	Scenario string `json:"scenario"` // its ID
	Title    string `json:"title,omitempty"`
	Design   string `json:"design"`
	// Expected and Seen are kinds of violations; none is an empty slice.
	Expected []string `json:"expected"`
	Seen     []string `json:"seen"`
	Runs     int      `json:"runs"`
	// OK: every run ended as expected, and everything happened on which the verdict
	// depends.
	OK bool `json:"ok"`
	// Seed is the first unexpected one if OK is false, else the seed of the timeline.
	Seed uint64 `json:"seed"`
	// Timeline is the ID of a TimelineRun, or empty.
	Timeline string `json:"timeline,omitempty"`
	// Source is the source of the scenario's claim.
	Source string `json:"source,omitempty"`
}

// TimelineRun is a run with a timeline.
type TimelineRun struct {
	// ID names it within the report: letters, digits and dashes.
	ID    string `json:"id"`
	Title string `json:"title"`
	// Command repeats the run, on a command line.
	Command string `json:"command,omitempty"`
	// Words explain the run.
	Words string `json:"words,omitempty"`
	// Kinds are the kinds of violations that its picture shows. Empty: all.
	Kinds []string `json:"kinds,omitempty"`
	// Log is the log of the run.
	Log record.Log `json:"-"`
}
