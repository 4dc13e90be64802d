package wire

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/fencing"
)

// Op is what a Request asks for.
type Op uint8

// The operations. Each is atomic on the server.
const (
	// Acquire sets the key to the value with the TTL if the key does not exist:
	// SET key value NX PX ttl. With a Fence it also raises the key's counter by one, plus
	// the reserved tokens, in the same atomic step, and the vote carries the counter. It
	// fails and sets nothing if the counter would be further ahead of the server's clock
	// than Fence.Ahead.
	//
	// With Replace, a key that holds that value counts as free. It is overwritten in the
	// same step, and Vote.Replaced says so.
	//
	// Granted: set. Refused: the key exists, or another Set was used for it. A request that
	// names a Run may raise the counter by one although it is refused or fails. If there was
	// none it may make one at Fence.Token, which then belongs to Fence.Set.
	Acquire Op = iota + 1

	// Raise lifts the counter to Fence.Token if it is lower, but only while the key holds
	// the value.
	//
	// Granted: the key holds the value, and the counter is at least the token. Refused:
	// the key is gone or holds another value; nothing was changed. Failed, and nothing was
	// changed: the token is further ahead of the server's clock than Fence.Ahead.
	Raise

	// Extend sets the key's remaining time to the TTL if it holds the value.
	//
	// Granted: it did. Refused: the key is gone or holds another value.
	Extend

	// Restore puts a running lease back on an instance that lacks it: it sets the key if
	// it does not exist, and lifts the counter to Fence.Token.
	//
	// Granted: set now, or the key held the value already. Refused: the key holds another
	// value. Failed, and nothing was changed: as with Raise.
	Restore

	// Release deletes the key if it holds the value. With Notify it also notifies the
	// first process in the key's wait queue that can still be reached, if the key is free
	// now (see Notifier).
	//
	// Granted: deleted. Refused: the key was gone or held another value. Either way
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
	// Release): in ascending order, above Key, at most MaxKeys-1 of them. Usually nil. The
	// request is then about all of its keys, in the same atomic step, with one value:
	//
	//   - Acquire is granted if every key is free, or holds Replace. It sets all keys, and
	//     raises every counter to one token: the largest that a grant of any of the keys
	//     alone would get. In any other case it changes nothing, not even a counter, and a
	//     vote that is refused names the first key in the way (Vote.InTheWay).
	//   - Raise and Restore are granted as if each key was asked for alone and all were
	//     granted. Otherwise they change nothing. Restore sets the missing keys; those that
	//     hold the value get the TTL if they have less.
	//   - Extend and Release do what they do to each key that holds the value, and are
	//     granted if all keys did. With Notify, Release notifies a process for each key.
	//
	// Fence.Reserve is 0 then. A vote that is granted says how many keys it is about
	// (Vote.Keys).
	Also []string

	// Value is what the key is set to or compared with: a random value that belongs to one
	// round. Empty for Look and Tick.
	Value string

	// TTL is how long the key lives (Acquire, Extend, Restore): whole milliseconds, at
	// least one.
	TTL time.Duration

	// Run is the run of the server that is asked, as the last Probe found it (Acquire,
	// Raise, Extend, Restore, Tick). A server in another run, or one that is no master,
	// does nothing and answers with a *RunError. The server compares in the same atomic
	// step in which it carries out the request, so no proxy, no moved address and no
	// restart can come between. Only an Acquire may do something there: set its key, if the
	// vote isn't Unsent, and raise the counter by one, or make one at Fence.Token. Empty if the
	// run is hidden or not watched: then any server will do.
	//
	// After a restart or a promotion a server may have an older counter than the one that
	// tokens were given from. So the first Acquire with a Fence in a run lifts the counter
	// to the server's clock. With an empty Run it goes on from what it finds.
	Run Run

	// Replace is a value that Acquire may overwrite as if the key were free: the value of
	// the client's own last round, which was lost and may have left the key behind, or of
	// a lease that was handed off and is resumed. Usually empty, never the Value. Without a Fence it takes a
	// script. If an instance of the set is no Notifier, it is sent only to resume a lease.
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
	// On asks Acquire, Restore and Look to use the counter. Without it Acquire is the bare
	// SET NX PX of the Redis document.
	On bool

	// Token is what Raise and Restore lift the counter to. For Acquire it is where a counter
	// starts that would start from the server's clock, because it was lost or the last grant
	// was in another run: at Token, if that is above the clock and no further ahead of it
	// than Ahead, or else right above the clock. So a new resource's counters start at the
	// same token on all instances. The second grant may start from the clock again. A Token
	// further ahead than that may fail with ErrCounter in place of a start from the clock: then
	// a counter was made there. Zero means no preference.
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
