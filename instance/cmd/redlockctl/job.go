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
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redquorum/redlock/quorum"
)

// What the command finds in its environment.
const (
	keyEnv      = envPrefix + "KEY"
	tokenEnv    = envPrefix + "TOKEN"
	deadlineEnv = envPrefix + "DEADLINE"
)

// job is the command that runs under a lease. Until it is started, a signal ends the wait for the lock.
type job struct {
	o    *options
	s    streams
	wait context.Context
	end  context.CancelCauseFunc // of the wait
	said sync.WaitGroup

	mu       sync.Mutex
	cmd      *exec.Cmd       // nil until it is started
	exited   context.Context // ends when the command has ended
	terminal bool            // see process_unix.go
	told     bool            // a signal told the command to end
}

// runWork calls under, which has the job run under a lease. It returns the command's exit code as an error, or why
// the command wasn't run, or was ended.
func runWork(ctx context.Context, o *options, s streams, under func(ctx context.Context, j *job) error) error {
	if _, err := exec.LookPath(o.command[0]); err != nil { // before the lock is taken for nothing
		return cannotRun(err)
	}
	// A write to a standard error that nobody reads fails, as any other write does. With signal.Ignore the command
	// would ignore SIGPIPE, too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 16)
	for _, sig := range forwarded {
		if !signal.Ignored(sig) { // as nohup wants it
			signal.Notify(signals, sig)
		}
	}
	defer signal.Stop(signals)
	j := &job{o: o, s: s}
	j.wait, j.end = context.WithCancelCause(ctx)
	defer j.end(nil)
	go j.passOn(signals)
	err := under(j.wait, j)
	j.said.Wait()
	return j.result(err)
}

// passOn passes signals on to the command. Before it runs, a signal ends the wait.
func (j *job) passOn(signals <-chan os.Signal) {
	for {
		select {
		case sig := <-signals:
			j.mu.Lock()
			if j.cmd == nil {
				j.end(exitError{exitSignal + int(sig.(syscall.Signal)), fmt.Errorf("the wait was ended by the signal: %v", sig)})
			} else if err := j.signal(sig); err != nil {
				j.say("can't send the command the signal %q: %v", sig, err)
			}
			j.told = j.told || sig == os.Interrupt || sig == syscall.SIGTERM
			j.mu.Unlock()
		case <-j.wait.Done():
			return
		}
	}
}

// run runs the command under a lease. The error says why the command can't be run, or that it was ended because the
// lease came to its end.
func (j *job) run(lease *quorum.Lease) error {
	// Where the kernel ends the command if this process dies, that goes by the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := j.start(lease); err != nil {
		return err
	}
	for left := lease.Validity() - j.o.grace; left > 0; left = lease.Validity() - j.o.grace {
		select {
		case <-j.exited.Done():
			return nil
		case <-lease.Done():
		// In parts, because timers stand still while the machine is suspended.
		case <-time.After(min(left, max(left/4, 20*time.Millisecond))):
		}
	}
	return j.stop(lease)
}

// start starts the command, unless a signal has ended the wait.
func (j *job) start(lease *quorum.Lease) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.wait.Err() != nil {
		return context.Cause(j.wait)
	}
	now := time.Now() // before the validity is read, so that the deadline isn't too late
	cmd := exec.Command(j.o.command[0], j.o.command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = j.s.in, j.s.out, j.s.err
	cmd.Env = append(os.Environ(), keyEnv+"="+strings.Join(lease.Keys(), "\n"), tokenEnv+"="+lease.Token().String(),
		deadlineEnv+"="+now.Add(lease.Validity()).Format(time.RFC3339Nano))
	j.prepare(cmd)
	if err := cmd.Start(); err != nil {
		return cannotRun(err)
	}
	j.cmd = cmd
	exited, end := context.WithCancel(context.Background())
	j.exited = exited
	go func() { // it ends with the command
		_ = cmd.Wait() // ProcessState says how
		end()
	}()
	return nil
}

// stop ends the command, and what it has started: by SIGTERM, and a margin before the lease's end by
// SIGKILL. If the lease is over already, because its keys are gone, the command has the grace
// period; and none if its deadline has passed, because another client may have the lock.
func (j *job) stop(lease *quorum.Lease) error {
	key, margin, why := strings.Join(lease.Keys(), "\n"), j.o.margin(), lease.Err()
	//guard:command-has-one-grace-period  a command that ignores SIGTERM is killed after its grace period, also if the lease is extended
	until := time.Now().Add(j.o.grace - margin)
	left := func() time.Duration {
		switch {
		case why == nil:
			//guard:command-ends-before-lease  a command that ignores SIGTERM is killed before its lease ends, also after a suspension
			return min(time.Until(until), lease.Validity()-margin)
		case errors.Is(why, quorum.ErrExpired):
			return 0
		}
		return time.Until(until)
	}
	if rest := left(); rest > 0 {
		j.say("the lease on %q can't be kept; the command gets SIGTERM, and SIGKILL in %v", key, rest.Round(time.Millisecond))
		_ = j.signal(syscall.SIGTERM) // if it can't be sent, neither can SIGKILL
	}
	for rest := left(); rest > 0 && j.remains(); rest = left() {
		time.Sleep(min(rest, 20*time.Millisecond))
	}
	how := "was ended by SIGTERM"
	if j.remains() {
		how = "was ended by SIGKILL"
		if err := j.signal(syscall.SIGKILL); err != nil { // as when it runs as another user
			j.say("the command goes on, and soon without the lock on %q: it can't be ended: %v", key, err)
			how = "worked on without the lock until it ended on its own"
		}
		<-j.exited.Done()
	}
	if why == nil {
		why = errors.New("no quorum of servers extended it in time")
	}
	return exitError{exitLost, fmt.Errorf("the lease on %q could not be kept: %w; the command %s", key, why, how)}
}

// again makes the job ready to be run once more, unless it was told to end.
func (j *job) again() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.told {
		j.cmd = nil
	}
	return !j.told
}

// say doesn't wait until the text is read.
func (j *job) say(format string, args ...any) {
	// A write can block, as after Ctrl-S, and the command must end before its lease.
	j.said.Go(func() { j.s.say(format, args...) })
}

// result is what redlockctl ends with. err is that of under.
func (j *job) result(err error) error {
	switch {
	case j.cmd == nil || errors.As(err, new(exitError)): // it wasn't run, or was ended
		return err
	case errors.Is(err, quorum.ErrLost) || errors.Is(err, quorum.ErrNotHeld):
		return exitError{exitLost, fmt.Errorf("the command no longer had the lock when it ended: %w", err)}
	case j.remains():
		j.s.say("what the command started goes on without the lock")
	}
	return exitError{code: statusOf(j.cmd.ProcessState)}
}

// statusOf is a command's exit code, as shells give it.
func statusOf(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return state.ExitCode()
}

// cannotRun is the error of a command that can't be started. It doesn't repeat the command, which may be a URL with a
// password.
func cannotRun(err error) error {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	code := exitCannot
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) { // the kernel says so of a script's interpreter, too
		code = exitNotFound
	}
	return exitError{code, fmt.Errorf("can't run the command: %w; a script needs a first line such as #!/bin/sh", err)}
}
