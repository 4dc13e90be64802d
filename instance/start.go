package instance

import (
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// A lock that was never locked, or not for long, has no counter. A transaction then makes one,
// which starts where the request says (wire.Fence.Token). These commands come before the usual
// SET and INCR:
//
//	MSETNX counter token-1 text "set 0/0 ?"   both or, if one of them exists, none
//	PEXPIRE counter ttl NX                    NX: a key that was there keeps its TTL
//	PEXPIRE text ttl NX
//
// The lock is granted with the token if all of this was done, and the token is above the clock
// and no further ahead of it than the client allows. acquire.lua would have given the same
// token. If MSETNX did nothing, the transaction is the usual one. In any other case
// acquire.lua decides.
//
// The text names the set, but no run, so it vouches for nothing, like that of a Restore. The
// next grant takes acquire.lua, because this isn't the text that a transaction expects, and
// goes on from the clock, or from the counter if that is larger. Hence tokens rise whatever
// becomes of the transaction:
//
//   - It comes late: then the token is behind the clock. It is not granted, and no grant goes
//     on from the counter without a look at the clock. The same is true of a transaction that
//     comes twice, after a FLUSHALL, in another run, or to another server.
//   - One of the two keys was evicted before: MSETNX makes none, so that no text that was there
//     vouches for a new counter, and INCR shows a counter that was lost. One is evicted
//     afterwards: a counter that is lost again, or one without a text.
//   - The clock of the server is wrong: it bounds the token in the same step. A counter that is
//     too far ahead of it stays if acquire.lua doesn't follow. It gives no token, and no raise
//     or restore settles one beyond the bound (lift.lua).
//   - Another set of instances: if it locked before, MSETNX does nothing. If it comes later, it
//     is refused, as after every grant.
//   - A client with an older version of this library treats the text as that of a Restore. If it
//     also names no run, it goes on from what it finds: also from a counter that came late after
//     the real one was lost.
//
// acquire.lua first takes back what was made in vain (undo.lua): the text, so that a request
// that was not granted keeps no other set out; and the counter, so that one that is too far
// ahead doesn't block the lock. Nobody relies on the counter that it deletes. The lock's key has
// the request's value, so since the transaction set it, no other value was granted, raised or
// restored here. The text is unchanged, so neither was the request's own value: it has not been
// granted here, so it is not raised, and restore.lua writes the text anew, because a late script
// may come after the restore. If the key is gone or another holder's, the counter stays, without
// a text. If the script never comes, both stay until they expire. A server that has no Lua gets
// no such transaction.

// starts says for which locks a transaction makes counters, or asks for a lock without fencing.
// It guesses, for locks of which this client knows nothing yet (see warm). A lock for each job
// is new each time; other locks have been locked by other processes. A wrong guess costs an
// exchange, and makes the lock one that takes a script.
type starts struct {
	// options: the last Probe found that the server's PEXPIRE has NX, as from Redis 7 on.
	options atomic.Bool
	// refusedIn is the run in which the server, or a right that is missing, failed them.
	refusedIn atomic.Pointer[wire.Run]
	// score rises with each right guess, and falls by more with each wrong one.
	score atomic.Int32
}

// mostStarts bounds the score, so that a few locks suffice to change the guess.
const mostStarts = 8

// note takes in whether a lock that was not known could be granted by a transaction. A lost
// update does no harm.
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

// can reports whether a transaction can ask for a lock that is not known.
func (s *starts) can(req *wire.Request, noScripts bool) bool {
	if !req.Fence.On {
		return true
	}
	//guard:starts-need-options  no transaction makes a counter that could stay forever
	if req.Fence.Token <= lostBelow || noScripts || !s.options.Load() {
		return false
	}
	refused := s.refusedIn.Load()
	return refused == nil || *refused != req.Run
}

// guess reports whether a lock that is not known is to be asked for by a transaction. A wrong
// guess takes two exchanges, so there must be time for both. took is how long the last one took.
func (s *starts) guess(c *call, took time.Duration) bool {
	return s.score.Load() > 0 && (c.stale.IsZero() || time.Until(c.stale) > took)
}

// start is the commands that make a counter. They point at the call.
type start [3]*redis.RawWriteToCmd

func newStart(c *call) *start {
	to := queuedReplies{call: c}
	return &start{
		//guard:made-together  a transaction makes a counter only where there is none, and no text either
		redis.NewRawWriteToCmd(&neverEnds, to, "MSETNX", &c.counter, &c.before, &c.set, &c.unvouched),
		//guard:made-counter-lives  a counter that a transaction makes lives as long as any, and one that was there no shorter
		redis.NewRawWriteToCmd(&neverEnds, to, "PEXPIRE", &c.counter, &c.life, "NX"),
		//guard:made-text-lives  the text that a transaction makes lives as long as the counter
		redis.NewRawWriteToCmd(&neverEnds, to, "PEXPIRE", &c.set, &c.life, "NX"),
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

// made is the replies to the commands of a start.
type made struct {
	both bool // MSETNX has made the counter and its text
	kept bool // and they have a TTL
	bad  bool // one of the commands failed
}

// made reads them.
func (r *parser) made() made {
	var m made
	done := func() bool {
		m.bad = m.bad || len(r.rest) > 0 && r.rest[0] == '-'
		return r.counted() == 1
	}
	//guard:made-is-told  a counter counts as made by a transaction only if the server says so
	m.both = done()
	counter, text := done(), done()
	m.kept = counter && text
	return m
}
