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
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/simulation/internal/origin"
)

// program is the benchmark of a checkout.
type program struct {
	path    string // empty for this program
	version string // a commit, if git knows it
}

// build builds the benchmark of a checkout into a folder.
func build(ctx context.Context, root, folder string) (p program, err error) {
	root, err = filepath.Abs(root)
	p = program{path: filepath.Join(folder, "bench"), version: origin.Commit(ctx, root)}
	if err != nil {
		return p, err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", p.path, ".")
	cmd.Dir = filepath.Join(root, "simulation", "bench")
	if out, err := cmd.CombinedOutput(); err != nil {
		return p, fmt.Errorf("building the benchmark of %s, which has to be a checkout of this repository: %w: %s", root, err, tail(string(out)))
	}
	return p, nil
}

// clients are the processes of a case. They take each step together.
type clients []*client

// client is a process that is served by the other side of serve.
type client struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
	stderr bytes.Buffer
}

// startClients starts the processes of a case. Those that it returns have to be killed, also after an error.
func startClients(ctx context.Context, task Task) (all clients, err error) {
	path := task.program
	if path == "" {
		if path, err = os.Executable(); err != nil {
			return nil, err
		}
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

func (all clients) each(do func(int, *client) error) error {
	var running errgroup.Group
	for i, c := range all {
		running.Go(func() error { return do(i, c) })
	}
	return running.Wait()
}

// warmUp returns when all clients are ready to be measured.
func (all clients) warmUp(task Task) error {
	return all.each(func(_ int, c *client) error { return c.ask(task, &struct{}{}) })
}

func (all clients) measure() ([]Result, error) {
	results := make([]Result, len(all))
	err := all.each(func(i int, c *client) error { return c.ask(struct{}{}, &results[i]) })
	return results, err
}

// end has the clients close what they have opened.
func (all clients) end() error {
	return all.each(func(_ int, c *client) error {
		if err := errors.Join(c.in.Close(), c.cmd.Wait()); err != nil {
			return c.failed(err)
		}
		return nil
	})
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
