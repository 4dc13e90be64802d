package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// batch is some calls whose commands go out together on one connection, and the replies.
//
// It knows for certain whether it was sent: the name of its first command is an argument
// that go-redis marshals right before it writes. Whatever failed before that happened before
// anything was sent. And if one of its calls was abandoned before that, the marshalling
// fails, so that the batch is never sent.
type batch struct {
	pipe  *pipe
	conn  *connection
	calls []*call
	began time.Time

	broken bool // the connection is
	far    bool // the server is

	// Guarded by the pipe's lock.
	written bool // or about to be
	dropped bool // one of its calls ended before it was written

	commands []*command // the first used of them are this batch's
	used     int
	grants   []*call // in the transaction
	releases []*call
	extends  []*call
	singles  []*call // the others

	transaction   *transaction // nil before the first one
	transactionAt int          // before which command it goes
	cmds          []redis.Cmder
	first         string        // the name of the first command
	clock         *command      // TIME, if a command whose reply has no clock is asked for it
	wait          *command      // WAIT, if replicas must have it
	waited        time.Duration // WAIT's timeout
	lifetime      lifetime
}

// command is one Redis command of a batch, its reply, and the calls that it is for.
type command struct {
	name   string // EVALSHA, SET, ...
	args   []any
	reply  replyBuffer
	script *script // nil for a native command
	calls  []*call

	cmd    *redis.RawWriteToCmd
	keys   int64 // how many of a script's arguments are keys
	nonce  bytesArg
	prefix []byte
}

// hasClock reports whether its reply contains the server's clock.
func (a *command) hasClock() bool { return a.script != nil && a.script != releaseScript }

// errAbandoned stops a batch of which a call was abandoned, before its first byte is written.
//
//guard:abandoned-keeps-the-connection  a batch that was abandoned before it was written doesn't cost its connection
var errAbandoned error = abandoned("instance: a request was abandoned before its batch was sent")

// abandoned is an error of the kind that go-redis keeps a connection after.
type abandoned string

func (e abandoned) Error() string { return string(e) }

// RedisError makes it a redis.Error.
func (e abandoned) RedisError() {}

// errTwice is the failure of requests that may have been carried out.
var errTwice = fmt.Errorf("%w: one of its hooks sends commands twice", ErrClientOptions)

// MarshalBinary returns the name of the first command when go-redis writes it.
func (b *batch) MarshalBinary() ([]byte, error) {
	if !b.pipe.beginWrite(b) {
		return nil, errAbandoned
	}
	return []byte(b.first), nil
}

// String names the first command for go-redis's hooks.
func (b *batch) String() string { return b.first }

// roundTrip sends the calls' commands, waits for the replies, and sets the votes.
func (b *batch) roundTrip() error {
	b.encode()
	err := b.send()
	if errors.Is(err, errAbandoned) {
		return err
	}
	for _, a := range b.commands[:b.used] {
		b.read(a, err)
	}
	if len(b.grants) > 0 {
		b.read(&b.transaction.exec, err)
		b.forgetFailed()
	}
	b.readClock()
	b.readWait(err)
	return err
}

func (b *batch) send() (err error) {
	b.broken = true
	defer func() {
		if p := recover(); p != nil {
			err = recovered(p)
		}
	}()
	ctx, conn := &b.lifetime, b.conn
	b.cmds = b.cmds[:0]
	// name is the first argument of a command. The batch is that of the first one.
	name := func(own *string) any {
		if len(b.cmds) > 0 {
			return own
		}
		b.first = *own
		return b
	}
	for i := range b.used + 1 {
		if i == b.transactionAt && len(b.grants) > 0 {
			b.cmds = b.appendTransaction(b.cmds, name(&multi))
		}
		if i < b.used {
			a := b.commands[i]
			a.args[0] = name(&a.name)
			a.cmd = redis.NewRawWriteToCmd(ctx, &a.reply, a.args...)
			b.cmds = append(b.cmds, a.cmd)
		}
	}
	if len(b.cmds) == 1 {
		err = conn.conn.Process(ctx, b.cmds[0])
	} else {
		_ = conn.pipeline.BatchProcess(ctx, b.cmds...) // queues them
		_, err = conn.pipeline.Exec(ctx)
	}
	if b.written && errors.Is(err, errAbandoned) {
		//guard:sent-once  a batch that a hook of the client sends twice isn't sent a third time
		err = errTwice
	}
	b.broken = err != nil && !errors.Is(err, errAbandoned) || !b.tidy()
	if errors.Is(err, errReplied) {
		return nil
	}
	return err
}

// tidy reports whether the replies are all that the server has sent. Otherwise the rest would
// be taken for the replies to the next batch.
func (b *batch) tidy() bool {
	for _, cmd := range b.cmds {
		b.conn.read += cmd.(*redis.RawWriteToCmd).Val()
	}
	//guard:nothing-left-over  a connection on which something is left over after a batch is closed
	return b.conn.read == b.conn.net.received
}

// recovered makes an error of a panic in go-redis or in one of its hooks.
func recovered(p any) error {
	if err, ok := p.(error); ok {
		return fmt.Errorf("%w: the client panicked: %w", ErrConnection, err)
	}
	return fmt.Errorf("%w: the client panicked: %v", ErrConnection, p)
}

// Encoding.

// encode makes the calls' commands. The calls came at the same time, so any order would do.
// What keeps leases comes first, and releases come before acquisitions, so that a lock that
// is released here is free for an acquisition in the same batch.
func (b *batch) encode() {
	b.used, b.clock, b.wait = 0, nil, nil
	b.grants, b.releases, b.extends, b.singles = b.grants[:0], b.releases[:0], b.extends[:0], b.singles[:0]
	wait := false
	for _, c := range b.calls {
		wait = wait || c.writes()
		switch {
		case c.probing:
			b.addProbe(c)
		case c.req.Op == wire.Release:
			b.addRelease(c)
		case c.req.Op == wire.Extend:
			b.addExtend(c)
		case c.transactional:
			b.grants = append(b.grants, c)
		case c.rank() == rankKeep:
			b.addSingle(c)
		default:
			b.singles = append(b.singles, c)
		}
	}
	for rest := b.extends; len(rest) > 0; {
		n := together(rest)
		b.addExtends(rest[:n])
		rest = rest[n:]
	}
	for rest := b.releases; len(rest) > 0; {
		n := together(rest)
		b.addReleases(rest[:n])
		rest = rest[n:]
	}
	b.addTransaction()
	for _, c := range b.singles {
		b.addSingle(c)
	}
	if b.needsClock() {
		b.clock = b.add("TIME", isPair)
	}
	if wait && b.pipe.r.cfg.Replicas > 0 {
		// Last, because it waits for what is written before it on the connection. It is
		// sent although the acquisitions may be refused; then its reply is ignored.
		b.wait = b.add("WAIT", isInteger)
		b.waited = b.replicaTimeout()
		b.wait.args = append(b.wait.args, b.pipe.r.cfg.Replicas, b.waited.Milliseconds())
	}
}

// needsClock reports whether a call asks for the clock whose reply doesn't contain it.
func (b *batch) needsClock() bool {
	for _, a := range b.commands[:b.used] {
		if !a.hasClock() && slices.ContainsFunc(a.calls, func(c *call) bool { return c.req.Clock }) {
			return true
		}
	}
	return false
}

// together returns how many of the calls, from the first on, can share one command.
func together(calls []*call) int {
	for i, c := range calls[1:] {
		//guard:one-run-per-list  extensions share a script only if their clients know the same run
		if c.ownCommand || calls[0].ownCommand || c.useEval != calls[0].useEval || c.req.Run != calls[0].req.Run {
			return i + 1
		}
	}
	return len(calls)
}

// add begins a command. Its name is the first of its arguments.
func (b *batch) add(name string, first firstLine, calls ...*call) *command {
	if b.used == len(b.commands) {
		b.commands = append(b.commands, &command{})
	}
	a := b.commands[b.used]
	b.used++
	raw := a.reply.raw
	if cap(raw) > 64<<10 {
		raw = nil // too large to keep
	}
	a.name, a.script = name, nil
	a.args = append(a.args[:0], nil)
	a.calls = append(a.calls[:0], calls...)
	a.reply = replyBuffer{first: first, limit: maxReply, raw: raw[:0]}
	return a
}

// addScript begins a script's command. The caller appends its keys, its nonce, with which
// the reply must begin, and the rest of its arguments.
func (b *batch) addScript(s *script, calls []*call, keys int) *command {
	a := b.add("EVALSHA", nil, calls...)
	a.script, a.keys = s, int64(keys)
	if (calls[0].useEval || b.far && !b.pipe.r.loaded(s)) && !b.loads(s) {
		a.name = "EVAL"
		a.args = append(a.args, &s.source)
	} else {
		a.args = append(a.args, &s.sha)
	}
	a.args = append(a.args, &a.keys)
	a.nonce.b = strconv.AppendUint(a.nonce.b[:0], b.pipe.r.nonce.Add(1), 10)
	return a
}

// loaded reports whether the server has carried out a script since it was probed. A distant one
// is sent a script in full until then, because there is no time for a second exchange.
func (r *Redis) loaded(s *script) bool {
	_, ok := r.known.Load(s)
	return ok
}

// loads reports whether an earlier command of the batch makes the server know a script.
func (b *batch) loads(s *script) bool {
	return slices.ContainsFunc(b.commands[:b.used-1], func(a *command) bool { return a.script == s && a.name == "EVAL" })
}

// addList begins the command of a script that takes many locks.
func (b *batch) addList(s *script, calls []*call, locks, keys int) *command {
	a := b.addScript(s, calls, keys)
	p := appendHead(a.prefix[:0], listHead(s)+locks, a.nonce.b)
	a.prefix, a.reply.prefix = p, p
	return a
}

// appendHead appends how the reply of a list or a transaction begins: an array of n elements,
// of which the nonce is the first.
func appendHead(p []byte, n int, nonce []byte) []byte {
	p = strconv.AppendInt(append(p, '*'), int64(n), 10)
	p = strconv.AppendInt(append(p, "\r\n$"...), int64(len(nonce)), 10)
	return append(append(append(p, "\r\n"...), nonce...), "\r\n"...)
}

func (b *batch) addExtends(calls []*call) {
	first := calls[0]
	n := locksOf(calls)
	a := b.addList(extendScript, calls, n, n+first.marks())
	for _, c := range calls {
		a.args = c.appendKeys(a.args)
	}
	if first.marks() > 0 {
		a.args = append(a.args, &b.pipe.r.markKey)
	}
	a.args = append(a.args, &a.nonce, (*string)(&first.req.Run))
	for _, c := range calls {
		a.args = c.appendEach(a.args, &c.req.Value)
	}
	for _, c := range calls {
		a.args = c.appendEach(a.args, &c.ttl)
	}
}

func (b *batch) addReleases(calls []*call) {
	// Those that notify come first: so the script knows which wait queue is whose.
	notify := 0
	for i, c := range calls {
		if c.notifies {
			calls[i], calls[notify] = calls[notify], c
			notify++
		}
	}
	n := locksOf(calls)
	a := b.addList(releaseScript, calls, n, n+locksOf(calls[:notify]))
	for _, c := range calls {
		a.args = c.appendKeys(a.args)
	}
	for _, c := range calls[:notify] {
		a.args = append(a.args, c.waitersKey())
		for _, key := range c.req.Also {
			a.args = append(a.args, WaitersKey(key))
		}
	}
	a.args = append(a.args, &a.nonce)
	for _, c := range calls {
		a.args = c.appendEach(a.args, &c.req.Value)
	}
}

// addProbe adds the commands of a Probe. The mark's script goes in full, because it is sent
// too rarely for servers to remember it.
func (b *batch) addProbe(c *call) {
	for part, q := range questions {
		c.useEval = true
		switch part {
		case partTry:
			a := b.addScript(tryScript, []*call{c}, 1)
			a.args = append(a.args, b.pipe.r.markKey+":try", &a.nonce)
			a.prefix = appendHead(a.prefix[:0], triedElements, a.nonce.b)
			a.reply.prefix = a.prefix
			continue
		case partMark:
			a := b.addOne(markScript, c, 1)
			a.args = append(a.args, &b.pipe.r.markKey, &a.nonce, c.known.RunID, string(c.known.Run), boolArg(c.known.Lately), c.known.Voter, c.known.Ago.Microseconds(), boolArg(c.known.Marked))
			continue
		}
		a := b.add(q.args[0].(string), q.first, c)
		a.args = append(a.args, q.args[1:]...)
		a.reply.limit = maxInfo
	}
}

// addSingle adds the command of a request that shares none with others.
func (b *batch) addSingle(c *call) {
	r, req, run := b.pipe.r, &c.req, (*string)(&c.req.Run)
	switch req.Op {
	case wire.Enqueue:
		a := b.addOne(enqueueScript, c, 2)
		a.args = append(a.args, &req.Key, c.waitersKey(), &a.nonce, &c.waiter.Address, &c.ttl, boolArg(c.waiter.Front), boolArg(c.waiter.Yield))
	case wire.Dequeue:
		a := b.addOne(dequeueScript, c, 2)
		a.args = append(a.args, &req.Key, c.waitersKey(), &a.nonce, &c.waiter.Address)
	case wire.Acquire:
		if c.several() {
			b.addAcquireAll(c)
			return
		}
		replaced := &req.Replace
		if c.keySet {
			replaced = &req.Value // by a transaction, which didn't grant the lock
		}
		switch {
		case req.Fence.On:
			b.addLock(acquireScript, c, 3, run, &c.ttl, &c.quarter, &r.setText(req.Fence.Set).text, &c.ahead, &c.reserve, &c.token, &req.Value, replaced)
		case req.Replace != "" || req.Run != "":
			b.addLock(acquireBareScript, c, 1, run, &c.ttl, &req.Value, replaced)
		default:
			// The Redis document's SET NX PX, and PTTL for the hint.
			a := b.add("SET", isStatus, c)
			//guard:free-key-only-unfenced  a key is set only where it is free, also without fencing
			a.args = append(a.args, &req.Key, &req.Value, "NX", "PX", &c.ttl)
			c.pttl = b.add("PTTL", isInteger)
			c.pttl.args = append(c.pttl.args, &req.Key)
		}
	case wire.Raise:
		if c.several() {
			b.addLiftAll(c)
			return
		}
		b.addLock(raiseScript, c, 3, run, &req.Value, &c.token, &c.quarter, &c.ahead)
	case wire.Restore:
		if c.several() {
			b.addLiftAll(c)
			return
		}
		if req.Fence.On {
			b.addLock(restoreScript, c, 3, run, &req.Value, &c.ttl, &c.token, &c.quarter, &r.setText(req.Fence.Set).text, &c.ahead)
		} else {
			b.addLock(restoreScript, c, 1, run, &req.Value, &c.ttl)
		}
	case wire.Look:
		if req.Fence.On {
			b.addLock(lookScript, c, 2)
		} else {
			b.addLock(lookScript, c, 1)
		}
	case wire.Tick:
		// A script, though TIME would do, because its reply carries a nonce: an old clock
		// in place of a new one would look like a jump.
		req.Clock = true
		b.addLock(tickScript, c, 0, run)
	}
}

// addOne begins the command of a script whose reply answer.lua makes.
func (b *batch) addOne(s *script, c *call, keys int) *command {
	a := b.addScript(s, []*call{c}, keys)
	a.prefix = append(append(append(a.prefix[:0], "*7\r\n:"...), a.nonce.b...), "\r\n"...)
	a.reply.prefix = a.prefix
	return a
}

// addLock adds a script for one lock. keys is how many of the lock's keys it uses: of the
// lock's own, the counter's and the set's.
func (b *batch) addLock(s *script, c *call, keys int, rest ...any) {
	a := b.addOne(s, c, keys+c.marks())
	if keys > 0 {
		a.args = append(a.args, &c.req.Key)
	}
	if keys > 1 {
		a.args = append(a.args, c.counterKey())
	}
	if keys > 2 {
		a.args = append(a.args, c.setKey())
	}
	if c.marks() > 0 {
		a.args = append(a.args, &b.pipe.r.markKey)
	}
	a.args = append(append(a.args, &a.nonce), rest...)
}

func boolArg(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// addExtend adds an extension in the server's dialect.
func (b *batch) addExtend(c *call) {
	dialect := Dialect(b.pipe.r.extend.Load())
	//guard:several-extended-by-a-script  a lease on several keys isn't extended by a command for one of them
	if c.useScript || c.req.Run != "" || c.several() {
		dialect = DialectLua // which compares the run in the same step
	}
	switch dialect {
	case DialectRedis, DialectValkey:
		a := b.add("SET", isStatus, c)
		a.args = append(a.args, &c.req.Key, &c.req.Value, "IFEQ", &c.req.Value, "PX", &c.ttl)
	case DialectTair:
		// Always with PX: without it CAS removes the key's TTL.
		a := b.add("CAS", isInteger, c)
		a.args = append(a.args, &c.req.Key, &c.req.Value, &c.req.Value, "PX", &c.ttl)
	default:
		b.extends = append(b.extends, c)
	}
}

// addRelease adds a release in the server's dialect, or leaves it for a script. To notify a
// waiter takes the script in every dialect, because it is one step with the delete.
func (b *batch) addRelease(c *call) {
	r := b.pipe.r
	c.notifies = c.req.Notify && !c.cannotNotify && !r.cannotNotify.Load()
	dialect := Dialect(r.release.Load())
	//guard:several-released-by-a-script  a lease on several keys isn't released by a command for one of them
	if c.notifies || c.useScript || c.several() {
		dialect = DialectLua
	}
	switch dialect {
	case DialectRedis:
		// Always with IFEQ: without it DELEX is DEL.
		a := b.add("DELEX", isInteger, c)
		a.args = append(a.args, &c.req.Key, "IFEQ", &c.req.Value)
	case DialectValkey:
		a := b.add("DELIFEQ", isInteger, c)
		a.args = append(a.args, &c.req.Key, &c.req.Value)
	case DialectTair:
		a := b.add("CAD", isInteger, c)
		a.args = append(a.args, &c.req.Key, &c.req.Value)
	default:
		b.releases = append(b.releases, c)
	}
}

// setText returns the text of a set, and keeps the last one.
func (r *Redis) setText(set wire.Set) *setText {
	if last := r.set.Load(); last != nil && last.set == set {
		return last
	}
	text := &setText{set: set, text: set.String()}
	text.unvouched = []byte(text.text + " 0/0 ?")
	r.set.Store(text)
	return text
}

// Decoding.

// read sets the votes of a command's calls. err is the batch's. A reply that came before
// the connection broke counts.
func (b *batch) read(a *command, err error) {
	if len(a.calls) == 0 {
		return
	}
	if err := b.incomplete(a, err); err != nil {
		if errors.Is(err, errReplied) {
			err = b.whyClosed()
		}
		for _, c := range a.calls {
			c.fail(err)
		}
		return
	}
	c := a.calls[0]
	if c.probing {
		c.replies = append(c.replies, command{reply: replyBuffer{raw: slices.Clone(a.reply.raw)}})
		return
	}
	if text, bad := a.reply.failure(); bad {
		if a.name != "EXEC" || !b.readAborted(text) {
			b.readError(a, text)
		}
		return
	}
	if a.name == "EVAL" {
		b.pipe.r.known.Store(a.script, true)
	}
	switch {
	case a.name == "EXEC":
		b.readTransaction()
	case a.script == nil:
		c.readNative(a)
	case a.script.list():
		a.readList()
	default:
		res, ok := decodeScript(a.reply.raw)
		if ok && (res.outcome != scriptReplaced || a.script.replaces()) {
			c.take(res)
		} else {
			c.malformed(&a.reply)
		}
		if c.req.Op == wire.Acquire {
			b.pipe.r.scriptDecided(c, res.text == nil)
		}
	}
}

// incomplete returns why a command has no complete reply, nil if it has one.
func (b *batch) incomplete(a *command, err error) error {
	own := a.cmd.Err()
	switch {
	case len(a.reply.raw) > 0 && (own == nil || err == nil && errors.Is(own, errReplied)):
		return nil
	case own == nil && err == nil:
		return nil
	case own == nil, err == errTwice:
		own = err
	}
	return explain(&b.lifetime, own)
}

// errOtherRuns is the failure of the requests whose replies would have come after that of a
// request for another run. It is no RunError: that one's request did nothing for certain.
var errOtherRuns = fmt.Errorf("%w: the server is in another run than a request beside this one was for, and the connection was closed", ErrConnection)

// whyClosed returns the error reply because of which the connection was closed before the
// other replies came. It doesn't say whether their requests were carried out.
func (b *batch) whyClosed() error {
	for _, a := range b.commands[:b.used] {
		if text, bad := a.reply.failure(); bad && isFromAnother(text) {
			if runError(text, "") != nil {
				return errOtherRuns
			}
			return serverError(text)
		}
	}
	if len(b.grants) > 0 {
		if text, bad := b.transaction.exec.reply.failure(); bad {
			return serverError(text)
		}
	}
	return errReplied
}

// readError reads an error reply. Some errors say that nothing was done, and are a reason
// to send the request again in another way.
func (b *batch) readError(a *command, text string) {
	noScript := a.script != nil && a.name == "EVALSHA" && strings.HasPrefix(text, "NOSCRIPT")
	forbidden := kindOf(text) == ErrPermission && nothingDone(text, a.name)
	r := b.pipe.r
	for _, c := range a.calls {
		native := a.script == nil && (c.req.Op == wire.Extend || c.req.Op == wire.Release)
		switch {
		case noScript:
			r.known.Delete(a.script)
			c.useEval = true
		case len(a.calls) > 1 && forbidden && a.script != nil:
			c.ownCommand = true // one of the keys is forbidden, perhaps not this one
		case c.notifies && forbidden:
			// Until the next Probe. If it isn't the wait queue that is forbidden, the
			// release fails again.
			r.cannotNotify.Store(true)
			c.cannotNotify = true
		case native && isUnknown(text):
			// Until the next Probe.
			if c.req.Op == wire.Release {
				r.release.Store(uint32(DialectLua))
			} else {
				r.extend.Store(uint32(DialectLua))
			}
			c.useScript = true
		case native && c.req.Op == wire.Release && kindOf(text) == ErrOutOfMemory:
			c.useScript = true // Tair's CAD; a script may delete
		case native:
			c.fail(serverError(text))
			continue
		default:
			c.rejected(text, a.name)
			continue
		}
		c.resend = true
	}
}

// readNative reads the reply to a native command.
func (c *call) readNative(a *command) {
	c.vote = wire.Vote{Outcome: wire.Refused}
	switch a.reply.raw[0] {
	case '+':
		c.vote.Outcome = wire.Granted
	case ':':
		r := parser{rest: a.reply.raw}
		n := r.integer()
		if !r.end() || n < -1 || n > 1 {
			c.malformed(&a.reply)
			return
		}
		if n == 1 {
			c.vote.Outcome = wire.Granted
		}
	}
	if c.pttl != nil && c.vote.Outcome == wire.Refused {
		// Only a hint: without it the waiter polls.
		r := parser{rest: c.pttl.reply.raw}
		if ms := r.integer(); r.end() {
			c.vote.Remaining = remaining(ms)
		}
	}
}

// readList reads a reply of extend.lua or release.lua.
func (a *command) readList() {
	l := list{parser: parser{rest: a.reply.raw}}
	l.head(a.script, locksOf(a.calls))
	for _, c := range a.calls {
		all := l.next(a.script)
		for range c.req.Also {
			one := l.next(a.script)
			//guard:all-of-a-list  a lease on several keys counts as extended or released only if all of them were
			all.outcome, all.token = min(all.outcome, one.outcome), max(all.token, one.token)
		}
		c.take(all)
	}
	if !l.end() {
		for _, c := range a.calls {
			c.malformed(&a.reply)
		}
	}
}

// readClock adds TIME's reply to the votes whose own replies have no clock.
func (b *batch) readClock() {
	if b.clock == nil {
		return
	}
	r := parser{rest: b.clock.reply.raw}
	if r.array() != 2 {
		return
	}
	now := r.clock()
	if !r.end() {
		return
	}
	for _, a := range b.commands[:b.used] {
		if a.hasClock() {
			continue
		}
		for _, c := range a.calls {
			if c.req.Clock && c.vote.Outcome != wire.Failed {
				c.vote.Clock = now
			}
		}
	}
}

// lifetime is a batch's context: it ends at the deadline of the last of its calls. The
// pipe's one timer ends it, which costs less than a timer for each batch.
type lifetime struct {
	deadline time.Time // zero: none
	done     chan struct{}
	over     atomic.Bool
}

// Deadline returns when it ends.
func (l *lifetime) Deadline() (time.Time, bool) { return l.deadline, !l.deadline.IsZero() }

// Done is closed when it ends.
func (l *lifetime) Done() <-chan struct{} { return l.done }

// Err is not nil once it has ended.
func (l *lifetime) Err() error {
	if l.over.Load() {
		return context.DeadlineExceeded
	}
	return nil
}

// Value has none.
func (l *lifetime) Value(any) any { return nil }

// end ends it, once.
func (l *lifetime) end() {
	if !l.over.Swap(true) {
		close(l.done)
	}
}
