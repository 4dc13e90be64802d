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
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/play"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// exploration is a search and its output.
type exploration struct {
	space    search.Space
	stdout   io.Writer
	progress *progress
}

func runExplore(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	x := exploration{stdout: stdout, progress: newProgress(stderr)}
	var design, workload, faults string
	var seeds uint64
	flags := flag.NewFlagSet("explore", flag.ContinueOnError)
	flags.StringVar(&design, "design", "default", "the `name` of the lock design, see list")
	flags.StringVar(&workload, "workload", "mixed", "the clients' workload: mixed, crowd, relay")
	flags.StringVar(&faults, "faults", "", "`kinds` of faults to try, separated by commas (default: all)")
	flags.IntVar(&x.space.Most, "most", 6, "the largest number of faults in a run, 1 to 1000")
	flags.BoolVar(&x.space.Within, "within", false, "only faults that the library's assumptions cover: every finding is a bug")
	flags.Uint64Var(&seeds, "seeds", 2000, "the number of seeds")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	switch {
	case x.space.Most < 1:
		return usageError{fmt.Errorf("-most is %d, want 1 to 1000", x.space.Most)}
	case seeds < 1 || seeds > 1e9:
		return usageError{fmt.Errorf("-seeds is %d, want 1 to 1000000000", seeds)}
	}
	var unknown, none error
	x.space.Workload, unknown = search.ByName(workload)
	x.space.Design, none = designs.ByName(design)
	if err := errors.Join(unknown, none); err != nil {
		return usageError{err}
	}
	for _, name := range commas(faults) {
		x.space.Faults = append(x.space.Faults, fault.Kind(name))
	}
	options := search.Options{To: seeds, Workers: workers("explore", args), Progress: func(runs, violating uint64) {
		x.progress.runs(runs, seeds, fmt.Sprintf(", %d with violations", violating))
	}}
	if share := os.Getenv(shareVariable); share != "" {
		return search.Serve(x.space, options, share, stdout)
	}
	report, err := search.Search(ctx, x.space, options)
	x.progress.clear()
	if errors.Is(err, search.ErrSpace) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	return x.print(ctx, seeds, report)
}

// print writes the report, with a command for each kind of violation that plays it again.
func (x *exploration) print(ctx context.Context, seeds uint64, report search.Report) error {
	what := ""
	if x.space.Within {
		what = ", within the assumptions"
	}
	if !report.Ended {
		what += fmt.Sprintf(", INTERRUPTED after %d of %d", report.Runs, seeds)
	}
	fmt.Fprintf(x.stdout, "%s with %s%s: %d runs\n", x.space.Workload.Name, x.space.Design.Name, what, report.Runs)
	if len(report.Findings) == 0 {
		fmt.Fprintf(x.stdout, "no violation\n")
	} else {
		fmt.Fprintf(x.stdout, "violations in %s (%s)\n", wrap.Count(int(report.Violating), "run"), share(report.Violating, report.Runs))
	}
	bugs := 0
	for _, f := range report.Findings {
		assumption, err := x.printFinding(ctx, f, report.Runs)
		if err != nil {
			return err
		}
		if assumption == 0 {
			bugs++
		}
	}
	if unreached := report.Unreached(); len(unreached) > 0 && len(x.space.Faults) == 0 {
		fmt.Fprintf(x.stdout, "\nnever happened, so these runs say nothing about it:\n")
		wrap.Paragraph(x.stdout, "  ", strings.Join(unreached, ", "))
	}
	switch {
	case len(report.Findings) > 0:
		return x.sum(report.Findings, bugs)
	case ctx.Err() != nil:
		return errors.New("interrupted")
	}
	return nil
}

// printFinding prints a kind of violation and the assumption that it breaks.
func (x *exploration) printFinding(ctx context.Context, f search.Finding, runs uint64) (search.Assumption, error) {
	ctx = context.WithoutCancel(ctx) // milliseconds, also after Ctrl-C
	small, tries, err := x.space.Shrink(ctx, f)
	if err != nil {
		return 0, err
	}
	schedule := append(simulation.Schedule{}, small.Setup.Schedule...) // a list, not null
	again, err := play.Setup{Base: x.space.Workload.Name, Design: x.space.Design.Name, Seed: small.Setup.Seed, Schedule: schedule}.Arguments()
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(x.stdout, "\n%s: %s (%s), first with seed %d\n  %s\n  %s\n", f.Kind, wrap.Count(int(f.Runs), "run"), share(f.Runs, runs), f.Setup.Seed, f.Text, x.broken(small.Assumption))
	fmt.Fprintf(x.stdout, "  shrunk from %s to %s, in %d runs:\n  %s %s\n", wrap.Count(len(f.Setup.Schedule), "fault"), wrap.Count(len(schedule), "fault"), tries, start, again)
	return small.Assumption, nil
}

// broken returns what a finding breaks. Only the unmodified library makes promises.
func (x *exploration) broken(a search.Assumption) string {
	switch {
	case a != 0:
		return "breaks " + a.String()
	case x.promises():
		return "breaks no assumption: THIS IS A BUG"
	}
	return fmt.Sprintf("breaks no assumption: %s does not keep the library's promises", x.space.Design.Name)
}

// sum summarizes the findings.
func (x *exploration) sum(findings []search.Finding, bugs int) error {
	seen := map[record.ViolationKind]bool{}
	for _, f := range findings {
		seen[f.Kind] = true
	}
	words := wrap.Count(len(seen), "kind") + " of violations"
	switch {
	case bugs == 0:
		words += ": assumptions are broken, no promise is"
	case x.promises():
		words += fmt.Sprintf(": %s of the library", wrap.Count(bugs, "BUG"))
	default:
		words += fmt.Sprintf(", %d of %d without a broken assumption: %s does not keep the library's promises", bugs, len(findings), x.space.Design.Name)
	}
	return errors.New(words)
}

// promises reports whether the design is the unmodified library.
func (x *exploration) promises() bool {
	d := x.space.Design
	cfg := d.Configure(simulation.Config{})
	return d.Group == designs.Redlock && cfg.Locker == nil &&
		cfg.Quorum.Lab.RestartQuarantine == quorum.On && cfg.Quorum.Lab.ClockMonitor == quorum.On && cfg.Quorum.Lab.Fencing == quorum.On
}

func share(n, of uint64) string {
	if of == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.3g %%", 100*float64(n)/float64(of))
}
