package wire

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/fencing"
)

// Op is what a Command asks for.
type Op uint8

// The operations. Each is atomic on the server.
const (
	// Acquire sets the key to the value with the TTL if the key doesn't exist:
	// SET key value NX PX ttl. With Request.Fence it also raises the resource's
	// counter by one (and Request.Reserve), in the same atomic step, and the vote
	// carries the counter. It fails, and sets nothing, if the counter would be further
	// ahead of the server's clock than Request.Ahead.
	//
	// With Request.Replace a key that holds that value counts as free: it is
	// overwritten in the same step, and Vote.Replaced says that it was.
	//
	// Granted: set. Refused: the key exists, or another Set was seen.
	Acquire Op = iota + 1

	// Raise lifts the resource's counter to Request.Token if it is lower, but
	// only while the key holds the value.
	//
	// Granted: the key holds the value, and the counter is at least the token.
	// Refused: the key is gone or somebody else's; nothing was changed. Failed, and
	// nothing was changed: the counter would have to be lifted further ahead of the
	// server's clock than Request.Ahead.
	Raise

	// Extend sets the key's remaining time to the TTL if it holds the value.
	//
	// Granted: it did. Refused: the key is gone or somebody else's.
	Extend

	// Restore puts a running lease back on an instance that lacks it: it sets
	// the key if it doesn't exist, and lifts the counter to Request.Token.
	//
	// Granted: set now, or the key held the value already. Refused: somebody
	// else's key. Failed, and nothing was changed: as with Raise.
	Restore

	// Release deletes the key if it holds the value. With Request.Notify it also
	// calls the first waiter in the key's line (see Enqueue) who can still be
	// reached, if the key is free now.
	//
	// Granted: deleted. Refused: the key was gone or somebody else's. Either way
	// Vote.Woke says whether somebody was called.
	Release

	// Look reads and changes nothing.
	//
	// Granted: the key is free. Refused: it is held; the vote carries Holder
	// and Remaining. Either way the vote carries the counter in Token, 0 if
	// there is none.
	Look

	// Tick asks for the server's clock alone.
	//
	// Granted: the vote carries Clock.
	Tick

	// Enqueue puts Request.Waiter into the line of those who wait for the key: at
	// its end, or in front with Request.Front. Who stands there already keeps the
	// place. The line is kept for Request.TTL from now. It is no part of the
	// lock: nothing is granted by it, and losing it costs a wake-up.
	//
	// Granted: in the line. Refused: the key is free, so no release is to be
	// waited for, and the waiter is not in the line; never with Request.Yield.
	Enqueue

	// Dequeue takes Request.Waiter out of the line. If it isn't there any more,
	// because it was called, and the key is free, the next one is called instead.
	//
	// Granted: it was there. Refused: it wasn't.
	Dequeue

	// Probing is no command: it stands for Instance.Probe in errors.
	Probing
)

var opNames = [...]string{Acquire: "acquire", Raise: "raise", Extend: "extend", Restore: "restore", Release: "release", Look: "look", Tick: "tick", Enqueue: "enlist", Dequeue: "withdraw", Probing: "probe"}

// String names the operation in lower case.
func (op Op) String() string {
	if op == 0 || int(op) >= len(opNames) {
		return fmt.Sprintf("op(%d)", uint8(op))
	}
	return opNames[op]
}

// Held reports whether the command is about a key that was set before, to keep it or to
// give it back (Raise, Extend, Restore, Release), and not about one that is wanted. Where
// commands wait for a server, these go first: a lease that is extended too late is lost.
func (op Op) Held() bool { return op >= Raise && op <= Release }

// Command is one request to one instance. Its fields are valid whenever this
// package sends it: an Instance need not check them again.
type Request struct {
	Op Op

	// Key is the resource's name and the lock's key on the server: 1 to MaxKey
	// bytes, no NUL and no braces. Empty for Tick.
	Key string

	// Value is what the key is set to or compared with: this round's own random
	// value. Empty for Look and Tick.
	Value string

	// TTL is how long the key lives (Acquire, Extend, Restore), or the line
	// (Enqueue): whole milliseconds, at least one.
	TTL time.Duration

	// Token is the token that Raise and Restore lift the counter to.
	Token fencing.Token

	// Fence asks Acquire, Restore and Look to keep or read the resource's
	// counter. Without it Acquire is the bare SET NX PX of the Redis document.
	Fence bool

	// CounterTTL is how long the resource's counter lives after this command at
	// least (Acquire, Raise, Restore with Fence): whole milliseconds. An Instance
	// may keep it for half as long again, so as not to write that with each grant.
	CounterTTL time.Duration

	// Spare is how many tokens Acquire with Fence reserves beside its own, for the
	// successors of its holder: zero or more. The counter is raised by 1+Vote.Spare in
	// the same step, and the vote carries the last of them. Vote.Spare is Spare, or fewer,
	// so that reserved tokens never lift the counter above the server's clock, in
	// microseconds since 1970.
	Reserve int

	// Ahead is how far a counter may be ahead of the server's clock, with the counter
	// read as microseconds since 1970 (Acquire and Restore with Fence, Raise): whole
	// microseconds, above zero. A server that would have to count or lift further fails
	// with a *CounterError and does nothing.
	Ahead time.Duration

	// Run names the server that is asked, and the run of it, by Identity.Run as the
	// last Probe found it: for Acquire, Raise, Extend, Restore and Tick. A server
	// that isn't in this run, or isn't a master, does nothing and answers with a
	// *RunError. It compares in the same atomic step in which it carries out the
	// command, so that no proxy, no address that moves and no restart can come
	// between. Empty if the run is hidden or not watched: then any server will do.
	//
	// A server that was restarted or promoted may have an older counter than it, or
	// its predecessor, gave tokens from. So Acquire with Fence first raises a counter
	// that was last granted from in another run, or in none that is known, to the
	// server's clock. With an empty Run it goes on from what it finds.
	Run Run

	// Set is the client's idea of the set of instances. Acquire with Fence is
	// refused with a *SetMismatchError by an instance on which this resource
	// was last locked under another one.
	Set Set

	// Replace is a value that Acquire may overwrite as if the key were free: that of
	// the caller's own last round, which was lost and may have left the key behind, or
	// that of a lease that was handed off and is resumed. Empty otherwise. For an
	// Acquire without Fence it takes a script; where an instance of the set is no
	// Listener, it is sent only to resume a lease.
	Replace string

	// Wake asks Release to call the first waiter in the key's line. Only sent to
	// an instance that is a Listener.
	Notify bool

	// Waiter is who is put into the line or taken out (Enqueue, Withdraw): the
	// Address of an Ear on the same server.
	Waiter string

	// Front asks Enlist for the first place: the waiter was called, and came too
	// late. Yield asks for a place though the key is free: somebody else was called,
	// and is let in first.
	Front, Yield bool

	// Clock asks for the server's clock in Vote.Clock.
	Clock bool
}
