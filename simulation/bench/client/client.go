// Package client measures one process that uses this library. The benchmark runs it as a process
// of its own (folder program), so that its memory and processor time are the library's alone,
// and so that the same program can be built with another commit of the library. For that it
// uses only the part of the API that has not changed: instance.OpenAll, quorum.New, Trust,
// Acquire, Release, Do, KeepAlive and Err.
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
	// Measure is one of the following.
	Measure string
	TTL     time.Duration
	Long    time.Duration // of the measurement
	Workers int           // of MeasureCycles
	Keys    int           // of MeasureCycles; 0: a key for each worker
	Leases  int           // of MeasureHeld
	By      string        // of MeasureHeld: "Do" or "KeepAlive"
}

const (
	MeasureCycles = "cycles" // workers acquire and release
	MeasureHeld   = "held"   // leases are kept alive
)

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
	locks, closeAll, err := open(ctx, task)
	if err != nil {
		return result, err
	}
	defer closeAll()
	switch task.Measure {
	case MeasureCycles:
		result.Cycles, err = measureCycles(ctx, locks, task)
	case MeasureHeld:
		result.Held, err = measureHeld(ctx, locks, task)
	default:
		err = fmt.Errorf("there is nothing to measure that is called %q", task.Measure)
	}
	return result, errors.Join(err, ctx.Err())
}

func open(ctx context.Context, task Task) (*quorum.Coordinator, func(), error) {
	urls := make([]string, len(task.Addrs))
	for i, addr := range task.Addrs {
		urls[i] = "redis://" + addr
	}
	group, err := instance.OpenAll(instance.Config{}, urls...)
	if err != nil {
		return nil, nil, err
	}
	// The lifetime of connections has to fit into MaxTTL beside the TTL. 30 s is the default.
	cfg := quorum.Config{Terms: quorum.Terms{TTL: task.TTL}, MaxTTL: max(30*time.Second, task.TTL+10*time.Second)}
	locks, err := quorum.New(cfg, group.Instances()...)
	if err != nil {
		_ = group.Close()
		return nil, nil, err
	}
	closeAll := func() {
		_ = locks.Close(context.WithoutCancel(ctx))
		_ = group.Close()
	}
	// The servers are new, and nothing was ever locked on them.
	if err := locks.Trust(ctx); err != nil {
		closeAll()
		return nil, nil, err
	}
	return locks, closeAll, nil
}
