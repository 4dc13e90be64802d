// Command bench compares this library with others, on redis-server processes that it starts
// itself. It is a separate module, so that the library does not depend on the others.
//
//	go -C simulation/bench run .                 everything, in about half an hour
//	go -C simulation/bench run . -quick          in less time, with more noise
//	go -C simulation/bench run . -parts throughput -workers 128
//
// The output is JSON. It has medians of several rounds, and ratios to the first contender. Absolute
// figures depend on the machine; the clients and the servers share its cores.
//
// Each client is a process of its own, so that its memory and processor time are the library's
// alone. It is this program.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
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

func main() {
	if len(os.Args) > 1 && os.Args[1] == clientProcess {
		if err := serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitFail)
		}
		return
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
	results, err := measureAll(ctx, opts, stderr)
	if err == nil {
		out := json.NewEncoder(stdout)
		out.SetIndent("", " ")
		err = out.Encode(results)
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		if errors.Is(err, redisproc.ErrMissing) {
			return exitUsage
		}
		return exitFail
	}
	return exitOK
}

func parse(args []string, stderr io.Writer) (options, error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	chosen := flags.String("parts", "", "what to measure: some of "+strings.Join(partNames(), ",")+"; default: all")
	workers := flags.String("workers", "1,16,128,1024", "numbers of workers for throughput")
	rounds := flags.Int("rounds", 5, "the number of rounds")
	long := flags.Duration("for", 2*time.Second, "the duration of each measurement")
	quick := flags.Bool("quick", false, "one round of half a second, and fewer leases")
	if err := flags.Parse(args); err != nil {
		return options{}, fmt.Errorf("%w; see -h", err)
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("%q is one word too many; see -h", flags.Arg(0))
	}
	opts := options{parts: words(*chosen), rounds: *rounds, long: *long, quick: *quick}
	if *quick {
		opts.rounds, opts.long = 1, 500*time.Millisecond
	}
	if opts.rounds < 1 || opts.long < 10*time.Millisecond {
		return opts, fmt.Errorf("-rounds is %d and -for %v, want at least 1 and 10ms", opts.rounds, opts.long)
	}
	for _, p := range opts.parts {
		if !slices.Contains(partNames(), p) {
			return opts, fmt.Errorf("-parts has %q, want some of %s", p, strings.Join(partNames(), ","))
		}
	}
	if len(opts.parts) == 0 {
		opts.parts = partNames()
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

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}
