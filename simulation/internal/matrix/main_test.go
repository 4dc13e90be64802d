package matrix

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"github.com/redquorum/redlock/simulation/internal/long"
)

// asWorker makes the test binary a worker process.
const asWorker = "-worker-process"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asWorker {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func worker(ctx context.Context, in io.Reader, out, errs io.Writer) error {
	cmd := exec.CommandContext(ctx, os.Args[0], asWorker)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	return cmd.Run()
}

// few is a number of seeds for which a test has time.
func few(n uint64) uint64 { return long.Number(n, max(1, n/6)) }
