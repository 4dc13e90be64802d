package instance

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
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
// The server carries it out in one step, and the client judges it afterwards (judge). In front of the
// SETs the client's own leftovers are deleted (wire.Request.Delete), and behind the last one of several keys
// they are deleted again if not all were free (undo.lua). Both are seldom, and scripts.
//
// The transaction costs a server two short commands. Without it, two things would go unnoticed: a clock
// that jumps forward and back, or a SWAPDB and another one, around the SET. And a pipeline that is cut in
// the middle would leave half of it done.
//
// Each link has one, whose commands are made once and used again.
type transaction struct {
	r                            *Redis
	replies                      replies
	calls                        []*call
	slots                        []*slot // those in use, then spare ones
	used                         int     // how many are in use
	queued                       int     // how many commands stand between MULTI and EXEC
	multi, mark, info, now, exec *redis.RawWriteToCmd
	markKey                      string
	asksMark, asksInfo           bool
}

// slot is one key of an acquisition: its commands, whose arguments point to its fields, and their
// results.
type slot struct {
	lock, counter      keyArg
	value              string
	ttl, start, expiry int64
	expires            string // PXAT or PX: at a time, or after a time
	set, begin, incr   *redis.RawWriteToCmd

	wasSet, made bool   // the key was set, the counter was made
	failure      string // the first error of SET and INCR
	ofCounter    bool   // it is INCR's
	n            int64  // what INCR counted to
}

// keyArg is the name of a key in a buffer that is used again.
type keyArg struct{ b []byte }

// MarshalBinary returns the name to go-redis.
func (a *keyArg) MarshalBinary() ([]byte, error) { return a.b, nil }

// String returns the name to go-redis's hooks.
func (a *keyArg) String() string { return string(a.b) }

func newTransaction(r *Redis) *transaction {
	t := &transaction{r: r}
	t.multi, t.exec = t.command("MULTI"), t.command("EXEC")
	t.mark, t.info, t.now = t.command("GET", &t.markKey), t.command("INFO", "replication"), t.command("TIME")
	return t
}

// command makes one of its commands.
func (t *transaction) command(args ...any) *redis.RawWriteToCmd {
	return redis.NewRawWriteToCmd(context.Background(), &t.replies, args...)
}

func (t *transaction) newSlot() *slot {
	s := &slot{}
	s.set = t.command("SET", &s.lock, &s.value, "NX", "PX", &s.ttl)
	s.begin = t.command("SET", &s.counter, &s.start, "NX", &s.expires, &s.expiry)
	s.incr = t.command("INCR", &s.counter)
	return s
}

// add adds an acquisition.
func (t *transaction) add(c *call, now drift.Instant) {
	t.calls = append(t.calls, c)
	f := &c.req.Fence
	for i := range c.keys() {
		if t.used == len(t.slots) {
			t.slots = append(t.slots, t.newSlot())
		}
		s := t.slots[t.used]
		t.used++
		s.lock.b = append(append(s.lock.b[:0], t.r.prefix...), *c.key(i)...)
		s.value, s.ttl = c.req.Value, c.req.TTL.Milliseconds()
		if f.On {
			s.counter.b = t.r.appendBeside(s.counter.b[:0], *c.key(i), counterSuffix)
			start, known := t.r.clock.start(f, now)
			s.start, s.expires, s.expiry = start-1, "PX", f.Ahead.Milliseconds()+f.TTL.Milliseconds()
			if known && t.r.expiresAt.Load() {
				s.expires = "PXAT"
				//guard:new-counter-expires-late  a new counter lives until the server's clock has passed its tokens
				s.expiry += start / 1000
			}
		}
	}
	t.asksInfo = t.asksInfo || c.req.Run != ""
	t.asksMark = t.asksMark || c.req.Run.Epoch() != ""
}

// commands appends its commands to a list.
func (t *transaction) commands(cmds []redis.Cmder, markKey string) []redis.Cmder {
	if len(t.calls) == 0 {
		return cmds
	}
	t.markKey = markKey
	from := len(cmds)
	cmds = append(cmds, t.multi)
	next, together := 0, 0
	for n, c := range t.calls {
		if n == together {
			//guard:leftovers-first  a SET goes out after the delete of the client's own earlier value
			if together = t.together(n); t.leftovers(n, together) > 0 {
				cmds = append(cmds, t.deletes(t.calls[n:together]))
			}
		}
		slots := t.slots[next : next+c.keys()]
		next += len(slots)
		for _, s := range slots {
			//guard:key-expires  a key whose holder died is gone after its TTL
			//guard:free-key-only  a key is set only where it is free
			cmds = append(cmds, s.set)
			if c.req.Fence.On {
				//guard:counter-rises  each grant raises the counter
				cmds = append(cmds, s.begin, s.incr)
			}
		}
		if len(slots) > 1 {
			args := []any{"EVAL", undoScript.source, len(slots)}
			for _, s := range slots {
				args = append(args, &s.lock)
			}
			cmds = append(cmds, t.command(append(args, c.req.Value)...))
		}
	}
	if t.asksMark {
		cmds = append(cmds, t.mark)
	}
	if t.asksInfo {
		cmds = append(cmds, t.info)
	}
	cmds = append(cmds, t.now, t.exec)
	t.queued = len(cmds) - from - 2
	for _, cmd := range cmds[from:] {
		cmd.SetErr(nil)
	}
	return cmds
}

// together is the end of the calls from one on whose leftovers are deleted by one script. A value that one of
// them sets and a later one deletes is deleted in between.
func (t *transaction) together(from int) int {
	for to := from; to < len(t.calls); to++ {
		c := t.calls[to]
		setEarlier := func(value string) bool {
			//guard:set-before-its-delete  a value that the same transaction sets is deleted after that
			return slices.ContainsFunc(t.calls[from:to], func(earlier *call) bool { return earlier.req.Value == value })
		}
		if slices.ContainsFunc(c.req.Delete, setEarlier) {
			return to
		}
	}
	return len(t.calls)
}

// leftovers is how many keys may have a value that some calls delete first.
func (t *transaction) leftovers(from, to int) (n int) {
	for _, c := range t.calls[from:to] {
		n += len(c.req.Delete) * c.keys()
	}
	return n
}

// deletes is the command that deletes the leftovers of some calls. It is EVAL, because an EVALSHA that the server
// doesn't know would fail in the middle.
func (t *transaction) deletes(calls []*call) redis.Cmder {
	var keys, values []any
	for _, c := range calls {
		for _, value := range c.req.Delete {
			for i := range c.keys() {
				keys, values = append(keys, t.r.lockArg(c.key(i))), append(values, value)
			}
		}
	}
	return t.command(slices.Concat([]any{"EVAL", deleteScript.source, len(keys)}, keys, values)...)
}

// read reads the replies and sets the votes. It returns the calls that have to be sent once more. A
// connection's failure is err.
func (t *transaction) read(err error, now drift.Instant) (again []*call, bad error) {
	defer t.reset()
	if len(t.calls) == 0 {
		return nil, nil
	}
	if err = cmp.Or(err, t.exec.Err()); err != nil {
		for _, c := range t.calls {
			c.fail(explain(err))
		}
		return nil, nil
	}
	p := &parser{rest: t.replies.raw}
	again, aborted, bad := t.aborted(p)
	if aborted {
		return again, bad
	}
	t.executed(p, now)
	if p.bad || len(p.rest) > 0 {
		bad = fmt.Errorf("%w: it answered a transaction with %.60q", ErrReply, t.replies.raw)
		for _, c := range t.calls {
			c.fail(bad)
		}
		return nil, bad
	}
	for _, c := range t.calls {
		if c.looks {
			again = append(again, c)
		}
	}
	return again, nil
}

// reset makes it ready for other calls.
func (t *transaction) reset() {
	clear(t.calls)
	t.calls, t.used, t.asksMark, t.asksInfo = t.calls[:0], 0, false, false
	t.replies.raw = t.replies.raw[:0]
	const most = 64 << 10 // what a long value in some reply has left
	if cap(t.replies.raw) > most {
		t.replies.raw = nil
	}
}

// aborted reads the replies to the commands before EXEC's. If the server refused one of them it carries
// out none, and the votes say so. Where the refusal may be about one request's keys, each is sent again, alone.
// Otherwise the rest is EXEC's reply. A connection whose state isn't known is bad.
func (t *transaction) aborted(p *parser) (again []*call, aborted bool, bad error) {
	// Without MULTI the commands were carried out one by one, and so they may have been after an error of
	// EXEC that isn't EXECABORT.
	refusal := func() string {
		text, failed := p.failure()
		if !failed {
			p.line()
		}
		return text
	}
	if text := refusal(); text != "" {
		bad = serverError(text)
	}
	why := ""
	for range t.queued {
		why = cmp.Or(why, refusal())
	}
	text, failed := p.failure()
	switch {
	case bad == nil && !failed:
		return nil, false, nil
	case bad == nil && !strings.HasPrefix(text, "EXECABORT"):
		bad = serverError(text)
	}
	for _, c := range t.calls {
		switch {
		case bad != nil:
			//guard:no-transaction-is-unknown  commands that a server carried out without a transaction may have set the keys
			c.fail(moving(bad, t.r.prefix))
		case len(t.calls) > 1 && kindOf(why) == ErrPermission:
			c.alone = true
			again = append(again, c)
		default:
			//guard:aborted-is-unsent  a transaction that the server refused before it began changed nothing
			c.unsent(moving(serverError(cmp.Or(why, reasonOf(text))), t.r.prefix))
		}
	}
	return again, true, bad
}

// reasonOf is why EXEC aborted, if it says so.
func reasonOf(text string) string {
	return strings.TrimPrefix(text, "EXECABORT Transaction discarded because of: ")
}

// executed reads EXEC's reply and sets the votes.
func (t *transaction) executed(p *parser, now drift.Instant) {
	p.array()
	next, together := 0, 0
	for n, c := range t.calls {
		if n == together {
			together = t.together(n)
			t.deleted(p, n, together)
		}
		for range c.keys() {
			t.slots[next].read(p, c.req.Fence.On)
			next++
		}
		if c.keys() > 1 {
			c.undone(p)
		}
	}
	var e evidence
	if t.asksMark {
		e.mark = t.readMark(p)
	}
	if t.asksInfo {
		e.info, _ = p.text()
	}
	if e.clock = p.clock(); p.bad {
		return
	}
	t.r.clock.saw(e.clock, now)
	next = 0
	for _, c := range t.calls {
		replaced := c.vote.Replaced
		c.vote = t.judge(c, t.slots[next:next+c.keys()], &e)
		c.vote.Replaced = replaced && c.vote.Outcome == wire.Granted
		next += c.keys()
	}
}

// deleted reads the reply of delete.lua about some calls, if there is one.
func (t *transaction) deleted(p *parser, from, to int) {
	if t.leftovers(from, to) == 0 {
		return
	}
	if _, failed := p.failure(); failed {
		return
	}
	p.array()
	for _, c := range t.calls[from:to] {
		deleted := 0
		for range len(c.req.Delete) * c.keys() {
			deleted += int(p.integer())
		}
		//guard:replaced-on-all-keys  a lease is resumed only where all of its keys were still there
		c.vote.Replaced = deleted == c.keys()
	}
}

// undone reads the reply of undo.lua. If it failed some keys may be left.
func (c *call) undone(p *parser) {
	var failed bool
	if _, failed = p.failure(); !failed {
		p.integer()
	}
	c.left = failed
}

// readMark reads the mark. A key of another type is none.
func (t *transaction) readMark(p *parser) string {
	if _, failed := p.failure(); failed {
		return ""
	}
	text, _ := p.text()
	if run := t.calls[0].req.Run; string(text) == string(run) {
		return string(run) // nearly always, and without a copy
	}
	return string(text)
}

// read reads the replies to a slot's commands.
func (s *slot) read(p *parser, fenced bool) {
	s.wasSet, s.made, s.failure, s.ofCounter, s.n = false, false, "", false, 0
	if text, failed := p.failure(); failed {
		s.failure = text
	} else {
		_, s.wasSet = p.text()
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

// evidence is what vouches for the grants of a transaction.
type evidence struct {
	mark  string
	info  []byte
	clock time.Time
}

// judge makes the vote of a request whose transaction was carried out.
//
// The proof of the tokens' order (quorum/internal/settlement) needs of each grant: it was given by the
// server and in the run that the request names; each counter was counted up; the token is above every
// one that the server gave before, and no further ahead of its clock than Fence.Ahead.
func (t *transaction) judge(c *call, slots []*slot, e *evidence) (vote wire.Vote) {
	req, way, set := &c.req, 0, false
	var failed *slot
	for i, s := range slots {
		set = set || s.wasSet
		if !s.wasSet && way == 0 {
			way = 1 + i
		}
		if failed == nil && s.failure != "" {
			failed = s
		}
	}
	// Of several keys none is left unless all were set.
	set = set && (way == 0 || c.left)
	//guard:run-is-judged  a grant counts only in the run that the request names
	if other := e.other(req.Run); other != nil {
		//guard:set-before-judged  an acquisition in another run may have set its keys
		return wire.Vote{Unsent: !set, Err: other}
	}
	switch {
	case failed != nil && (way == 0 || !failed.ofCounter):
		return wire.Vote{Unsent: !set, Err: t.failureOf(c, failed)}
	case way > 0 && set:
		return wire.Vote{Err: fmt.Errorf("%w: of several keys some were free, and could not be deleted again", ErrServer)}
	}
	if req.Clock {
		vote.Clock = e.clock
	}
	if way > 0 {
		//guard:all-keys-free  of several keys all have to be set
		vote.Outcome, c.looks = wire.Refused, true
		if len(slots) > 1 {
			vote.InTheWay = uint8(way)
		}
		return vote
	}
	vote.Outcome = wire.Granted
	if len(slots) > 1 {
		vote.Keys = uint8(len(slots))
	}
	if req.Fence.On {
		var err *wire.CounterError
		if vote.Token, vote.Low, err = tokenOf(slots, &req.Fence, e.clock); err != nil {
			err.Repair = repair(e.clock, t.r.prefix, req)
			return wire.Vote{Err: err}
		}
	}
	return vote
}

// tokenOf is the token of a grant: the largest that a grant of any of its keys alone would get. It is low
// if a counter has yet to be raised to it.
func tokenOf(slots []*slot, f *wire.Fence, clock time.Time) (token fencing.Token, low bool, err *wire.CounterError) {
	now := fencing.Token(clock.UnixMicro())
	most := min(now+fencing.Token(f.Ahead.Microseconds()), fencing.MaxToken)
	for _, s := range slots {
		n := fencing.Token(max(s.n, 0)) // somebody may have written a negative one, which is low
		//guard:older-counter-is-low  a counter that may be from an earlier run is lifted above the clock before it counts
		//guard:new-counter-is-low  a counter that starts again, but not above the clock, is lifted above it before it counts
		if (n <= f.Floor || s.made) && n <= now || s.made && s.expires != "PXAT" {
			n, low = max(n, now+1), true
			//guard:start-bounded  a counter starts no further ahead of the clock than the client allows
			if f.Token > n && f.Token <= most {
				n = f.Token
			}
		}
		//guard:above-each-counter  the token of a lease on several keys is above the counter of each
		token = max(token, n)
	}
	for _, s := range slots {
		//guard:all-counters-at-token  each counter of a lease on several keys is raised to its token
		low = low || s.n < int64(token)
	}
	//guard:all-bounded  a token that is too far ahead of the clock, or beyond all tokens, doesn't count
	if token > most {
		return 0, false, &wire.CounterError{Token: token, Clock: clock, Most: f.Ahead}
	}
	return token, low, nil
}

// other is nil if the evidence is that of a master in the run. Otherwise it is a *wire.RunError, or a
// *wire.SetMismatchError if only the set is another one.
func (e *evidence) other(run wire.Run) error {
	if run == "" {
		return nil
	}
	const id, role = "\r\nmaster_replid:", "\r\nrole:"
	//guard:promotion-is-judged  a grant counts only under the replication ID of the run, which a promotion changes
	//guard:role-is-judged  a replica's grant doesn't count, whether or not it can be written to
	same := bytes.Contains(e.info, []byte(role+wire.RoleMaster+"\r\n")) && afterIs(e.info, id, run.ReplID())
	//guard:mark-is-judged  a grant counts only under the mark that the client knows
	if same && (run.Epoch() == "" || e.mark == string(run)) {
		return nil
	}
	found := wire.Run(e.mark)
	if same && found.SameAs(run) {
		mine, _ := wire.ParseSet(run.Set())
		return &wire.SetMismatchError{Mine: mine, Theirs: found.Set()}
	}
	info := string(e.info)
	other := &wire.RunError{Asked: run, Found: wire.Run(field(info, "master_replid")), Role: field(info, "role")}
	if run.Epoch() != "" && found.ReplID() == string(other.Found) {
		other.Found = found
	}
	return other
}

// afterIs reports whether a text has a name and, after it, that value.
func afterIs(text []byte, name, value string) bool {
	_, rest, found := bytes.Cut(text, []byte(name))
	return found && len(rest) >= len(value) && string(rest[:len(value)]) == value
}

// failureOf is the error of a command in a transaction that was carried out.
func (t *transaction) failureOf(c *call, s *slot) error {
	if s.ofCounter && (strings.HasPrefix(s.failure, "WRONGTYPE") || strings.Contains(s.failure, "not an integer") || strings.Contains(s.failure, "overflow")) {
		return noToken(string(s.counter.b), s.failure, &wire.Request{Fence: c.req.Fence})
	}
	return moving(serverError(s.failure), t.r.prefix)
}
