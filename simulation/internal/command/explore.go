package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
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
	registry search.Registry
	stdout   io.Writer
	progress *progress
}

func runExplore(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	x := exploration{registry: registry(), stdout: stdout, progress: newProgress(stderr)}
	var faults string
	var seeds uint64
	var workers int
	flags := flag.NewFlagSet("explore", flag.ContinueOnError)
	flags.StringVar(&x.space.Design, "design", "default", "the `name` of the lock design, see list")
	flags.StringVar(&x.space.Workload, "workload", "mixed", "the clients' workload: mixed, crowd, relay")
	flags.StringVar(&faults, "faults", "", "`kinds` of faults to try, separated by commas (default: all)")
	flags.IntVar(&x.space.Most, "most", 6, "the largest number of faults in a run, 1 to 1000")
	flags.BoolVar(&x.space.Within, "within", false, "only faults that the library's assumptions cover: every finding is a bug")
	flags.Uint64Var(&seeds, "seeds", 2000, "the number of seeds")
	flags.IntVar(&workers, "workers", runtime.NumCPU(), "the number of worker processes; the result does not depend on it")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	switch {
	case x.space.Most < 1:
		return usageError{fmt.Errorf("-most is %d, want 1 to 1000", x.space.Most)}
	case seeds < 1 || seeds > 1e9:
		return usageError{fmt.Errorf("-seeds is %d, want 1 to 1000000000", seeds)}
	}
	if err := within("-workers", workers, 1, 1024); err != nil {
		return err
	}
	for _, name := range commas(faults) {
		x.space.Faults = append(x.space.Faults, fault.Kind(name))
	}
	report, err := x.search(ctx, search.Options{To: seeds, Workers: workers, Worker: startWorker(searchWorker)})
	if err != nil {
		return err
	}
	return x.print(ctx, seeds, report)
}

func (x *exploration) search(ctx context.Context, o search.Options) (search.Report, error) {
	o.Progress = func(b search.Batch) { x.progress.runs(b.Runs, o.To, fmt.Sprintf(", %d with violations", b.Violating)) }
	defer x.progress.clear()
	report, err := search.Search(ctx, x.registry, x.space, o)
	if errors.Is(err, search.ErrSetup) {
		return report, usageError{err}
	}
	return report, err
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
	fmt.Fprintf(x.stdout, "%s with %s%s: %d runs\n", x.space.Workload, x.space.Design, what, report.Runs)
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
	small, tries, err := search.Shrink(ctx, x.registry, f.Setup, f.Kind)
	if err != nil {
		return 0, err
	}
	result, err := x.registry.Play(small)
	if err != nil {
		return 0, err
	}
	found, err := x.registry.Findings(small.Seed, small, result)
	if err != nil {
		return 0, err
	}
	// The finding that nothing excuses is the first of its kind.
	assumption := found[slices.IndexFunc(found, func(g search.Finding) bool { return g.Kind == f.Kind })].Assumption
	again, err := play.Setup{Base: small.Workload, Design: small.Design, Seed: small.Seed, Schedule: append(simulation.Schedule{}, small.Schedule...)}.Arguments()
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(x.stdout, "\n%s: %s (%s), first with seed %d\n  %s\n  %s\n", f.Kind, wrap.Count(int(f.Runs), "run"), share(f.Runs, runs), f.Setup.Seed, f.Text, x.broken(assumption))
	fmt.Fprintf(x.stdout, "  shrunk from %s to %s, in %d runs:\n  %s %s\n", wrap.Count(len(f.Setup.Schedule), "fault"), wrap.Count(len(small.Schedule), "fault"), tries, start, again)
	return assumption, nil
}

// broken returns what a finding breaks. Only the unmodified library makes promises.
func (x *exploration) broken(a search.Assumption) string {
	switch {
	case a != 0:
		return "breaks " + a.String()
	case x.promises():
		return "breaks no assumption: THIS IS A BUG"
	}
	return fmt.Sprintf("breaks no assumption: %s does not keep the library's promises", x.space.Design)
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
		words += fmt.Sprintf(", %d of %d without a broken assumption: %s does not keep the library's promises", bugs, len(findings), x.space.Design)
	}
	return errors.New(words)
}

// promises reports whether the design is the unmodified library.
func (x *exploration) promises() bool {
	d, err := x.registry.Design(x.space.Design)
	if err != nil {
		return false
	}
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
