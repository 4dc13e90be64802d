//go:build unix

// Command election starts five candidate processes of an election, on servers inside this
// process, and prints who leads. Stop, kill or end the leader, and see who follows:
//
//	go run ./quorum/election/cmd/election
//
// With -measure it does that on its own, and reports how long each change of leaders took.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "election:", err)
		os.Exit(1)
	}
}

// asCandidate is the first argument of the candidate processes.
const asCandidate = "candidate"

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == asCandidate {
		return candidate(ctx, args[1:], stdin, stdout)
	}
	var o options
	flags := flag.NewFlagSet("election", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.DurationVar(&o.ttl, "ttl", 2*time.Second, "the `TTL` of terms, 500ms to 1m")
	flags.IntVar(&o.candidates, "candidates", 5, "how many processes, 2 to 50")
	flags.IntVar(&o.measure, "measure", 0, "measure each signal `N` times, for TTLs of 2 s and 10 s unless -ttl is given")
	flags.StringVar(&o.format, "format", "text", "of what is measured: text or json")
	if err := flags.Parse(args); err != nil {
		return err
	}
	flags.Visit(func(f *flag.Flag) { o.oneTTL = o.oneTTL || f.Name == "ttl" })
	if err := o.validate(flags.Args()); err != nil {
		return err
	}
	if o.measure > 0 {
		return measureAll(ctx, o, stdout, stderr)
	}
	return show(ctx, o, stdout)
}

type options struct {
	ttl        time.Duration
	oneTTL     bool // it was given
	candidates int
	measure    int
	format     string
}

func (o options) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q is no option; -help lists them", rest[0])
	case o.ttl < 500*time.Millisecond || o.ttl > time.Minute:
		return fmt.Errorf("-ttl is %v, want 500ms to 1m", o.ttl)
	case o.candidates < 2 || o.candidates > 50:
		return fmt.Errorf("-candidates is %d, want 2 to 50", o.candidates)
	case o.measure < 0:
		return fmt.Errorf("-measure is %d, want 1 or more", o.measure)
	case o.format != "text" && o.format != "json":
		return fmt.Errorf("-format is %q, want text or json", o.format)
	}
	return nil
}

// show prints who leads, and what the reader can do about it, until ctx ends.
func show(ctx context.Context, o options, stdout io.Writer) error {
	group, err := startGroup(o.ttl, o.candidates)
	if err != nil {
		return err
	}
	defer group.close()
	began := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(stdout, "%8.3f s  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	say("%d candidates on five servers inside this process, TTL %v; Ctrl-C ends all", o.candidates, o.ttl)
	for {
		select {
		case e := <-group.events:
			switch e.what {
			case leads:
				say("process %d leads, term %s", e.pid, e.words)
				say("    kill -9 %d       it dies: another leads in up to a TTL", e.pid)
				say("    kill -STOP %d    it is paused: the same; kill -CONT %d, and it finds that its term is over", e.pid, e.pid)
				say("    kill -TERM %d    it resigns: another leads at once", e.pid)
			case stops:
				say("process %d stops leading: %s", e.pid, e.words)
			case exits:
				say("process %d has ended: %s; another one takes its place", e.pid, e.words)
				if err := group.start(); err != nil {
					return err
				}
			}
		case <-ctx.Done():
			say("the candidates resign and end")
			return nil
		}
	}
}
