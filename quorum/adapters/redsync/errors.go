package redsync

import (
	"errors"
	"fmt"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// The errors of redsync, for errors.Is. Every error also Is the error of package quorum that is
// behind it: quorum.ErrTaken, quorum.ErrNotHeld and so on.
var (
	// ErrFailed: the lock was not taken before the context ended, or too late for any validity.
	ErrFailed = errors.New("redsync: failed to acquire lock")

	// ErrExtendFailed: the lock was not extended.
	ErrExtendFailed = errors.New("redsync: failed to extend lock")

	// ErrLockAlreadyExpired: Unlock found the lock expired, taken over, or unlocked before.
	ErrLockAlreadyExpired = errors.New("redsync: failed to unlock, lock was already expired")
)

// ErrTaken is the error, as a pointer, if another client has the lock.
type ErrTaken struct {
	// Nodes are the servers that refused before the call was decided, by their place among New's
	// pools. It is empty if no server was asked, because a goroutine of this process has the lock.
	Nodes []int

	cause error
}

func (err ErrTaken) Error() string {
	return fmt.Sprintf("lock already taken, locked nodes: %v", err.Nodes)
}

// Unwrap returns the error of package quorum.
func (err ErrTaken) Unwrap() error { return err.cause }

// ErrNodeTaken is, as a pointer, the refusal of one server.
type ErrNodeTaken struct {
	Node int
}

func (err ErrNodeTaken) Error() string {
	return fmt.Sprintf("node #%d: lock already taken", err.Node)
}

// RedisError is, as a pointer, the failure of one server.
type RedisError struct {
	Node int
	Err  error
}

func (e RedisError) Error() string { return fmt.Sprintf("node #%d: %s", e.Node, e.Err) }

// Unwrap returns the failure.
func (e RedisError) Unwrap() error { return e.Err }

// OptionError is an option that can't be honoured. NewMutex has no error to return, so every call
// that would lock returns it. It Is quorum.ErrConfig.
type OptionError struct {
	// Option is its name, and Reason why it can't be honoured, and what to do.
	Option, Reason string
}

func (e *OptionError) Error() string { return "redsync: " + e.Option + ": " + e.Reason }

// Unwrap returns quorum.ErrConfig.
func (e *OptionError) Unwrap() error { return quorum.ErrConfig }

// nodeErrors is an error of package quorum with redsync's errors of single servers.
type nodeErrors struct {
	error
	nodes []error
}

func (e *nodeErrors) Unwrap() []error { return append([]error{e.error}, e.nodes...) }

// asRedsync puts an error of a round in redsync's words: *ErrTaken if another client has the lock, and
// the errors of single servers.
func asRedsync(err error) error {
	var round *quorum.RoundError
	if !errors.As(err, &round) {
		if errors.Is(err, quorum.ErrHeldByCaller) {
			return &ErrTaken{cause: err}
		}
		return err
	}
	var taken []int
	var nodes []error
	for i, ballot := range round.Votes {
		switch {
		case ballot.Vote.Outcome == wire.Refused && ballot.Vote.Err == nil:
			taken = append(taken, i)
			nodes = append(nodes, &ErrNodeTaken{i})
		case ballot.Vote.Err != nil && !errors.Is(ballot.Vote.Err, quorum.ErrPending):
			nodes = append(nodes, &RedisError{i, ballot.Vote.Err})
		}
	}
	if len(nodes) > 0 {
		err = &nodeErrors{err, nodes}
	}
	// After a split perhaps nobody has it, although a quorum refused.
	if errors.Is(round.Verdict, quorum.ErrTaken) || len(taken) >= round.Quorum && !errors.Is(round.Verdict, quorum.ErrSplit) {
		return &ErrTaken{Nodes: taken, cause: err}
	}
	return err
}

// failedToLock is asRedsync for the error of Lock.
func failedToLock(err error) error {
	if errors.Is(err, quorum.ErrInterrupted) || errors.Is(err, quorum.ErrTooSlow) || errors.Is(err, quorum.ErrSplit) {
		return fmt.Errorf("%w: %w", ErrFailed, asRedsync(err))
	}
	return asRedsync(err)
}
