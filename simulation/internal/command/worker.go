package command

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"

	"github.com/redquorum/redlock/simulation/internal/farm"
)

// shareVariable is the environment variable that makes the program a worker process of explore or of the matrix: it
// plays this share of the runs that its arguments say, and prints the results as JSON.
const shareVariable = "REDLOCKSIM_SHARE"

// workers are worker processes of a command with its arguments, one for each processor. Ctrl-C also reaches
// them, but they continue until this process has no more work for them.
func workers(command string, args []string) farm.Workers {
	if command != "" {
		args = append([]string{command}, args...)
	}
	run := func(ctx context.Context, share string, out, errs io.Writer) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, self, args...)
		// A run is sequential. A second processor only adds switches.
		cmd.Env = append(os.Environ(), shareVariable+"="+share, "GOMAXPROCS=1")
		cmd.Stdout, cmd.Stderr = out, errs
		return cmd.Run()
	}
	return farm.Workers{Number: runtime.GOMAXPROCS(0), Run: run}
}
