package wire

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/fencing"
)

// Op is what a Request asks for.
type Op uint8

// The operations. Each is atomic on the server, and about all of Request.Keys. What is said of
// the counter applies to the counter of each key.
//
// A Raise, an Extend, a Restore and a Pass that are refused change nothing. Neither does a request that
// fails with a *RunError or a *CounterError, unless it is an Acquire.
const (
	// Acquire sets each key that doesn't exist to the value with the TTL: SET key value NX PX
	// ttl, the command of the Redis document. With a Fence it also counts the keys' counters up
	// by one, and the vote carries a token. Before that it deletes the keys that hold one of
	// the values in Request.Delete. Of several keys it sets all or none.
	//
	// The run, the server's clock, and how far the counters are ahead of it are read in the same
	// atomic step. The Instance judges them only afterwards, so an Acquire that isn't granted may
	// have changed something. Its counters may have risen, which does no harm to the order of
	// tokens. If it failed it may have set the keys, unless the vote is Unsent, and the caller
	// has to delete them.
	//
	// Granted: all keys were set. Refused: a key exists, and none was set. Vote.InTheWay names the
	// first one that exists. Failed with a *CounterError: a counter is further ahead of the server's
	// clock than Fence.Ahead. Failed with a *SetMismatchError: clients of another Set use the server.
	Acquire Op = iota + 1

	// Raise lifts the counters to Fence.Token where they are lower, but only while all keys
	// hold the value. A counter that is lifted lives until the server's clock has passed the
	// token by Ahead and Fence.TTL, or longer.
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

	// Pass hands a running lease on, with a larger token: it sets the keys' remaining time to the TTL,
	// if all of them hold the value, and with a Fence lifts the counters to Fence.Token.
	//
	// Granted: it did. Refused: a key is gone or holds another value. Failed: as with Raise.
	Pass

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

	// Enqueue puts a waiting process at the end of a key's queue, or at the front (see Waiter). A
	// process that is in the queue already keeps its position. It is only sent to a Notifier.
	//
	// Granted: in the queue. Refused: the key is free, so no release will come, and the
	// process is not in the queue; never if Waiter.Yield is set.
	Enqueue

	// Dequeue takes a waiting process out of a key's queue. If it is not there any more,
	// because it was notified, and the key is free, the next process is notified instead.
	// It is only sent to a Notifier.
	//
	// Granted: it was there. Refused: it was not. Vote.Notified says whether another
	// process was notified.
	Dequeue

	// Probe stands for Instance.Probe in errors. No Request asks for it.
	Probe
)

var opNames = [...]string{Acquire: "acquire", Raise: "raise", Extend: "extend", Restore: "restore", Pass: "pass", Release: "release", Look: "look", Tick: "tick", Enqueue: "enqueue", Dequeue: "dequeue", Probe: "probe"}

// String names the operation in lower case.
func (op Op) String() string {
	if op == 0 || int(op) >= len(opNames) {
		return fmt.Sprintf("op(%d)", uint8(op))
	}
	return opNames[op]
}

// Held reports whether the operation is about a key that the client has set before: Raise,
// Extend, Restore, Pass and Release. Where requests wait for a server, these go first, because a
// lease that is extended too late is lost.
func (op Op) Held() bool { return op >= Raise && op <= Release }

// MaxKeys is how many keys a Request may be about. A server serves no other client while it looks
// at them, and the more keys a lease needs, the less often all of them are free at once.
const MaxKeys = 16

// Request is one request to one instance. Package quorum sends valid fields only: an
// Instance need not check them again.
type Request struct {
	Op Op

	// Keys are the names of the locked resources, and the locks' keys on the server: each has 1
	// to 1024 bytes, no NUL and no braces. There is one key, or for a lease on several (Acquire,
	// Raise, Extend, Restore, Pass, Release) up to MaxKeys in ascending order, each once. Nil for
	// Tick. All requests about a lease share the slice, so nobody may change its elements.
	Keys []string

	// Value is what the keys are set to or compared with: a random value that one round
	// chose. Empty for Look, Tick, Enqueue and Dequeue.
	Value string

	// TTL is how long the keys live (Acquire, Extend, Restore, Pass), or the queue is kept from now on
	// (Enqueue): whole milliseconds, at least one.
	TTL time.Duration

	// Run is the run of the server that is asked, as the last Probe found it (Acquire,
	// Raise, Extend, Restore, Pass, Tick). A server in another run, or one that is no master,
	// does nothing and answers with a *RunError. The server compares in the same atomic
	// step in which it carries out the request, so no proxy, no moved address and no
	// restart can come between. Empty if the run is hidden or not watched: then any server
	// will do.
	//
	// An Acquire may have set the keys before the other run is noticed, see Acquire. Only Acquire
	// compares the set in the run, so that a lease outlives a change of the set.
	Run Run

	// Delete are values that Acquire deletes from the keys first, in the same step: the client's
	// own earlier values that may still be there, or the value of a lease that was handed off and
	// is resumed. So no SET is refused by an earlier value of the same client, and no SET
	// overtakes the delete of such a value. Usually nil. The Value is never among them.
	Delete []string

	// Fence is for Acquire, Raise, Restore, Pass and Look.
	Fence Fence

	// Notify asks Release to notify a waiting process. It is only sent to a Notifier.
	Notify bool

	// Waiter is the process that Enqueue and Dequeue are about.
	Waiter Waiter

	// Clock asks for the server's clock in Vote.Clock.
	Clock bool
}

// Waiter is a process that waits for a lock.
type Waiter struct {
	// Address is the address of the process's Subscription on the same server.
	Address string
	// Front asks for the first position: the process was notified, and came too late.
	Front bool
	// Yield asks for a position although the key may be free: another process was
	// notified and is to have the lock first.
	Yield bool
}

// Fence is what a Request says about the keys' counters, from which fencing tokens come.
type Fence struct {
	// On asks Acquire, Restore, Pass and Look to use the counter. Without it, Acquire sends only
	// the SET NX PX of the Redis document, and what vouches for the grant.
	On bool

	// Token is what Raise, Restore and Pass lift the counter to. For Acquire it is the token at
	// which a counter starts if it doesn't exist or is low (see Vote.Low), unless that token is
	// further from the server's clock than Ahead. So a new resource's counters start at the same
	// token on all instances. Zero means no preference.
	Token fencing.Token

	// Floor is the largest token that a counter from before the present run can have reached
	// (Acquire). A counter at or below it may be an older copy. Never 0: a counter that expired
	// just before it was counted up is 1.
	Floor fencing.Token

	// TTL is the least time for which a counter stays after the server's clock has passed the
	// counter's first token (Acquire, Raise, Restore, Pass): whole milliseconds. So a counter
	// that expires starts again from a clock that has passed it.
	TTL time.Duration

	// Ahead is how far the counter, read as microseconds since 1970, may be ahead of the
	// server's clock (Acquire, Raise, Restore, Pass): whole microseconds, above zero. A server whose
	// counter is, or would be, further ahead doesn't count: the vote is a *CounterError.
	Ahead time.Duration
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
	// Refused: the server certainly did not. Each operation says what it may have changed all the
	// same.
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

	// InTheWay is the number of the first key in the way of a request for several (Acquire,
	// refused): 1 for the first of Request.Keys, and so on. 0 otherwise.
	InTheWay uint8

	// Keys is how many keys a request for several was about (granted). 0 for a request about
	// one. So a grant by an Instance that reads only the first of Request.Keys counts for nothing.
	Keys uint8

	// Token, for a granted Acquire with a Fence, is the smallest token that the instance can
	// count for. It is above each token that the instance counted for before. For a Look it is
	// the present value of the counter. 0 otherwise.
	Token fencing.Token

	// Low says that a counter isn't at Token yet (Acquire with a Fence, granted): it is new, or
	// may be an older copy, and isn't above the server's clock; or the request is about several
	// keys, and another counter is higher. The instance counts for a token only after a Raise.
	Low bool

	// Remaining is how long the key in the way still lives (Acquire and Look,
	// refused): 0 if the server did not say, NoExpiry if it lives forever.
	Remaining time.Duration

	// Holder is the value that the key in the way has (Acquire and Look, refused). For an Acquire
	// it is empty if the server did not say.
	Holder string

	// Replaced says that each key held one of the values in Request.Delete (Acquire, granted).
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

	// Err says why a vote failed. Nil for a granted or a refused one.
	Err error
}
