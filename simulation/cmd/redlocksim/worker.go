package main

import (
	"context"
	"flag"
	"io"
	"os"
	"os/exec"
	"runtime"

	"github.com/redquorum/redlock/simulation/search"
)

// runWorker is a worker process of explore and exhaust. Ctrl-C also reaches it, but it
// continues until the parent has no more work for it.
func runWorker(_ context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	// A run is sequential. A second processor only adds switches.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	return search.Serve(registry(), os.Stdin, stdout)
}

// startWorker returns the command of a worker process: this program.
func startWorker() *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return exec.Command(self, "worker")
}
