//go:build !unix

package main

import (
	"errors"
	"os"
	"os/exec"
)

// forwarded are the signals that end the wait for the lock. The console sends Ctrl-C to the
// command as well, so it isn't passed on.
var forwarded = []os.Signal{os.Interrupt}

// process is how the command is reached. There is no SIGTERM here, so it is ended by force.
type process struct{}

func prepare(*exec.Cmd) process { return process{} }

func (process) signal(*exec.Cmd, os.Signal) error { return nil }
func (process) terminate(*exec.Cmd) error         { return nil }
func (process) remains(*exec.Cmd) bool            { return false }

func (process) kill(cmd *exec.Cmd) error {
	if err := cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func statusOf(state *os.ProcessState) int { return state.ExitCode() }

func signalNumber(os.Signal) int { return 2 } // as that of SIGINT

func surviveBrokenPipes() {} // there is no SIGPIPE here
