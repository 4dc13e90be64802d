// Package report writes the results of simulations: a matrix of lock designs and faults,
// and timelines. It writes a self-contained HTML page, or text for a terminal.
// The output depends only on the input, which is plain data.
package report

import (
	"github.com/redquorum/redlock/simulation/record"
)

// Report is the content of a page. Empty parts are left out.
type Report struct {
	// Title is the title of the page.
	Title string
	// Version is the version of the code, such as a commit.
	Version string
	// Command is the command line that makes the report.
	Command string
	// Seeds are the seeds of the runs, such as "0:1000".
	Seeds string
	// Runs is the number of runs.
	Runs int
	// Notes are paragraphs of plain text about how the report was made.
	Notes []string

	Summary   Summary
	Matrix    Matrix
	Timelines []TimelineRun
}

// TimelineRun is a run of a cell, with a timeline.
type TimelineRun struct {
	Design, Fault string // the cell
	// Kinds are the kinds of violations that its picture shows. Empty: all.
	Kinds []string
	// Log is the log of the run.
	Log record.Log
}
