package main

import (
	"errors"
	"fmt"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
)

// The exit codes. Those of redlockctl itself begin at 120, where few commands have their own.
const (
	exitDone     = 0
	exitUnfit    = 1
	exitFree     = 1
	exitTaken    = 120
	exitNoQuorum = 121
	exitLost     = 122
	exitRefused  = 123
	exitFailed   = 124
	exitUsage    = 125
	exitCannot   = 126
	exitNotFound = 127
	exitSignal   = 128
)

// exits are the exit codes, for the usage text.
var exits = []struct{ codes, meaning string }{
	{"0", "Done. After lock, once and elect: the command ended with 0. After once also: another process has begun the job. After inspect: a client has the lock."},
	{"1", "verify: something is wrong, but a quorum of servers may vote. inspect: no client has the lock."},
	{"120", "The lock is taken, and -try was given or the time of -wait is over. The command was not run."},
	{"121", "No quorum: too few servers answered, or may vote, or the votes stayed split between clients. inspect: a client may have the lock."},
	{"122", "The lease was lost. The command was ended, or no longer had the lock when it ended."},
	{"123", "release: nothing was deleted, because a check failed or -value is missing or too short."},
	{"124", "Something else failed, as when once came too late; the text says what."},
	{"125", "Bad usage, or settings that differ from those of other clients."},
	{"126", "The command can't be run."},
	{"127", "There is no such command."},
	{"128+n", "Signal n ended the command, or redlockctl while it waited for the lock."},
	{"any other", "lock, once, elect: the command's own exit code."},
}

// exitError ends redlockctl with a code. Its text may be empty: then all is said.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// badUsage is a mistake on the command line, or in the settings.
func badUsage(format string, args ...any) error {
	return exitError{exitUsage, fmt.Errorf(format, args...)}
}

// exitOf is the exit code for an error.
func exitOf(err error) int {
	var (
		own   exitError
		wait  *quorum.WaitError
		round *quorum.RoundError
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &own):
		return own.code
	case errors.As(err, &wait) && wait.Last == nil:
		return exitNoQuorum
	case errors.As(err, &round):
		// The verdict alone, because the instances' errors are in the round's, too.
		switch {
		case errors.Is(round.Verdict, quorum.ErrTaken):
			return exitTaken
		case errors.Is(round.Verdict, quorum.ErrSetMismatch):
			return exitUsage
		}
		return exitNoQuorum
	case errors.Is(err, quorum.ErrConfig), errors.Is(err, instance.ErrConfig), errors.Is(err, instance.ErrURL):
		return exitUsage
	default:
		return exitFailed
	}
}
