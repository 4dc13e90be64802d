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

func (*job) prepare(*exec.Cmd) {}
func (j *job) remains() bool   { return j.exited.Err() == nil }

// signal can only end the command by force: there is no SIGTERM here.
func (j *job) signal(sig os.Signal) error {
	if err := j.cmd.Process.Signal(sig); sig == os.Kill && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
