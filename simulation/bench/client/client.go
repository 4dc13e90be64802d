// Package client measures one process that uses this library. The benchmark runs it as a process
// of its own (folder program), so that its memory and processor time are the library's alone.
// Task and Result stay as they are, because the benchmark also runs the program of another commit.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
)

// Task is what a process is to do. It is the process's standard input.
type Task struct {
	Addrs []string // of the servers
	TTL   time.Duration
	Long  time.Duration // of the measurement
	// Workers acquire and release, each the key of its own, or one of so many Keys.
	Workers, Keys int
	// Or Leases are kept alive.
	Leases int
}

// Result is a process's output: what was measured, and nothing else.
type Result struct {
	Cycles *Cycles `json:",omitempty"`
	Held   *Held   `json:",omitempty"`
}

// Run is the process.
func Run(stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var task Task
	if err := json.NewDecoder(stdin).Decode(&task); err != nil {
		fmt.Fprintln(stderr, "client: the task:", err)
		return 2
	}
	result, err := Measure(ctx, task)
	if err == nil {
		err = json.NewEncoder(stdout).Encode(result)
	}
	if err != nil {
		fmt.Fprintln(stderr, "client:", err)
		return 1
	}
	return 0
}

// Measure performs a task.
func Measure(ctx context.Context, task Task) (result Result, err error) {
	// The lifetime of connections has to fit into MaxTTL beside the TTL. 30 s is the default.
	cfg := quorum.Config{TTL: task.TTL, MaxTTL: max(30*time.Second, task.TTL+10*time.Second)}
	locks, closeAll, err := Open(ctx, task.Addrs, cfg)
	if err != nil {
		return result, err
	}
	defer closeAll()
	if task.Leases > 0 {
		result.Held, err = measureHeld(ctx, locks, task)
	} else {
		result.Cycles, err = measureCycles(ctx, locks, task)
	}
	return result, errors.Join(err, ctx.Err())
}

// Open opens the library on servers that are new.
func Open(ctx context.Context, addrs []string, cfg quorum.Config) (*quorum.Coordinator, func(), error) {
	urls := make([]string, len(addrs))
	for i, addr := range addrs {
		urls[i] = "redis://" + addr
	}
	group, err := instance.OpenAll(instance.Config{}, urls...)
	if err != nil {
		return nil, nil, err
	}
	locks, err := quorum.New(cfg, group.Instances()...)
	if err != nil {
		_ = group.Close()
		return nil, nil, err
	}
	closeAll := func() {
		_ = locks.Close(context.WithoutCancel(ctx))
		_ = group.Close()
	}
	// Nothing was ever locked on these servers.
	if err := locks.Trust(ctx); err != nil {
		closeAll()
		return nil, nil, err
	}
	return locks, closeAll, nil
}
