package command

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/matrix"
	"github.com/redquorum/redlock/simulation/search"
)

// What a worker process plays.
const (
	searchWorker = "search"
	matrixWorker = "matrix"
)

// runWorker is a worker process. Ctrl-C also reaches it, but it continues until the parent
// has no more work for it.
func runWorker(_ context.Context, args []string, stdout, stderr io.Writer) error {
	what, err := parseWith(flag.NewFlagSet("worker", flag.ContinueOnError), args, "kind of runs", stderr)
	if err != nil {
		return err
	}
	// A run is sequential. A second processor only adds switches.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	switch what {
	case searchWorker:
		return search.Serve(registry(), os.Stdin, stdout)
	case matrixWorker:
		return matrix.Serve(os.Stdin, stdout)
	}
	return usageError{fmt.Errorf("there are no workers for %q", what)}
}

// startWorker returns a function that runs a worker process: this program.
func startWorker(what string) search.Worker {
	return func(ctx context.Context, in io.Reader, out, errs io.Writer) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, self, "worker", what)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
		return cmd.Run()
	}
}

// registry returns the names for explore.
func registry() search.Registry {
	return search.Registry{Workloads: search.Workloads(), Designs: designs.All()}
}
