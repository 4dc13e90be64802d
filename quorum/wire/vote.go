package wire

import (
	"time"

	"github.com/redquorum/redlock/fencing"
)

// Outcome is the kind of an instance's answer. There are three and not two, because an
// answer that is missing is unknown: it is no refusal.
type Outcome uint8

// The outcomes.
const (
	// Failed: no answer, or none that can be counted. The request may have been carried
	// out, may still be carried out, or never was (see Vote.Unsent).
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

// NoExpiry in Vote.Remaining means that the key has no TTL at all. This library never sets
// such a key, and only an operator can free it.
const NoExpiry time.Duration = -1

// Vote is one instance's answer to one request.
type Vote struct {
	Outcome Outcome

	// InTheWay is the number of the first key in the way, of a request for several (Acquire
	// with Also, refused): 1 for Key, 2 for the first of Also, and so on. 0 otherwise.
	InTheWay uint8

	// Keys is how many keys a request for several was about (granted). 0 for a request about
	// one. So a grant by an Instance that doesn't know Request.Also counts for nothing.
	Keys uint8

	// Token is the counter: after the increment, for an Acquire with a Fence that was
	// granted; as it stands, for a Look. 0 otherwise.
	Token fencing.Token

	// Reserved is how many tokens were reserved beside Token (Acquire with a Fence,
	// granted), Fence.Reserve or less. They are those right below Token, so the vote's
	// first token is Token-Reserved.
	Reserved int

	// Remaining is how long the key in the way still lives (Acquire and Look,
	// refused): 0 if the server did not say, NoExpiry if it lives forever.
	Remaining time.Duration

	// Holder is the value that the key in the way has (Acquire and Look, refused). For an Acquire
	// it is empty if the server did not say.
	Holder string

	// Replaced says that the key held Request.Replace and was overwritten (Acquire,
	// granted).
	Replaced bool

	// Notified says that a waiting process was notified (Release with Notify, Dequeue).
	Notified bool

	// Clock is the server's wall clock at some moment between the request's arrival and its
	// answer. Zero if it was not asked for, or not told.
	Clock time.Time

	// Unsent says of a failed vote that the request was certainly not carried out and never
	// will be: it did not reach the server (the connection was refused, for example), or
	// the server rejected it before it began. There is nothing to undo.
	Unsent bool

	// Err says why a vote failed, or why it was refused if the reason is not the key
	// (*SetMismatchError). Nil for a granted vote.
	Err error
}

// First is the first of the tokens that were granted: Token is the last one.
func (v *Vote) First() fencing.Token { return v.Token - fencing.Token(v.Reserved) }
