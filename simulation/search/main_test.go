package search_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/search"
)

// asWorker makes the test binary a worker process.
const asWorker = "-worker-process"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asWorker {
		if err := search.Serve(registry(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// worker runs a worker process.
func worker(ctx context.Context, in io.Reader, out, errs io.Writer) error {
	return runs(exec.CommandContext(ctx, os.Args[0], asWorker), in, out, errs)
}

func runs(cmd *exec.Cmd, in io.Reader, out, errs io.Writer) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	return cmd.Run()
}

// workload is one of the package's own.
func workload(name string) search.Workload {
	w, err := search.Registry{Workloads: search.TestedWorkloads()}.Workload(name)
	if err != nil {
		panic(err)
	}
	return w
}

// registry is what the tests play: the library as it is, the library without its safeguards, and
// workloads that misbehave.
func registry() search.Registry {
	misbehaves := func(name string, work simulation.Workload) search.Workload {
		return search.Workload{Name: name, Work: func(simulation.Config) simulation.Workload { return work }}
	}
	return search.Registry{
		Workloads: append(search.TestedWorkloads(),
			misbehaves("kills the process", func(c *simulation.Client) {
				if c.Seed() == 70 {
					fmt.Fprintln(os.Stderr, "out of order")
					os.Exit(7)
				}
				if lease, err := c.TryAcquire("k"); err == nil {
					_ = c.Release(lease)
				}
			}),
			misbehaves("never ends", func(c *simulation.Client) {
				if c.Seed() == 3 {
					select {} // in a bubble it is a deadlock, which is found
				}
			}),
		),
		Designs: []search.Design{
			{Name: "default", Apply: func(*simulation.Config) {}},
			{Name: "guarded", Apply: func(c *simulation.Config) { c.Guard = simulation.GuardAdmits }},
			{Name: "forgetful", Apply: forgetful},
			{Name: "unwatched", Apply: func(c *simulation.Config) {
				c.Quorum.Lab.RestartQuarantine, c.Quorum.Lab.ClockMonitor = quorum.Off, quorum.Off
			}},
			{Name: "durable", Apply: func(c *simulation.Config) { c.Persistence = fault.KeepAll }},
			{Name: "hidden", Apply: func(c *simulation.Config) { c.HideRunID = true }},
			{Name: "unfenced", Apply: func(c *simulation.Config) { c.Quorum.Lab.Fencing = quorum.Off }},
		},
	}
}

// forgetful is the library on servers that grant every request for a lock.
func forgetful(cfg *simulation.Config) {
	cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
		for i, instance := range p.Instances {
			p.Instances[i] = grantsAll{instance, p.Redis[i]}
		}
		return simulation.Library(p)
	}
}

// grantsAll is an instance that deletes a key before it is acquired.
type grantsAll struct {
	wire.Instance
	redis simulation.Redis
}

func (i grantsAll) Send(request wire.Request, timeout time.Duration, to wire.Receiver) {
	if request.Op != wire.Acquire {
		i.Instance.Send(request, timeout, to)
		return
	}
	go func() {
		_, _ = i.redis.Do(context.Background(), append([]string{"DEL"}, request.Keys...)...) // a server that is down grants nothing
		i.Instance.Send(request, timeout, to)
	}()
}

// setup is the mixed workload with a design.
func setup(design string) search.Setup { return search.Setup{Workload: "mixed", Design: design} }
