package instance

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// A usual grant takes no script. All locks of a batch for which nothing unusual is expected
// (see warm), and those that are probably new (start.go), are asked for in one transaction:
//
//	MULTI
//	ECHO nonce
//	TIME
//	INFO replication
//	MGET the mark, and the text beside each lock's counter
//	SET lock value NX PX ttl, and INCR counter, for each lock
//	EXEC
//
// A server executes it in one step, as it does a script. But a transaction cannot decide, so
// the client does. It reads the reply as a vote if
//
//   - the server is in the run that the request names (see run.lua), and
//   - the text is the one that a grant would write (see counter.lua), so the set of
//     instances and the run are right, and both keys live long enough; or the transaction has
//     just made the counter and a text (start.go).
//
// Then the lock is refused if SET was not done. It is granted if SET was done, and INCR gave
// a token: a number above lostBelow, which no lost counter reaches, and no further ahead of
// the clock than the client allows; and above the clock, if it is the first one. In both cases
// acquire.lua would have found the same. In the second it would have done the same: set the
// key, and counted by one, or started the counter where the request says. So the four
// properties that the proof of the tokens' order needs hold here too.
//
// A refusal does not say who holds the lock, and for how long, as a script does. The next request
// for it takes the script.
//
// If a transaction finds anything else (another run, set or period, a lost counter),
// acquire.lua decides, in a second exchange. The request then names its own value as the one
// to replace, because SET may have been done. Before that script has answered, the transaction
// has left at most three things. A counter that was there is higher by one, which does no harm,
// because a server does fewer transactions than one in a microsecond, and so doesn't overtake
// the clock. A counter that was not there is made, with a text that vouches for nothing
// (start.go has what becomes of them). And the key is set, to a value that no lease has. The
// script deletes it if it doesn't grant the lock. If the script does nothing, because the
// server is in another run, or if it never arrives, the vote isn't Unsent, and quorum deletes
// the key (call.keySet). If the script arrives after that delete, it finds the key gone and
// sets nothing. So of a request's two commands only one ever sets the key, as quorum assumes
// (package presence).
//
// A transaction that the server aborts has done nothing.

// lostBelow is where the tokens of counters begin that were not lost, see counter.lua.
const lostBelow = 1e14

// transactional reports whether a call is to be part of a transaction.
func (r *Redis) transactional(c *call) bool {
	if c.byScript {
		return false
	}
	c.unknown, c.guessed = false, false
	switch req := &c.req; {
	//guard:several-by-a-script  a lease on several keys isn't asked for by a transaction, which would set those that are free
	case len(req.Also) > 0:
		return false
	case req.Op != wire.Acquire || req.Run == "" || req.Replace != "" || req.Fence.Reserve > 0 || !r.transactions.Load():
		return false
	case r.warm.has(c.warmth):
		return true
	}
	c.unknown = !r.warm.has(byScript(c.warmth)) && r.starts.can(c)
	// There must be time for the script after a wrong guess.
	c.guessed = c.unknown && r.starts.score.Load() > 0 && (c.stale.IsZero() || time.Until(c.stale) > r.pipe.rtt)
	return c.guessed
}

// transaction is the commands of a transaction that are the same for any locks. They are
// made once for each batch, and used again and again.
type transaction struct {
	began replyBuffer // the reply to MULTI
	why   string      // the first error in place of QUEUED
	exec  command
	nonce bytesArg

	begin [4]*redis.RawWriteToCmd // MULTI, ECHO, TIME, INFO
	multi []any                   // the arguments of the first of them
	keys  []any                   // the arguments of MGET
	texts [][]byte                // that it found
	usual expected
}

// grant is the commands that ask for one lock. They point at the call, and are made once
// for it.
type grant struct {
	set, incr *redis.RawWriteToCmd
}

func newTransaction(b *batch) *transaction {
	t := &transaction{multi: []any{&multi}, keys: []any{"MGET"}}
	to := queuedReplies{batch: b}
	t.begin = [...]*redis.RawWriteToCmd{
		redis.NewRawWriteToCmd(&neverEnds, &t.began, t.multi...),
		redis.NewRawWriteToCmd(&neverEnds, to, "ECHO", &t.nonce),
		redis.NewRawWriteToCmd(&neverEnds, to, "TIME"),
		redis.NewRawWriteToCmd(&neverEnds, to, "INFO", "replication"),
	}
	t.exec.name = "EXEC"
	t.exec.cmd = redis.NewRawWriteToCmd(&neverEnds, &t.exec.reply, &t.exec.name)
	return t
}

func newGrant(c *call) *grant {
	to := queuedReplies{call: c}
	return &grant{
		//guard:free-key-only-transaction  a transaction sets a key only where it is free
		//guard:key-expires-transaction  a key that a transaction set is gone after its TTL
		set: redis.NewRawWriteToCmd(&neverEnds, to, "SET", &c.req.Key, &c.req.Value, "NX", "PX", &c.ttl),
		//guard:counter-rises-transaction  each grant by a transaction raises the counter
		incr: redis.NewRawWriteToCmd(&neverEnds, to, "INCR", &c.counter),
	}
}

var multi = "MULTI"

// neverEnds is a context for commands that are used again and again. The pipeline has the
// batch's own.
var neverEnds lifetime

// queuedReplies takes the replies to the commands between MULTI and EXEC: QUEUED.
type queuedReplies struct {
	batch *batch
	call  *call
}

func (q queuedReplies) Write(p []byte) (int, error) {
	t := q.transaction()
	n, err := takeQueued(p, &t.why)
	if text, bad := t.began.failure(); bad && err != nil {
		err = fmt.Errorf("%w, because MULTI had failed: %s", err, text)
	}
	return n, err
}

// takeQueued takes the reply to a command between MULTI and EXEC. why becomes the first error, for
// which EXEC will be aborted.
func takeQueued(reply []byte, why *string) (int, error) {
	switch {
	case string(reply) == "\r\n" || isQueued(reply):
	case reply[0] == '-':
		if *why == "" {
			*why = strings.TrimSpace(string(reply[1:]))
		}
	default:
		//guard:not-queued-is-noticed  a transaction that the server doesn't know as one is noticed
		return 0, fmt.Errorf("%w: a command in a transaction was answered with %.40q", ErrReply, reply)
	}
	return len(reply), nil
}

func (q queuedReplies) transaction() *transaction {
	if q.batch != nil {
		return q.batch.transaction
	}
	return q.call.in.transaction
}

// addTransaction begins the transaction of the calls in b.grants.
func (b *batch) addTransaction() {
	b.transactionAt = b.used
	if len(b.grants) == 0 {
		return
	}
	if b.transaction == nil {
		b.transaction = newTransaction(b)
	}
	t := b.transaction
	t.exec.calls = b.grants
	t.keys = append(t.keys[:1], &b.pipe.r.markKey)
	commands := 4 + len(b.grants)
	for _, c := range b.grants {
		if c.grant == nil {
			c.grant = newGrant(c)
		}
		if c.req.Fence.On {
			t.keys = append(t.keys, c.setKey())
			c.counterKey()
			commands++
		}
		if c.starts() {
			c.prepareStart(b.pipe.r.setText(c.req.Fence.Set))
			commands += 3
		}
	}
	t.nonce.b = strconv.AppendUint(t.nonce.b[:0], b.pipe.r.nonce.Add(1), 10)
	p := appendHead(t.exec.prefix[:0], commands, t.nonce.b)
	t.exec.prefix = p
	t.began = replyBuffer{first: isStatus, limit: maxReply, raw: t.began.raw[:0]}
	t.exec.reply = replyBuffer{prefix: p, exec: true, limit: maxReply + maxElement*len(b.grants), raw: t.exec.reply.raw[:0]}
	t.why = ""
}

// appendTransaction appends the commands of the transaction. The first argument of the first
// command is name.
func (b *batch) appendTransaction(cmds []redis.Cmder, name any) []redis.Cmder {
	t := b.transaction
	t.multi[0] = name
	for _, cmd := range t.begin {
		cmds = append(cmds, again(cmd))
	}
	cmds = append(cmds, redis.NewRawWriteToCmd(&neverEnds, queuedReplies{batch: b}, t.keys...))
	for _, c := range b.grants {
		if c.starts() {
			cmds = append(cmds, again(c.start.both))
		}
		cmds = append(cmds, again(c.grant.set))
		if c.req.Fence.On {
			cmds = append(cmds, again(c.grant.incr))
		}
		if c.starts() { // after INCR, which may have made a counter, too
			cmds = append(cmds, again(c.start.counter), again(c.start.text))
		}
	}
	return append(cmds, again(t.exec.cmd))
}

// again makes a command ready to be sent again.
func again(cmd *redis.RawWriteToCmd) redis.Cmder {
	cmd.SetErr(nil)
	return cmd
}

// readTransaction reads the reply to EXEC.
func (b *batch) readTransaction() {
	t := b.transaction
	p := parser{rest: t.exec.reply.raw}
	p.array()
	p.text() // the nonce: the replyBuffer has checked both
	var now time.Time
	if p.array() == 2 {
		now = p.clock()
	} else {
		p.bad = true
	}
	info := p.text()
	texts := t.texts[:0]
	for n := p.array(); n > 0 && !p.bad; n-- {
		texts = append(texts, p.text())
	}
	t.texts = texts
	locks := p // where the locks' replies begin
	for _, c := range b.grants {
		p.executed(c)
	}
	if !p.end() || len(texts) != len(t.keys)-1 {
		for _, c := range b.grants {
			c.malformed(&t.exec.reply)
		}
		return
	}
	mark, texts := texts[0], texts[1:]
	usual := &t.usual
	usual.call = nil
	for _, c := range b.grants {
		usual.of(c, now, info, mark)
		var text []byte
		if c.req.Fence.On {
			text, texts = texts[0], texts[1:]
		}
		set, token, made := locks.executed(c)
		c.keySet = set
		c.vote = wire.Vote{Outcome: wire.Refused}
		if c.req.Clock {
			c.vote.Clock = now
		}
		switch {
		//guard:run-is-compared-transaction  a vote by a transaction counts only in the run that the request names
		case !usual.inRun:
			c.decideByScript()
		//guard:text-is-compared  a transaction grants only beside the text that the grant would write, or that it has made
		case c.req.Fence.On && !made && !bytes.Equal(text, usual.text):
			c.decideByScript()
		//guard:held-is-not-granted  a transaction grants only a lock whose key it has set
		case !c.keySet:
			b.pipe.r.guessedWrong(c) // the next try's script tells for how long
		//guard:lost-counter-grants-nothing  a transaction grants nothing from a counter that was lost
		case c.req.Fence.On && token < lostBelow:
			c.decideByScript()
		//guard:made-in-time  a counter that a transaction has just made gives only a token above the clock
		case made && token <= now.UnixMicro():
			c.decideByScript()
		//guard:transaction-bounded  a transaction grants no token that is further ahead of the clock than the client allows
		case token > min(now.UnixMicro()+c.ahead, int64(fencing.MaxToken)):
			c.decideByScript()
		default:
			c.vote.Outcome, c.vote.Token = wire.Granted, fencing.Token(token)
			if c.guessed {
				b.pipe.r.starts.note(true)
				b.pipe.r.warm.note(c.warmth, !made) // beside the text that it made the next grant takes a script
			}
		}
	}
}

// forgetFailed has scripts ask for the locks the next time if the transaction failed: perhaps
// because of one lock, or because the server doesn't know transactions any more.
func (b *batch) forgetFailed() {
	r, t := b.pipe.r, b.transaction
	for _, c := range b.grants {
		if c.vote.Outcome == wire.Failed && !c.resend {
			r.guessedWrong(c)
			if c.starts() && namesStart(t.why) {
				r.starts.refused(&c.req.Run)
			}
		}
	}
	if _, bad := t.began.failure(); bad && len(t.exec.reply.raw) == 0 {
		r.transactions.Store(false) // until the next Probe
	}
}

// decideByScript has a script decide what a transaction didn't grant.
func (c *call) decideByScript() {
	c.byScript, c.resend = true, true
	c.in.pipe.r.guessedWrong(c)
}

// guessedWrong has a script ask for the lock the next time.
func (r *Redis) guessedWrong(c *call) {
	r.warm.note(c.warmth, false)
	if c.guessed {
		r.starts.note(false)
	}
}

// scriptDecided takes in the vote of a script, and whether a transaction would have done.
func (r *Redis) scriptDecided(c *call, usual bool) {
	if c.several() {
		return
	}
	granted := c.vote.Outcome == wire.Granted
	r.warm.note(c.warmth, granted)
	if c.unknown && !c.byScript {
		r.starts.note(granted && usual)
	}
}

// executed reads the replies to the commands for one lock: whether SET was done, the counter
// after INCR, and whether the counter was made, with a text, and both have a TTL.
func (r *parser) executed(c *call) (set bool, token int64, made bool) {
	done := func() bool {
		if bytes.HasPrefix(r.rest, []byte("-")) {
			c.in.pipe.r.starts.refused(&c.req.Run)
		}
		return r.counted() == 1
	}
	if c.starts() {
		made = done()
	}
	set = r.set()
	if c.req.Fence.On {
		token = r.counted()
	}
	if c.starts() {
		counter, text := done(), done()
		//guard:made-is-told  a counter counts as made by a transaction only if the server says so
		made = made && counter && text
	}
	return set, token, made
}

// set reads the reply to SET: whether it was done.
func (r *parser) set() bool {
	if bytes.HasPrefix(r.rest, []byte("+OK\r\n")) {
		r.line()
		return true
	}
	r.skip(1)
	return false
}

// counted reads the reply to INCR: the counter, or 0 if there was an error.
func (r *parser) counted() int64 {
	if bytes.HasPrefix(r.rest, []byte(":")) {
		return r.integer()
	}
	r.skip(1)
	return 0
}

// inRun reports whether a server is in a run, as run.lua does.
func inRun(run wire.Run, info, mark []byte) bool {
	if !bytes.Contains(info, []byte("role:master")) || !follows(info, "master_replid:", run.ReplID()) {
		return false
	}
	if run.Epoch() == "" {
		return true
	}
	_, mark, _ = bytes.Cut(mark, []byte("/"))
	return len(mark) > len(run) && string(mark[:len(run)]) == string(run) && mark[len(run)] == ' '
}

// follows reports whether a text has a word right after another one.
func follows(text []byte, before, word string) bool {
	_, rest, found := bytes.Cut(text, []byte(before))
	return found && len(rest) >= len(word) && string(rest[:len(word)]) == word
}

// expected is what a transaction must find for a lock to be granted. It is nearly always the
// same for all locks, so it is kept from one to the next.
type expected struct {
	call  *call
	inRun bool   // the server is in the run that the request names
	text  []byte // the text that a grant would write
}

func (e *expected) of(c *call, now time.Time, info, mark []byte) {
	//guard:expected-of-this-lock  what one lock must find isn't taken for what another one must
	if last := e.call; last != nil && c.req.Run == last.req.Run && c.quarter == last.quarter && c.req.Fence.On == last.req.Fence.On && c.req.Fence.Set == last.req.Fence.Set {
		e.call = c
		return
	}
	e.call, e.inRun = c, inRun(c.req.Run, info, mark)
	if c.req.Fence.On {
		// As counter.lua has it.
		e.text = append(append(e.text[:0], c.in.pipe.r.setText(c.req.Fence.Set).text...), ' ')
		e.text = append(strconv.AppendInt(e.text, c.quarter, 10), '/')
		e.text = append(strconv.AppendInt(e.text, now.UnixMicro()/(c.quarter*1000), 10), ' ')
		e.text = append(e.text, c.req.Run...)
	}
}

// errAborted is the first word of the error of a transaction that the server didn't execute.
const errAborted = "EXECABORT"

// readAborted reads an error in place of the reply to EXEC. It reports whether the calls are
// sent again.
func (b *batch) readAborted(text string) bool {
	//guard:aborted-is-known  only a transaction that the server says it aborted has done nothing
	if !strings.HasPrefix(text, errAborted) {
		return false
	}
	_, why, _ := strings.Cut(text, "because of: ")
	switch kindOf(cmp.Or(b.transaction.why, why)) {
	case ErrOutOfMemory, ErrBusy, ErrLoading, ErrMisconf, wire.ErrNotMaster:
		// The server does nothing for now. No Probe need follow when that is over.
	default:
		// Perhaps the user lacks a right that the script doesn't need.
		reason := cmp.Or(b.transaction.why, why)
		guessed := func(c *call) bool { return c.guessed }
		if i := slices.IndexFunc(b.grants, guessed); i >= 0 && (namesStart(reason) || namesKey(reason)) {
			// The other locks are tried again, without those of which nothing is known.
			if namesStart(reason) {
				b.pipe.r.starts.refused(&b.grants[i].req.Run)
			}
			for _, c := range b.grants {
				if c.resend = true; c.guessed {
					c.decideByScript()
				}
			}
			return true
		}
		b.pipe.r.transactions.Store(false) // the next Probe tries again
	}
	for _, c := range b.grants {
		c.decideByScript()
	}
	return true
}

// namesStart reports whether an error is about a command that makes a counter.
func namesStart(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "msetnx") || strings.Contains(text, "pexpire")
}

// namesKey reports whether an error says that the user has no right to a key.
func namesKey(text string) bool {
	return kindOf(text) == ErrPermission && strings.Contains(text, " key")
}
