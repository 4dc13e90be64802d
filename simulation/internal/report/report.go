// Package report writes what simulations have shown: a matrix of lock designs and
// faults, verdicts, curves, timelines, and what real servers had to say. As one
// HTML page that loads nothing, as text for a terminal, as Markdown for
// documentation, or as JSON. What it writes is a function of what it is given.
//
// The types are plain data. They are filled by whoever runs simulations.
package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/redquorum/redlock/simulation"
)

// Report is everything that a page can show. Parts that are empty are left out.
type Report struct {
	// Title is the page's.
	Title string `json:"title"`
	// Version is that of the code that was run, such as a commit.
	Version string `json:"version,omitempty"`
	// Command repeats it, on a command line.
	Command string `json:"command,omitempty"`
	// Seeds says which seeds were played, such as "0:1000".
	Seeds string `json:"seeds,omitempty"`
	// Runs is how many runs there were in all.
	Runs int `json:"runs,omitempty"`
	// Notes are paragraphs of plain text about how the report was made.
	Notes []string `json:"notes,omitempty"`
	// Description is the page in two sentences, for those who see only a link to it.
	Description string `json:"description,omitempty"`
	// Address is where the page will be published, "" if that isn't known, and Image
	// the address of its preview image, which may be relative. See Preview.
	Address string `json:"-"`
	Image   string `json:"-"`

	Opening   *Opening      `json:"opening,omitempty"`
	Summary   *Summary      `json:"summary,omitempty"`
	Arguments []Argument    `json:"arguments,omitempty"`
	Matrix    Matrix        `json:"matrix"`
	Verdicts  []VerdictRow  `json:"verdicts,omitempty"`
	Curves    []Curve       `json:"curves,omitempty"`
	Unreached []Unreached   `json:"unreached,omitempty"`
	Live      []LiveRow     `json:"live,omitempty"`
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

// VerdictRow is what a scenario's runs with one design showed beside what it says.
type VerdictRow struct {
	Scenario string `json:"scenario"` // its ID
	Title    string `json:"title,omitempty"`
	Design   string `json:"design"`
	// Expected and Seen are kinds of violations; none is an empty slice.
	Expected []string `json:"expected"`
	Seen     []string `json:"seen"`
	Runs     int      `json:"runs"`
	// OK: every run showed what was expected, and all that the verdict depends on
	// was reached.
	OK bool `json:"ok"`
	// Seed is the first that showed something else, where OK is false; else the
	// one whose timeline is shown.
	Seed uint64 `json:"seed"`
	// Timeline is the ID of a TimelineRun, or empty.
	Timeline string `json:"timeline,omitempty"`
	// Source is where the scenario's claim is from.
	Source string `json:"source,omitempty"`
}

// Unreached is a counter that stayed at 0: what it counts never happened, and a
// check that depends on it has shown nothing.
type Unreached struct {
	Counter string `json:"counter"`
	// Where names the designs, faults or scenarios whose runs never reached it.
	Where []string `json:"where"`
}

// LiveRow sets the simulation's prediction beside what real servers did.
type LiveRow struct {
	Scenario  string `json:"scenario"`
	Title     string `json:"title,omitempty"`
	Design    string `json:"design,omitempty"`
	Server    string `json:"server,omitempty"` // such as "redis 7.0.15"
	Predicted string `json:"predicted"`
	Seen      string `json:"seen"`
	Agrees    bool   `json:"agrees"`
	// Skipped says why it wasn't run; then Seen and Agrees mean nothing.
	Skipped string `json:"skipped,omitempty"`
}

// TimelineRun is one run to look at.
type TimelineRun struct {
	// ID names it within the report: letters, digits and dashes.
	ID    string `json:"id"`
	Title string `json:"title"`
	// Command repeats the run, on a command line.
	Command string `json:"command,omitempty"`
	// Words say what is to be seen.
	Words string `json:"words,omitempty"`
	// Kinds are the kinds of violations that a small drawing shows. Empty: all.
	Kinds []string `json:"kinds,omitempty"`
	// Full draws all of the run on the page, for one that is about this run. Others
	// are drawn small, when the reader opens them.
	Full bool `json:"full,omitempty"`
	// Log is the run's.
	Log simulation.Log `json:"-"`
}
