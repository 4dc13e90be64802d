// Command bench compares this library with others, on redis-server processes that it starts
// itself. It is a separate module, so that the library does not depend on the others.
//
//	go -C simulation/bench run .                 everything, in several minutes
//	go -C simulation/bench run . -quick          in less time, with more noise
//	go -C simulation/bench run . -parts throughput -workers 128 -only redlock,redsync
//
// All contenders of a part are measured in turns, in several rounds. The output has medians,
// and ratios to the first contender. Absolute figures depend on the machine; the client and
// the servers share its cores.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
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
	times       int
	long        time.Duration
	quick       bool
	leases      int
	format      string
	json        string
}

var parts = []string{"throughput", "sick", "contended", "overload"}

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
	part := flags.String("parts", strings.Join(parts, ","), "what to measure")
	only := flags.String("only", "", "contenders, by the beginnings of their names; default: all")
	workers := flags.String("workers", "1,16,128,1024", "numbers of workers for throughput")
	times := flags.Int("rounds", 5, "the number of rounds")
	long := flags.Duration("for", 2*time.Second, "the duration of each measurement")
	quick := flags.Bool("quick", false, "one round of half a second")
	leases := flags.Int("leases", 10_000, "the number of kept leases in the overload")
	file := flags.String("json", "", "also write the results to this file")
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
	}
	if opts.times < 1 || opts.long < 10*time.Millisecond {
		return opts, nil, fmt.Errorf("-rounds is %d and -for %v, want at least 1 and 10ms", opts.times, opts.long)
	}
	if opts.leases < 1 || opts.leases > 100_000 {
		return opts, nil, fmt.Errorf("-leases is %d, want 1 to 100000", opts.leases)
	}
	for _, p := range opts.parts {
		if !slices.Contains(parts, p) {
			return opts, nil, fmt.Errorf("-parts has %q, want some of %s", p, strings.Join(parts, ","))
		}
	}
	for _, word := range words(*workers) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > 10_000 {
			return opts, nil, fmt.Errorf("-workers has %q, want whole numbers from 1 to 10000", word)
		}
		opts.workers = append(opts.workers, n)
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
func measure(ctx context.Context, opts options, list []contender, stderr io.Writer) (Results, error) {
	results := Results{Cores: runtime.NumCPU(), Go: runtime.Version(), Rounds: opts.times, Seconds: opts.long.Seconds()}
	for _, c := range list {
		results.Contenders = append(results.Contenders, Entry{c.name, c.note, c.servers})
	}
	f, err := startFleet(ctx, 5)
	if err != nil {
		return results, err
	}
	defer func() { _ = f.Close() }()
	if results.Server, err = f[0].Info("redis_version"); err != nil {
		return results, err
	}
	progress := func(what string) { fmt.Fprintln(stderr, what) }
	if slices.Contains(opts.parts, "throughput") {
		for _, n := range opts.workers {
			of, err := rounds(ctx, f, list, n, opts.times, opts.long, progress)
			if err != nil {
				return results, err
			}
			results.Throughput = append(results.Throughput, of...)
		}
	}
	if slices.Contains(opts.parts, "sick") {
		if results.Sick, err = sickness(ctx, list, opts.times, opts.long, progress); err != nil {
			return results, err
		}
	}
	if slices.Contains(opts.parts, "contended") {
		if results.Contended, err = contention(ctx, f, list, opts.times, opts.long, progress); err != nil {
			return results, err
		}
	}
	if slices.Contains(opts.parts, "overload") {
		one, err := measureOverload(ctx, overloadOf(opts.leases, opts.quick), progress)
		if err != nil {
			return results, err
		}
		results.Overload = &one
	}
	return results, nil
}
