// Command bench compares this library with others, on redis-server processes that it starts
// itself. It is a separate module, so that the library does not depend on the others.
//
//	go -C simulation/bench run .                 everything, in about half an hour
//	go -C simulation/bench run . -quick          in less time, with more noise
//	go -C simulation/bench run . -parts throughput -workers 128
//	go -C simulation/bench run . -against FOLDER compares with another checkout of this repository
//
// All contenders of a part are measured in turns, in several rounds. The output is JSON. It has medians,
// and ratios to the first contender. Absolute figures depend on the machine; the client and
// the servers share its cores.
//
// The parts scale and held measure this library alone, as a process of its own (folder client).
// With -against the other checkout's is built, too, and the two are measured in turns. The output
// then has the ratios.
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
	"github.com/redquorum/redlock/simulation/internal/origin"
)

const (
	exitOK    = 0
	exitFail  = 1
	exitUsage = 2
)

// options are the parsed flags.
type options struct {
	parts   []string
	workers []int
	against string
	times   int
	long    time.Duration
	quick   bool
	json    string
}

// part is a part of the measurements. Its cases are those of the client program that can be compared
// with another checkout.
type part struct {
	name    string
	measure func(measurement, *Results) error
	cases   func(options) []ownCase
}

var parts = []part{
	{"throughput", measuredThroughput, throughputCases}, {"sick", measuredSickness, nil}, {"contended", measuredContention, nil},
	{"scale", measuredScale, scaleCases}, {"held", measuredHeld, heldCases},
}

// partNames lists the parts, or only those that can be compared.
func partNames(compared bool) (names []string) {
	for _, p := range parts {
		if p.cases != nil || !compared {
			names = append(names, p.name)
		}
	}
	return names
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == contenderProcess {
		os.Exit(contendAsProcess(os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		fmt.Fprintln(stderr, "bench:", err)
		return exitUsage
	}
	results, err := measure(ctx, opts, stderr)
	if err == nil {
		err = results.write(opts.json, stdout)
	}
	switch {
	case errors.Is(err, redisproc.ErrMissing):
		fmt.Fprintln(stderr, "bench:", err)
		return exitUsage
	case err != nil:
		fmt.Fprintln(stderr, "bench:", err)
		return exitFail
	}
	return exitOK
}

func parse(args []string, stderr io.Writer) (options, error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	chosen := flags.String("parts", "", "what to measure: some of "+strings.Join(partNames(false), ",")+"; default: all or, with -against, "+strings.Join(partNames(true), ","))
	workers := flags.String("workers", "1,16,128,1024", "numbers of workers for throughput")
	times := flags.Int("rounds", 5, "the number of rounds")
	long := flags.Duration("for", 2*time.Second, "the duration of each measurement")
	quick := flags.Bool("quick", false, "one round of half a second, and fewer leases")
	against := flags.String("against", "", "compare with the library in this folder, another checkout of this repository")
	file := flags.String("json", "", "write the results to this file, which keeps what it has of parts that are not measured")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return options{}, err
		}
		return options{}, errors.New("see -h")
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("%q is one word too many; see -h", flags.Arg(0))
	}
	opts := options{parts: words(*chosen), against: *against, times: *times, long: *long, quick: *quick, json: *file}
	if *quick {
		opts.times, opts.long = 1, 500*time.Millisecond
	}
	if opts.times < 1 || opts.long < 10*time.Millisecond {
		return opts, fmt.Errorf("-rounds is %d and -for %v, want at least 1 and 10ms", opts.times, opts.long)
	}
	if err := opts.chooseParts(); err != nil {
		return opts, err
	}
	for _, word := range words(*workers) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > 10_000 {
			return opts, fmt.Errorf("-workers has %q, want whole numbers from 1 to 10000", word)
		}
		opts.workers = append(opts.workers, n)
	}
	return opts, nil
}

// chooseParts checks the parts.
func (o *options) chooseParts() error {
	known := partNames(o.against != "")
	for _, p := range o.parts {
		if !slices.Contains(known, p) {
			return fmt.Errorf("-parts has %q, want some of %s", p, strings.Join(known, ","))
		}
	}
	if len(o.parts) == 0 {
		o.parts = known
	}
	return nil
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// measurement is what the parts have in common.
type measurement struct {
	ctx      context.Context
	options  options
	fleet    fleet // as many servers as the largest part needs
	client   program
	progress func(string)
}

// measure performs the measurements.
func measure(ctx context.Context, opts options, stderr io.Writer) (results Results, err error) {
	results.Recorded = map[string]Setting{}
	root := filepath.Join("..", "..")
	setting := Setting{Go: runtime.Version(), Rounds: opts.times, Seconds: opts.long.Seconds()}
	if setting.Origin, err = origin.Of(ctx, root); err != nil {
		return results, err
	}
	m := measurement{ctx: ctx, options: opts, progress: func(what string) { fmt.Fprintln(stderr, what) }}
	if m.fleet, err = startFleet(ctx, mostServers); err != nil {
		return results, err
	}
	defer func() { _ = m.fleet.Close() }()
	if setting.Server, err = m.fleet[0].Info("redis_version"); err != nil {
		return results, err
	}
	m.progress("building the client program")
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return results, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if m.client, err = build(ctx, root, folder); err != nil {
		return results, err
	}
	if opts.against != "" {
		other, err := build(ctx, opts.against, filepath.Join(folder, "other"))
		if err != nil {
			return results, err
		}
		results.Recorded["against"] = setting
		results.Against, err = m.against(other)
		return results, err
	}
	for _, part := range parts {
		if !slices.Contains(opts.parts, part.name) {
			continue
		}
		if err := part.measure(m, &results); err != nil {
			return results, err
		}
		recorded := setting
		if part.name == "held" {
			recorded.Rounds, recorded.Seconds = min(opts.times, heldRounds), heldTTL(opts).Seconds()
		}
		results.Recorded[part.name] = recorded
	}
	return results, nil
}

// inTurns measures n things in several rounds, one right after the other, each round beginning
// with another one. So other load on the machine affects all of them alike. It returns the
// results of each thing, by round.
func inTurns[T any](rounds, n int, measure func(round, i int) (T, error)) ([][]T, error) {
	all := make([][]T, n)
	for round := range rounds {
		for turn := range n {
			i := (turn + round) % n
			one, err := measure(round, i)
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], one)
		}
	}
	return all, nil
}
