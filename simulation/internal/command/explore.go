package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/play"
	"github.com/redquorum/redlock/simulation/internal/wrap"
	"github.com/redquorum/redlock/simulation/search"
)

func runExplore(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var s search.Space
	var design, workload, faults string
	var seeds uint64
	flags := flag.NewFlagSet("explore", flag.ContinueOnError)
	flags.StringVar(&design, "design", "default", "the `name` of the lock design, see list")
	flags.StringVar(&workload, "workload", "mixed", "the clients' workload: mixed, relay")
	flags.StringVar(&faults, "faults", "", "`kinds` of faults to try, separated by commas (default: all)")
	flags.IntVar(&s.Most, "most", 6, "the largest number of faults in a run, 1 to 1000")
	flags.BoolVar(&s.Within, "within", false, "only faults that the library's assumptions cover: every finding is a bug")
	flags.Uint64Var(&seeds, "seeds", 2000, "the number of seeds")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	switch {
	case s.Most < 1:
		return usageError{fmt.Errorf("-most is %d, want 1 to 1000", s.Most)}
	case seeds < 1:
		return usageError{errors.New("-seeds is 0, want 1 or more")}
	}
	var noWorkload, noDesign error
	s.Workload, noWorkload = search.ByName(workload)
	s.Design, noDesign = designs.ByName(design)
	if err := errors.Join(noWorkload, noDesign); err != nil {
		return usageError{err}
	}
	for _, name := range commas(faults) {
		s.Faults = append(s.Faults, fault.Kind(name))
	}
	p := newProgress(stderr)
	report, err := search.Search(ctx, s, seeds, func(runs, violating uint64) {
		if runs%10 == 0 {
			p.show(fmt.Sprintf("%d of %d runs, %d with violations", runs, seeds, violating))
		}
	})
	p.clear()
	if err != nil {
		return usageError{err}
	}
	return printFindings(ctx, stdout, s, seeds, report)
}

// printFindings writes the report, with a command for each finding that plays it again.
func printFindings(ctx context.Context, w io.Writer, s search.Space, seeds uint64, report search.Report) error {
	what := ""
	if s.Within {
		what = ", within the assumptions"
	}
	if report.Runs < seeds {
		what += fmt.Sprintf(", INTERRUPTED after %d of %d", report.Runs, seeds)
	}
	fmt.Fprintf(w, "%s with %s%s: %d runs\n", s.Workload.Name, s.Design.Name, what, report.Runs)
	if len(report.Findings) == 0 {
		fmt.Fprintf(w, "no violation\n")
	} else {
		fmt.Fprintf(w, "violations in %s\n", wrap.Count(int(report.Violating), "run"))
	}
	findings, err := shrunk(s, report.Findings)
	if err != nil {
		return err
	}
	bugs := 0
	for _, f := range findings {
		small := f.small
		broken := "breaks " + small.Assumption.String()
		if small.Assumption == 0 {
			bugs++
			broken = "breaks no assumption: " + blame(s.Design, "THIS IS A BUG")
		}
		schedule := append(simulation.Schedule{}, small.Schedule...) // a list, not null
		again, err := play.Setup{Base: s.Workload.Name, Design: s.Design.Name, Seed: small.Seed, Schedule: schedule}.Arguments()
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s: %s, first with seed %d, shrunk from %s to %s in %d runs:\n", f.Kind, wrap.Count(int(f.Runs), "run"),
			f.Seed, wrap.Count(len(f.Schedule), "fault"), wrap.Count(len(schedule), "fault"), f.tries)
		fmt.Fprintf(w, "  %s\n  %s\n  %s %s\n", small.Text, broken, start, again)
	}
	never := slices.DeleteFunc(slices.Clone(s.Faults), func(kind fault.Kind) bool { return report.Struck[kind] > 0 })
	if len(never) > 0 && report.Runs > 0 {
		fmt.Fprintf(w, "\nThese faults never struck, so these runs say nothing about them: %s\n", strings.Trim(fmt.Sprint(never), "[]"))
	}
	switch {
	case bugs > 0:
		return fmt.Errorf("%d of %s without a broken assumption: %s", bugs, wrap.Count(len(findings), "finding"), blame(s.Design, wrap.Count(bugs, "BUG")+" of the library"))
	case len(findings) > 0:
		return fmt.Errorf("%s: assumptions are broken, no promise is", wrap.Count(len(findings), "finding"))
	case ctx.Err() != nil:
		return errors.New("interrupted")
	}
	return nil
}

// finding is a finding and what it shrank to.
type finding struct {
	search.Finding
	small search.Finding
	tries int
}

// shrunk shrinks findings, in the order of their seeds. Those that shrink to the same kind and assumption are one: what
// excused the larger schedule was not the reason.
func shrunk(s search.Space, all []search.Finding) (findings []finding, err error) {
	slices.SortStableFunc(all, func(f, g search.Finding) int { return cmp.Compare(f.Seed, g.Seed) })
	for _, f := range all {
		small, tries, err := s.Shrink(f)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(findings, func(o finding) bool { return o.small.Kind == small.Kind && o.small.Assumption == small.Assumption })
		if i < 0 {
			findings = append(findings, finding{f, small, tries})
		} else {
			findings[i].Runs += f.Runs
		}
	}
	return findings, nil
}

// blame says what a finding without a broken assumption is. Only the unmodified library makes promises.
func blame(d designs.Design, bug string) string {
	cfg := d.Configure(simulation.Config{})
	lab := cfg.Quorum.Lab
	if d.Group == designs.Redlock && cfg.Locker == nil && lab.RestartQuarantine == quorum.On && lab.ClockMonitor == quorum.On && lab.Fencing == quorum.On {
		return bug
	}
	return d.Name + " does not keep the library's promises"
}
