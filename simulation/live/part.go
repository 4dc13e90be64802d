//go:build unix

package live

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/redquorum/redlock/simulation"
)

// The environment of a process that plays a part. runVariable is the run's directory,
// dirVariable the part's own, if it has one.
const (
	runVariable  = "REDLOCKSIM_LIVE"
	partVariable = "REDLOCKSIM_LIVE_PART"
	dirVariable  = "REDLOCKSIM_LIVE_DIR"
	kindVariable = "REDLOCKSIM_LIVE_GUARD"
)

// The parts.
const (
	partClient   = "client"
	partResource = "resource"
	partJanitor  = "janitor"
)

// PlayPart must be the first thing that a program does which calls Run or Soak, and
// comes before m.Run in a test's TestMain: these start the program anew, for each
// client, for each resource, and for the janitor that cleans up after a run that was
// killed. In such a process PlayPart plays the part and ends the process; in any other
// it does nothing.
func PlayPart() {
	part := os.Getenv(partVariable)
	if part == "" {
		return
	}
	// Ctrl-C goes to all processes of a terminal. The run decides when its parts end:
	// with their input.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if err := play(part, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "redlocksim: %s: %v\n", part, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func play(part string, in io.Reader, out io.Writer) error {
	switch part {
	case partClient:
		_ = syscall.SetNonblock(dumpFile, false) // a dump of the heap waits for its reader
		return serveClient(in, out)
	case partResource:
		return serveResource(os.Getenv(dirVariable), simulation.Guarding(os.Getenv(kindVariable)), in, out)
	case partJanitor:
		return clean(os.Getenv(runVariable), in)
	default:
		return fmt.Errorf("%s is %q, want %s, %s or %s; it is for processes that redlocksim starts itself", partVariable, part, partClient, partResource, partJanitor)
	}
}
