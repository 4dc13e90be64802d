package wire

import (
	"time"

	"github.com/redquorum/redlock/fencing"
)

// Outcome is an instance's answer. There are three, and they stay three: what
// failed is unknown, not refused.
type Outcome uint8

// The outcomes.
const (
	// Failed: no answer, or none that can be counted. The command may have
	// been carried out, may still be, or never was (see Vote.Unsent).
	Failed Outcome = iota
	// Granted: the server did what it was asked.
	Granted
	// Refused: the server certainly did not, and changed nothing.
	Refused
)

// String names the outcome in lower case.
func (o Outcome) String() string {
	switch o {
	case Granted:
		return "granted"
	case Refused:
		return "refused"
	default:
		return "failed"
	}
}

// NoExpiry in Vote.Remaining says that the key has no time to live at all: not
// this library's doing, and nothing but an operator will free it.
const NoExpiry time.Duration = -1

// Vote is one instance's answer to one command.
type Vote struct {
	Outcome Outcome

	// Token is the resource's counter: after the increment for an Acquire that
	// was granted with Fence, as it stands for Look. 0 otherwise.
	Token fencing.Token

	// Spare is how many of Request.Reserve tokens were reserved (Acquire with Fence,
	// granted): they are Token and those right below it, down to Token-Spare, which is
	// the vote's first.
	Reserved int

	// Remaining is how long the key that stands in the way has to live
	// (Acquire and Look, refused): 0 if the server didn't say, NoExpiry if it
	// lives for ever.
	Remaining time.Duration

	// Holder is the value that the key has (Look, refused).
	Holder string

	// Replaced says that the key held Request.Replace and was overwritten
	// (Acquire, granted).
	Replaced bool

	// Woke says that a waiter was called (Release with Wake, Withdraw).
	Notified bool

	// Clock is the server's wall clock at some moment between the command's
	// arrival and its answer; zero if it wasn't asked for or not told.
	Clock time.Time

	// Unsent says of a failed vote that the command was certainly not carried out
	// and never will be: it didn't reach the server (its connection was refused,
	// say), or the server turned it down before it began. There is nothing to undo.
	Unsent bool

	// Err says why a vote failed, or why it was refused where that isn't for
	// the key's sake (*SetMismatchError). Nil for a granted one.
	Err error
}
