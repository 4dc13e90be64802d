package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"github.com/redquorum/redlock/simulation/internal/farm"
	"github.com/redquorum/redlock/simulation/internal/long"
)

// asWorker makes the test binary a worker process.
const asWorker = "-worker-process"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == asWorker {
		var p Plan
		err := json.Unmarshal([]byte(os.Args[3]), &p)
		if err = errors.Join(err, Serve(p, os.Args[2], os.Stdout)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// workers are some worker processes for a plan.
func workers(number int, p Plan) farm.Workers {
	return farm.Workers{Number: number, Run: func(ctx context.Context, share string, out, errs io.Writer) error {
		plan, err := json.Marshal(p)
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, os.Args[0], asWorker, share, string(plan))
		cmd.Stdout, cmd.Stderr = out, errs
		return cmd.Run()
	}}
}

// few is a number of seeds for which a test has time.
func few(n uint64) uint64 { return long.Number(n, max(1, n/6)) }
