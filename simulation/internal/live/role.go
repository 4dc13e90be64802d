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

// The environment variables of a child process. runVariable is the run's directory,
// dirVariable the child's own.
const (
	runVariable  = "REDLOCKSIM_LIVE"
	roleVariable = "REDLOCKSIM_LIVE_ROLE"
	dirVariable  = "REDLOCKSIM_LIVE_DIR"
	kindVariable = "REDLOCKSIM_LIVE_GUARD"
)

// The roles of child processes.
const (
	roleClient   = "client"
	roleResource = "resource"
	roleCleanup  = "cleanup"
)

// RunChild must be the first call of a program that uses Run, and come before m.Run in a
// test's TestMain. Run starts the program again for each client, for each resource, and for
// the cleanup after a run that was killed. In such a child process
// RunChild runs the child and exits; in any other process it does nothing.
func RunChild() {
	role := os.Getenv(roleVariable)
	if role == "" {
		return
	}
	// Ctrl-C goes to all processes of a terminal. Child processes end only with their
	// input.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if err := runRole(role, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "redlocksim: %s: %v\n", role, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runRole(role string, in io.Reader, out io.Writer) error {
	switch role {
	case roleClient:
		_ = syscall.SetNonblock(dumpFile, false) // a dump of the heap waits for its reader
		return serveClient(in, out)
	case roleResource:
		return serveResource(os.Getenv(dirVariable), simulation.Guarding(os.Getenv(kindVariable)), in, out)
	case roleCleanup:
		return clean(os.Getenv(runVariable), in)
	default:
		return fmt.Errorf("%s is %q, want %s, %s or %s; only redlocksim sets it", roleVariable, role, roleClient, roleResource, roleCleanup)
	}
}
