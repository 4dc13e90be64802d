package matrix

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// Pool is who plays.
type Pool struct {
	// Workers is how many worker processes play, 0: none, this one does. What is
	// found doesn't depend on it.
	Workers int
	// Command makes the command of a worker process, which must call Serve. Needed if
	// there are workers.
	Command func() *exec.Cmd
	// Progress, if set, is told how many of all runs have been played. Calls don't
	// overlap.
	Progress func(runs, of int)
}

// answer is what a worker says to a task: one of these.
type answer struct {
	Tally *tally `json:"tally,omitempty"`
	Error string `json:"error,omitempty"`
}

// Serve is a worker process's whole life: it plays the tasks that come on in, one
// JSON value a line, and answers each on out, until in ends. Nothing else may write
// to out.
func Serve(in io.Reader, out io.Writer) error {
	// Runs leave little behind and much to collect.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	tasks, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var t task
		if err := tasks.Decode(&t); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("matrix: a task can't be read: %w", err)
		}
		var a answer
		if sum, err := t.play(); err != nil {
			a.Error = err.Error()
		} else {
			a.Tally = &sum
		}
		if err := answers.Encode(a); err != nil {
			return fmt.Errorf("matrix: an answer can't be written: %w", err)
		}
	}
}

// worker plays one task at a time.
type worker interface {
	play(context.Context, task) (tally, error)
	close()
}

// here plays in this process.
type here struct{}

func (here) play(_ context.Context, t task) (tally, error) { return t.play() }
func (here) close()                                        {}

// away plays in a process of its own.
type away struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	tasks  *json.Encoder
	out    *json.Decoder
	stderr *strings.Builder
}

// errDied is wrapped by the error for a worker that ended before it had answered.
var errDied = errors.New("matrix: a worker process ended")

func startAway(cmd *exec.Cmd) (*away, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("matrix: no worker could be started: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("matrix: no worker could be started: %w", err)
	}
	a := &away{cmd: cmd, in: in, tasks: json.NewEncoder(in), out: json.NewDecoder(out), stderr: &strings.Builder{}}
	cmd.Stderr = a.stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("matrix: no worker could be started: %w", err)
	}
	return a, nil
}

func (a *away) play(ctx context.Context, t task) (tally, error) {
	played := make(chan struct{})
	var watch sync.WaitGroup
	defer watch.Wait()
	defer close(played)
	watch.Go(func() { a.watch(ctx, played) })
	_ = a.tasks.Encode(t) // if that fails it is dead, which shows now
	var got answer
	switch err := a.out.Decode(&got); {
	case err != nil:
		_ = a.cmd.Process.Kill()
		return tally{}, fmt.Errorf("%w while it played %v (%w): %w\n%s", errDied, t, err, a.cmd.Wait(), a.stderr)
	case got.Tally == nil:
		return tally{}, errors.New(got.Error)
	}
	return *got.Tally, nil
}

// grace is how long a worker may take to end its task when all is over.
const grace = 2 * time.Second

// watch ends the process if its task outlives ctx by too much.
func (a *away) watch(ctx context.Context, played <-chan struct{}) {
	select {
	case <-played:
		return
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-played:
	case <-late.C:
		_ = a.cmd.Process.Kill() // it fails if it has ended by itself
	}
}

func (a *away) close() {
	_ = a.in.Close()
	stop := time.AfterFunc(grace, func() { _ = a.cmd.Process.Kill() })
	defer stop.Stop()
	for {
		var rest answer
		if a.out.Decode(&rest) != nil {
			break
		}
	}
	_ = a.cmd.Wait() // it has done its work, or nobody wants it any more
}

func (p Pool) start() (worker, error) {
	if p.Workers == 0 {
		return here{}, nil
	}
	return startAway(p.Command())
}

func (p Pool) validate() error {
	switch {
	case p.Workers < 0 || p.Workers > 1024:
		return fmt.Errorf("%w: %d workers, want 0 to 1024", ErrPlan, p.Workers)
	case p.Workers > 0 && p.Command == nil:
		return fmt.Errorf("%w: workers without a Command that starts one", ErrPlan)
	}
	return nil
}

// dealer deals tasks out and takes in what came of them.
type dealer struct {
	pool  Pool
	tasks []task

	mu   sync.Mutex
	next int
	sums []*tally // by task; nil: not played
	runs int
	all  int
	err  error
}

// deal plays tasks, in their order, until ctx ends. What a worker is at when it ends
// is lost. The tallies are by task, nil for what wasn't played.
func (p Pool) deal(ctx context.Context, tasks []task) ([]*tally, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d := &dealer{pool: p, tasks: tasks, sums: make([]*tally, len(tasks))}
	for _, t := range tasks {
		d.all += int(t.To - t.From)
	}
	var everybody sync.WaitGroup
	for range max(1, p.Workers) {
		everybody.Go(func() {
			if err := d.work(ctx); err != nil {
				d.fail(err)
				stop()
			}
		})
	}
	everybody.Wait()
	return d.sums, d.err
}

func (d *dealer) work(ctx context.Context) error {
	w, err := d.pool.start()
	if err != nil {
		return err
	}
	defer func() { w.close() }()
	for {
		i, ok := d.take(ctx)
		if !ok {
			return nil
		}
		sum, err := w.play(ctx, d.tasks[i])
		if errors.Is(err, errDied) && ctx.Err() == nil {
			// Somebody else may have killed it: another one plays the task once more.
			if w, err = d.pool.start(); err != nil {
				w = here{} // there is nothing to close
				return err
			}
			sum, err = w.play(ctx, d.tasks[i])
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil // Ctrl-C reaches worker processes, too
			}
			return err
		}
		d.give(i, sum)
	}
}

func (d *dealer) take(ctx context.Context) (int, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil || d.next == len(d.tasks) {
		return 0, false
	}
	d.next++
	return d.next - 1, true
}

func (d *dealer) give(i int, sum tally) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sums[i] = &sum
	d.runs += int(d.tasks[i].To - d.tasks[i].From)
	if d.pool.Progress != nil {
		d.pool.Progress(d.runs, d.all)
	}
}

func (d *dealer) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = err
	}
}
