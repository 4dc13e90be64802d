package farm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
)

// message is what a worker process sends: one of these.
type message[R any] struct {
	Begins *uint64 `json:"begins,omitempty"`
	Result *R      `json:"result,omitempty"`
	Error  string  `json:"error,omitempty"`
}

// Serve is a worker process: it plays the jobs that it reads from in, and writes to out,
// until in ends. Nothing else may write to out. The greeting makes the Player.
//
// The error is that of in or out, or of the Player, which the other end is told as well.
func Serve[G, W, R any](in io.Reader, out io.Writer, greet func(G) (Player[W, R], error)) error {
	// Runs leave little behind and much to collect: a worker has the memory to do that
	// more rarely.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	jobs, messages := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	fail := func(err error) error { return errors.Join(err, messages.Encode(message[R]{Error: err.Error()})) }
	var greeting G
	if err := jobs.Decode(&greeting); err != nil {
		return fmt.Errorf("farm: the greeting can't be read: %w", err)
	}
	play, err := greet(greeting)
	if err != nil {
		return fail(err)
	}
	for {
		var job Job[W]
		if err := jobs.Decode(&job); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("farm: a job can't be read: %w", err)
		}
		var sum R
		for n := job.From; n < job.To; n++ {
			if err := messages.Encode(message[R]{Begins: &n}); err != nil {
				return fmt.Errorf("farm: nothing can be written: %w", err)
			}
			if err := play(job.What, n, &sum); err != nil {
				return fail(err)
			}
		}
		if err := messages.Encode(message[R]{Result: &sum}); err != nil {
			return fmt.Errorf("farm: nothing can be written: %w", err)
		}
	}
}

// process plays in a worker process.
type process[W, R any] struct {
	cmd      Command
	kill     context.CancelFunc
	in       io.WriteCloser
	messages *json.Decoder
	stderr   beginning
	silent   chan struct{} // closed when all of the standard error is in stderr
}

// startProcess starts a worker process, which is killed when ctx ends.
func startProcess[W, R any](ctx context.Context, command func(context.Context) Command, greeting any) (*process[W, R], error) {
	ctx, kill := context.WithCancel(ctx)
	p := &process[W, R]{cmd: command(ctx), kill: kill, silent: make(chan struct{})}
	var out, errs io.Reader
	var err error
	if p.in, err = p.cmd.StdinPipe(); err == nil {
		if out, err = p.cmd.StdoutPipe(); err == nil {
			if errs, err = p.cmd.StderrPipe(); err == nil {
				err = p.cmd.Start()
			}
		}
	}
	if err != nil {
		kill()
		return nil, fmt.Errorf("no worker could be started: %w", err)
	}
	p.messages = json.NewDecoder(out)
	go func() {
		defer close(p.silent)
		_, _ = io.Copy(&p.stderr, errs) // its end is the process's
	}()
	// If that fails, the process is dead, which shows with the first job.
	_ = json.NewEncoder(p.in).Encode(greeting)
	return p, nil
}

// play plays one job. The error says which run killed the process, if one did.
func (p *process[W, R]) play(job Job[W]) (none R, err error) {
	_ = json.NewEncoder(p.in).Encode(job) // see startProcess
	doing := "before it played anything"
	for {
		var m message[R]
		switch err := p.messages.Decode(&m); {
		case err != nil:
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				p.kill() // it talks nonsense, and may do so forever
			}
			return none, fmt.Errorf("a worker process ended %s: %s", doing, p.end())
		case m.Begins != nil:
			doing = fmt.Sprintf("while it played run %d", *m.Begins)
			if what, ok := any(job.What).(fmt.Stringer); ok {
				doing += " of " + what.String()
			}
		case m.Result != nil:
			return *m.Result, nil
		default:
			return none, fmt.Errorf("%w: %s", ErrPlayer, m.Error)
		}
	}
}

// end waits for the process, whose work is done or lost, and says how it ended.
func (p *process[W, R]) end() string {
	<-p.silent // Wait closes the pipe
	how := "it ended without an error"
	if err := p.cmd.Wait(); err != nil {
		how = err.Error()
	}
	return strings.TrimSpace(how + "\n" + string(p.stderr.text))
}

// close lets the process end.
func (p *process[W, R]) close() {
	defer p.kill() // ctx has to end
	_ = p.in.Close()
	_ = p.end() // how it ends doesn't matter any more
}

// beginning keeps the beginning of a worker's standard error: a panic says first what happened.
type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(4<<10-len(b.text), len(p))]...)
	return len(p), nil
}
