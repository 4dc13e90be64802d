package main

import (
	"context"
	"errors"
	"flag"
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

// keyEnv is what the command finds in its environment, with REDLOCK_TOKEN and REDLOCK_DEADLINE.
const keyEnv = "REDLOCK_KEY"

func lockFlags(flags *flag.FlagSet, o *options) {
	flags.DurationVar(&o.ttl, "ttl", 10*time.Second, "how long the lock lives unless it is extended, which it is while the command runs")
	flags.DurationVar(&o.wait, "wait", 0, "the longest `time` to wait for the lock (default: forever)")
	flags.BoolVar(&o.try, "try", false, "try once, and don't wait")
	flags.DurationVar(&o.grace, "grace", 0, "how long before the lease's end a command gets SIGTERM, if the lease can't be extended (default: a third of -ttl)")
	flags.StringVar(&o.owner, "owner", defaultOwner(), "a `name` that inspect shows to others")
}

// defaultOwner is empty if the machine's name can't be in it.
func defaultOwner() string {
	host, err := os.Hostname()
	owner := fmt.Sprintf("redlockctl:%s:%d", host, os.Getpid())
	if err != nil || len(owner) > 64 || strings.ContainsFunc(owner, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return owner
}

func (o *options) validateLock() error {
	if !o.isGiven("grace") {
		o.grace = o.ttl / 3
	}
	switch {
	case len(o.command) == 0:
		return badUsage("the command is missing after --")
	case o.ttl <= 0:
		return badUsage("-ttl is %v, want more than 0, such as 10s", o.ttl)
	case o.wait < 0 || o.isGiven("wait") && o.wait == 0:
		return badUsage("-wait is %v, want more than 0; -try doesn't wait", o.wait)
	case o.try && o.wait > 0:
		return badUsage("-try doesn't wait, and -wait is %v; give one of them", o.wait)
	case o.grace < 0 || o.grace > o.ttl/2:
		return badUsage("-grace is %v, want 0 to half of -ttl, %v: a lease that is extended in time has more than that left", o.grace, o.ttl/2)
	}
	return nil
}

func runLock(ctx context.Context, c *client, o *options, s streams) error {
	path, err := exec.LookPath(o.command[0])
	if err != nil { // before the lock is taken for nothing
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
	lease, err := c.take(ctx, o, signals)
	if err != nil {
		return err
	}
	j := &job{lease: lease, signals: signals, streams: s}
	j.grace, j.margin = periods(o.grace, o.ttl)
	status, err := j.run(&exec.Cmd{
		Path: path, Args: o.command, Stdin: s.in, Stdout: s.out, Stderr: s.err,
		Env: append(os.Environ(),
			keyEnv+"="+o.key, "REDLOCK_TOKEN="+lease.Token().String(), "REDLOCK_DEADLINE="+lease.Deadline().Format(time.RFC3339Nano)),
	})
	over := lease.Err()
	released := lease.Release(ctx)
	j.said.Wait()
	if err == nil && j.process.remains(j.cmd) {
		s.say("lock: what the command started goes on without the lock")
	}
	switch {
	case err != nil:
		return err
	case over != nil:
		return exitError{exitLost, fmt.Errorf("the command went on when the lease was over: %w", over)}
	case errors.Is(released, quorum.ErrNotHeld):
		return exitError{exitLost, fmt.Errorf("the command worked without the lock at its end: %w", released)}
	case errors.Is(released, quorum.ErrUnreachable):
		s.say("lock: the lease was valid, but the lock may stay taken for up to %v: %v", o.ttl, released)
	}
	return exitError{code: status}
}

// take takes the lock. A signal ends the wait.
func (c *client) take(ctx context.Context, o *options, signals <-chan os.Signal) (*quorum.Lease, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	acquire := c.Acquire
	if o.try {
		acquire = c.TryAcquire
	}
	var lease *quorum.Lease
	var err error
	taken := make(chan struct{})
	go func() { // it ends with ctx
		defer close(taken)
		lease, err = acquire(ctx, o.key)
	}()
	select {
	case <-taken:
		if err == nil {
			lease.KeepAlive()
		}
		return lease, err
	case sig := <-signals:
		cancel()
		<-taken
		last := ""
		var wait *quorum.WaitError
		switch {
		case err == nil:
			_ = lease.Release(context.Background()) // it expires in any case
		case errors.As(err, &wait) && wait.Last != nil:
			last = "; last: " + quorum.Redact(wait.Last.Error())
		}
		return nil, exitError{exitSignal + signalNumber(sig), fmt.Errorf("the wait for %q was ended by the signal: %v%s", o.key, sig, last)}
	}
}

// cannotRun is the error of a command that can't be started.
func cannotRun(name string, err error) error {
	code := exitCannot
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		code = exitNotFound
	}
	fix := ""
	if errors.Is(err, syscall.ENOEXEC) {
		fix = "; a script needs a first line such as #!/bin/sh, or its interpreter before it: -- sh " + shown(name)
	}
	return exitError{code, fmt.Errorf("can't run %s: %w%s", shown(name), innermost(err), fix)}
}

// periods are how long before the lease's end the command gets SIGTERM, and how long before it gets
// SIGKILL. With a short -grace both come earlier than that: SIGKILL needs time to take effect.
func periods(given, ttl time.Duration) (grace, margin time.Duration) {
	margin = max(given/10, ttl/100)
	//guard:short-grace-ends-before-lease  a command is killed before its lease ends, also with -grace 0
	return max(given, margin+min(given, margin)), margin
}

// job is a command that runs under a lease.
type job struct {
	lease         *quorum.Lease
	grace, margin time.Duration // see periods
	signals       <-chan os.Signal
	streams       streams
	cmd           *exec.Cmd
	process       process
	exited        chan struct{} // closed when the command has ended
	said          sync.WaitGroup
}

// run runs the command, and returns its exit code. The error says why it can't be run, or that it
// was ended because the lease came to its end.
func (j *job) run(cmd *exec.Cmd) (status int, err error) {
	// Where the kernel ends the command if this process dies, that goes by the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	j.cmd, j.process = cmd, prepare(cmd)
	if err := cmd.Start(); err != nil {
		return 0, cannotRun(cmd.Args[0], err)
	}
	j.exited = make(chan struct{})
	go func() { // it ends with the command
		_ = cmd.Wait() // ProcessState says how
		close(j.exited)
	}()
	if !j.watch() {
		return statusOf(cmd.ProcessState), nil
	}
	why := j.lease.Err()
	if why == nil {
		why = errors.New("no quorum of servers extended it in time")
	}
	how := j.end()
	return 0, exitError{exitLost, fmt.Errorf("the lease on %q could not be kept: %w; the command was ended %s", j.lease.Key(), why, how)}
}

// watch waits for the command, and passes signals on to it. It reports whether the lease comes to
// its end first.
func (j *job) watch() (ends bool) {
	for {
		left := j.lease.Validity() - j.grace
		if left <= 0 {
			return true
		}
		select {
		case <-j.exited:
			return false
		case sig := <-j.signals:
			j.process.signal(j.cmd, sig)
		case <-j.lease.Done():
		// In parts, because timers stand still while the machine is suspended.
		case <-time.After(min(left, max(left/4, 20*time.Millisecond))):
		}
	}
}

// end ends the command, and what it has started: by SIGTERM, and a margin before the lease's end by
// SIGKILL. If the lease is over already, because its keys are gone, the command has the grace
// period; and none if its deadline has passed, because another client may have the lock.
func (j *job) end() (how string) {
	live := j.lease.Err() == nil
	//guard:command-has-one-grace-period  a command that ignores SIGTERM is killed after its grace period, also if the lease is extended
	until := time.Now().Add(j.grace - j.margin)
	left := func() time.Duration {
		left := time.Until(until)
		if live {
			//guard:command-ends-before-lease  a command that ignores SIGTERM is killed before its lease ends, also after a suspension
			left = min(left, j.lease.Validity()-j.margin)
		} else if errors.Is(j.lease.Err(), quorum.ErrExpired) {
			left = 0
		}
		return left
	}
	if rest := left(); rest > 0 {
		//guard:stderr-delays-no-end  the command ends before its lease, even if writes to standard error block, as after Ctrl-S
		j.said.Go(func() {
			j.streams.say("lock: the lease on %q can't be kept; the command gets SIGTERM, and SIGKILL in %v", j.lease.Key(), rest.Round(time.Millisecond))
		})
		j.process.terminate(j.cmd)
	}
	how = "by SIGKILL"
	ended := j.exited
	for {
		rest := left()
		if rest <= 0 {
			break
		}
		select {
		case <-j.exited:
			if !j.process.remains(j.cmd) {
				return "by SIGTERM"
			}
			how, ended = "by SIGTERM, and what it had started by SIGKILL", nil
		default:
		}
		select {
		case <-ended:
		case sig := <-j.signals:
			j.process.signal(j.cmd, sig)
		case <-time.After(min(rest, 20*time.Millisecond)):
		}
	}
	j.process.kill(j.cmd)
	<-j.exited
	return how
}
