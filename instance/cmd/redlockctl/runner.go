package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redquorum/redlock/quorum"
)

// runner runs the command whenever it is told to, and passes signals on to it. At other times a signal
// ends the wait for the lock.
type runner struct {
	o    *options
	s    streams
	said sync.WaitGroup
	wait context.Context
	end  context.CancelCauseFunc // of the wait
	slow *time.Timer             // runs until the command is started

	mu     sync.Mutex
	job    *job      // that runs, or has ended on its own
	told   os.Signal // the command was told to end by it
	began  bool      // it was started
	status int       // the command's exit code
}

// signalled is why a wait was ended.
type signalled struct{ os.Signal }

func (s signalled) Error() string { return "the wait was ended by the signal: " + s.String() }

// runWork calls under, which has the runner run under a lease, once or more often. It returns the command's
// exit code as an error, or why the command wasn't run, or was ended.
func runWork(ctx context.Context, o *options, s streams, under func(ctx context.Context, r *runner) error) error {
	if _, err := exec.LookPath(o.command[0]); err != nil { // before the lock is taken for nothing
		return cannotRun(o.command[0], err)
	}
	surviveBrokenPipes()
	signals := make(chan os.Signal, 16)
	for _, sig := range forwarded {
		if !signal.Ignored(sig) { // as nohup wants it
			signal.Notify(signals, sig)
		}
	}
	defer signal.Stop(signals)
	r := &runner{o: o, s: s}
	r.slow = time.AfterFunc(time.Second, r.sayNested)
	defer r.slow.Stop()
	r.wait, r.end = context.WithCancelCause(ctx)
	defer r.end(nil)
	go r.passOn(signals)
	err := under(r.wait, r)
	r.said.Wait()
	return r.result(err)
}

// sayNested says why the wait may never end, if the lock is that under which this process was started. It isn't
// refused, because a process that the outer command has left in the background gets the lock when that has ended.
func (r *runner) sayNested() {
	for _, key := range strings.Split(os.Getenv(keyEnv), "\n") {
		if os.Getenv(tokenEnv) != "" && r.o.places == 0 && slices.Contains(r.o.keys, key) { // the key alone is verify's
			r.s.say("waiting for %q, under which this process was started: if its holder waits for this process, both wait forever", key)
		}
	}
}

// passOn passes signals on until the wait was ended.
func (r *runner) passOn(signals <-chan os.Signal) {
	for {
		select {
		case sig := <-signals:
			if err := r.pass(sig); err != nil {
				r.s.say("the command can't be sent the signal %q: %v", sig, err)
			}
		case <-r.wait.Done():
			return
		}
	}
}

// pass passes a signal on to the command, or ends the wait.
func (r *runner) pass(sig os.Signal) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.job == nil {
		r.end(signalled{sig})
		return nil
	}
	if sig == os.Interrupt || sig == syscall.SIGTERM {
		r.told = sig
	}
	return r.job.signal(sig)
}

// run runs the command under a lease on the key, and notes its exit code. The error says why the command
// can't be run, or that it was ended because the lease came to its end.
func (r *runner) run(lease tenure, key string) error {
	// Where the kernel ends the command if this process dies, that goes by the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	j, err := r.start(lease, key)
	if err != nil {
		return err
	}
	lost := j.lost()
	r.mu.Lock()
	defer r.mu.Unlock()
	if lost == nil {
		r.status = statusOf(j.cmd.ProcessState)
		r.end(nil) // it isn't run again, even if a term is over by now
		return nil
	}
	r.job = nil
	if r.told != nil {
		r.end(signalled{r.told})
	}
	return lost
}

// start starts the command, unless a signal has ended the wait.
func (r *runner) start(lease tenure, key string) (*job, error) {
	r.slow.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wait.Err() != nil {
		return nil, context.Cause(r.wait)
	}
	j := newJob(r, lease, key)
	if err := j.cmd.Start(); err != nil {
		return nil, cannotRun(r.o.command[0], err)
	}
	go func() { // it ends with the command
		_ = j.cmd.Wait() // ProcessState says how
		close(j.exited)
	}()
	r.job, r.began = j, true
	return j, nil
}

// result is what redlockctl ends with. err is that of under.
func (r *runner) result(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var (
		own exitError
		sig signalled
	)
	switch ran := r.job != nil; {
	case errors.As(err, &own):
		return own
	case ran && (errors.Is(err, quorum.ErrLost) || errors.Is(err, quorum.ErrNotHeld)):
		return exitError{exitLost, fmt.Errorf("the command worked without the lock at its end: %w", err)}
	case ran:
		if r.job.remains() {
			r.s.say("what the command started goes on without the lock")
		}
		return exitError{code: r.status}
	case err != nil && errors.As(context.Cause(r.wait), &sig):
		return exitError{exitSignal + signalNumber(sig.Signal), err}
	}
	return err
}

// cannotRun is the error of a command that can't be started.
func cannotRun(name string, err error) error {
	if name = strconv.Quote(name); strings.Contains(name, "://") { // it may have a password
		name = "a URL"
	}
	code, fix := exitCannot, ""
	switch {
	case errors.Is(err, exec.ErrNotFound):
		code = exitNotFound
	case errors.Is(err, fs.ErrNotExist): // the kernel says so of a script, too
		code, fix = exitNotFound, "; if it is there, its first line names no interpreter, or ends with a carriage return"
	case errors.Is(err, syscall.ENOEXEC):
		fix = "; a script needs a first line such as #!/bin/sh"
	}
	return exitError{code, fmt.Errorf("can't run %s: %w%s", name, innermost(err), fix)}
}
