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

// runWorker is a worker process of explore and exhaust. Ctrl-C reaches it as well
// as its parent; it goes on until the parent has no more for it to do.
func runWorker(_ context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	// A run is one chain of events. A second processor only passes them around.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	return search.Serve(registry(), os.Stdin, stdout)
}

// startWorker is the command of a worker process: this very program.
func startWorker() *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return exec.Command(self, "worker")
}
