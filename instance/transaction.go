package instance

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/drift"
)

// transaction is acquisitions, as the commands of the Redis document and what vouches for them:
//
//	MULTI
//	SET key value NX PX ttl                 for each of their keys
//	SET counter start NX PXAT expiry        with fencing: where a new counter starts
//	INCR counter
//	GET mark, INFO replication, TIME        once, for all of them
//	EXEC
//
// The server carries it out in one step, and the client judges it afterwards (judge.go). In front of the
// SETs the client's own leftovers are deleted (wire.Request.Delete), and behind the last one of several keys
// they are deleted again if not all were free (undo.lua). Both are seldom, and scripts, by EVAL: an EVALSHA
// that the server doesn't know would fail in the middle.
//
// Without MULTI a clock that jumps forward and back around the SET would go unnoticed, and so would two
// SWAPDBs, and a pipeline that is cut in the middle would leave half of it done.
//
// Each link has one, whose commands are made once and used again.
type transaction struct {
	x                            *exchange
	calls                        []*call
	slots                        []*slot // those in use, then spare ones
	used                         int     // how many are in use
	queued                       int     // how many commands stand between MULTI and EXEC
	multi, mark, info, now, exec redis.Cmder
	asksMark, asksInfo           bool
}

// slot is one key of an acquisition: its commands, whose arguments point to its fields, and their
// results.
type slot struct {
	lock, counter      keyArg
	value              string
	ttl, start, expiry int64
	expires            string // PXAT or PX: at a time, or after a time
	set, begin, incr   redis.Cmder

	wasSet, made bool   // the key was set, the counter was made
	failure      string // the first error of SET and INCR
	ofCounter    bool   // it is INCR's
	n            int64  // what INCR counted to
}

func (t *transaction) init(x *exchange) {
	t.x, t.multi, t.exec, t.now = x, x.command("MULTI"), x.command("EXEC"), x.command("TIME")
	t.mark, t.info = x.command("GET", x.markKey), x.command("INFO", "replication")
}

// add adds an acquisition.
func (t *transaction) add(c *call, now drift.Instant) {
	r, f, first := t.x.r, &c.req.Fence, t.used
	for _, key := range c.req.Keys {
		if t.used == len(t.slots) {
			s := &slot{}
			s.set = t.x.command("SET", &s.lock, &s.value, "NX", "PX", &s.ttl)
			s.begin = t.x.command("SET", &s.counter, &s.start, "NX", &s.expires, &s.expiry)
			s.incr = t.x.command("INCR", &s.counter)
			t.slots = append(t.slots, s)
		}
		s := t.slots[t.used]
		t.used++
		s.lock.b = append(append(s.lock.b[:0], r.prefix...), key...)
		s.value, s.ttl = c.req.Value, c.req.TTL.Milliseconds()
		if f.On {
			s.counter.set(r.prefix, key, counterSuffix)
			start, known := r.clock.start(f, now)
			s.start, s.expires, s.expiry = start-1, "PX", f.Ahead.Milliseconds()+f.TTL.Milliseconds()
			if known && r.expiresAt.Load() {
				s.expires = "PXAT"
				//guard:new-counter-expires-late  a new counter lives until the server's clock has passed its tokens
				s.expiry += start / 1000
			}
		}
	}
	c.slots = t.slots[first:t.used]
	c.deletesLate = len(c.req.Delete) > 0 && slices.ContainsFunc(t.calls, func(earlier *call) bool {
		return slices.Contains(c.req.Delete, earlier.req.Value) ||
			slices.ContainsFunc(earlier.req.Keys, func(key string) bool { return slices.Contains(c.req.Keys, key) })
	})
	t.calls = append(t.calls, c)
	t.asksInfo = t.asksInfo || c.req.Run != ""
	t.asksMark = t.asksMark || c.req.Run.Epoch() != ""
}

// commands appends its commands to the exchange's.
func (t *transaction) commands() {
	if len(t.calls) == 0 {
		return
	}
	from := len(t.x.cmds)
	cmds := t.deletes(append(t.x.cmds, t.multi), t.calls, false)
	for i, c := range t.calls {
		cmds = t.deletes(cmds, t.calls[i:i+1], true)
		for _, s := range c.slots {
			//guard:key-expires  a key whose holder died is gone after its TTL
			//guard:free-key-only  a key is set only where it is free
			cmds = append(cmds, s.set)
			if c.req.Fence.On {
				//guard:counter-rises  each grant raises the counter
				cmds = append(cmds, s.begin, s.incr)
			}
		}
		if len(c.slots) > 1 {
			args := []any{"EVAL", undoScript.source, len(c.slots)}
			for _, s := range c.slots {
				args = append(args, &s.lock)
			}
			cmds = append(cmds, t.x.command(append(args, c.req.Value)...))
		}
	}
	if t.asksMark {
		cmds = append(cmds, t.mark)
	}
	if t.asksInfo {
		cmds = append(cmds, t.info)
	}
	t.queued = len(cmds) - from
	t.x.cmds = append(cmds, t.now, t.exec)
}

// deletes appends the script that deletes the leftovers of calls. One is for all of them, but for those that delete
// a value which the same transaction sets, or under a key that an earlier acquisition of the same transaction would get
// when that value is gone, as a resumption's: they are late, and each has its own.
func (t *transaction) deletes(cmds []redis.Cmder, calls []*call, late bool) []redis.Cmder {
	var keys, values []any
	for _, c := range calls {
		if c.deletesLate != late {
			continue
		}
		for _, value := range c.req.Delete {
			for _, s := range c.slots {
				keys, values = append(keys, &s.lock), append(values, value)
			}
		}
	}
	if len(keys) == 0 {
		return cmds
	}
	return append(cmds, t.x.command(slices.Concat([]any{"EVAL", deleteScript.source, len(keys)}, keys, values)...))
}

// deleted reads the reply to that script.
func (t *transaction) deleted(p *parser, calls []*call, late bool) {
	begun, failed := false, false
	for _, c := range calls {
		if c.deletesLate != late || len(c.req.Delete) == 0 {
			continue
		}
		if !begun {
			if _, failed = p.failure(); !failed {
				p.array()
			}
			begun = true
		}
		deleted := 0
		for range len(c.req.Delete) * len(c.req.Keys) {
			if !failed {
				deleted += int(p.integer())
			}
		}
		c.replaced = deleted == len(c.req.Keys)
	}
}

// read reads the replies and sets the votes. After bad the connection's state isn't known.
func (t *transaction) read(p *parser, now drift.Instant) (bad error) {
	if len(t.calls) == 0 {
		return nil
	}
	aborted, bad := t.aborted(p)
	if aborted {
		return bad
	}
	e := t.executed(p)
	if p.bad {
		for _, c := range t.calls {
			c.fail(p.why())
		}
		return nil
	}
	t.x.r.clock.saw(e.clock, now)
	for _, c := range t.calls {
		c.vote = e.judge(c, t.x.r.prefix)
	}
	return nil
}

// reset makes it ready for other calls.
func (t *transaction) reset() {
	clear(t.calls)
	t.calls, t.used, t.asksMark, t.asksInfo = t.calls[:0], 0, false, false
}

// aborted reads the replies to the commands before EXEC's. If the server refused one of them it carries
// out none, and the votes say so. Where the refusal may be about one request's keys, each is sent again, alone.
// Otherwise the rest is EXEC's reply. A connection whose state isn't known is bad.
func (t *transaction) aborted(p *parser) (aborted bool, bad error) {
	// Without MULTI the commands were carried out one by one, and so they may have been after an error of
	// EXEC that isn't EXECABORT.
	refusal := func() string {
		text, failed := p.failure()
		if !failed {
			p.line()
		}
		return text
	}
	prefix, why := t.x.r.prefix, ""
	if text := refusal(); text != "" {
		bad = serverError(text)
	}
	for range t.queued {
		why = cmp.Or(why, refusal())
	}
	text, failed := p.failure()
	switch {
	case bad == nil && !failed:
		return false, nil
	case bad == nil && !strings.HasPrefix(text, "EXECABORT"):
		bad = serverError(text)
	}
	why = cmp.Or(why, strings.TrimPrefix(text, "EXECABORT Transaction discarded because of: "))
	for _, c := range t.calls {
		switch {
		case bad != nil:
			//guard:no-transaction-is-unknown  commands that a server carried out without a transaction may have set the keys
			c.fail(moving(bad, prefix))
		case len(t.calls) > 1 && kindOf(why) == ErrPermission:
			c.alone, c.again = true, true
		default:
			c.unsent(moving(serverError(why), prefix))
		}
	}
	return true, bad
}

// executed reads EXEC's reply.
func (t *transaction) executed(p *parser) *evidence {
	p.bad = p.array() != int64(t.queued) || p.bad
	t.deleted(p, t.calls, false)
	for i, c := range t.calls {
		t.deleted(p, t.calls[i:i+1], true)
		for _, s := range c.slots {
			s.read(p, c.req.Fence.On)
		}
		if len(c.slots) > 1 {
			if _, c.left = p.failure(); !c.left {
				p.integer()
			}
		}
	}
	e := &evidence{}
	if t.asksMark {
		if _, failed := p.failure(); !failed { // a key of another type is no mark
			e.mark, _ = p.text()
		}
	}
	if t.asksInfo {
		e.info, _ = p.text()
	}
	e.clock = p.clock()
	return e
}

// read reads the replies to a slot's commands.
func (s *slot) read(p *parser, fenced bool) {
	var failed bool
	s.made, s.ofCounter, s.n = false, false, 0
	if s.failure, failed = p.failure(); !failed {
		_, s.wasSet = p.text()
	} else {
		s.wasSet = false
	}
	if !fenced {
		return
	}
	if _, failed := p.failure(); !failed {
		_, s.made = p.text()
	}
	if text, failed := p.failure(); !failed {
		s.n = p.integer()
	} else if s.failure == "" {
		s.failure, s.ofCounter = text, true
	}
}
