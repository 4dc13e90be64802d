package instance

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// A usual grant takes no script. All locks of a batch for which nothing unusual is expected
// (see warm) are asked for in one transaction:
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
// the client does. A lock is granted if
//
//   - the server is in the run that the request names (see run.lua),
//   - the text is the one that the grant would write (see counter.lua), so the set of
//     instances and the run are right, and both keys live long enough,
//   - SET was done, and
//   - INCR gave a token: a number above lostBelow, which no lost counter reaches, and no
//     further ahead of the clock than the client allows.
//
// In that case acquire.lua would have done the same: it would have set the key and counted by
// one. So the four properties that the proof of the tokens' order needs hold here too.
//
// A transaction only grants. Whatever else it finds (a lock that is held, another run, set or
// period, a lost counter), acquire.lua decides, in a second exchange. The request then names
// its own value as the one to replace, because SET may have been done. Before that script has
// answered, the transaction has left at most two things. The counter is higher by one, which
// does no harm: INCR on a server that does fewer than one a microsecond doesn't overtake the
// clock. And the key is set, to a value that no lease has. The script deletes it if it
// doesn't grant the lock. If the script does nothing, because the server is in another run, or
// if it never arrives, the vote isn't Unsent, and quorum deletes the key (call.keySet).
//
// A transaction that the server aborts has done nothing.

// lostBelow is where the tokens of counters begin that were not lost, see counter.lua.
const lostBelow = 1e14

// maxTransaction is how long the reply to EXEC may be apart from the locks, in bytes.
const maxTransaction = maxReply + maxInfo

// transactional reports whether a call is to be part of a transaction.
func (r *Redis) transactional(c *call) bool {
	req := &c.req
	return req.Op == wire.Acquire && req.Run != "" && req.Replace == "" && req.Fence.Reserve == 0 &&
		!c.byScript && r.transactions.Load() && r.warm.has(req)
}

// grant is the commands that ask for one lock in a transaction. They point at the call, and
// are made once for it, because there are many.
type grant struct {
	call      *call
	set, incr *redis.RawWriteToCmd
}

func newGrant(c *call) *grant {
	g := &grant{call: c}
	ctx := &neverEnds // the pipeline has the batch's own
	//guard:free-key-only-transaction  a transaction sets a key only where it is free
	//guard:key-expires-transaction  a key that a transaction set is gone after its TTL
	g.set = redis.NewRawWriteToCmd(ctx, g, "SET", &c.req.Key, &c.req.Value, "NX", "PX", &c.ttl)
	//guard:counter-rises  each grant raises the counter
	g.incr = redis.NewRawWriteToCmd(ctx, g, "INCR", &c.counter)
	return g
}

// neverEnds is a context for commands that are used again and again.
var neverEnds lifetime

// Write takes the replies to the commands: QUEUED.
func (g *grant) Write(p []byte) (int, error) {
	switch {
	case string(p) == "\r\n" || isQueued(p):
	case p[0] == '-' && !bytes.HasPrefix(p, []byte("-READONLY")):
		// EXEC will be aborted.
	case p[0] == '-':
		// As in replyBuffer.
		if first := g.call.in.exec; len(first.reply.raw) == 0 {
			first.reply.raw = append(append(first.reply.raw, p...), "\r\n"...)
		}
		return 0, errReplied
	default:
		//guard:not-queued-is-noticed  a transaction that the server doesn't know as one is noticed
		return 0, fmt.Errorf("%w: a command in a transaction was answered with %.40q", ErrReply, p)
	}
	return len(p), nil
}

// addTransaction begins the transaction of the calls in b.grants.
func (b *batch) addTransaction() {
	if len(b.grants) == 0 {
		return
	}
	b.add("MULTI", isStatus)
	echo := b.add("ECHO", isQueued)
	echo.nonce.b = strconv.AppendUint(echo.nonce.b[:0], b.pipe.r.nonce.Add(1), 10)
	echo.args = append(echo.args, &echo.nonce)
	b.add("TIME", isQueued)
	info := b.add("INFO", isQueued)
	info.args = append(info.args, "replication")
	keys := b.add("MGET", isQueued)
	keys.args = append(keys.args, &b.pipe.r.markKey)
	for _, c := range b.grants {
		if c.req.Fence.On {
			keys.args = append(keys.args, c.setKey())
		}
	}
	keys.grants = b.grants
	b.exec = b.add("EXEC", nil, b.grants...)
	b.exec.reply.limit = maxTransaction + maxElement*len(b.grants)
	p := append(b.exec.prefix[:0], '*')
	p = strconv.AppendInt(p, int64(4+b.grantCommands()), 10)
	p = append(p, "\r\n$"...)
	p = strconv.AppendInt(p, int64(len(echo.nonce.b)), 10)
	p = append(append(append(p, "\r\n"...), echo.nonce.b...), "\r\n"...)
	b.exec.prefix, b.exec.reply.prefix = p, p
}

// grantCommands is how many commands the locks take.
func (b *batch) grantCommands() int {
	n := 0
	for _, c := range b.grants {
		n += c.grantCommands()
	}
	return n
}

func (c *call) grantCommands() int {
	if c.req.Fence.On {
		return 2
	}
	return 1
}

// appendGrants appends the locks' commands.
func appendGrants(cmds []redis.Cmder, calls []*call) []redis.Cmder {
	for _, c := range calls {
		if c.grant == nil {
			c.grant = newGrant(c)
		}
		c.counterKey()
		c.grant.set.SetErr(nil)
		cmds = append(cmds, c.grant.set)
		if c.req.Fence.On {
			c.grant.incr.SetErr(nil)
			cmds = append(cmds, c.grant.incr)
		}
	}
	return cmds
}

// readTransaction reads the reply to EXEC.
func (b *batch) readTransaction() {
	p := parser{rest: b.exec.reply.raw}
	p.array()
	p.text() // the nonce: the replyBuffer has checked both
	var now time.Time
	if p.array() == 2 {
		now = p.clock()
	} else {
		p.bad = true
	}
	info := p.text()
	b.texts = b.texts[:0]
	for n := p.array(); n > 0 && !p.bad; n-- {
		b.texts = append(b.texts, p.text())
	}
	answered := p
	for _, c := range b.grants {
		p.granted()
		if c.req.Fence.On {
			p.counted()
		}
	}
	texts := b.texts
	if !p.end() || len(texts) != 1+b.grantCommands()-len(b.grants) {
		for _, c := range b.grants {
			c.malformed(&b.exec.reply)
		}
		return
	}
	mark, texts := texts[0], texts[1:]
	for _, c := range b.grants {
		var text []byte
		var token int64
		c.keySet = answered.granted()
		if c.req.Fence.On {
			text, texts = texts[0], texts[1:]
			token = answered.counted()
		}
		//guard:held-is-not-granted  a transaction grants only a lock whose key it has set
		granted := c.keySet
		//guard:run-is-compared-transaction  a grant by a transaction counts only in the run that the request names
		granted = granted && inRun(c.req.Run, info, mark)
		//guard:text-is-compared  a transaction grants only beside the text that the grant would write
		granted = granted && (!c.req.Fence.On || b.isText(text, c, now))
		//guard:lost-counter-grants-nothing  a transaction grants nothing from a counter that was lost
		granted = granted && (!c.req.Fence.On || token >= lostBelow)
		//guard:transaction-bounded  a transaction grants no token that is further ahead of the clock than the client allows
		granted = granted && (!c.req.Fence.On || token <= min(now.UnixMicro()+c.ahead, int64(fencing.MaxToken)))
		if !granted {
			c.decideByScript()
			continue
		}
		c.vote = wire.Vote{Outcome: wire.Granted, Token: fencing.Token(token)}
		if c.req.Clock {
			c.vote.Clock = now
		}
	}
}

// decideByScript has a script decide what a transaction didn't grant.
func (c *call) decideByScript() {
	c.byScript, c.resend = true, true
	c.in.pipe.r.warm.note(&c.req, false)
}

// granted reads the reply to SET: whether it was done.
func (r *parser) granted() bool {
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

// isText reports whether a text is the one that a grant at this time would write, as
// counter.lua has it.
func (b *batch) isText(text []byte, c *call, now time.Time) bool {
	want := append(b.want[:0], b.pipe.r.setText(c.req.Fence.Set).text...)
	want = append(want, ' ')
	want = strconv.AppendInt(want, c.quarter, 10)
	want = append(want, '/')
	want = strconv.AppendInt(want, now.UnixMicro()/(c.quarter*1000), 10)
	want = append(want, ' ')
	want = append(want, c.req.Run...)
	b.want = want
	return bytes.Equal(text, want)
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
	// Perhaps the user lacks a right that the script doesn't need. The next Probe tries again.
	b.pipe.r.transactions.Store(false)
	for _, c := range b.grants {
		c.decideByScript()
	}
	return true
}
