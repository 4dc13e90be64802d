// Command bench compares this library with others, on redis-server processes that it starts
// itself. It is a separate module, so that the library does not depend on the others.
//
//	go -C simulation/bench run .                 everything, in about half an hour
//	go -C simulation/bench run . -quick          in less time, with more noise
//	go -C simulation/bench run . -parts throughput -workers 128 -only redlock,redsync
//	go -C simulation/bench run . -against FOLDER compares with another checkout of this repository
//
// All contenders of a part are measured in turns, in several rounds. The output has medians,
// and ratios to the first contender. Absolute figures depend on the machine; the client and
// the servers share its cores.
//
// The parts scale, waiters, held and instructions measure this library alone, as a process of
// its own (folder client). With -against that program is also built with the other checkout, and
// the two are measured in turns. The output then has the ratios.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

const (
	exitOK    = 0
	exitFail  = 1
	exitUsage = 2
)

// options are the parsed flags.
type options struct {
	parts, only []string
	workers     []int
	waiters     []int
	held        []int // numbers of leases
	counted     []int // numbers of workers whose instructions are counted
	against     string
	times       int
	long        time.Duration
	quick       bool
	leases      int
	format      string
	json        string
}

var parts = []string{"throughput", "sick", "contended", "overload", "scale", "waiters", "held", "instructions"}

// comparable are the parts that can be measured with another checkout, too.
var comparable = []string{"throughput", "scale", "waiters", "held", "instructions"}

func main() {
	if len(os.Args) > 1 && os.Args[1] == contenderProcess {
		os.Exit(contendAsProcess(os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, list, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		fmt.Fprintln(stderr, "bench:", err)
		return exitUsage
	}
	results, err := measure(ctx, opts, list, stderr)
	switch {
	case errors.Is(err, redisproc.ErrMissing):
		fmt.Fprintf(stderr, "bench: %v; install it (Debian: apt-get install redis-server)\n", err)
		return exitUsage
	case err != nil:
		fmt.Fprintln(stderr, "bench:", err)
		return exitFail
	}
	if opts.json != "" {
		if err := results.writeJSON(opts.json); err != nil {
			fmt.Fprintln(stderr, "bench:", err)
			return exitFail
		}
	}
	results.markdown(stdout)
	return exitOK
}

func parse(args []string, stderr io.Writer) (options, []contender, error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	part := flags.String("parts", "", "what to measure: some of "+strings.Join(parts, ",")+"; default: all or, with -against, "+strings.Join(comparable, ","))
	only := flags.String("only", "", "contenders, by the beginnings of their names; default: all")
	workers := flags.String("workers", "1,16,128,1024", "numbers of workers for throughput")
	times := flags.Int("rounds", 5, "the number of rounds")
	long := flags.Duration("for", 2*time.Second, "the duration of each measurement")
	quick := flags.Bool("quick", false, "one round of half a second, and fewer leases")
	leases := flags.Int("leases", 10_000, "the number of kept leases in the overload")
	waiters := flags.String("waiters", "100,1000,10000", "numbers of waiters for one lock")
	held := flags.String("held", "10000,100000", "numbers of leases that are held; -quick: 1000")
	against := flags.String("against", "", "compare with the library in this folder, another checkout of this repository")
	file := flags.String("json", "", "also write the results to this file, which keeps what it has of parts that are not measured")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return options{}, nil, err
		}
		return options{}, nil, errors.New("see -h")
	}
	if flags.NArg() > 0 {
		return options{}, nil, fmt.Errorf("%q is one word too many; see -h", flags.Arg(0))
	}
	opts := options{parts: words(*part), only: words(*only), times: *times, long: *long, quick: *quick, leases: *leases, json: *file}
	if *quick {
		opts.times, opts.long = 1, 500*time.Millisecond
		if !isSet(flags, "held") {
			*held = "1000"
		}
	}
	if opts.times < 1 || opts.long < 10*time.Millisecond {
		return opts, nil, fmt.Errorf("-rounds is %d and -for %v, want at least 1 and 10ms", opts.times, opts.long)
	}
	if opts.leases < 1 || opts.leases > 100_000 {
		return opts, nil, fmt.Errorf("-leases is %d, want 1 to 100000", opts.leases)
	}
	if err := opts.chooseParts(*against); err != nil {
		return opts, nil, err
	}
	var err error
	for _, numbers := range []struct {
		flag, value string
		most        int
		to          *[]int
	}{
		{"workers", *workers, 10_000, &opts.workers}, {"waiters", *waiters, 100_000, &opts.waiters}, {"held", *held, 1_000_000, &opts.held},
	} {
		if *numbers.to, err = parseNumbers(numbers.flag, numbers.value, numbers.most); err != nil {
			return opts, nil, err
		}
	}
	// Instructions of very many workers say nothing new, and take valgrind long to count.
	opts.counted = []int{1, 16, 128}
	if isSet(flags, "workers") {
		opts.counted = opts.workers
	}
	list := contenders()
	if len(opts.only) > 0 {
		list = slices.DeleteFunc(list, func(c contender) bool {
			return !slices.ContainsFunc(opts.only, func(name string) bool { return strings.HasPrefix(c.name, name) })
		})
		if len(list) == 0 {
			return opts, nil, fmt.Errorf("-only %s names none of the contenders: %s", *only, names(contenders()))
		}
	}
	return opts, list, nil
}

// chooseParts checks the parts, and that they can be measured with another checkout.
func (o *options) chooseParts(against string) error {
	for _, p := range o.parts {
		if !slices.Contains(parts, p) {
			return fmt.Errorf("-parts has %q, want some of %s", p, strings.Join(parts, ","))
		}
	}
	if against == "" {
		if len(o.parts) == 0 {
			o.parts = parts
		}
		return nil
	}
	o.against = against
	if err := checkCheckout(against); err != nil {
		return err
	}
	if len(o.only) > 0 {
		return errors.New("-against compares this library with itself, and -only chooses other contenders; leave one of them out")
	}
	for _, p := range o.parts {
		if !slices.Contains(comparable, p) {
			return fmt.Errorf("-parts has %q, which -against cannot compare, want some of %s", p, strings.Join(comparable, ","))
		}
	}
	if len(o.parts) == 0 {
		o.parts = comparable
	}
	return nil
}

// isSet says whether a flag was given.
func isSet(flags *flag.FlagSet, name string) (set bool) {
	flags.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

func parseNumbers(flag, value string, most int) (numbers []int, err error) {
	for _, word := range words(value) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > most {
			return nil, fmt.Errorf("-%s has %q, want whole numbers from 1 to %d", flag, word, most)
		}
		numbers = append(numbers, n)
	}
	if len(numbers) == 0 {
		return nil, fmt.Errorf("-%s is empty, want whole numbers from 1 to %d", flag, most)
	}
	return numbers, nil
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

func names(list []contender) string {
	all := make([]string, len(list))
	for i, c := range list {
		all[i] = c.name
	}
	return strings.Join(all, "; ")
}

// measure performs the measurements.
func measure(ctx context.Context, opts options, list []contender, stderr io.Writer) (results Results, err error) {
	results.Recorded = map[string]Setting{}
	setting := Setting{Go: runtime.Version(), Cores: runtime.NumCPU(), Rounds: opts.times, Seconds: opts.long.Seconds(), Commit: version(ctx, filepath.Join("..", ".."))}
	progress := func(what string) { fmt.Fprintln(stderr, what) }
	n := servers
	if slices.Contains(opts.parts, "scale") {
		n = mostServers
	}
	f, err := startFleet(ctx, n)
	if err != nil {
		return results, err
	}
	defer func() { _ = f.Close() }()
	if setting.Server, err = f[0].Info("redis_version"); err != nil {
		return results, err
	}
	var this, other program
	if slices.ContainsFunc(opts.parts, func(p string) bool { return opts.against != "" || p != "throughput" && slices.Contains(comparable, p) }) {
		progress("building the client program")
		b, err := newBuilder(ctx)
		if err != nil {
			return results, err
		}
		defer func() { _ = b.close() }()
		if this, err = b.build(ctx, ""); err != nil {
			return results, err
		}
		if opts.against != "" {
			if other, err = b.build(ctx, opts.against); err != nil {
				return results, err
			}
		}
	}
	setting.Load = load()
	if opts.against != "" {
		results.Recorded["against"] = setting
		results.Against, err = against(ctx, this, other, f, opts, progress)
		return results, err
	}

	if slices.ContainsFunc(opts.parts, func(p string) bool { return slices.Contains([]string{"throughput", "sick", "contended"}, p) }) {
		for _, c := range list {
			results.Contenders = append(results.Contenders, Entry{c.name, c.note, c.servers})
		}
	}
	five := f[:servers]
	for _, part := range []struct {
		name    string
		measure func() error
	}{
		{"throughput", func() error {
			for _, n := range opts.workers {
				of, err := rounds(ctx, five, list, n, opts.times, opts.long, progress)
				if err != nil {
					return err
				}
				results.Throughput = append(results.Throughput, of...)
			}
			return nil
		}},
		{"sick", func() error {
			results.Sick, err = sickness(ctx, list, opts.times, opts.long, progress)
			return err
		}},
		{"contended", func() error {
			results.Contended, err = contention(ctx, five, list, opts.times, opts.long, progress)
			return err
		}},
		{"overload", func() error {
			one, err := measureOverload(ctx, overloadOf(opts.leases, opts.quick), progress)
			results.Overload = &one
			return err
		}},
		{"scale", func() error {
			results.Scale, err = scale(ctx, this, f, opts, progress)
			return err
		}},
		{"waiters", func() error {
			results.Waiters, err = waiting(ctx, this, f, opts, progress)
			return err
		}},
		{"held", func() error {
			results.Held, err = held(ctx, this, f, opts, progress)
			return err
		}},
		{"instructions", func() error {
			results.Instructions, results.Counter, err = instructions(ctx, this, f, opts, progress)
			if errors.Is(err, errNoCounter) {
				results.Omitted = err.Error()
				return nil
			}
			return err
		}},
	} {
		if !slices.Contains(opts.parts, part.name) {
			continue
		}
		setting.Load = load()
		if err := part.measure(); err != nil {
			return results, err
		}
		recorded := setting
		switch part.name {
		case "overload":
			recorded.Rounds = 1
		case "held":
			recorded.Rounds, recorded.Seconds = min(opts.times, heldRounds), heldTTL(opts).Seconds()
		case "instructions":
			recorded.Seconds = 0
		}
		results.Recorded[part.name] = recorded
	}
	return results, nil
}
