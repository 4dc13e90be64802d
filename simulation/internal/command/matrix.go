package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/wrap"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/matrix"
	"github.com/redquorum/redlock/simulation/internal/report"
)

// matrixFlags are the common flags of matrix and of the program without a command.
type matrixFlags struct {
	plan matrix.Plan
	html string

	command string // the command and its arguments, which repeat it
	args    []string
}

// open checks the flags before the runs begin.
func (f *matrixFlags) open() error {
	if f.plan.Seeds < 1 {
		return usageError{errors.New("-seeds is 0, want 1 or more")}
	}
	return creatable("-html", f.html)
}

func (f *matrixFlags) register(flags *flag.FlagSet, html string) {
	f.plan = matrix.DefaultPlan()
	flags.Uint64Var(&f.plan.Seeds, "seeds", f.plan.Seeds, "the number of seeds for each cell; 100 take a minute or two")
	flags.StringVar(&f.html, "html", html, "the `file` for the report as a page, \"\" for none")
}

// runSummary is the program without a command: eight faults against five designs on one
// screen, the next commands, and the full page.
func runSummary(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var f matrixFlags
	flags := flag.NewFlagSet("redlocksim", flag.ContinueOnError)
	f.register(flags, "redlock-report.html")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	f.args = args
	return f.run(ctx, stdout, stderr, func(r matrix.Result) error { return f.firstScreen(ctx, stdout, r) })
}

// nextCommands are the suggested commands after the first screen.
var nextCommands = [][2]string{
	{"run S1", "one pause, step by step"},
	{"play", "your own, in a browser"},
	{"matrix", "every lock and fault"},
}

// firstScreen shows a new user the result and the next commands. It fits on a screen.
func (f *matrixFlags) firstScreen(ctx context.Context, w io.Writer, r matrix.Result) error {
	if err := f.print(ctx, w, r, r.Summary().Text); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nNext:")
	for _, n := range nextCommands {
		fmt.Fprintf(w, "%-*s  %s\n", len(start)+11, "  "+start+" "+n[0], n[1])
	}
	return nil
}

func fenced() []string {
	var names []string
	for _, d := range cells.Rows() {
		if d.Fenced() {
			names = append(names, d.Name)
		}
	}
	return names
}

func runMatrix(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var f matrixFlags
	var rows, columns string
	flags := flag.NewFlagSet("matrix", flag.ContinueOnError)
	f.register(flags, "")
	flags.StringVar(&rows, "designs", "", "the designs, separated by commas, each under all faults (default: all cells with an expectation)")
	flags.StringVar(&columns, "faults", "", "the faults, separated by commas (default: all)")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	if rows != "" {
		f.plan.Designs, f.plan.Listed = commas(rows), false
	}
	if columns != "" {
		f.plan.Faults = commas(columns)
	}
	f.command, f.args = "matrix", args
	return f.run(ctx, stdout, stderr, func(r matrix.Result) error {
		return f.print(ctx, stdout, r, func(w io.Writer) error {
			err := r.Matrix().Text(w)
			if never := r.NeverReached(); len(never) > 0 {
				wrap.Paragraph(w, "\nNever happened in the matrix, so that nothing is shown about it: ", strings.Join(never, "; "))
			}
			return err
		})
	})
}

// run plays the plan and shows the result, or what there is of it.
func (f *matrixFlags) run(ctx context.Context, stdout, stderr io.Writer, show func(matrix.Result) error) error {
	if share := os.Getenv(shareVariable); share != "" {
		return matrix.Serve(f.plan, share, stdout)
	}
	if err := f.open(); err != nil {
		return err
	}
	r, err := f.play(ctx, stderr)
	if err != nil && r.Runs == 0 {
		return err
	}
	return errors.Join(err, show(r))
}

// play runs the plan. An interruption is not an error yet, because the finished runs are
// shown.
func (f *matrixFlags) play(ctx context.Context, stderr io.Writer) (matrix.Result, error) {
	p := newProgress(stderr)
	defer p.clear()
	r, err := matrix.Play(ctx, f.plan, matrix.Pool{
		Workers:  workers(f.command, f.args),
		Progress: func(runs, of int) { p.runs(uint64(runs), uint64(of), "") },
	})
	if errors.Is(err, cells.ErrUnknown) || errors.Is(err, designs.ErrUnknown) || errors.Is(err, matrix.ErrPlan) {
		err = usageError{err}
	}
	return r, err
}

// print prints a table, unexpected results and sums, and writes the page.
func (f *matrixFlags) print(ctx context.Context, stdout io.Writer, r matrix.Result, table func(io.Writer) error) error {
	if !r.Ended {
		fmt.Fprintf(stdout, "%s\n\n", partly(r))
	}
	if err := table(stdout); err != nil {
		return err
	}
	unexpected := r.Unexpected()
	printUnexpected(stdout, unexpected)
	safe, violated := r.Safe()
	fmt.Fprintf(stdout, "\n%d runs. Where no violation is expected there were %d in %d.\n", r.Runs, violated, safe)
	if f.html != "" {
		if err := f.writePage(r); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "Pictures, reasons and all tables: %s\n", f.html)
	}
	return verdict(ctx, unexpected)
}

func printUnexpected(w io.Writer, unexpected []error) {
	if len(unexpected) == 0 {
		return
	}
	fmt.Fprintf(w, "\nNot as expected:\n")
	for _, err := range unexpected {
		wrap.Paragraph(w, "  ", err.Error())
	}
}

// partly returns a note about an interrupted plan.
func partly(r matrix.Result) string {
	return fmt.Sprintf("INTERRUPTED after %d of %d runs. Only these are counted.", r.Runs, r.Planned)
}

// verdict returns the error with which the command fails.
func verdict(ctx context.Context, unexpected []error) error {
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: this is what had been played")
	case len(unexpected) > 0:
		return fmt.Errorf("%s not as expected", wrap.Count(len(unexpected), "cell"))
	}
	return nil
}

func (f *matrixFlags) writePage(r matrix.Result) error {
	timelines, err := r.Timelines()
	if err != nil {
		return err
	}
	page := f.report(r)
	page.Timelines = timelines
	return create(f.html, func(w io.Writer) error { return report.HTML(w, page) })
}

func (f *matrixFlags) report(r matrix.Result) report.Report {
	page := report.Report{
		Title: "What breaks a lock on Redis", Version: quorum.Version(),
		Command: repeat(f.command, f.args...), Seeds: fmt.Sprintf("0:%d", f.plan.Seeds), Runs: r.Runs,
		Notes: []string{
			"Every run plays the real protocol against simulated servers, clocks and links, in virtual time. The same seed gives the same run on any machine.",
			"Designs whose resource checks tokens (" + strings.Join(fenced(), ", ") + ") are judged by harm to the data, not by what clients believe. All others also fail if two clients believe that they hold the lock.",
		},
		Summary: r.Summary(), Matrix: r.Matrix(),
	}
	if !r.Ended {
		page.Title += ", as far as it was played"
		page.Seeds = "of " + page.Seeds
		page.Notes = append([]string{partly(r)}, page.Notes...)
	}
	return page
}
