package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/search"
)

func runExhaust(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s := searching{registry: registry(), stdout: stdout, progress: newProgress(stderr)}
	var seed uint64
	var lengths durations
	var pairs bool
	var most uint64
	flags := flag.NewFlagSet("exhaust", flag.ContinueOnError)
	s.register(flags)
	flags.Uint64Var(&seed, "seed", 0, "the seed of the run to which faults are added")
	flags.Var(&lengths, "lengths", "the `durations` of faults, separated by commas (default: a twentieth, a half, and one and a half of the TTL)")
	flags.BoolVar(&pairs, "pairs", false, "then also pairs of faults that find nothing alone")
	flags.Uint64Var(&most, "most", 20_000, "with -pairs, the maximum number of pairs, spread evenly")
	workload, err := parseWith(flags, args, "scenario", stderr)
	if err != nil {
		return err
	}
	if pairs && most < 1 {
		return usageError{errors.New("-most is 0, want 1 or more")}
	}
	if err := s.open(); err != nil {
		return err
	}
	defer s.opinion.abandon()
	space := search.Space{
		Setup: search.Setup{Workload: workload, Design: s.design, Seed: seed},
		How:   search.Each, Faults: s.kinds(), Lengths: lengths,
	}
	n, err := s.registry.Size(space)
	if err != nil {
		return usageError{err}
	}
	fmt.Fprintf(stdout, "every single fault in %s with %s, seed %d: %d runs\n", workload, s.design, seed, n)
	report, err := s.search(ctx, space, search.Options{To: n})
	if err != nil {
		return err
	}
	printCases(stdout, &report.Batch)
	failed := s.print(ctx, space, search.Options{To: n}, report)
	if !pairs || !report.Ended {
		return failed
	}
	if err := s.pairs(ctx, space, most, report.Hits); err != nil {
		return err
	}
	return failed
}

// pairs runs pairs of faults.
func (s *searching) pairs(ctx context.Context, space search.Space, most uint64, alone []search.Hit) error {
	space.How, space.Alone = search.Pairs, alone
	all, err := s.registry.Size(space)
	if err != nil {
		return err
	}
	space.Sample = min(most, all)
	if space.Sample == 0 {
		return nil
	}
	fmt.Fprintf(s.stdout, "\npairs of faults: %d runs", space.Sample)
	if space.Sample < all {
		fmt.Fprintf(s.stdout, " of the %d that there are (-most); all of them would take %.0f times as long", all, float64(all)/float64(space.Sample))
	}
	fmt.Fprintln(s.stdout)
	report, err := s.search(ctx, space, search.Options{To: space.Sample})
	if err != nil {
		return err
	}
	printCases(s.stdout, &report.Batch)
	return s.print(ctx, space, search.Options{To: space.Sample}, report)
}

// printCases lists the faults that cause the violation, with the first case of each.
func printCases(out io.Writer, b *search.Batch) {
	if len(b.Findings) == 0 {
		return
	}
	fmt.Fprintf(out, "%-24s %-26s %6s  %s\n", "violation", "fault", "runs", "the first of them")
	for _, f := range b.Findings {
		faults := f.Setup.Schedule
		first := ""
		for i, added := range faults {
			if i > 0 {
				first += "; "
			}
			first += moment(added.At, added.Nth, added.For, added.By)
		}
		fmt.Fprintf(out, "%-24s %-26s %6d  %s\n", f.Kind, f.Fault, f.Runs, first)
	}
	fmt.Fprintln(out)
}

// moment is the time and the duration of a fault.
func moment(at time.Duration, nth int, lasts, by time.Duration) string {
	words := "from " + at.String()
	if nth != 0 {
		words = fmt.Sprintf("at operation %d", nth)
	}
	if lasts > 1 {
		words += fmt.Sprintf(" for %v", lasts)
	}
	if by != 0 {
		words += fmt.Sprintf(" by %v", by)
	}
	return words
}

// durations is a flag for several durations.
type durations []time.Duration

func (d *durations) String() string { return fmt.Sprint([]time.Duration(*d)) }

// Set parses "10ms,2s".
func (d *durations) Set(words string) error {
	*d = nil
	for word := range strings.SplitSeq(words, ",") {
		one, err := time.ParseDuration(word)
		if err != nil {
			return err
		}
		if one <= 0 || one > math.MaxInt64/2 {
			return fmt.Errorf("%v is no length", one)
		}
		*d = append(*d, one)
	}
	return nil
}
