//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// forwarded are the signals that are passed on to the command.
var forwarded = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// endWithParent has the kernel kill the command when this process dies, so that it doesn't go on without a lock.
// Linux alone can.
var endWithParent = func(*syscall.SysProcAttr) {}

// prepare makes the command ready to be started. With a controlling terminal it stays in this process's group, so
// that it can read there, and the terminal itself sends it Ctrl-C and Ctrl-Z. Otherwise it has a group of its own, so
// that signals reach what it has started, too.
func (j *job) prepare() {
	j.terminal, _ = controllingTerminal()
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !j.terminal}
	endWithParent(j.cmd.SysProcAttr)
}

// controllingTerminal reports whether this process has a controlling terminal, and whether Ctrl-C
// reaches this process's group. Standard input doesn't tell: in a pipeline it is a pipe.
func controllingTerminal() (found, foreground bool) {
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, false
	}
	defer unix.Close(tty) //nolint:errcheck // nothing was written
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	own, _ := unix.Getpgid(0) // it can't fail
	return err == nil, group == own
}

// signal passes a signal on. A command that is stopped is continued, because only then the signal
// has an effect: otherwise nothing but SIGKILL would end the command and free the lock.
func (j *job) signal(sig os.Signal) (err error) {
	sent := false // by the terminal
	if j.terminal && (sig == syscall.SIGINT || sig == syscall.SIGQUIT) {
		_, sent = controllingTerminal()
	}
	if !sent {
		err = j.send(sig.(syscall.Signal))
	}
	// Whether that works says nothing: Linux lets it pass between all processes of a session.
	//guard:stopped-command-ends  a signal also ends a command that is stopped
	_ = j.send(syscall.SIGCONT)
	return err
}

func (j *job) terminate() error { return j.signal(syscall.SIGTERM) }
func (j *job) kill() error      { return j.send(syscall.SIGKILL) }

func (j *job) send(sig syscall.Signal) (err error) {
	if j.terminal {
		err = j.cmd.Process.Signal(sig)
	} else {
		err = syscall.Kill(-j.cmd.Process.Pid, sig)
	}
	switch {
	case errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH):
		return nil // all have ended, which is as well
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%w, because it runs as another user; start redlockctl as that user, as in sudo redlockctl lock", err)
	}
	return err
}

// remains reports whether what the command has started runs on. It may run as another user.
func (j *job) remains() bool {
	if j.terminal {
		return false
	}
	err := syscall.Kill(-j.cmd.Process.Pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// statusOf is a command's exit code, as shells give it.
func statusOf(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return state.ExitCode()
}

func signalNumber(sig os.Signal) int { return int(sig.(syscall.Signal)) }

// surviveBrokenPipes makes a write to a standard error that nobody reads fail, as any other write
// does. It isn't signal.Ignore, because the command would ignore SIGPIPE, too.
func surviveBrokenPipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
