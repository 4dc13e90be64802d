package farm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"
	"time"
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

// death is the end of a worker process that had a job, or that hung.
type death struct {
	number uint64 // the run that it played
	began  bool   // whether it had begun with any run
	how    string
}

func (d *death) Error() string { return d.how }

// grace is how long a worker may take to end its job when ctx has ended, in real time.
const grace = 2 * time.Second

// process plays in a worker process.
type process[W, R any] struct {
	cmd      Command
	kill     context.CancelFunc
	in       io.WriteCloser
	messages chan message[R] // closed when the process says no more
	stderr   tail
	silent   chan struct{} // closed when all of the standard error is in stderr
	timeout  time.Duration
}

func startProcess[W, R any](command func(context.Context) Command, greeting any, timeout time.Duration) (*process[W, R], error) {
	ctx, kill := context.WithCancel(context.Background()) // it outlives the caller's, see grace
	p := &process[W, R]{cmd: command(ctx), kill: kill, messages: make(chan message[R]), silent: make(chan struct{}), timeout: timeout}
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
	go func() {
		defer close(p.silent)
		_, _ = io.Copy(&p.stderr, errs) // its end is the process's
	}()
	go func() {
		defer close(p.messages)
		for decoder := json.NewDecoder(out); ; {
			var m message[R]
			if decoder.Decode(&m) != nil {
				return // its end, or nonsense: a death either way
			}
			p.messages <- m
		}
	}()
	// If that fails, the process is dead, which shows with the first job.
	_ = json.NewEncoder(p.in).Encode(greeting)
	return p, nil
}

func (p *process[W, R]) play(ctx context.Context, job Job[W]) (none R, err error) {
	_ = json.NewEncoder(p.in).Encode(job) // see startProcess
	d := death{number: job.From}
	// One timer for many runs: it is only read when it fires.
	last := time.Now()
	ticker := time.NewTicker(min(time.Second, p.timeout))
	defer ticker.Stop()
	over, deadline := ctx.Done(), time.Time{}
	for {
		select {
		case m, ok := <-p.messages:
			last = time.Now()
			switch {
			case !ok:
				d.how = p.end()
				return none, &d
			case m.Begins != nil:
				d.number, d.began = *m.Begins, true
			case m.Result != nil:
				return *m.Result, nil
			default:
				return none, fmt.Errorf("%w: %s", ErrPlayer, m.Error)
			}
		case <-over:
			over, deadline = nil, time.Now().Add(grace)
		case now := <-ticker.C:
			switch {
			case !deadline.IsZero() && now.After(deadline):
				return none, ctx.Err()
			case now.Sub(last) > p.timeout:
				p.kill()
				_ = p.end()
				d.how = strings.TrimSpace(fmt.Sprintf("the run didn't end in %v\n%s", p.timeout, &p.stderr))
				return none, &d
			}
		}
	}
}

// end waits for the process, whose work is done or lost, and says how it ended.
func (p *process[W, R]) end() string {
	defer p.kill() // nothing is left to kill, but ctx has to end
	for range p.messages {
		continue
	}
	<-p.silent // Wait closes the pipe
	how := "it ended without an error"
	if err := p.cmd.Wait(); err != nil {
		how = err.Error()
	}
	return strings.TrimSpace(how + "\n" + p.stderr.String())
}

// close lets the process end, and kills it if it doesn't.
func (p *process[W, R]) close() {
	_ = p.in.Close()
	kill := time.AfterFunc(grace, p.kill)
	defer kill.Stop()
	_ = p.end() // how it ends doesn't matter any more
}

// tail keeps the beginning and the end of a worker's standard error: a panic says first
// what happened.
type tail struct {
	mu         sync.Mutex
	head, last []byte
}

// tailSize is how much of each is kept.
const tailSize = 2 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	room := min(tailSize-len(t.head), n)
	t.head = append(t.head, p[:room]...)
	t.last = append(t.last, p[room:]...)
	t.last = bytes.Clone(t.last[max(0, len(t.last)-tailSize):])
	return n, nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	words := strings.TrimSpace(string(t.head))
	if len(t.last) > 0 {
		words += "\n...\n" + strings.TrimSpace(string(t.last))
	}
	return words
}
