// Command bench compares this library with others, on redis-server processes that it starts
// itself. It is a separate module, so that the library does not depend on the others.
//
//	go -C simulation/bench run .                 everything, in about half an hour
//	go -C simulation/bench run . -rounds 1 -for 500ms throughput
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
	"net/rpc"
	"os"
	"os/signal"
	"slices"
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
		_ = rpc.Register(&Client{}) // it fails only for a type without methods
		rpc.ServeConn(pipes{os.Stdin, os.Stdout})
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	rounds := flags.Int("rounds", 5, "the number of rounds")
	long := flags.Duration("for", 2*time.Second, "the duration of each measurement")
	names := strings.Join(partNames(), ", ")
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: bench [flags] [part...]\nThe parts are %s; default: all.\n", names)
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage // it has said so
	}
	chosen := flags.Args()
	for _, name := range chosen {
		if !slices.Contains(partNames(), name) {
			fmt.Fprintf(stderr, "bench: there is no part %q, want some of %s\n", name, names)
			return exitUsage
		}
	}
	if len(chosen) == 0 {
		chosen = partNames()
	}
	if *rounds < 1 || *long < 10*time.Millisecond {
		fmt.Fprintf(stderr, "bench: -rounds is %d and -for %v, want at least 1 and 10ms\n", *rounds, *long)
		return exitUsage
	}
	results, err := measureAll(ctx, chosen, *rounds, *long, stderr)
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
