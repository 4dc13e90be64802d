package instance

import (
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// A lock that was never locked, or not for long, has no counter. A transaction can then make one.
// The counter starts where the request says (wire.Fence.Token). The usual transaction has SET and
// INCR; this one adds three commands:
//
//	MSETNX counter token-1 text "set 0/0 ?"   both or, if one of them exists, none
//	SET lock value NX PX ttl
//	INCR counter
//	PEXPIRE counter ttl NX                    NX: a key that has a TTL keeps it
//	PEXPIRE text ttl NX
//
// The lock is granted with the token if all five commands took effect, and if the token is above the
// server's clock, by no more than the client allows. acquire.lua would have given the same token.
// If MSETNX did nothing, the other commands do what the usual transaction does.
//
// The text names the set of instances, but no run. Like the text of a Restore, it vouches for no
// counter. A transaction expects another text, so the next grant takes acquire.lua. It continues
// from the clock, or from the counter if that is larger. Nobody takes back or lowers what a
// transaction made. So tokens rise, whatever happens to the transaction:
//
//   - It arrives late. Then the token is behind the clock, and isn't granted. No later grant
//     continues from the counter without comparing it with the clock. The same is true if it
//     arrives twice, after a FLUSHALL, in another run, or at another server.
//   - One of the two keys was evicted before. Then MSETNX makes none, so no text that was there
//     vouches for a new counter, and INCR shows that the counter was lost. Or one key is evicted
//     afterwards. Then the counter is lost again, or has no text.
//   - The server's clock is wrong. It bounds the token in the same step. A counter too far ahead
//     of the clock stays, but gives no token, and no raise or restore settles a token beyond
//     the bound (lift.lua).
//   - There is another set of instances. If it locked first, MSETNX does nothing. If it comes
//     later, it is refused, as after every grant.
//
// No line enforces that requests name a run. Requests of package quorum do. A client with a library
// version from before this file treats the text like that of a Restore. A request that names no run
// continues from what it finds, even from a counter that came late after the real one was lost. Nor
// does a line enforce that the request's Token is near the clock. The Token of quorum is ahead of the
// slowest server that it knows by at most half an InstanceTimeout (serverclock.Start).
//
// # What a failed request leaves behind
//
// The counter and the text, for six quarters. They affect only
//
//   - a client whose set is older or has another name: it is refused, as after a grant. So if a
//     request reaches the server of another deployment, in another run, the clients of that
//     deployment can't take this one lock there.
//   - a server whose clock was set back by more than Ahead since the client read it, or a server
//     with such a clock in its place. It refuses the lock until its clock has caught up, as it
//     refuses every lock that it granted before.
//
// # The second grant
//
// It takes a script, and starts from the request's Token once more. On some servers a script made the
// counter: an older server, a missing right, no guess. They continue from the counter. If a round
// meets both kinds of servers, the tokens differ. Then the round takes a second stage, but only once:
// its grants leave the usual text, and its raises leave the same counter.

// starts decides for which locks a transaction makes the counter, or asks without fencing. It
// guesses for locks of which this client knows nothing (see warm). If each job has its own lock,
// every lock is new. Other locks were locked by other processes, usually or just once. A wrong
// guess costs an exchange, and then the lock takes a script.
type starts struct {
	// refusedIn is the run in which the server refused such a transaction, or a right was missing.
	refusedIn atomic.Pointer[wire.Run]
	// score counts locks of which nothing was known. It rises if a transaction granted the lock, or
	// would have done so in place of a script. Otherwise it falls, by more.
	score atomic.Int32
}

// mostStarts bounds the score, so that a few locks are enough to change the guess.
const mostStarts = 8

// note records whether a guess was right, or would have been. A lost update does no harm.
func (s *starts) note(right bool) {
	by := int32(-2)
	if right {
		by = 1
	}
	s.score.Store(max(-mostStarts, min(s.score.Load()+by, mostStarts)))
}

// refused makes scripts start the counters for the rest of this run of the server.
func (s *starts) refused(in *wire.Run) {
	run := *in
	s.refusedIn.Store(&run)
}

// can reports whether a transaction can ask for a lock of which this client knows nothing.
func (s *starts) can(c *call) bool {
	if !c.req.Fence.On {
		return true
	}
	//guard:starts-have-a-ttl  no transaction makes a counter that would be gone at once
	if c.req.Fence.Token <= lostBelow || c.quarter < 1 {
		return false
	}
	refused := s.refusedIn.Load()
	return refused == nil || *refused != c.req.Run
}

// start has the commands that make a counter. They point into the call.
type start struct {
	both, counter, text *redis.RawWriteToCmd
}

func newStart(c *call) *start {
	to := queuedReplies{call: c}
	return &start{
		//guard:made-together  a transaction makes a counter only where there is none, and no text either
		both: redis.NewRawWriteToCmd(&neverEnds, to, "MSETNX", &c.counter, &c.before, &c.set, &c.unvouched),
		//guard:made-counter-lives  a counter that a transaction makes lives as long as any, and one that was there no shorter
		counter: redis.NewRawWriteToCmd(&neverEnds, to, "PEXPIRE", &c.counter, &c.life, "NX"),
		//guard:made-text-lives  the text that a transaction makes lives as long as the counter
		text: redis.NewRawWriteToCmd(&neverEnds, to, "PEXPIRE", &c.set, &c.life, "NX"),
	}
}

// starts reports whether the call's transaction makes a counter.
func (c *call) starts() bool { return c.guessed && c.req.Fence.On }

// prepareStart fills in the arguments of the commands.
func (c *call) prepareStart(set *setText) {
	if c.start == nil {
		c.start = newStart(c)
	}
	c.before, c.life, c.unvouched.b = c.token-1, 6*c.quarter, set.unvouched
}
