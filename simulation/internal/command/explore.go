package command

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// searching is a search with the common flags of explore and orders, and its output.
type searching struct {
	design  string
	faults  string
	workers int
	limit   time.Duration
	out     string

	registry search.Registry
	stdout   io.Writer
	progress *progress
	files    map[string]int // how many replay files were written under a name
}

func newSearching(flags *flag.FlagSet, stdout, stderr io.Writer) *searching {
	s := &searching{registry: registry(), stdout: stdout, progress: newProgress(stderr), files: map[string]int{}}
	flags.StringVar(&s.design, "design", "default", "the `name` of the lock design, see list")
	flags.IntVar(&s.workers, "workers", runtime.NumCPU(), "the number of worker processes; the result does not depend on it")
	flags.DurationVar(&s.limit, "for", 0, "stop after this time and report the findings (default: no limit)")
	flags.StringVar(&s.out, "out", ".", "the `folder` for replay files")
	return s
}

// kinds returns the kinds of faults in -faults.
func (s *searching) kinds() []fault.Kind {
	var kinds []fault.Kind
	for _, name := range commas(s.faults) {
		kinds = append(kinds, fault.Kind(name))
	}
	return kinds
}

// check checks before the search that its findings can be written.
func (s *searching) check() error {
	if err := within("-workers", s.workers, 1, 1024); err != nil {
		return err
	}
	switch info, err := os.Stat(s.out); {
	case s.limit < 0:
		return usageError{fmt.Errorf("-for is %v, want 0 or more", s.limit)}
	case err != nil:
		return usageError{fmt.Errorf("-out: %w", err)}
	case !info.IsDir():
		return usageError{fmt.Errorf("-out: %s is no folder", s.out)}
	}
	return writable("-out", s.out)
}

func runExplore(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var workload, seeds string
	var most int
	var within bool
	flags := flag.NewFlagSet("explore", flag.ContinueOnError)
	s := newSearching(flags, stdout, stderr)
	flags.StringVar(&s.faults, "faults", "", "`kinds` of faults to try, separated by commas (default: all)")
	flags.StringVar(&workload, "workload", "mixed", "the clients' workload: mixed, crowd, relay, terms, slots, sets, books, or a scenario's `name`")
	flags.StringVar(&seeds, "seeds", "0:2000", "the seeds `A:B`, excluding B; A: continues until -for or Ctrl-C")
	flags.IntVar(&most, "most", 6, "the largest number of faults in a run, 1 to 1000")
	flags.BoolVar(&within, "within", false, "only faults that the library's assumptions cover: every finding is a bug")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	from, to, err := seedRange(seeds)
	if err != nil {
		return usageError{err}
	}
	switch {
	case to == math.MaxUint64 && s.limit == 0 && s.progress == nil:
		return usageError{errors.New("-seeds has no end; give one, or -for")}
	case most < 1:
		return usageError{fmt.Errorf("-most is %d, want 1 to 1000", most)}
	}
	if err := s.check(); err != nil {
		return err
	}
	space := search.Space{Setup: search.Setup{Workload: workload, Design: s.design}, Faults: s.kinds(), Within: within, Most: most}
	o := search.Options{From: from, To: to}
	report, err := s.search(ctx, space, o)
	if err != nil {
		return err
	}
	return s.print(ctx, space, o, report)
}

func (s *searching) search(ctx context.Context, space search.Space, o search.Options) (search.Report, error) {
	limited, cancel := s.limited(ctx)
	defer cancel()
	o.Workers, o.Command = s.workers, startWorker(searchWorker)
	if p := s.progress; p != nil {
		o.Progress = func(b search.Batch) {
			rate := float64(b.Runs) / max(time.Since(p.began).Seconds(), 1e-3)
			p.runs(b.Runs, o.To-o.From, fmt.Sprintf(", %.0f/s, %d with violations", rate, b.Violating))
		}
		defer p.clear()
	}
	report, err := search.Search(limited, s.registry, space, o)
	if errors.Is(err, search.ErrSetup) {
		return report, usageError{err}
	}
	return report, err
}

// limited is a context that ends with -for, too.
func (s *searching) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, s.limit)
}

// print writes the report, and a replay file for the first run of each kind of violation.
func (s *searching) print(ctx context.Context, space search.Space, o search.Options, report search.Report) error {
	out := s.stdout
	played := fmt.Sprintf("seeds %d:%d", report.From, report.To)
	if !report.Ended {
		played += fmt.Sprintf(" of %d:%s", o.From, end(o.To))
	}
	if space.Within {
		played += ", within the assumptions"
	}
	fmt.Fprintf(out, "%s with %s: %s, %d runs, %d lines of trace (%016x)\n", space.Workload, space.Design, played, report.Runs, report.Lines, report.Traces)
	switch {
	case report.Ended:
	case ctx.Err() != nil:
		fmt.Fprintf(out, "interrupted: continue with seeds %d:%s\n", report.To, end(o.To))
	default:
		fmt.Fprintf(out, "the time is up: continue with seeds %d:%s\n", report.To, end(o.To))
	}
	findings := report.Findings
	if len(findings) == 0 {
		fmt.Fprintf(out, "no violation\n")
	} else {
		fmt.Fprintf(out, "violations in %s (%s)\n", count(int(report.Violating), "run"), share(report.Violating, report.Runs))
	}
	broken := 0 // the number of broken promises
	for _, f := range findings {
		blame, err := s.printFinding(ctx, f, report.Runs)
		if err != nil {
			return err
		}
		if !blame.Excused() {
			broken++
		}
	}
	printUnreached(out, space, &report.Batch)
	switch {
	case len(findings) > 0:
		return s.sum(space.Workload, findings, broken)
	case ctx.Err() != nil:
		return errors.New("interrupted")
	}
	return nil
}

// sum summarizes the findings.
func (s *searching) sum(workload string, findings []search.Finding, broken int) error {
	seen := map[record.ViolationKind]bool{}
	for _, f := range findings {
		seen[f.Kind] = true
	}
	words := "1 kind of violation was found"
	if len(seen) > 1 {
		words = fmt.Sprintf("%d kinds of violations were found", len(seen))
	}
	switch {
	case broken == 0:
		words += ": assumptions are broken, no promise is"
	case !s.promises(workload):
		words += fmt.Sprintf(": %d of %d without a broken assumption; %s does not keep all of the library's promises", broken, len(findings), s.design)
	default:
		words += fmt.Sprintf(": %s a PROMISE, a bug of the library", map[bool]string{true: "1 breaks", false: fmt.Sprintf("%d break", broken)}[broken == 1])
	}
	return errors.New(words)
}

// promises reports whether the design is the unmodified library.
func (s *searching) promises(workload string) bool {
	w, err := s.registry.Workload(workload)
	if err != nil {
		return false
	}
	d, err := s.registry.Design(w, s.design)
	return err == nil && whole(d)
}

// printFinding prints a kind of violation and what it breaks, and writes its replay file.
func (s *searching) printFinding(ctx context.Context, f search.Finding, runs uint64) (search.Blame, error) {
	out := s.stdout
	fmt.Fprintf(out, "\n%s: %s (%s), first with seed %d\n  %s\n", f.Kind, count(int(f.Runs), "run"), share(f.Runs, runs), f.Setup.Seed, f.Text)
	shrunk, err := search.Shrink(context.WithoutCancel(ctx), s.registry, f.Setup, f.Kind) // milliseconds, also after Ctrl-C
	if err != nil {
		return search.Blame{}, err
	}
	blame, err := s.registry.Blame(shrunk.Setup, f.Kind)
	if err != nil {
		return blame, err
	}
	file, err := search.Record(s.registry, shrunk.Setup, f.Kind)
	if err != nil {
		return blame, err
	}
	name := fileName(file)
	if s.files[name]++; s.files[name] > 1 {
		name = fmt.Sprintf("%s-%d.json", strings.TrimSuffix(name, ".json"), s.files[name])
	}
	path := filepath.Join(s.out, name)
	if err := file.Save(path); err != nil {
		return blame, err
	}
	for line := range strings.Lines(s.blamed(blame, f.Setup.Workload)) {
		paragraph(out, "  ", strings.TrimSpace(line))
	}
	fmt.Fprintf(out, "  %s, in %d runs:\n", smaller(f.Setup, shrunk.Setup), shrunk.Runs)
	printSetup(out, shrunk.Setup)
	fmt.Fprintf(out, "  %s\n", repeat("replay", path))
	return blame, nil
}

// blamed returns what a finding breaks. Only the unmodified library makes promises.
func (s *searching) blamed(b search.Blame, workload string) string {
	switch {
	case b.Excused():
		return "breaks " + strings.ReplaceAll(b.String(), "\n", "\nbreaks ")
	case s.promises(workload):
		return "breaks " + b.String() + ". THIS IS A BUG"
	case b.Promise == 0:
		return "breaks " + b.String()
	}
	return fmt.Sprintf("no assumption is broken: %s does not keep the library's promise %d (%v)", s.design, int(b.Promise), b.Promise)
}

// fileName names a replay file after its finding.
func fileName(f search.File) string {
	words := []string{"redlock", f.Workload, f.Design, string(f.About), strconv.FormatUint(f.Seed, 10)}
	name := strings.Join(words, "-") + ".json"
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '/' || r == os.PathSeparator {
			return '-'
		}
		return r
	}, name)
}

func smaller(from, to search.Setup) string {
	return fmt.Sprintf("shrunk from %s to %s", count(len(from.Schedule), "fault"), count(len(to.Schedule), "fault"))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// printSetup prints the special settings of a run.
func printSetup(out io.Writer, s search.Setup) {
	var changes []string
	for name, n := range map[string]*int{"servers": s.Changes.Servers, "clients": s.Changes.Processes, "rounds": s.Changes.Rounds} {
		if n != nil {
			changes = append(changes, fmt.Sprintf("%s: %d", name, *n))
		}
	}
	slices.Sort(changes)
	if len(changes) > 0 {
		fmt.Fprintf(out, "    %s\n", strings.Join(changes, ", "))
	}
	for _, f := range s.Schedule {
		fmt.Fprintf(out, "    %s\n", describe(f))
	}
}

// describe writes a fault as -schedule takes it.
func describe(f fault.Fault) string {
	text, err := json.Marshal(f)
	if err != nil {
		return err.Error() // a fault is plain data
	}
	return nanoseconds.ReplaceAllStringFunc(string(text), func(field string) string {
		found := nanoseconds.FindStringSubmatch(field)
		n, err := strconv.ParseInt(found[2], 10, 64)
		if err != nil {
			return field
		}
		return fmt.Sprintf("%q:%q", found[1], time.Duration(n))
	})
}

// nanoseconds is a time of a fault.
var nanoseconds = regexp.MustCompile(`"(at|for|by)_ns":(-?\d+)`)

// printUnreached lists the counters that stayed zero. If -faults left faults out, most of them were meant to, and
// only their number is printed.
func printUnreached(out io.Writer, space search.Space, b *search.Batch) {
	unreached := b.Unreached()
	if len(unreached) == 0 {
		return
	}
	if len(space.Faults) > 0 {
		fmt.Fprintf(out, "\n%d kinds of events never happened, most because -faults leaves the others out; these runs say nothing about them\n", len(unreached))
		return
	}
	fmt.Fprintf(out, "\nnever happened, so these runs say nothing about it:\n")
	paragraph(out, "  ", strings.Join(unreached, ", "))
}

// end formats the end of a range as in the flag.
func end(to uint64) string {
	if to == math.MaxUint64 {
		return ""
	}
	return strconv.FormatUint(to, 10)
}

// seedRange parses "A:B", "A:" or "B".
func seedRange(words string) (from, to uint64, err error) {
	bad := func() (uint64, uint64, error) {
		return 0, 0, fmt.Errorf("-seeds is %q, want A:B with A less than B, as in 0:1000", words)
	}
	a, b, both := strings.Cut(words, ":")
	if !both {
		a, b = "0", words
	}
	if from, err = strconv.ParseUint(a, 10, 64); err != nil {
		return bad()
	}
	if to = math.MaxUint64; b != "" || !both {
		if to, err = strconv.ParseUint(b, 10, 64); err != nil {
			return bad()
		}
	}
	if from >= to {
		return bad()
	}
	return from, to, nil
}

func share(n, of uint64) string {
	if of == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.3g %%", 100*float64(n)/float64(of))
}
