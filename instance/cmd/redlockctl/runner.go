package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redquorum/redlock/quorum"
)

// workFlags are those of all that run a command.
func workFlags(flags *flag.FlagSet, o *options) {
	flags.DurationVar(&o.ttl, "ttl", 10*time.Second, "how long the lock lives unless it is extended, which it is while the command runs")
	flags.DurationVar(&o.grace, "grace", 0, "how long before the lease's end a command gets SIGTERM, if the lease can't be extended (default: a third of -ttl)")
	flags.StringVar(&o.owner, "owner", defaultOwner(), "a `name` that inspect shows to others")
}

// defaultOwner is empty if the machine's name can't be in it.
func defaultOwner() string {
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	return ownerOn(host, os.Getpid())
}

// ownerOn cuts a long host's name rather than to have none: an owner has at most 64 characters.
func ownerOn(host string, pid int) string {
	const program = "redlockctl:"
	process := fmt.Sprint(":", pid)
	owner := program + host[:min(len(host), 64-len(program)-len(process))] + process
	if strings.ContainsFunc(owner, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return owner
}

func checkWork(o *options) error {
	if !o.isGiven("grace") {
		o.grace = o.ttl / 3
	}
	switch {
	case len(o.command) == 0:
		return badUsage("the command is missing after --")
	case o.ttl <= 0:
		return badUsage("%s is %v, want more than 0, such as 10s", o.name("ttl"), o.ttl)
	case o.isGiven("ttl") && o.ttl > o.maxTTL: // a longer MaxTTL would have all clients wait longer after a restart
		return badUsage("%s is %v, want at most -max-ttl, %v; leave %s out: the lease is extended while the command runs", o.name("ttl"), o.ttl, o.maxTTL, o.name("ttl"))
	case o.grace < 0 || o.grace > o.ttl/2:
		return badUsage("%s is %v, want 0 to half of -ttl, %v: a lease that is extended in time has more than that left", o.name("grace"), o.grace, o.ttl/2)
	}
	return nil
}

// runner runs the command whenever it is told to, and passes signals on to it. At other times a signal
// ends the wait for the lock.
type runner struct {
	o    *options
	s    streams
	path string // of the command
	said sync.WaitGroup
	wait context.Context
	end  context.CancelCauseFunc // of the wait

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
	path, err := exec.LookPath(o.command[0])
	if err != nil { // before the lock is taken for nothing
		return cannotRun(o.command[0], "", err)
	}
	surviveBrokenPipes()
	signals := make(chan os.Signal, 16)
	for _, sig := range forwarded {
		if !signal.Ignored(sig) { // as nohup wants it
			signal.Notify(signals, sig)
		}
	}
	defer signal.Stop(signals)
	r := &runner{o: o, s: s, path: path}
	r.wait, r.end = context.WithCancelCause(ctx)
	defer r.end(nil)
	go r.passOn(signals)
	if key := o.outerKey(); key != "" {
		defer time.AfterFunc(time.Second, func() { r.sayNested(key) }).Stop()
	}
	err = under(r.wait, r)
	r.said.Wait()
	return r.result(err)
}

// outerKey is the key of a lock under which this process was started, and which it is to take again. "" if there is
// none.
func (o *options) outerKey() string {
	if os.Getenv(tokenEnv) == "" { // REDLOCK_KEY alone is verify's
		return ""
	}
	for _, key := range strings.Split(os.Getenv(keyEnv), "\n") {
		if slices.Contains(o.keys, key) && o.places == 0 {
			return key
		}
	}
	return ""
}

// sayNested says why the wait for the lock may never end. The wait isn't refused, because a process that the outer
// command has left in the background gets the lock when that command has ended.
func (r *runner) sayNested(key string) {
	r.mu.Lock()
	began := r.began
	r.mu.Unlock()
	if !began {
		r.s.say("waiting for %q, the lock under which this process was started (%s): if the holder waits for this process, both wait forever; take the lock only once", key, keyEnv)
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
	//guard:told-command-stays-ended  a command that was told to end isn't run again, if its lease is lost before it has ended
	if r.told != nil {
		r.end(signalled{r.told})
	}
	return lost
}

// start starts the command, unless a signal has ended the wait.
func (r *runner) start(lease tenure, key string) (*job, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wait.Err() != nil {
		return nil, context.Cause(r.wait)
	}
	j := newJob(r, lease, key)
	if err := j.cmd.Start(); err != nil {
		return nil, cannotRun(r.o.command[0], r.path, err)
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
		own  exitError
		sig  signalled
		wait *quorum.WaitError
	)
	switch ran := r.job != nil; {
	case errors.As(err, &own):
		return own
	case ran && (errors.Is(err, quorum.ErrLost) || errors.Is(err, quorum.ErrNotHeld)):
		return exitError{exitLost, fmt.Errorf("the command worked without the lock at its end: %w", err)}
	case ran:
		if r.job.process.remains(r.job.cmd) {
			r.s.say("what the command started goes on without the lock")
		}
		return exitError{code: r.status}
	case errors.As(context.Cause(r.wait), &sig):
		last := ""
		if errors.As(err, &wait) && wait.Last != nil {
			last = "; last: " + quorum.Redact(wait.Last.Error())
		}
		return exitError{exitSignal + signalNumber(sig.Signal), fmt.Errorf("%w%s", sig, last)}
	}
	return err
}

// cannotRun is the error of a command that can't be started. path is where it was found.
func cannotRun(name, path string, err error) error {
	code := exitCannot
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		code = exitNotFound
	}
	fix := ""
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		fix = "; a script needs a first line such as #!/bin/sh, or its interpreter before it: -- sh " + shown(name)
	case errors.Is(err, fs.ErrNotExist):
		fix = fixInterpreter(path)
	}
	return exitError{code, fmt.Errorf("can't run %s: %w%s", shown(name), innermost(err), fix)}
}

// fixInterpreter says what is wrong with the first line of a script. If its interpreter doesn't exist, the kernel says
// that the script itself doesn't.
func fixInterpreter(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	line, _ := bufio.NewReader(io.LimitReader(file, 256)).ReadString('\n') // the kernel reads no more
	switch {
	case !strings.HasPrefix(line, "#!"):
		return ""
	case strings.HasSuffix(line, "\r\n"):
		return "; its first line ends with a carriage return, as on Windows: convert it, as dos2unix does"
	}
	return fmt.Sprintf("; there is no such interpreter: %q", strings.TrimSpace(line))
}
