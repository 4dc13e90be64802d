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
	acquires []*call
	releases []*call
	extends  []*call
	singles  []*call // the others

	cmds     []redis.Cmder
	first    string        // the name of the first command
	markKey  string        // of the connection's term, see termed
	wait     *command      // WAIT, if replicas must have it
	waited   time.Duration // WAIT's timeout
	lifetime lifetime
}

// command is one Redis command of a batch, its reply, and the calls that it is for.
type command struct {
	name   string // EVALSHA, INFO, ...
	args   []any
	reply  replyBuffer
	script *script // nil for WAIT and the parts of a Probe
	calls  []*call

	cmd    *redis.RawWriteToCmd
	keys   int64 // how many of a script's arguments are keys
	nonce  bytesArg
	prefix []byte
}

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
	for i, a := range b.commands[:b.used] {
		a.args[0] = &a.name
		if i == 0 {
			b.first, a.args[0] = a.name, b
		}
		a.cmd = redis.NewRawWriteToCmd(ctx, &a.reply, a.args...)
		b.cmds = append(b.cmds, a.cmd)
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
	b.used, b.wait = 0, nil
	//guard:mark-of-this-term  a master that Sentinel brings back in the same run has no mark of its new term
	b.markKey = b.pipe.r.markKey + b.conn.net.term
	b.acquires, b.releases, b.extends, b.singles = b.acquires[:0], b.releases[:0], b.extends[:0], b.singles[:0]
	wait := false
	for _, c := range b.calls {
		wait = wait || c.writes()
		switch {
		case c.probing:
			b.addProbe(c)
		case c.req.Op == wire.Release:
			c.notifies = c.req.Notify && !c.cannotNotify && !b.pipe.r.cannotNotify.Load()
			b.releases = append(b.releases, c)
		case c.req.Op == wire.Extend:
			b.extends = append(b.extends, c)
		case c.req.Op == wire.Acquire:
			b.acquires = append(b.acquires, c)
		case c.rank() == rankKeep:
			b.addSingle(c)
		default:
			b.singles = append(b.singles, c)
		}
	}
	eachList(b.extends, b.addExtends)
	eachList(b.releases, b.addReleases)
	eachList(b.acquires, b.addAcquires)
	for _, c := range b.singles {
		b.addSingle(c)
	}
	if wait && b.pipe.r.cfg.Replicas > 0 {
		// Last, because it waits for what is written before it on the connection. It is
		// sent although the acquisitions may be refused; then its reply is ignored.
		b.wait = b.add("WAIT", isInteger)
		b.waited = b.replicaTimeout()
		b.wait.args = append(b.wait.args, b.pipe.r.cfg.Replicas, b.waited.Milliseconds())
	}
}

// eachList calls add with as many of the calls at a time as can share one command.
func eachList(calls []*call, add func([]*call)) {
	for len(calls) > 0 {
		n := 1
		for n < len(calls) && calls[0].shares(calls[n]) {
			n++
		}
		add(calls[:n])
		calls = calls[n:]
	}
}

// shares reports whether another call of the same operation can share its command.
func (c *call) shares(other *call) bool {
	//guard:one-run-per-list  requests share a script only if their clients know the same run
	if c.ownCommand || other.ownCommand || c.useEval != other.useEval || c.req.Run != other.req.Run {
		return false
	}
	// What is one argument for all requests in acquire.lua.
	a, b := &c.req.Fence, &other.req.Fence
	return c.req.Op != wire.Acquire || c.ttl == other.ttl && c.keys() == other.keys() && c.quarter == other.quarter &&
		a.On == b.On && a.Set == b.Set && c.ahead == other.ahead && c.reserve == other.reserve
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

// addList begins the command of a script for many requests, whose reply has so many elements after
// its head.
func (b *batch) addList(s *script, calls []*call, elements, keys int) *command {
	a := b.addScript(s, calls, keys)
	p := appendHead(a.prefix[:0], listHead+elements, a.nonce.b)
	a.prefix, a.reply.prefix = p, p
	return a
}

// appendHead appends how the reply of a list begins: an array of n elements, of which the nonce
// is the first.
func appendHead(p []byte, n int, nonce []byte) []byte {
	p = strconv.AppendInt(append(p, '*'), int64(n), 10)
	p = strconv.AppendInt(append(p, "\r\n$"...), int64(len(nonce)), 10)
	return append(append(append(p, "\r\n"...), nonce...), "\r\n"...)
}

func (b *batch) addAcquires(calls []*call) {
	first, n := calls[0], locksOf(calls)
	keys, set, quarter := n, "", int64(0)
	if first.req.Fence.On {
		keys, set, quarter = 3*n, b.pipe.r.setText(first.req.Fence.Set), first.quarter
	}
	a := b.addList(acquireScript, calls, len(calls), keys+first.marks())
	a.reply.limit += maxElement * len(calls)
	a.args = b.appendLocks(a.args, calls, first.req.Fence.On)
	a.args = append(a.args, &a.nonce, (*string)(&first.req.Run), &first.ttl, first.keys(), quarter, set, &first.ahead, &first.reserve)
	for _, c := range calls {
		a.args = append(a.args, &c.req.Value, &c.req.Replace, &c.token)
	}
}

// appendLocks appends the keys of a script about the calls' locks: the locks, with fencing their
// counters and their sets' texts, and the mark.
func (b *batch) appendLocks(args []any, calls []*call, fenced bool) []any {
	for _, c := range calls {
		args = c.appendKeys(args)
	}
	if fenced {
		for _, c := range calls {
			args = c.appendBeside(args, c.counterKey(), CounterKey)
		}
		for _, c := range calls {
			args = c.appendBeside(args, c.setKey(), SetKey)
		}
	}
	return b.appendMark(args, calls[0])
}

// appendMark appends the mark's key if the call's script compares it.
func (b *batch) appendMark(args []any, c *call) []any {
	if c.marks() > 0 {
		args = append(args, &b.markKey)
	}
	return args
}

func (b *batch) addExtends(calls []*call) {
	first := calls[0]
	n := locksOf(calls)
	a := b.addList(extendScript, calls, n, n+first.marks())
	a.args = b.appendLocks(a.args, calls, false)
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
		a.args = c.appendBeside(a.args, c.waitersKey(), WaitersKey)
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
			a.args = append(a.args, b.markKey+":try", &a.nonce)
			a.prefix = appendHead(a.prefix[:0], triedElements, a.nonce.b)
			a.reply.prefix = a.prefix
			continue
		case partMark:
			a := b.addOne(markScript, c, 1)
			a.args = append(a.args, &b.markKey, &a.nonce, c.known.RunID, c.known.Epoch, c.known.Voter, c.known.Ago.Microseconds())
			continue
		}
		a := b.add(q.args[0].(string), q.first, c)
		a.args = append(a.args, q.args[1:]...)
		a.reply.limit = maxInfo
	}
}

// addSingle adds the command of a request that shares none with others.
func (b *batch) addSingle(c *call) {
	req, run := &c.req, (*string)(&c.req.Run)
	switch req.Op {
	case wire.Enqueue:
		a := b.addOne(enqueueScript, c, 2)
		a.args = append(a.args, c.lockKey(&req.Key), c.waitersKey(), &a.nonce, &c.waiter.Address, &c.ttl, boolArg(c.waiter.Front), boolArg(c.waiter.Yield))
	case wire.Dequeue:
		a := b.addOne(dequeueScript, c, 2)
		a.args = append(a.args, c.lockKey(&req.Key), c.waitersKey(), &a.nonce, &c.waiter.Address)
	case wire.Raise, wire.Restore:
		b.addLift(c)
	case wire.Look:
		if req.Fence.On {
			a := b.addOne(lookScript, c, 2)
			a.args = append(a.args, c.lockKey(&req.Key), c.counterKey(), &a.nonce)
		} else {
			a := b.addOne(lookScript, c, 1)
			a.args = append(a.args, c.lockKey(&req.Key), &a.nonce)
		}
	case wire.Tick:
		// A script, though TIME would do, because its reply carries a nonce: an old clock
		// in place of a new one would look like a jump.
		req.Clock = true
		a := b.addOne(tickScript, c, c.marks())
		a.args = append(b.appendMark(a.args, c), &a.nonce, run)
	}
}

// addOne begins the command of a script whose reply answer.lua makes.
func (b *batch) addOne(s *script, c *call, keys int) *command {
	a := b.addScript(s, []*call{c}, keys)
	a.prefix = append(append(append(a.prefix[:0], "*7\r\n:"...), a.nonce.b...), "\r\n"...)
	a.reply.prefix = a.prefix
	return a
}

// addLift adds a Raise or a Restore.
func (b *batch) addLift(c *call) {
	n, keys, fenced, ttl := c.keys(), c.keys(), c.req.Fence.On || c.req.Op == wire.Raise, int64(0)
	if fenced {
		keys = 3 * n
	}
	if c.req.Op == wire.Restore {
		ttl = c.ttl
	}
	a := b.addOne(liftScript, c, keys+c.marks())
	a.args = append(b.appendLocks(a.args, a.calls, fenced), &a.nonce, (*string)(&c.req.Run), n, &c.req.Value, ttl)
	if fenced {
		a.args = append(a.args, &c.token, &c.quarter, &c.ahead, b.pipe.r.setText(c.req.Fence.Set))
	}
}

func boolArg(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// setText returns the text of a set, and keeps the last one.
func (r *Redis) setText(set wire.Set) string {
	if last := r.set.Load(); last != nil && last.set == set {
		return last.text
	}
	text := &setText{set: set, text: set.String()}
	r.set.Store(text)
	return text.text
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
	text, bad := a.reply.failure()
	if bad && c.prefix != "" && kindOf(text) == ErrCluster {
		b.broken = true // the next connection looks where the slot is
	}
	if c.probing {
		c.replies = append(c.replies, command{reply: replyBuffer{raw: slices.Clone(a.reply.raw)}})
		return
	}
	if bad {
		b.readError(a, text)
		return
	}
	if a.name == "EVAL" {
		b.pipe.r.known.Store(a.script, true)
	}
	if a.script.list() {
		a.readList()
	} else if res, ok := decodeScript(a.reply.raw); ok {
		c.take(res)
	} else {
		c.malformed(&a.reply)
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
	return errReplied
}

// readError reads an error reply. Some errors say that nothing was done, and are a reason
// to send the request again in another way.
func (b *batch) readError(a *command, text string) {
	noScript := a.script != nil && a.name == "EVALSHA" && strings.HasPrefix(text, "NOSCRIPT")
	forbidden := kindOf(text) == ErrPermission && nothingDone(text, a.name)
	r := b.pipe.r
	for _, c := range a.calls {
		switch {
		case noScript:
			r.known.Delete(a.script)
			c.useEval = true
		case len(a.calls) > 1 && forbidden:
			c.ownCommand = true // one of the keys is forbidden, perhaps not this one
		case c.notifies && forbidden:
			// Until the next Probe. If it isn't the wait queue that is forbidden, the
			// release fails again.
			r.cannotNotify.Store(true)
			c.cannotNotify = true
		default:
			c.rejected(text, a.name)
			continue
		}
		c.resend = true
	}
}

// readList reads the reply of a script for many requests.
func (a *command) readList() {
	l := list{parser: parser{rest: a.reply.raw}}
	if a.script == acquireScript {
		l.head(len(a.calls))
	} else {
		l.head(locksOf(a.calls))
	}
	for _, c := range a.calls {
		if a.script == acquireScript {
			c.takeAcquisition(&l)
			continue
		}
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

// takeAcquisition sets the vote from the next element of acquire.lua's reply.
func (c *call) takeAcquisition(l *list) {
	res, failure := l.acquisition()
	if failure != nil {
		text := readable(failure)
		c.in.broken = c.in.broken || isFromAnother(text)
		c.rejected(text, "")
		return
	}
	c.take(res)
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

// replicaTimeout is how long a batch's WAIT waits: Config.ReplicaTimeout, or half of the
// time that the calls to be replicated have left.
//
// It must end before the calls do. Otherwise WAIT's reply, how many replicas acknowledged,
// comes too late, and missing replicas look like a server that hangs. The other half is for
// the reply's way back.
func (b *batch) replicaTimeout() time.Duration {
	if own := b.pipe.r.cfg.ReplicaTimeout; own > 0 {
		return own
	}
	var last time.Time
	for _, c := range b.calls {
		if !c.writes() {
			continue
		}
		if c.deadline.IsZero() {
			return defaultReplicaTimeout
		}
		if c.deadline.After(last) {
			last = c.deadline
		}
	}
	left := last.Sub(b.began) / 2
	return min(max(left.Truncate(time.Millisecond), time.Millisecond), defaultReplicaTimeout)
}

// readWait turns grants that too few replicas acknowledged into failed votes.
func (b *batch) readWait(err error) {
	if b.wait == nil {
		return
	}
	if err = b.replicated(err); err == nil {
		return
	}
	for _, c := range b.calls {
		if c.writes() && c.vote.Outcome == wire.Granted {
			c.fail(err)
		}
	}
}

// replicated returns an error if too few replicas acknowledged.
func (b *batch) replicated(err error) error {
	cfg, reply := b.pipe.r.cfg, &b.wait.reply
	if err := b.incomplete(b.wait, err); err != nil {
		return err
	}
	if text, bad := reply.failure(); bad {
		return fmt.Errorf("%w: WAIT: %w", wire.ErrNotReplicated, serverError(text))
	}
	r := parser{rest: reply.raw}
	n := r.integer()
	if !r.end() {
		return fmt.Errorf("%w: WAIT answered %.60q", ErrReply, reply.raw)
	}
	//guard:replicas-have-it  a grant that too few replicas acknowledged doesn't count
	if n < int64(cfg.Replicas) {
		return fmt.Errorf("%w: %d of %d within %v; see to the replicas, or lower Config.Replicas",
			wire.ErrNotReplicated, n, cfg.Replicas, b.waited)
	}
	return nil
}
