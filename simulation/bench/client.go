package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// clientProcess is the argument with which this program is a client. Then it serves the methods of Client on its
// standard input and output, and ends with its input.
const clientProcess = "client"

// pipes are the standard input and output of a client.
type pipes struct {
	io.Reader
	io.WriteCloser
}

// Task is what a client is to do.
type Task struct {
	Case
	Addrs []string // of the servers
}

// Result is what was measured in a client.
type Result struct {
	Usage

	// Of each worker, how long each cycle took that succeeded.
	Cycles  [][]time.Duration
	Longest time.Duration // wait for a lock
	Failed  int           // cycles, and workers that hang

	// Or of leases: their live memory in bytes, how long it took to acquire them, and how many were lost.
	Heap     float64
	Acquired time.Duration
	Lost     int
}

// Client measures in a process of its own.
type Client struct{ measure func() Result }

// WarmUp returns when the client is ready to be measured.
func (c *Client) WarmUp(task Task, ready *bool) (err error) {
	if task.Leases > 0 {
		c.measure, err = keepLeases(task)
		return err
	}
	i := slices.IndexFunc(contenders, func(c contender) bool { return c.name == task.Contender })
	if i < 0 {
		return fmt.Errorf("there is no contender %q", task.Contender)
	}
	lock, err := contenders[i].open(task.Addrs)
	if err == nil {
		c.measure = cycles(task, lock)
	}
	return err
}

// Measure measures.
func (c *Client) Measure(_ Task, result *Result) error {
	*result = c.measure()
	return nil
}

// clients are the client processes of a case. They take each step together.
type clients []*client

type client struct {
	*rpc.Client
	cmd    *exec.Cmd
	result Result
}

// startClients starts the processes of a case. Those that it returns have to be killed, also after an error.
func startClients(ctx context.Context, processes int) (all clients, err error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for range processes {
		cmd := exec.CommandContext(ctx, path, clientProcess)
		cmd.Stderr = os.Stderr
		in, inErr := cmd.StdinPipe()
		out, outErr := cmd.StdoutPipe()
		if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
			return all, err
		}
		all = append(all, &client{Client: rpc.NewClient(pipes{out, in}), cmd: cmd})
	}
	return all, nil
}

func (all clients) each(do func(*client) error) error {
	var running errgroup.Group
	for _, c := range all {
		running.Go(func() error { return do(c) })
	}
	return running.Wait()
}

// end ends a client in an orderly way, so that it can say what was wrong with it.
func (c *client) end() error { return errors.Join(c.Close(), c.cmd.Wait()) }

func (all clients) kill() {
	for _, c := range all {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait() // fails if end has waited
	}
}
