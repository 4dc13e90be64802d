package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
)

// What the command finds in its environment.
const (
	keyEnv      = envPrefix + "KEY"
	tokenEnv    = envPrefix + "TOKEN"
	deadlineEnv = envPrefix + "DEADLINE"
)

// tenure is what a command runs under: a lease, or a leader's term.
type tenure interface {
	Token() fencing.Token
	// Validity is how long nobody else can have the lock. It grows with each extension.
	Validity() time.Duration
	// Err is why the lease is over, nil while it isn't.
	Err() error
	// Done is closed when the lease is over, or before.
	Done() <-chan struct{}
}

// job is a command that runs under a lease.
type job struct {
	lease         tenure
	key           string
	grace, margin time.Duration // see periods
	streams       streams
	said          *sync.WaitGroup
	cmd           *exec.Cmd
	process       process
	exited        chan struct{} // closed when the command has ended
}

func newJob(r *runner, lease tenure, key string) *job {
	now := time.Now() // before the validity is read, so that the deadline isn't too late
	j := &job{lease: lease, key: key, streams: r.s, said: &r.said, exited: make(chan struct{})}
	j.grace, j.margin = periods(r.o.grace, r.o.ttl)
	j.cmd = &exec.Cmd{
		Path: r.path, Args: r.o.command, Stdin: r.s.in, Stdout: r.s.out, Stderr: r.s.err,
		Env: append(os.Environ(), keyEnv+"="+key, tokenEnv+"="+lease.Token().String(), deadlineEnv+"="+now.Add(lease.Validity()).Format(time.RFC3339Nano)),
	}
	j.process = prepare(j.cmd)
	return j
}

// periods are how long before the lease's end the command gets SIGTERM, and how long before it gets
// SIGKILL. With a short -grace both come earlier than that: SIGKILL needs time to take effect.
func periods(given, ttl time.Duration) (grace, margin time.Duration) {
	margin = max(given/10, ttl/100)
	//guard:short-grace-ends-before-lease  a command is killed before its lease ends, also with -grace 0
	return max(given, margin+min(given, margin)), margin
}

// lost waits until the command has ended. The error says that it was ended because the lease came to its end.
func (j *job) lost() error {
	if !j.watch() {
		return nil
	}
	why := j.lease.Err()
	if why == nil {
		why = errors.New("no quorum of servers extended it in time")
	}
	how := j.end()
	return exitError{exitLost, fmt.Errorf("the lease on %q could not be kept: %w; the command %s", j.key, why, how)}
}

// signal passes a signal on to the command, if it still runs.
func (j *job) signal(sig os.Signal) error {
	select {
	case <-j.exited:
		return nil
	default:
		return j.process.signal(j.cmd, sig)
	}
}

// watch waits for the command. It reports whether the lease comes to its end first.
func (j *job) watch() (ends bool) {
	for {
		left := j.lease.Validity() - j.grace
		if left <= 0 {
			return true
		}
		select {
		case <-j.exited:
			return false
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
			j.streams.say("the lease on %q can't be kept; the command gets SIGTERM, and SIGKILL in %v", j.key, rest.Round(time.Millisecond))
		})
		if err := j.process.terminate(j.cmd); err != nil {
			j.said.Go(func() { j.streams.say("the command can't be sent SIGTERM: %v", err) })
		}
	}
	how = "was ended by SIGKILL"
	ended := j.exited
	for {
		rest := left()
		if rest <= 0 {
			break
		}
		select {
		case <-j.exited:
			if !j.process.remains(j.cmd) {
				return "was ended by SIGTERM"
			}
			how, ended = "was ended by SIGTERM, and what it had started by SIGKILL", nil
		default:
		}
		select {
		case <-ended:
		case <-time.After(min(rest, 20*time.Millisecond)):
		}
	}
	if err := j.process.kill(j.cmd); err != nil {
		return j.outlive(err)
	}
	<-j.exited
	return how
}

// outlive waits for a command that can't be killed, as when it runs as another user. It says how the command ended.
func (j *job) outlive(why error) (how string) {
	select {
	case <-j.exited:
		if !j.process.remains(j.cmd) {
			return "ended on its own"
		}
		return "ended, but what it had started works on without the lock: it can't be sent SIGKILL: " + why.Error()
	case <-j.lease.Done(): // until then it works under the lock, which is extended if the servers are back
	}
	j.said.Go(func() {
		j.streams.say("the lease on %q is over, and the command works on without the lock: it can't be sent SIGKILL: %v", j.key, why)
	})
	<-j.exited
	return "worked on without the lock until it ended on its own"
}
