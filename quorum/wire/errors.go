package wire

import (
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redlock/fencing"
)

// Why an instance failed, for errors.Is. Package quorum has the same errors under the same
// names.
var (
	// ErrConfig: a value in a Config, a key or a handle can't be used. The
	// message names it, says why, and what to do.
	ErrConfig = errors.New("quorum: bad configuration")

	// ErrTimeout: an instance didn't answer within Config.InstanceTimeout.
	ErrTimeout = errors.New("quorum: instance did not answer in time")

	// ErrOverloaded: too much is under way already. As the verdict on a round: so many rounds of
	// the Coordinator are under way or waiting that the round's turn didn't come in time; no
	// instance was asked. As an instance's error: Config.Lab.MaxInFlight requests to it are
	// unanswered, or Config.Lab.MaxPendingDeletes deletes are pending; in the second case it also
	// Is the error of the last delete that failed.
	ErrOverloaded = errors.New("quorum: overloaded")

	// ErrOtherRun: another server answered than the one that was asked, or another
	// run of it, see RunError.
	ErrOtherRun = errors.New("quorum: another server, or another run of the same server, answered")

	// ErrSetMismatch: clients disagree on the set of instances, see
	// SetMismatchError.
	ErrSetMismatch = errors.New("quorum: clients disagree on the set of instances")

	// ErrCounter: the resource's counter on an instance can't be used, see CounterError.
	ErrCounter = errors.New("quorum: the resource's counter can't be used")

	// ErrNotReplicated: a grant wasn't acknowledged by as many replicas as the
	// instance demands.
	ErrNotReplicated = errors.New("quorum: grant was not acknowledged by enough replicas")

	// ErrNotMaster: the server is a replica or something else that takes no
	// locks.
	ErrNotMaster = errors.New("quorum: server is not a master")
)

// SetMismatchError is the error of a Probe of a server whose mark has another Set than the
// client's. It Is ErrSetMismatch.
type SetMismatchError struct {
	// Mine is this client's set, Theirs the one in the mark, as the mark has it.
	Mine   Set
	Theirs string
}

func (e *SetMismatchError) Error() string {
	return fmt.Sprintf("%v: this client has %q, the server %q (name@version, instances, quorum); "+
		"use the same in all clients, or raise Config.Set.Version",
		ErrSetMismatch, e.Mine, e.Theirs)
}

func (e *SetMismatchError) Unwrap() error { return ErrSetMismatch }

// CounterError is the vote of a server on which a counter is, or would have to be
// raised, further ahead of the server's clock than Fence.Ahead: another program wrote the
// counter, or a clock was set back or is wrong. It Is ErrCounter.
type CounterError struct {
	// Token is the value that the counter would have reached.
	Token fencing.Token
	// Clock is the server's clock.
	Clock time.Time
	// Most is how far the counter may be ahead of Clock.
	Most time.Duration
	// Repair says what to do.
	Repair string
}

func (e *CounterError) Error() string {
	text := fmt.Sprintf("%v: it would reach %d, which is %s ahead of the server's clock (%s), and %v is the most (half of MaxTTL)",
		ErrCounter, e.Token, longTime(e.ahead()), e.Clock.UTC().Format("2006-01-02 15:04:05"), e.Most)
	if e.clockTooLate() {
		text = fmt.Sprintf("%v: the server's clock is in the year %d, and tokens are microseconds that end in June 2255", ErrCounter, e.Clock.UTC().Year())
	}
	if e.Repair == "" {
		return text
	}
	return text + "; " + e.Repair
}

// ahead is how far the token is ahead of the clock, in microseconds.
func (e *CounterError) ahead() float64 { return float64(e.Token) - float64(e.Clock.UnixMicro()) }

func (e *CounterError) clockTooLate() bool { return e.Clock.UnixMicro() >= int64(fencing.MaxToken) }

func (e *CounterError) Unwrap() error { return ErrCounter }

// Permanent reports whether the clock needs longer than a MaxTTL to catch up, so that an Acquire
// should not wait for that.
func (e *CounterError) Permanent() bool {
	return e.clockTooLate() || e.ahead() > float64(3*e.Most/time.Microsecond)
}

// longTime writes microseconds, which may be more than a Duration can hold.
func longTime(micros float64) string {
	const day = 24 * 3600e6
	if micros >= 2*day {
		return fmt.Sprintf("%.0f days", micros/day)
	}
	return (time.Duration(micros) * time.Microsecond).String()
}

// RunError is the vote of a server that is in another run than the one that the request named
// (Request.Run): the server was restarted or promoted, or another server answers under its name.
// It did nothing, unless the request was an Acquire. It Is ErrOtherRun, and ErrNotMaster if the
// server says that it is no master.
type RunError struct {
	// Asked is the run that the command named.
	Asked Run
	// Found is the run of the server that answered. It is only the replication ID if the server's
	// mark is gone or names another run, or if the request named no epoch. Role is the role that
	// the server reports. Each is empty if the server didn't say.
	Found Run
	Role  string
}

func (e *RunError) Error() string {
	if !e.Master() {
		return fmt.Sprintf("%v: a %s answered; list masters only, and don't let a name lead to a replica", ErrOtherRun, e.Role)
	}
	if e.Asked.ReplID() == e.Found.ReplID() {
		return fmt.Sprintf("%v: the mark on the server is new or gone, so the server lost its data, or the name has led to another server meanwhile", ErrOtherRun)
	}
	return fmt.Sprintf("%v: the replication ID was %.8s and is %.8s, so the server was restarted or promoted, or the name leads to another server",
		ErrOtherRun, e.Asked.orHidden(), e.Found.orHidden())
}

// Master reports whether the server that answered is a master, or does not say what it is.
func (e *RunError) Master() bool { return e.Role == "" || e.Role == "master" }

// Unwrap returns ErrOtherRun, and ErrNotMaster for a replica.
func (e *RunError) Unwrap() []error {
	if !e.Master() {
		return []error{ErrOtherRun, ErrNotMaster}
	}
	return []error{ErrOtherRun}
}
