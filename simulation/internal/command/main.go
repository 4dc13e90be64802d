// Package command has the commands of redlocksim, which are also those of a program for a lock
// of one's own, see package testbed.
package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
)

// The exit codes of every command.
const (
	exitOK      = 0
	exitFail    = 1
	exitUsage   = 2
	exitUnknown = 3 // nothing failed, but part of it was not tested

	exitInterrupted = 130 // as of a program that SIGINT ended
)

// command is one subcommand.
type command struct {
	name    string
	summary string
	// run gets the arguments after the name. It returns errUsage if it has already
	// reported wrong usage.
	run func(ctx context.Context, args []string, stdout, stderr io.Writer) error
}

func (e usageError) Unwrap() error { return e.error }

var commands = []command{
	{"list", "all scenarios, designs and faults, or one of them in full", runList},
	{"run", "one run of a scenario, a fault or what explore found, with its timeline", runRun},
	{"play", "the simulation in a browser: change the faults, and see what breaks", runPlay},
	{"matrix", "designs against faults: violation rates with confidence intervals", runMatrix},
	{"live", "the scenarios on real redis-servers: do they agree with the simulation?", runLive},
	{"box", "a lock client of any language on real servers with faults: which promise breaks?", runBox},
	{"servers", "real servers for tests of your own, and faults for them over HTTP", runServers},
	{"driver", "a design of the simulation as a client of the box", runDriver},
	{"explore", "many random schedules of faults: what breaks a design, with the smallest schedule", runExplore},
}

// Main runs the command with its flags, and exits. started is the command line that starts the
// program, in what it prints; "" is that of redlocksim.
func Main(started string, args []string) {
	start = cmp.Or(started, start)
	// Simulated runs allocate much and keep little, so rarer collections cost little memory.
	debug.SetGCPercent(400)
	// The end of this context stops everything that a command has started. A second Ctrl-C kills the program as usual.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(Run(ctx, args, os.Stdout, os.Stderr))
}

// Run runs the command, and returns its exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		usage(stdout)
		_ = runSummary(ctx, []string{"-h"}, stdout, stdout) // its flags
		return exitOK
	}
	chosen := command{run: runSummary}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		i := slices.IndexFunc(commands, func(c command) bool { return c.name == args[0] })
		if i < 0 {
			fmt.Fprintf(stderr, "redlocksim: there is no command %q\n", args[0])
			usage(stderr)
			return exitUsage
		}
		chosen, args = commands[i], args[1:]
	}
	return execute(ctx, chosen, args, stdout, stderr)
}

// execute runs a command, reports its error and returns the exit code.
func execute(ctx context.Context, c command, args []string, stdout, stderr io.Writer) int {
	name := strings.TrimSpace("redlocksim " + c.name)
	out := &console{out: stdout}
	err := c.run(ctx, args, out, stderr)
	if out.err != nil {
		fmt.Fprintf(stderr, "%s: the output could not be written, and is not complete: %v\n", name, out.err)
		if err == nil || errors.Is(err, out.err) {
			return exitFail
		}
	}
	var wrong usageError
	var unknown unknownError
	says := strings.TrimPrefix(fmt.Sprint(err), c.name+": ") // a package of the same name says it, too
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errUsage):
		return exitUsage
	}
	fmt.Fprintf(stderr, "%s: %s\n", name, says)
	switch {
	case errors.As(err, &wrong):
		return exitUsage
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &unknown):
		return exitUnknown
	}
	return exitFail
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: redlocksim [COMMAND] [flags]")
	fmt.Fprintln(w, "Without a command: how often eight faults break five locks, and a page with all locks and faults.")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.summary)
	}
	fmt.Fprintln(w, "redlocksim COMMAND -h shows a command's flags.")
}
