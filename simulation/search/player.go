package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// player plays ranges of a Space, one at a time.
type player interface {
	// play plays a range. A player that has died while it played says at which
	// Setup, by an error of type *death; it can't be used any more then.
	play(ctx context.Context, o order) (Batch, error)
	// close ends it.
	close()
}

// death is the end of a worker process in the midst of a run.
type death struct {
	number uint64
	began  bool // whether it had begun with any run at all
	how    string
	stderr string
}

func (d *death) Error() string {
	if d.stderr == "" {
		return d.how
	}
	return d.how + "\n" + d.stderr
}

// here plays in this process. It is stopped between two runs.
type here struct{ cases *cases }

func (h here) play(ctx context.Context, o order) (Batch, error) {
	b := Batch{From: o.From, To: o.From}
	for i := o.From; i < o.To && ctx.Err() == nil; i++ {
		one, err := h.cases.play(i, i+1, func(uint64) {})
		if err != nil {
			return Batch{}, err
		}
		b.merge(one)
	}
	return b, nil
}

func (here) close() {}

// away plays in a worker process.
type away struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	answers  chan message // closed when the process says no more
	stderr   *tail
	readers  sync.WaitGroup
	patience time.Duration
}

// Bounds of the waits for a worker, in real time.
const (
	// patience is how long one run may take: it is a matter of milliseconds.
	patience = time.Minute
	// grace is how long a worker may take to end its range when it is all over.
	grace = 2 * time.Second
)

// startAway starts a worker process and tells it the space.
func startAway(cmd *exec.Cmd, space Space, patience time.Duration) (*away, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	a := &away{cmd: cmd, in: in, answers: make(chan message), stderr: &tail{}, patience: patience}
	cmd.Stderr = a.stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("search: no worker could be started: %w", err)
	}
	a.readers.Go(func() {
		defer close(a.answers)
		for decoder := json.NewDecoder(out); ; {
			var m message
			if decoder.Decode(&m) != nil {
				return // its end, or its nonsense: a death either way
			}
			a.answers <- m
		}
	})
	// If that fails, it is dead, which shows with the first order.
	_ = json.NewEncoder(in).Encode(space)
	return a, nil
}

func (a *away) play(ctx context.Context, o order) (Batch, error) {
	_ = json.NewEncoder(a.in).Encode(o) // see startAway
	d := death{number: o.From}
	// One timer for many runs: it is looked at only when it goes off.
	last := time.Now()
	ticker := time.NewTicker(min(time.Second, a.patience))
	defer ticker.Stop()
	over, deadline := ctx.Done(), time.Time{}
	for {
		select {
		case m, ok := <-a.answers:
			last = time.Now()
			switch {
			case !ok:
				d.how, d.stderr = a.end(), a.stderr.String()
				return Batch{}, &d
			case m.Begins != nil:
				d.number, d.began = *m.Begins, true
			case m.Batch != nil:
				return *m.Batch, nil
			default:
				return Batch{}, fmt.Errorf("%w: a worker says: %s", ErrSetup, m.Error)
			}
		case <-over:
			over, deadline = nil, time.Now().Add(grace)
		case now := <-ticker.C:
			switch {
			case !deadline.IsZero() && now.After(deadline):
				return Batch{}, ctx.Err()
			case now.Sub(last) > a.patience:
				a.kill()
				d.how, d.stderr = fmt.Sprintf("the run didn't end in %v", a.patience), a.stderr.String()
				return Batch{}, &d
			}
		}
	}
}

// kill ends the process, and what still comes from it.
func (a *away) kill() {
	_ = a.cmd.Process.Kill() // it fails if that has happened already
	for range a.answers {
		continue
	}
	_ = a.end()
}

// end waits for a process that says no more, and tells how it ended.
func (a *away) end() string {
	a.readers.Wait()
	err := a.cmd.Wait()
	if err == nil {
		return "it ended by itself"
	}
	return err.Error()
}

// close lets the process end, or ends it if it doesn't.
func (a *away) close() {
	_ = a.in.Close()
	stop := time.AfterFunc(grace, func() { _ = a.cmd.Process.Kill() })
	defer stop.Stop()
	for range a.answers {
		continue
	}
	_ = a.end() // it has done its work; how it ends doesn't matter any more
}

// tail keeps the beginning and the end of what a worker writes to its standard
// error: a panic says first what happened.
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
	if room := tailSize - len(t.head); room > 0 {
		t.head = append(t.head, p[:min(room, n)]...)
		p = p[min(room, n):]
	}
	t.last = append(t.last, p...)
	if over := len(t.last) - tailSize; over > 0 {
		t.last = bytes.Clone(t.last[over:])
	}
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

var _ error = (*death)(nil)

// asDeath gives the death in err, if it is one.
func asDeath(err error) (*death, bool) {
	var d *death
	return d, errors.As(err, &d)
}
