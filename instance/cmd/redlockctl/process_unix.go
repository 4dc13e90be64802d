//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// forwarded are the signals that are passed on to the command.
var forwarded = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// process is how the command is reached.
type process struct {
	// terminal: standard input is a terminal. Then the command stays in this process's group, so
	// that it can read there, and the terminal itself sends it Ctrl-C. Otherwise it has a group
	// of its own, so that signals reach what it has started, too.
	terminal bool
}

// prepare makes the command ready to be started.
func prepare(cmd *exec.Cmd) process {
	var p process
	if f, ok := cmd.Stdin.(*os.File); ok {
		_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
		p.terminal = err == nil
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !p.terminal}
	endWithParent(cmd.SysProcAttr)
	return p
}

// signal passes a signal on.
func (p process) signal(cmd *exec.Cmd, sig os.Signal) {
	if p.terminal && (sig == syscall.SIGINT || sig == syscall.SIGQUIT) {
		return // the terminal has sent it
	}
	p.send(cmd, sig.(syscall.Signal))
}

func (p process) terminate(cmd *exec.Cmd) { p.send(cmd, syscall.SIGTERM) }
func (p process) kill(cmd *exec.Cmd)      { p.send(cmd, syscall.SIGKILL) }

func (p process) send(cmd *exec.Cmd, sig syscall.Signal) {
	if p.terminal {
		_ = cmd.Process.Signal(sig)
		return
	}
	// It fails if all of the group have ended, which is as well.
	_ = syscall.Kill(-cmd.Process.Pid, sig)
}

// remains reports whether what the command has started runs on.
func (p process) remains(cmd *exec.Cmd) bool {
	return !p.terminal && syscall.Kill(-cmd.Process.Pid, 0) == nil
}

// statusOf is a command's exit code, as shells give it.
func statusOf(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return state.ExitCode()
}

func signalNumber(sig os.Signal) int { return int(sig.(syscall.Signal)) }
