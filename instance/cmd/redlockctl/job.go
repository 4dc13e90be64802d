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
	terminal      bool          // see process_unix.go
	exited        chan struct{} // closed when the command has ended
}

func newJob(r *runner, lease tenure, key string) *job {
	now := time.Now() // before the validity is read, so that the deadline isn't too late
	j := &job{lease: lease, key: key, streams: r.s, said: &r.said, exited: make(chan struct{})}
	j.grace, j.margin = periods(r.o.grace, r.o.ttl)
	j.cmd = exec.Command(r.o.command[0], r.o.command[1:]...)
	j.cmd.Stdin, j.cmd.Stdout, j.cmd.Stderr = r.s.in, r.s.out, r.s.err
	j.cmd.Env = append(os.Environ(), keyEnv+"="+key, tokenEnv+"="+lease.Token().String(),
		deadlineEnv+"="+now.Add(lease.Validity()).Format(time.RFC3339Nano))
	j.prepare()
	return j
}

// periods are how long before the lease's end the command gets SIGTERM, and how long before it gets
// SIGKILL. With a short -grace both come earlier than that: SIGKILL needs time to take effect.
func periods(given, ttl time.Duration) (grace, margin time.Duration) {
	margin = max(given/10, ttl/100)
	return max(given, margin+min(given, margin)), margin
}

// lost waits until the command has ended. The error says that it was ended because the lease came to its end.
func (j *job) lost() error {
	for left := j.lease.Validity() - j.grace; left > 0; left = j.lease.Validity() - j.grace {
		select {
		case <-j.exited:
			return nil
		case <-j.lease.Done():
		// In parts, because timers stand still while the machine is suspended.
		case <-time.After(min(left, max(left/4, 20*time.Millisecond))):
		}
	}
	why := j.lease.Err()
	if why == nil {
		why = errors.New("no quorum of servers extended it in time")
	}
	how := j.end()
	return exitError{exitLost, fmt.Errorf("the lease on %q could not be kept: %w; the command %s", j.key, why, how)}
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
		j.say("the lease on %q can't be kept; the command gets SIGTERM, and SIGKILL in %v", j.key, rest.Round(time.Millisecond))
		if err := j.terminate(); err != nil {
			j.say("the command can't be sent SIGTERM: %v", err)
		}
	}
	for rest := left(); rest > 0; rest = left() {
		select {
		case <-j.exited:
			if !j.remains() {
				return "was ended by SIGTERM"
			}
		default:
		}
		time.Sleep(min(rest, 20*time.Millisecond))
	}
	how = "was ended by SIGKILL"
	if err := j.kill(); err != nil { // as when it runs as another user
		j.say("the command works on, and soon without the lock on %q: it can't be sent SIGKILL: %v", j.key, err)
		how = "worked on without the lock until it ended on its own"
	}
	<-j.exited
	return how
}

// say doesn't wait until the text is read.
func (j *job) say(format string, args ...any) {
	// A write can block, as after Ctrl-S, and the command must end before its lease.
	j.said.Go(func() { j.streams.say(format, args...) })
}
