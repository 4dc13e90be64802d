package instance

import (
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// A lock that was never locked before, or not for long, has no counter. A transaction makes
// one, which starts where the request says (Fence.Token), in place of INCR:
//
//	MSETNX counter start text ...   both or, if one of them exists, none
//	PEXPIREAT counter start NX      so it is gone at once if the clock is past start
//	PEXPIRE counter ttl GT          if it is not gone
//	PEXPIRE text ttl NX
//	SET lock value NX PX ttl
//
// The lock is granted, with start as the token, if all of this was done, the text is the one
// that a grant would write, and start is above the server's clock and no further ahead of it
// than the client allows. acquire.lua would have granted the same token. Anything else is for
// acquire.lua to decide.
//
// Whatever else is found, and even if nothing follows, a counter that the transaction made and
// left is as good as one that acquire.lua makes:
//
//   - It started above the server's clock, or it would be gone: PEXPIREAT deletes a key whose
//     time has passed. So tokens that the lost counter gave are below it, as round.go in
//     package quorum needs. A text without its counter does no harm: the counter is lost.
//   - Its text names the run that the request names. In another run the next grant starts from
//     the clock.
//   - MSETNX makes both keys, so that the text vouches for no counter that was there before.
//
// A counter or a text that existed keeps its value, and its TTL gets no shorter. That is so
// because they have a TTL: a counter without one was counted when it was lost, or was written
// by another program, and may be deleted.

// fresh guesses whether a lock that is not known here (see warm) has no counter, or is free if
// fencing is off. A lock for each job is new each time; others have been locked by other
// processes. A wrong guess costs a transaction before the script.
type fresh struct {
	// known: the server has the commands.
	known atomic.Bool
	// score rises with each lock that was new and falls with each one that was not.
	score atomic.Int32
}

// mostFresh bounds the score, so that few locks suffice to change the guess.
const mostFresh = 8

func (f *fresh) likely() bool { return f.score.Load() > 0 }

// note takes in whether a lock was new. A lost update does no harm.
func (f *fresh) note(was bool) {
	by := int32(-1)
	if was {
		by = 1
	}
	f.score.Store(max(-mostFresh, min(f.score.Load()+by, mostFresh)))
}

// start is the commands that make a counter. They point at the call.
type start struct {
	text bytesArg // beside the counter
	ms   int64    // when the counter is gone if it is not kept: the token, in milliseconds
	life int64    // the TTL of both, in milliseconds

	cmds [4]*redis.RawWriteToCmd
}

func newStart(c *call) *start {
	s := &start{}
	to := queuedReplies{call: c}
	s.cmds = [...]*redis.RawWriteToCmd{
		//guard:made-together  a transaction makes a counter only where there is none, together with its text
		redis.NewRawWriteToCmd(&neverEnds, to, "MSETNX", &c.counter, &c.token, &c.set, &s.text),
		//guard:late-counter-is-gone  a counter that a late transaction makes doesn't stay
		redis.NewRawWriteToCmd(&neverEnds, to, "PEXPIREAT", &c.counter, &s.ms, "NX"),
		//guard:made-counter-lives  a counter that a transaction makes has the whole time to live
		redis.NewRawWriteToCmd(&neverEnds, to, "PEXPIRE", &c.counter, &s.life, "GT"),
		redis.NewRawWriteToCmd(&neverEnds, to, "PEXPIRE", &c.set, &s.life, "NX"),
	}
	return s
}

// prepare makes the arguments. The text is that of the moment at which the counter starts: the
// server's clock is right below it.
func (s *start) prepare(c *call, set string) {
	c.counterKey()
	c.setKey()
	s.ms, s.life = int64(c.token/1000), 6*c.quarter
	s.text.b = appendText(s.text.b[:0], c, set, int64(c.token))
}

// appendText appends the text that a grant at a time writes beside the counter, as counter.lua
// has it.
func appendText(p []byte, c *call, set string, micros int64) []byte {
	p = append(append(p, set...), ' ')
	p = append(strconv.AppendInt(p, c.quarter, 10), '/')
	p = append(strconv.AppendInt(p, micros/(c.quarter*1000), 10), ' ')
	return append(p, c.req.Run...)
}

// made is the server's replies to the commands of a start.
type made struct {
	both bool // MSETNX has made the counter and its text
	kept bool // and they stay
	bad  bool // one of the commands failed
}

// made reads them.
func (r *parser) made() made {
	var m made
	next := func() bool {
		m.bad = m.bad || len(r.rest) > 0 && r.rest[0] == '-'
		return r.counted() == 1
	}
	m.both = next()
	next() // PEXPIREAT did something either way
	counter, text := next(), next()
	m.kept = counter && text
	return m
}

// startsCounter reports whether a call's transaction is to make a counter.
func (r *Redis) startsCounter(req *wire.Request) bool {
	return req.Fence.On && req.Fence.Token > 0 && r.fresh.known.Load() && r.fresh.likely()
}
