package instance

import (
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// A lock that was never locked, or not for long, has no counter. A transaction then makes one,
// which starts where the request says (wire.Fence.Token). These commands come around the usual
// SET and INCR:
//
//	MSETNX counter token-1 text "set 0/0 ?"   both or, if one of them exists, none
//	SET lock value NX PX ttl
//	INCR counter
//	PEXPIRE counter ttl NX                    NX: a key that has a TTL keeps it
//	PEXPIRE text ttl NX
//
// The lock is granted with the token if all of this was done, and the token is above the clock
// and no further ahead of it than the client allows. acquire.lua would have given the same
// token. If MSETNX did nothing, the transaction is the usual one.
//
// The text names the set, but no run, so it vouches for nothing, like that of a Restore. The
// next grant takes acquire.lua, because this isn't the text that a transaction expects, and
// goes on from the clock, or from the counter if that is larger. Nothing that a transaction
// made is ever taken back or lowered. Hence tokens rise whatever becomes of the transaction:
//
//   - It comes late: then the token is behind the clock. It is not granted, and no grant goes
//     on from the counter without a look at the clock. The same is true of a transaction that
//     comes twice, after a FLUSHALL, in another run, or to another server.
//   - One of the two keys was evicted before: MSETNX makes none, so that no text that was there
//     vouches for a new counter, and INCR shows a counter that was lost. One is evicted
//     afterwards: a counter that is lost again, or one without a text.
//   - The clock of the server is wrong: it bounds the token in the same step. A counter that is
//     too far ahead of it stays. It gives no token, and no raise or restore settles a token
//     beyond the bound (lift.lua).
//   - Another set of instances: if it locked before, MSETNX does nothing. If it comes later, it
//     is refused, as after every grant.
//
// No line enforces that requests name a run. quorum's do; a client with a version of this library
// from before this file treats the text as that of a Restore. A request that names no run goes on
// from what it finds: also from a counter that came late after the real one was lost. Nor does a
// line enforce that the request's Token is near the clock. quorum's is no further ahead of the
// slowest server that it knows than half an InstanceTimeout (serverclock.Start).
//
// # What a request in vain leaves
//
// The counter and the text, for six quarters. They matter to nobody but
//
//   - a client whose set is older or has another name: it is refused, as after a grant. So a
//     request that came to the server of another deployment, in another run, keeps that one's
//     clients from this one lock there.
//   - a server whose clock was set back by more than Ahead since the client read it, or another
//     one with such a clock in its place. It refuses the lock until its clock has caught up, as
//     it refuses all that it granted before.
//
// # The second grant
//
// It takes a script, and starts from the request's Token once more. Servers on which a script made
// the counter (an older server, a right that is missing, no guess) go on from the counter. If a
// round meets both kinds, the tokens differ, and the round takes a second stage, once: its grants
// leave the usual text, and its raises the same counter.

// starts says for which locks a transaction makes counters, or asks for a lock without fencing.
// It guesses, for locks of which this client knows nothing (see warm). A lock for each job is
// new each time; other locks have been locked by other processes, usually or just once. A wrong
// guess costs an exchange, and makes the lock one that takes a script.
type starts struct {
	// refusedIn is the run in which the server, or a right that is missing, failed them.
	refusedIn atomic.Pointer[wire.Run]
	// score rises with each lock of which nothing was known and that a transaction granted, or
	// would have granted in place of a script. It falls by more with each other one.
	score atomic.Int32
}

// mostStarts bounds the score, so that a few locks suffice to change the guess.
const mostStarts = 8

// note takes in whether a guess was right, or would have been. A lost update does no harm.
func (s *starts) note(right bool) {
	by := int32(-2)
	if right {
		by = 1
	}
	s.score.Store(max(-mostStarts, min(s.score.Load()+by, mostStarts)))
}

// refused has scripts make the counters in this run of the server.
func (s *starts) refused(in *wire.Run) {
	run := *in
	s.refusedIn.Store(&run)
}

// can reports whether a transaction can ask for a lock of which nothing is known.
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

// start is the commands that make a counter. They point at the call.
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

// prepareStart makes the arguments.
func (c *call) prepareStart(set *setText) {
	if c.start == nil {
		c.start = newStart(c)
	}
	c.before, c.life, c.unvouched.b = c.token-1, 6*c.quarter, set.unvouched
}
