package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sync/errgroup"
)

// clients are the processes of a case. They take each step together.
type clients []*client

// client is a process that is served by the other side of serve.
type client struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
	stderr bytes.Buffer
	result Result
}

// startClients starts the processes of a case. Those that it returns have to be killed, also after an error.
func startClients(ctx context.Context, task Task) (all clients, err error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for range task.Processes {
		c := &client{cmd: exec.CommandContext(ctx, path, clientProcess)}
		c.cmd.Stderr = &c.stderr
		out, outErr := c.cmd.StdoutPipe()
		c.out = json.NewDecoder(out)
		var inErr error
		c.in, inErr = c.cmd.StdinPipe()
		if err := errors.Join(outErr, inErr, c.cmd.Start()); err != nil {
			return all, err
		}
		all = append(all, c)
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

// warmUp returns when the client is ready to be measured.
func (c *client) warmUp(task Task) error { return c.ask(task, &struct{}{}) }

func (c *client) measure() error { return c.ask(struct{}{}, &c.result) }

// end has the client close what it has opened.
func (c *client) end() error {
	if err := errors.Join(c.in.Close(), c.cmd.Wait()); err != nil {
		return c.failed(err)
	}
	return nil
}

func (all clients) kill() {
	for _, c := range all {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait() // fails if end has waited
	}
}

// ask sends a value, and receives the answer.
func (c *client) ask(value, answer any) error {
	err := json.NewEncoder(c.in).Encode(value)
	if err == nil {
		err = c.out.Decode(answer)
	}
	if err != nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait() // so that all of its standard error is here
		return c.failed(err)
	}
	return nil
}

func (c *client) failed(err error) error {
	return fmt.Errorf("the client process: %w: %s", err, tail(c.stderr.String()))
}

// tail shortens a program's output.
func tail(text string) string {
	const most = 2000
	text = strings.TrimSpace(text)
	if len(text) > most {
		text = "... " + text[len(text)-most:]
	}
	return text
}
