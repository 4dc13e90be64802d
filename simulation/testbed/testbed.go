package testbed

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/matrix"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/search"
)

// Main registers designs, executes the program's arguments, and exits.
func Main(yours ...designs.Design) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	for _, d := range yours {
		if err := designs.Register(d); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	err := Run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	default:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The commands that start worker processes of this program.
const (
	player = "player"
	worker = "worker"
)

// errNothing: no design was registered.
var errNothing = errors.New("testbed: register a design first")

// bench executes one command.
type bench struct {
	ctx   context.Context
	out   io.Writer
	flags *flag.FlagSet

	design  string
	seed    uint64
	workers int
}

// Run executes the arguments, for the registered designs.
func Run(ctx context.Context, args []string, out io.Writer) error {
	if len(designs.Registered()) == 0 {
		return errNothing
	}
	name := ""
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		name, args = args[0], args[1:]
	}
	b := &bench{ctx: ctx, out: out, flags: flag.NewFlagSet(name, flag.ContinueOnError)}
	b.flags.SetOutput(out)
	b.flags.StringVar(&b.design, "design", designs.Registered()[0].Name, "the `name` of the design")
	b.flags.IntVar(&b.workers, "workers", runtime.NumCPU(), "the number of worker processes, 0: none")
	switch name {
	case "":
		return b.table(args)
	case "run":
		return b.run(args)
	case "explore":
		return b.explore(args)
	case "replay":
		return b.replay(args)
	case player:
		return matrix.Serve(os.Stdin, out)
	case worker:
		return search.Serve(registry(), os.Stdin, out)
	}
	return fmt.Errorf("testbed: no command %q; there are run, explore and replay", name)
}

// parse parses the flags, and an argument before them if the command has one.
func (b *bench) parse(args []string, what string) (word string, err error) {
	if what != "" {
		if len(args) == 0 || args[0] == "" || args[0][0] == '-' {
			return "", fmt.Errorf("testbed: which %s?", what)
		}
		word, args = args[0], args[1:]
	}
	if err := b.flags.Parse(args); err != nil {
		return "", err
	}
	if b.flags.NArg() > 0 {
		return "", fmt.Errorf("testbed: %q is one word too many", b.flags.Arg(0))
	}
	return word, nil
}

// start returns the command of a worker process: this program.
func start(name string) func() *exec.Cmd {
	return func() *exec.Cmd {
		self, err := os.Executable()
		if err != nil {
			self = os.Args[0]
		}
		return exec.Command(self, name)
	}
}

// timeline prints a run's timeline.
func (b *bench) timeline(title string, r simulation.Result) error {
	return timeline.Of(r.Log).Text(b.out, timeline.TextOptions{Title: title})
}
