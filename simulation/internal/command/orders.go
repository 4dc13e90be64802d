package command

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/orders"
	"github.com/redquorum/redlock/simulation/search"
)

func runOrders(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s := searching{registry: registry(), stdout: stdout, progress: newProgress(stderr)}
	var world, state, schedule, format string
	var clients, servers int
	var pairs bool
	var choices numbers
	flags := flag.NewFlagSet("orders", flag.ContinueOnError)
	flags.StringVar(&world, "world", "try", "what the clients do, one or several `names`: "+strings.Join(orders.Names(), ", ")+", or all")
	flags.IntVar(&clients, "clients", 2, "the number of clients, 1 to 8")
	flags.IntVar(&servers, "servers", 3, "the number of servers, 1 to 9")
	flags.StringVar(&s.design, "design", "default", "the `name` of the lock design, see list")
	flags.StringVar(&s.faults, "faults", "", "`kinds` of faults, separated by commas, or all: one fault at any moment of every order (default: none)")
	flags.BoolVar(&pairs, "pairs", false, "also two faults in a run")
	flags.DurationVar(&s.limit, "budget", 0, "stop after this time and report the findings (default: no limit)")
	flags.IntVar(&s.workers, "workers", runtime.NumCPU(), "the number of worker processes; the result does not depend on it")
	flags.StringVar(&s.out, "out", ".", "the `folder` for replay files")
	flags.StringVar(&state, "state", "", "keep what was done in this `file`, and go on from there")
	flags.StringVar(&format, "format", "text", "the `form` of the report: text or json")
	flags.Var(&choices, "choices", "play only the order of these `numbers`, and print its events: which of the possible events is next, by its number, 0 being the one that was caused first")
	flags.StringVar(&schedule, "schedule", "", "with -choices, the faults in this `file`, or a JSON list of faults")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	if err := cmp.Or(within("-clients", clients, 1, 8), within("-servers", servers, 1, 9), oneOf("-format", format, "text", "json")); err != nil {
		return err
	}
	plan := orders.Plan{
		Worlds: commas(world), Design: s.design, Changes: search.Changes{Servers: &servers, Processes: &clients}, Faults: s.kinds(), Pairs: pairs,
	}
	if s.faults == "all" {
		plan.Faults = orders.Kinds()
	}
	if world == "all" {
		plan.Worlds = orders.Names()
	}
	if choices != nil {
		return playChoices(search.Setup{Workload: world, Design: s.design, Changes: plan.Changes}, choices, schedule, stdout)
	}
	switch {
	case schedule != "":
		return usageError{errors.New("-schedule is for one order: give its -choices, too")}
	case s.limit < 0:
		return usageError{fmt.Errorf("-budget is %v, want 0 or more", s.limit)}
	case len(plan.Worlds) == 0:
		return usageError{fmt.Errorf("-world is %q, want one of %v, or all", world, orders.Names())}
	case pairs && len(plan.Faults) == 0:
		return usageError{errors.New("-pairs without -faults: name the kinds, or all")}
	}
	if err := s.open(); err != nil {
		return err
	}
	walks, err := plan.Walks(s.registry)
	if err != nil {
		return usageError{err}
	}
	if walks, err = loadWalks(state, plan, walks); err != nil {
		return usageError{err}
	}
	if err := s.walk(ctx, plan, walks, state); err != nil {
		return err
	}
	if format == "json" {
		if err := printRecord(stdout, plan, walks); err != nil {
			return err
		}
		// No replay file is written.
		findings := orders.Causes(walks)
		broken := 0
		for _, w := range walks {
			for _, f := range w.Found {
				if f.Assumption == 0 {
					broken++
				}
			}
		}
		return s.verdict(ctx, plan, walks, findings, broken)
	}
	return s.printWalks(ctx, plan, walks, state)
}

// verdict is the error of walks that found something or played nothing, or were interrupted.
func (s *searching) verdict(ctx context.Context, plan orders.Plan, walks []orders.Walk, findings []search.Finding, broken int) error {
	open := slices.ContainsFunc(walks, func(w orders.Walk) bool { return !w.Tree.Over })
	switch {
	case len(findings) > 0:
		return s.sum(plan.Worlds[0], findings, broken)
	case open && ctx.Err() != nil:
		return errors.New("interrupted")
	case !slices.ContainsFunc(walks, func(w orders.Walk) bool { return w.Tree.Runs > 0 }):
		return errors.New("no order was played: give more time with -budget")
	}
	return nil
}

// printRecord prints the table as data.
func printRecord(out io.Writer, plan orders.Plan, walks []orders.Walk) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(orders.Record{Plan: plan, Version: version(), Rows: orders.Table(walks)})
}

// walk plays all walks.
func (s *searching) walk(ctx context.Context, plan orders.Plan, walks []orders.Walk, state string) error {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if s.limit > 0 {
		limited, cancel = context.WithTimeout(ctx, s.limit)
	}
	defer cancel()
	began, saved := time.Now(), time.Now()
	var failed error
	// What is under way when the time is up is lost, so short budgets have short slices.
	err := orders.Play(limited, s.registry, walks, orders.Options{Workers: s.workers, Command: startWorker(ordersWorker), Slice: min(s.limit/10, 3*time.Second), Progress: func(walks []orders.Walk) {
		s.progress.walks(walks, time.Since(began))
		if time.Since(saved) > 10*time.Second {
			saved, failed = time.Now(), errors.Join(failed, saveWalks(state, plan, walks))
		}
	}})
	s.progress.clear()
	return errors.Join(err, failed, saveWalks(state, plan, walks))
}

// walks shows how far the walks are.
func (p *progress) walks(walks []orders.Walk, gone time.Duration) {
	if p == nil {
		return
	}
	runs, found, part := uint64(0), 0, 0.0
	for i := range walks {
		runs += walks[i].Tree.Runs
		found += len(walks[i].Found)
		part += walks[i].Tree.Part() / float64(len(walks))
	}
	p.show(fmt.Sprintf("%d orders, about %.1f %% of all, %d with violations%s", runs, 100*part, found, left(gone, uint64(part*1e6), 1e6)))
}

// printWalks writes the report.
func (s *searching) printWalks(ctx context.Context, plan orders.Plan, walks []orders.Walk, state string) error {
	out := s.stdout
	for _, name := range plan.Worlds {
		world, err := s.registry.Workload(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s with %s: %s and %s; %s\n", name, plan.Design, count(*plan.Changes.Processes, "client"), count(*plan.Changes.Servers, "server"), world.Title)
	}
	total, open := printTable(out, walks)
	switch {
	case open == 0:
		paragraph(out, "", "these are all orders, up to exchanges of independent events: "+orders.Coverage(plan, total))
	default:
		words := "the time is up"
		if ctx.Err() != nil {
			words = "interrupted"
		}
		fmt.Fprintf(out, "%s: %s not finished", words, count(open, "walk"))
		if state != "" {
			fmt.Fprintf(out, "; the same command goes on")
		}
		fmt.Fprintln(out)
	}
	findings, broken := orders.Causes(walks), 0
	for _, f := range findings {
		blame, err := s.printFinding(ctx, f, total, false)
		if err != nil {
			return err
		}
		if !blame.Excused() {
			broken++
		}
	}
	if err := s.verdict(ctx, plan, walks, findings, broken); err != nil {
		return err
	}
	fmt.Fprintln(out, "no violation")
	return nil
}

// printTable lists the walks by the kinds of their faults.
func printTable(out io.Writer, walks []orders.Walk) (total uint64, open int) {
	fmt.Fprintf(out, "%-9s %-34s %6s %10s %9s  %s\n", "world", "faults", "walks", "orders", "seconds", "found")
	for _, row := range orders.Table(walks) {
		found := "nothing"
		if len(row.Found) > 0 {
			found = strings.Join(row.Found, ", ")
		}
		if row.Open > 0 {
			found += fmt.Sprintf(" (%s not finished)", count(row.Open, "walk"))
		}
		fmt.Fprintf(out, "%-9s %-34s %6d %10d %9.1f  %s\n", row.World, row.Faults, row.Walks, row.Runs, row.Took.Seconds(), found)
		total, open = total+row.Runs, open+row.Open
	}
	return total, open
}

// playChoices plays one order and prints it.
func playChoices(setup search.Setup, choices numbers, schedule string, out io.Writer) error {
	setup.Choices = choices
	if schedule != "" {
		text, err := scheduleText(schedule)
		if err == nil {
			setup.Schedule, err = simulation.ReadSchedule(text)
		}
		if err != nil {
			return usageError{err}
		}
	}
	r, err := registry().Play(setup)
	if err != nil {
		return usageError{err}
	}
	if err := printStory(out, fmt.Sprintf("%s with %s, in the order %s", setup.Workload, setup.Design, &choices), r); err != nil {
		return err
	}
	fmt.Fprintf(out, "trace: sha256 %s\n", r.Log.Digest())
	if kinds := r.Kinds(); len(kinds) > 0 {
		return fmt.Errorf("violations: %v", kinds)
	}
	fmt.Fprintln(out, "no violation")
	return nil
}

// stateFile is the file of -state.
type stateFile struct {
	Format string `json:"format"`
	// Program is the hash of the program that wrote the file: another one may play other runs.
	Program string        `json:"program"`
	Plan    orders.Plan   `json:"plan"`
	Walks   []orders.Walk `json:"walks"`
}

const stateFormat = "redlocksim orders 2"

// program returns the hash of the program that runs.
var program = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
})

// loadWalks reads what was done, if there is such a file. walks are those of the plan.
func loadWalks(path string, plan orders.Plan, walks []orders.Walk) ([]orders.Walk, error) {
	if path == "" {
		return walks, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return walks, saveWalks(path, plan, walks) // it must be writable
	}
	if err != nil {
		return nil, err
	}
	var f stateFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("-state: %s isn't a file that redlocksim orders wrote: %w; name another one", path, err)
	}
	if f.Format != stateFormat {
		return nil, fmt.Errorf("-state: the format of %s is %q, want %q; name another file", path, f.Format, stateFormat)
	}
	me, err := program()
	if err != nil {
		return nil, fmt.Errorf("-state: %w", err)
	}
	if f.Program != me {
		return nil, fmt.Errorf("-state: %s was written by another version of this program, whose orders may be others; name another file", path)
	}
	same := len(f.Walks) == len(walks)
	for i := range f.Walks {
		same = same && reflect.DeepEqual(f.Walks[i].Setup, walks[i].Setup)
	}
	if !same || !reflect.DeepEqual(f.Plan, plan) {
		return nil, fmt.Errorf("-state: %s is about %v with %s, and about other worlds, faults, clients or servers than these flags; name another file, or give the same flags", path, f.Plan.Worlds, f.Plan.Design)
	}
	return f.Walks, nil
}

func saveWalks(path string, plan orders.Plan, walks []orders.Walk) error {
	if path == "" {
		return nil
	}
	me, err := program()
	if err != nil {
		return fmt.Errorf("-state: %w", err)
	}
	text, err := json.Marshal(stateFile{Format: stateFormat, Program: me, Plan: plan, Walks: walks})
	if err != nil {
		return err
	}
	// What was done before is kept until the new file is complete.
	if err := os.WriteFile(path+".tmp", text, 0o644); err != nil {
		return fmt.Errorf("-state: %w", err)
	}
	return os.Rename(path+".tmp", path)
}

// numbers is a flag for several numbers, 0 or more.
type numbers []int

func (n *numbers) String() string {
	words := make([]string, len(*n))
	for i, one := range *n {
		words[i] = strconv.Itoa(one)
	}
	return strings.Join(words, ",")
}

// Set parses "0,2,1".
func (n *numbers) Set(words string) error {
	*n = numbers{}
	for _, word := range commas(words) {
		one, err := strconv.Atoi(word)
		if err != nil || one < 0 {
			return fmt.Errorf("%q is no number of 0 or more", word)
		}
		*n = append(*n, one)
	}
	if len(*n) == 0 {
		return errors.New("want at least one number, as in 0")
	}
	return nil
}
