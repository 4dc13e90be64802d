//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// forwarded are the signals that are passed on to the command.
var forwarded = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// endWithParent has the kernel kill the command when this process dies, so that it doesn't go on without a lock.
// Linux alone can.
var endWithParent = func(*syscall.SysProcAttr) {}

// prepare makes the command ready to be started. With a controlling terminal it stays in this process's group, so
// that it can read there, and the terminal itself sends it Ctrl-C and Ctrl-Z. Otherwise it has a group of its own, so
// that signals reach what it has started, too.
func (j *job) prepare(cmd *exec.Cmd) {
	tty, err := os.Open("/dev/tty") // standard input doesn't tell: in a pipeline it is a pipe
	_ = tty.Close()
	j.terminal = err == nil
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !j.terminal}
	endWithParent(cmd.SysProcAttr)
}

// signal passes a signal on, unless the terminal has sent it. A command that is stopped is continued, because only
// then the signal has an effect: otherwise nothing but SIGKILL would end the command and free the lock.
func (j *job) signal(sig os.Signal) (err error) {
	if !j.terminal || sig != syscall.SIGINT && sig != syscall.SIGQUIT {
		err = j.send(sig.(syscall.Signal))
	}
	// Whether that works says nothing: Linux lets it pass between all processes of a session.
	//guard:stopped-command-ends  a signal also ends a command that is stopped
	_ = j.send(syscall.SIGCONT)
	switch {
	case errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH):
		return nil
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%w, because it runs as another user; start it as sudo redlockctl lock", err)
	}
	return err
}

func (j *job) send(sig syscall.Signal) error {
	if j.terminal {
		return j.cmd.Process.Signal(sig)
	}
	return syscall.Kill(-j.cmd.Process.Pid, sig)
}

// remains reports whether the command, or what it has started, runs on. It may run as another user.
func (j *job) remains() bool {
	err := j.send(0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
