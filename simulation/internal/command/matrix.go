package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/internal/byname"
	"github.com/redquorum/redlock/simulation/internal/matrix"
	"github.com/redquorum/redlock/simulation/internal/play"
	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// matrixRun is what matrix plays and prints, and the program without a command, whose name is "".
type matrixRun struct {
	command string
	args    []string
	plan    matrix.Plan
	html    string // the file for the page
}

// runSummary is the program without a command: eight faults against five designs on one
// screen, the next commands, and the full page.
func runSummary(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	m := matrixRun{args: args, html: "redlock-report.html"}
	return m.run(ctx, stdout, stderr)
}

func runMatrix(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	m := matrixRun{command: "matrix", args: args}
	return m.run(ctx, stdout, stderr)
}

func (m *matrixRun) run(ctx context.Context, stdout, stderr io.Writer) error {
	m.plan = matrix.DefaultPlan()
	var rows, columns string
	flags := flag.NewFlagSet(cmp.Or(m.command, "redlocksim"), flag.ContinueOnError)
	flags.Uint64Var(&m.plan.Seeds, "seeds", m.plan.Seeds, "the number of seeds for each cell; 100 take a minute or two")
	flags.StringVar(&m.html, "html", m.html, "the `file` for the report as a page, \"\" for none")
	if m.command != "" {
		flags.StringVar(&rows, "designs", "", "the designs, separated by commas, each under all faults (default: all cells with an expectation)")
		flags.StringVar(&columns, "faults", "", "the faults, separated by commas (default: all)")
	}
	if err := parse(flags, m.args, stderr); err != nil {
		return err
	}
	if rows != "" {
		m.plan.Designs, m.plan.Listed = commas(rows), false
	}
	if columns != "" {
		m.plan.Faults = commas(columns)
	}
	if most := uint64(1e9); m.plan.Seeds < 1 || m.plan.Seeds > most {
		return usageError{fmt.Errorf("-seeds is %d, want 1 to %d", m.plan.Seeds, most)}
	}
	// Before the first run, because a plan may take hours.
	if _, err := os.Stat(filepath.Dir(m.html)); err != nil {
		return usageError{fmt.Errorf("-html: %w", err)}
	}
	p := newProgress(stderr)
	r, err := matrix.Play(ctx, m.plan, func(runs, of int) { p.show(fmt.Sprintf("%d of %d runs", runs, of)) })
	p.clear()
	switch {
	case errors.Is(err, byname.ErrUnknown):
		return usageError{err}
	case err != nil && r.Runs == 0:
		return err
	case r.Planned == 0:
		return usageError{errors.New("there is nothing to play: -designs or -faults names none")}
	}
	return errors.Join(err, m.print(ctx, stdout, r)) // the finished runs are shown
}

// print prints a table, unexpected results and sums, and writes the page.
func (m *matrixRun) print(ctx context.Context, w io.Writer, r matrix.Result) error {
	if !r.Ended {
		fmt.Fprintf(w, "%s\n\n", partly(r))
	}
	if m.command == "" {
		r.Summary().Text(w)
	} else {
		r.Matrix().Text(w)
	}
	unexpected := r.Unexpected()
	if len(unexpected) > 0 {
		fmt.Fprintf(w, "\nNot as expected:\n")
	}
	for _, err := range unexpected {
		wrap.Paragraph(w, "  ", err.Error())
	}
	safe, violated := r.Safe()
	fmt.Fprintf(w, "\n%d runs. Where no violation is expected there were %d in %d.\n", r.Runs, violated, safe)
	if m.html != "" {
		page, err := m.page(r)
		if err != nil {
			return err
		}
		file, err := os.Create(m.html)
		if err != nil {
			return err
		}
		if err := errors.Join(report.HTML(file, page), file.Close()); err != nil {
			return err
		}
		fmt.Fprintf(w, "Pictures, reasons and all tables: %s\n", m.html)
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: this is what had been played")
	case len(unexpected) > 0:
		return fmt.Errorf("%s not as expected", wrap.Count(len(unexpected), "cell"))
	case m.command == "":
		printNext(w)
	}
	return nil
}

// printNext suggests commands to a new user. The first screen, which it ends, fits on any terminal.
func printNext(w io.Writer) {
	fmt.Fprintln(w, "\nNext:")
	for _, n := range [][2]string{
		{"run S1", "one pause, step by step"},
		{"play", "your own, in a browser"},
		{"matrix", "every lock and fault"},
	} {
		fmt.Fprintf(w, "%-*s  %s\n", len(start)+11, "  "+start+" "+n[0], n[1])
	}
}

// partly returns a note about an interrupted plan.
func partly(r matrix.Result) string {
	return fmt.Sprintf("INTERRUPTED after %d of %d runs. Only these are counted.", r.Runs, r.Planned)
}

// repeated is the command line of this run.
func (m *matrixRun) repeated() string {
	words := strings.Fields(start + " " + m.command)
	for _, arg := range m.args {
		words = append(words, play.Quoted(arg))
	}
	return strings.Join(words, " ")
}

func (m *matrixRun) page(r matrix.Result) (report.Report, error) {
	table, err := r.WithLogs()
	for _, row := range table.Cells {
		for j := range row {
			row[j].Command = strings.Replace(row[j].Command, "redlocksim", start, 1)
		}
	}
	page := report.Report{
		Title: "What breaks a lock on Redis", Version: quorum.Version(),
		Command: m.repeated(), Seeds: fmt.Sprintf("0:%d", m.plan.Seeds), Runs: r.Runs,
		Notes: []string{
			"Every run plays the real protocol against simulated servers, clocks and links, in virtual time. The same seed gives the same run on any machine.",
			"Designs whose resource checks tokens are judged by harm to the data, not by what clients believe. All others also fail if two clients believe that they hold the lock.",
		},
		Summary: r.Summary(), Matrix: table,
	}
	if !r.Ended {
		page.Title += ", as far as it was played"
		page.Seeds = "of " + page.Seeds
		page.Notes = append([]string{partly(r)}, page.Notes...)
	}
	return page, err
}
