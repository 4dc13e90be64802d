package matrix

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"github.com/redquorum/redlock/simulation/internal/farm"
	"github.com/redquorum/redlock/simulation/internal/long"
)

// asWorker makes the test binary a worker process, asDying a worker that dies with its first task.
const asWorker, asDying = "-worker-process", "-dying-process"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case asWorker:
			if err := Serve(os.Stdin, os.Stdout); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case asDying:
			_, _ = os.Stdin.Read(make([]byte, 1))
			fmt.Fprintln(os.Stderr, "out of order")
			os.Exit(7)
		}
	}
	goleak.VerifyTestMain(m)
}

func process(arg string) func(context.Context) farm.Command {
	return func(ctx context.Context) farm.Command { return exec.CommandContext(ctx, os.Args[0], arg) }
}

// few is a number of seeds for which a test has time.
func few(n uint64) uint64 { return long.Number(n, max(1, n/6)) }
