// Command redlocksim shows what Redlock does and does not promise, by running it.
//
//	redlocksim                                       eight faults against five designs; the page redlock-report.html
//	redlocksim -all                                  all designs against all scenarios and faults
//	redlocksim list S4                               what is played, and how it must end
//	redlocksim run S4 -design redlock                who believes what, what is true, and where it breaks
//	redlocksim matrix -seeds 1000                    with confidence intervals, kinds and first seeds
//	redlocksim demo                                  on five embedded servers
//	redlocksim demo -instances redis://...,...       on real ones
//	redlocksim live                                  the scenarios on real servers that it starts
//	redlocksim soak -for 10m -seed 7                 random faults on real servers
//	redlocksim explore -design default -seeds 0:5000
//	redlocksim explore -within                       only what the assumptions cover: whatever it finds is a bug
//	redlocksim exhaust S1
//	redlocksim mutants                               the library with one mistake after the other, and who notices
//
// Every command exits with 0 if all went as told, 1 if not, 2 for wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/redquorum/redlock/simulation/live"
)

// The exit codes of every command.
const (
	exitOK    = 0
	exitFail  = 1
	exitUsage = 2
)

// command is one subcommand.
type command struct {
	name    string
	summary string
	// run gets the arguments after the name. It returns nil, errUsage after it
	// has said what was wrong, or what failed.
	run func(ctx context.Context, args []string, stdout, stderr io.Writer) error
}

// errUsage is an error whose message the user has seen already, with the usage.
var errUsage = errors.New("wrong usage")

// usageError is wrong usage that is still to be told.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

var commands = []command{
	{"list", "all scenarios, designs and faults, or one of them in full", runList},
	{"run", "one run of a scenario or a fault, with its timeline", runRun},
	{"matrix", "designs against faults: how often each is violated, how sure that is, and how", runMatrix},
	{"demo", "two clients, one resource: the first is paused beyond its lease, and its late write is refused", runDemo},
	{"live", "the scenarios on real redis-servers: does what happens there agree with the simulation?", runLive},
	{"soak", "random faults on five real servers, and a resource that must come through", runSoak},
	{"explore", "many random schedules of faults: what breaks a design, and the smallest schedule that does", runExplore},
	{"exhaust", "a scenario's clients with every single fault at every moment", runExhaust},
	{"replay", "play a replay file again: is it the same, and what happens in it", runReplay},
	{"shrink", "make a replay file's run smaller, as long as it shows the same", runShrink},
	{"mutants", "the library with one mistake after the other: who notices?", runMutants},
	{"worker", "what explore and exhaust start; not for people", runWorker},
	{"player", "what matrix starts; not for people", runPlayer},
}

func main() {
	live.RunChild() // clients of live and soak are processes of this program
	// Everything that a command starts is ended by this context: Ctrl-C leaves
	// nothing behind. A second Ctrl-C kills the program as usual.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		usage(stdout)
		_ = runAll(ctx, []string{"-h"}, stdout, stdout) // its flags
		return exitOK
	}
	chosen := command{run: runAll}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		i := slices.IndexFunc(commands, func(c command) bool { return c.name == args[0] })
		if i < 0 {
			fmt.Fprintf(stderr, "redlocksim: there is no command %q\n", args[0])
			usage(stderr)
			return exitUsage
		}
		chosen, args = commands[i], args[1:]
	}
	return carryOut(ctx, chosen, args, stdout, stderr)
}

// carryOut runs a command, and turns its error into words and an exit code.
func carryOut(ctx context.Context, c command, args []string, stdout, stderr io.Writer) int {
	name := strings.TrimSpace("redlocksim " + c.name)
	out := &console{out: stdout}
	err := c.run(ctx, args, out, stderr)
	if lost := out.lost(); lost != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, lost)
		if err == nil || errors.Is(err, out.err) {
			return exitFail
		}
	}
	var wrong usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.As(err, &wrong):
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return exitUsage
	default:
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return exitFail
	}
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: redlocksim [COMMAND] [flags]")
	fmt.Fprintln(w, "Without a command: how often eight faults break five locks, and a page with all locks, faults and scenarios.")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.summary)
	}
	fmt.Fprintln(w, "redlocksim COMMAND -h shows a command's flags.")
}

// parse reads a command's flags; nothing may follow them.
func parse(flags *flag.FlagSet, args []string, stderr io.Writer) error {
	flags.SetOutput(stderr)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage // flag has told it
	}
	if flags.NArg() > 0 {
		return usageError{fmt.Errorf("%q is one word too many", flags.Arg(0))}
	}
	return nil
}
