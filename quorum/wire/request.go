package wire

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/fencing"
)

// Op is what a Request asks for.
type Op uint8

// The operations. Each is atomic on the server, and about all keys of the request (Request.Key
// and Also). What is said of a resource's counter and set is about each of the keys.
//
// A request that is refused changes nothing: it sets no key, raises no counter and makes none.
// Only a Release deletes the keys that it can. One that fails with a *RunError or a *CounterError
// changes nothing either.
const (
	// Acquire sets the keys to the value with the TTL if none of them exists:
	// SET key value NX PX ttl. With a Fence it also raises the counters in the same atomic
	// step, to one token, which the vote carries: by one, plus the reserved tokens. Of several
	// keys it is the largest token that a grant of any of them alone would get. It fails if
	// the token would be further ahead of the server's clock than Fence.Ahead.
	//
	// With Replace, a key that holds that value counts as free. It is overwritten in the
	// same step, and Vote.Replaced says so.
	//
	// Granted: set. Refused: a key exists, or another Set was used for it, which is looked at
	// first. Vote.InTheWay names the key.
	Acquire Op = iota + 1

	// Raise lifts the counters to Fence.Token where they are lower, but only while all keys
	// hold the value.
	//
	// Granted: all keys hold the value, and their counters are at least the token. Refused:
	// a key is gone or holds another value. Failed: the token is further ahead of the server's
	// clock than Fence.Ahead.
	Raise

	// Extend sets the keys' remaining time to the TTL if all of them hold the value.
	//
	// Granted: it did. Refused: a key is gone or holds another value.
	Extend

	// Restore puts a running lease back on an instance that lacks it: it sets the keys that
	// do not exist, gives those that hold the value the TTL if they have less, and lifts the
	// counters to Fence.Token.
	//
	// Granted: all keys hold the value now. Refused: a key holds another value. Failed: as
	// with Raise.
	Restore

	// Release deletes the keys that hold the value. With Notify it also notifies, for each key
	// that is free now, the first process in its wait queue that can still be reached (see
	// Notifier).
	//
	// Granted: all keys were deleted. Refused: a key was gone or held another value. Either way
	// Vote.Notified says whether a process was notified.
	Release

	// Look reads and changes nothing.
	//
	// Granted: the key is free. Refused: it is held; the vote carries Holder and
	// Remaining. With a Fence the vote carries the counter in Token, 0 if there is none.
	Look

	// Tick asks for the server's clock alone.
	//
	// Granted: the vote carries Clock.
	Tick

	// Enqueue, Dequeue and Probe are the other methods of a Notifier and an Instance, in
	// errors. No Request asks for them.
	Enqueue
	Dequeue
	Probe
)

var opNames = [...]string{Acquire: "acquire", Raise: "raise", Extend: "extend", Restore: "restore", Release: "release", Look: "look", Tick: "tick", Enqueue: "enqueue", Dequeue: "dequeue", Probe: "probe"}

// String names the operation in lower case.
func (op Op) String() string {
	if op == 0 || int(op) >= len(opNames) {
		return fmt.Sprintf("op(%d)", uint8(op))
	}
	return opNames[op]
}

// Held reports whether the operation is about a key that the client has set before: Raise,
// Extend, Restore and Release. Where requests wait for a server, these go first, because a
// lease that is extended too late is lost.
func (op Op) Held() bool { return op >= Raise && op <= Release }

// MaxKeys is how many keys a Request may be about. A server serves nobody else while it looks at
// them all, and the more keys a lease needs the less often all are free at once.
const MaxKeys = 16

// Request is one request to one instance. Package quorum sends valid fields only: an
// Instance need not check them again.
type Request struct {
	Op Op

	// Key is the name of the locked resource, and the lock's key on the server: 1 to
	// 1024 bytes, no NUL and no braces. Empty for Tick.
	Key string

	// Also are the other keys of a lease on several (Acquire, Raise, Extend, Restore,
	// Release): in ascending order, above Key, at most MaxKeys-1 of them. Usually nil.
	// Fence.Reserve is 0 with them.
	Also []string

	// Value is what the keys are set to or compared with: a random value that belongs to one
	// round. Empty for Look and Tick.
	Value string

	// TTL is how long the keys live (Acquire, Extend, Restore): whole milliseconds, at
	// least one.
	TTL time.Duration

	// Run is the run of the server that is asked, as the last Probe found it (Acquire,
	// Raise, Extend, Restore, Tick). A server in another run, or one that is no master,
	// does nothing and answers with a *RunError. The server compares in the same atomic
	// step in which it carries out the request, so no proxy, no moved address and no
	// restart can come between. Empty if the run is hidden or not watched: then any server
	// will do.
	//
	// After a restart or a promotion a server may have an older counter than the one that
	// tokens were given from. So the first Acquire with a Fence in a run lifts the counter
	// to the server's clock. With an empty Run it goes on from what it finds.
	Run Run

	// Replace is a value that Acquire may overwrite as if the key were free: the value of
	// the client's own last round, if its votes were split and it kept its keys, or of a lease
	// that was handed off and is resumed. Usually empty, never the Value.
	Replace string

	// Fence is for Acquire, Raise, Restore and Look.
	Fence Fence

	// Notify asks Release to notify a waiting process. It is only sent to a Notifier.
	Notify bool

	// Clock asks for the server's clock in Vote.Clock.
	Clock bool
}

// Fence is what a Request says about the key's counter, from which fencing tokens come.
type Fence struct {
	// On asks Acquire, Restore and Look to use the counter. Without it Acquire does what SET NX PX
	// does in the Redis document.
	On bool

	// Token is what Raise and Restore lift the counter to. For Acquire it is where a counter
	// starts that would start from the server's clock, because it was lost or the last grant
	// was in another run: at Token, if that is above the clock and no further ahead of it
	// than Ahead, or else right above the clock. So a new resource's counters start at the
	// same token on all instances. Zero means no preference.
	Token fencing.Token

	// TTL is the least time for which the counter lives after this request (Acquire,
	// Raise, Restore): whole milliseconds. An Instance may keep it for half as long again,
	// so that it need not write the TTL with each grant.
	TTL time.Duration

	// Reserve is how many tokens Acquire reserves beside its own, for the lease's local
	// successors: zero or more. The counter rises by 1+Vote.Reserved in the same step, and
	// the vote carries the last of these tokens. Vote.Reserved is Reserve or less: reserved
	// tokens never lift the counter above the server's clock, in microseconds since 1970.
	Reserve int

	// Ahead is how far the counter, read as microseconds since 1970, may be ahead of the
	// server's clock (Acquire, Raise, Restore): whole microseconds, above zero. A server
	// that would have to go further does nothing and fails with a *CounterError.
	Ahead time.Duration

	// Set is the set of instances that the client uses. If the key was last locked under
	// another set, the instance refuses Acquire with a *SetMismatchError.
	Set Set
}

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
