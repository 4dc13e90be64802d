//go:build !unix

package main

import (
	"errors"
	"os"
)

// forwarded are the signals that end the wait for the lock. The console sends Ctrl-C to the
// command as well, so it isn't passed on.
var forwarded = []os.Signal{os.Interrupt}

// There is no SIGTERM here, so the command is ended by force.
func (*job) prepare()               {}
func (*job) signal(os.Signal) error { return nil }
func (*job) terminate() error       { return nil }
func (*job) remains() bool          { return false }

func (j *job) kill() error {
	if err := j.cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func statusOf(state *os.ProcessState) int { return state.ExitCode() }
func signalNumber(os.Signal) int          { return 2 } // as that of SIGINT
func surviveBrokenPipes()                 {}           // there is no SIGPIPE here
