package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// batch is one exchange with the server: the commands of some calls, which go out
// together on one connection, and their answers.
//
// It knows for certain whether they were sent: the name of its first command is
// an argument that go-redis marshals when it has a connection, and right before
// it writes to it. Whatever failed before that (dialing, TLS, the handshake, a
// wait for a connection, a closed client) was never sent; and if one of its calls
// was given up before that, the marshalling fails, so that it never will be.
type batch struct {
	pipe  *pipe
	calls []*call
	began time.Time

	// refused, if set, is why nothing is sent at all.
	refused error

	// Written under the pipe's lock.
	sealed  bool // written, or about to be
	dropped bool // one of its calls ended before it was sealed

	asks     []*ask // the first used of them are this exchange's
	used     int
	acquires []*call
	releases []*call
	clock    *ask          // TIME, if a command without a clock of its own asks for it
	wait     *ask          // WAIT, if replicas must have it
	waited   time.Duration // for how long
	lifetime lifetime
}

// ask is one command of an exchange, its answer, and the calls that it answers.
type ask struct {
	name   string // EVALSHA, SET, ...
	args   []any
	sink   sink
	script *script // nil for a command of the server's own
	calls  []*call

	cmd    *redis.RawWriteToCmd
	keys   int64 // how many of a script's arguments are keys
	nonce  bytesArg
	prefix []byte
}

// errGivenUp stops an exchange of which a part is not wanted any more.
var errGivenUp = errors.New("instance: a call was given up before its command was sent")

// errRefused is the end of an exchange that was not tried.
var errRefused = errors.New("instance: not sent")

// MarshalBinary gives the name of the first command when go-redis writes it.
func (b *batch) MarshalBinary() ([]byte, error) {
	if !b.pipe.seal(b) {
		return nil, errGivenUp
	}
	return []byte(b.asks[0].name), nil
}

// String names the first command for go-redis's hooks.
func (b *batch) String() string { return b.asks[0].name }

// exchange sends the calls' commands, waits for the answers, and votes.
func (b *batch) exchange() (err error) {
	if b.refused != nil {
		for _, c := range b.calls {
			c.fail(b.refused)
		}
		return errRefused
	}
	b.layOut()
	err = b.send()
	if errors.Is(err, errGivenUp) {
		return err
	}
	for _, a := range b.asks[:b.used] {
		b.read(a, err)
	}
	b.addClock()
	b.addWait(err)
	return err
}

func (b *batch) send() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = recovered(p)
		}
	}()
	asks, ctx, client := b.asks[:b.used], &b.lifetime, b.pipe.r.client
	for i, a := range asks {
		a.args[0] = &a.name
		if i == 0 {
			a.args[0] = b
		}
		a.cmd = redis.NewRawWriteToCmd(ctx, &a.sink, a.args...)
	}
	if len(asks) == 1 {
		err = client.Process(ctx, asks[0].cmd)
	} else {
		pipeline := client.Pipeline()
		for _, a := range asks {
			_ = pipeline.Process(ctx, a.cmd) // queues it
		}
		_, err = pipeline.Exec(ctx)
	}
	if errors.Is(err, errAnswered) {
		return nil
	}
	return err
}

// recovered makes an error of a panic in go-redis or in one of its hooks.
func recovered(p any) error {
	if err, ok := p.(error); ok {
		return fmt.Errorf("%w: the client panicked: %w", ErrConnection, err)
	}
	return fmt.Errorf("%w: the client panicked: %v", ErrConnection, p)
}

// Laying out.

// layOut makes the calls' commands. What one script can do for many locks is one
// command. The calls were made at the same time, so any order would do; with the
// releases before the acquires a lock that is given back is free for who wants it next.
func (b *batch) layOut() {
	b.used, b.clock, b.wait = 0, nil, nil
	b.acquires, b.releases = b.acquires[:0], b.releases[:0]
	clock, wait := false, false
	for _, c := range b.calls {
		wait = wait || c.writes()
		switch {
		case c.probing:
			b.addQuestions(c)
		case c.cmd.Op == wire.Acquire && c.cmd.Fence.On && c.cmd.Replace == "" && c.cmd.Fence.Reserve == 0:
			b.acquires = append(b.acquires, c)
		case c.cmd.Op == wire.Release:
			// To call who waits takes a script in every dialect: it is one step with
			// the delete.
			c.waking = c.cmd.Notify && !c.quiet && !b.pipe.r.mute.Load()
			if c.waking || c.byLua || Dialect(b.pipe.r.release.Load()) == DialectLua {
				b.releases = append(b.releases, c)
				clock = clock || c.cmd.Clock
			} else {
				clock = b.addSingle(c) && c.cmd.Clock || clock
			}
		default:
			clock = b.addSingle(c) && c.cmd.Clock || clock
		}
	}
	for rest := b.releases; len(rest) > 0; {
		n := together(rest)
		b.addReleases(rest[:n])
		rest = rest[n:]
	}
	for rest := b.acquires; len(rest) > 0; {
		n := together(rest)
		b.addAcquires(rest[:n])
		rest = rest[n:]
	}
	if clock {
		b.clock = b.add("TIME", isPair)
	}
	if wait && b.pipe.r.cfg.Replicas > 0 {
		// Last: what is written before it on the connection is what it waits for.
		// It is asked even where the locks turn out to be refused, as that isn't
		// known yet; then its answer is ignored.
		b.wait = b.add("WAIT", isInteger)
		b.waited = b.replicaTimeout()
		b.wait.args = append(b.wait.args, b.pipe.r.cfg.Replicas, b.waited.Milliseconds())
	}
}

// together is how many of the calls, from the first, can be one command.
func together(calls []*call) int {
	first := &calls[0].cmd
	for i, c := range calls[1:] {
		cmd := &c.cmd
		if c.alone || calls[0].alone || c.byText != calls[0].byText || first.Op == wire.Acquire &&
			//guard:one-bound-per-list  locks share a script only if their clients set the same bound on the counter
			//guard:one-run-per-list  locks share a script only if their clients know the same run
			(cmd.TTL != first.TTL || cmd.Fence.TTL != first.Fence.TTL || cmd.Fence.Ahead != first.Fence.Ahead || cmd.Fence.Set != first.Fence.Set || cmd.Run != first.Run) {
			return i + 1
		}
	}
	return len(calls)
}

// add begins a command; its name comes first among the arguments.
func (b *batch) add(name string, f form, calls ...*call) *ask {
	if b.used == len(b.asks) {
		b.asks = append(b.asks, &ask{})
	}
	a := b.asks[b.used]
	b.used++
	raw := a.sink.raw
	if cap(raw) > 16<<10 {
		raw = nil // a long answer's buffer isn't worth keeping
	}
	a.name, a.script = name, nil
	a.args = append(a.args[:0], nil)
	a.calls = append(a.calls[:0], calls...)
	a.sink = sink{form: f, limit: maxReply, raw: raw[:0]}
	return a
}

// addScript begins a script's command: its keys and its nonce, which its answer
// must begin with, come before the rest of its arguments.
func (b *batch) addScript(s *script, calls []*call, keys int) *ask {
	a := b.add("EVALSHA", nil, calls...)
	a.script, a.keys = s, int64(keys)
	if calls[0].byText {
		a.name = "EVAL"
		a.args = append(a.args, &s.source)
	} else {
		a.args = append(a.args, &s.sha)
	}
	a.args = append(a.args, &a.keys)
	a.nonce.b = strconv.AppendUint(a.nonce.b[:0], b.pipe.r.nonce.Add(1), 10)
	return a
}

// addList is for the scripts that take many locks.
func (b *batch) addList(s *script, calls []*call, keys int) *ask {
	a := b.addScript(s, calls, keys)
	p := append(a.prefix[:0], '*')
	p = strconv.AppendInt(p, int64(listHead(s == acquireScript)+len(calls)), 10)
	p = append(p, "\r\n$"...)
	p = strconv.AppendInt(p, int64(len(a.nonce.b)), 10)
	p = append(append(append(p, "\r\n"...), a.nonce.b...), "\r\n"...)
	a.prefix, a.sink.prefix = p, p
	a.sink.limit = maxReply + maxElement*len(calls)
	return a
}

func (b *batch) addAcquires(calls []*call) {
	a := b.addList(acquireScript, calls, 3*len(calls)+calls[0].marks())
	for _, c := range calls {
		a.args = append(a.args, &c.cmd.Key)
	}
	for _, c := range calls {
		a.args = append(a.args, c.counterKey())
	}
	for _, c := range calls {
		a.args = append(a.args, c.setKey())
	}
	first := calls[0]
	if first.marks() > 0 {
		a.args = append(a.args, &b.pipe.r.markKey)
	}
	a.args = append(a.args, &a.nonce, (*string)(&first.cmd.Run), &first.ttl, &first.quarter, &b.pipe.r.setText(first.cmd.Fence.Set).text, &first.ahead)
	for _, c := range calls {
		a.args = append(a.args, &c.cmd.Value)
	}
}

func (b *batch) addReleases(calls []*call) {
	// Those with waiters come first: so the script knows whose the lines are.
	waking := 0
	for i, c := range calls {
		if c.waking {
			calls[i], calls[waking] = calls[waking], c
			waking++
		}
	}
	a := b.addList(releaseScript, calls, len(calls)+waking)
	for _, c := range calls {
		a.args = append(a.args, &c.cmd.Key)
	}
	for _, c := range calls[:waking] {
		a.args = append(a.args, c.waitersKey())
	}
	a.args = append(a.args, &a.nonce)
	for _, c := range calls {
		a.args = append(a.args, &c.cmd.Value)
	}
}

// addQuestions adds a Probe's.
func (b *batch) addQuestions(c *call) {
	for i := range questions {
		q := &questions[i]
		if i == askMark {
			b.addMark(c)
			continue
		}
		a := b.add(q.args[0].(string), q.form, c)
		a.args = append(a.args, q.args[1:]...)
		a.sink.limit = maxInfo
	}
}

// addMark adds the script of a Probe, in full: it is sent too rarely for servers to be
// asked whether they know it.
func (b *batch) addMark(c *call) {
	c.byText = true
	a := b.answering(markScript, c, 1)
	a.args = append(a.args, &b.pipe.r.markKey, &a.nonce, c.before.RunID, string(c.before.Run), flag(c.before.Lately), c.before.Voter, c.before.Ago.Microseconds(), flag(c.before.Marked))
}

// addSingle adds what goes by a command of its own, and reports whether it doesn't
// tell the clock itself.
func (b *batch) addSingle(c *call) (timeless bool) {
	r := b.pipe.r
	switch cmd := &c.cmd; cmd.Op {
	case wire.Enqueue:
		b.waiting(enlistScript, c, &c.waiter.Address, &c.ttl, flag(c.waiter.Front), flag(c.waiter.Yield))
	case wire.Dequeue:
		b.waiting(withdrawScript, c, &c.waiter.Address)
	case wire.Acquire:
		switch {
		case cmd.Fence.On:
			b.single(replaceScript, c, 3, (*string)(&cmd.Run), &c.ttl, &c.quarter, &r.setText(cmd.Fence.Set).text, &c.ahead, &c.spare, &cmd.Value, &cmd.Replace)
			return false
		case cmd.Replace != "" || cmd.Run != "":
			b.single(replaceBareScript, c, 1, (*string)(&cmd.Run), &c.ttl, &cmd.Value, &cmd.Replace)
			return false
		}
		// The Redis document's SET NX PX, with PTTL behind it for the hint.
		a := b.add("SET", isStatus, c)
		//guard:free-key-only-unfenced  a key is set only where it is free, also without fencing
		a.args = append(a.args, &cmd.Key, &cmd.Value, "NX", "PX", &c.ttl)
		c.pttl = b.add("PTTL", isInteger)
		c.pttl.args = append(c.pttl.args, &cmd.Key)
		return true
	case wire.Raise:
		b.single(raiseScript, c, 3, (*string)(&cmd.Run), &cmd.Value, &c.token, &c.quarter, &c.ahead)
	case wire.Restore:
		if cmd.Fence.On {
			b.single(restoreScript, c, 3, (*string)(&cmd.Run), &cmd.Value, &c.ttl, &c.token, &c.quarter, &r.setText(cmd.Fence.Set).text, &c.ahead)
		} else {
			b.single(restoreScript, c, 1, (*string)(&cmd.Run), &cmd.Value, &c.ttl)
		}
	case wire.Look:
		if cmd.Fence.On {
			b.single(lookScript, c, 2)
		} else {
			b.single(lookScript, c, 1)
		}
	case wire.Tick:
		// By a script, though TIME would do: its answer carries a nonce, and a
		// stale clock taken for a fresh one would pass for a jump.
		cmd.Clock = true
		b.single(tickScript, c, 0, (*string)(&cmd.Run))
	case wire.Extend:
		return b.addExtend(c)
	case wire.Release:
		return b.addRelease(c)
	}
	return false
}

// answering begins a script that answers in the form of answer.lua.
func (b *batch) answering(s *script, c *call, keys int) *ask {
	a := b.addScript(s, []*call{c}, keys)
	a.prefix = append(append(append(a.prefix[:0], "*7\r\n:"...), a.nonce.b...), "\r\n"...)
	a.sink.prefix = a.prefix
	return a
}

// waiting runs a script about those who wait for a lock.
func (b *batch) waiting(s *script, c *call, rest ...any) {
	a := b.answering(s, c, 2)
	a.args = append(append(a.args, &c.cmd.Key, c.waitersKey(), &a.nonce), rest...)
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// single runs a script for one lock, in the form of answer.lua.
func (b *batch) single(s *script, c *call, keys int, rest ...any) {
	a := b.answering(s, c, keys+c.marks())
	if keys > 0 {
		a.args = append(a.args, &c.cmd.Key)
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

// addExtend compares and extends, in the server's dialect.
func (b *batch) addExtend(c *call) (timeless bool) {
	dialect := Dialect(b.pipe.r.extend.Load())
	if c.byLua || c.cmd.Run != "" {
		dialect = DialectLua // which compares the run in the same step
	}
	switch dialect {
	case DialectRedis, DialectValkey:
		a := b.add("SET", isStatus, c)
		a.args = append(a.args, &c.cmd.Key, &c.cmd.Value, "IFEQ", &c.cmd.Value, "PX", &c.ttl)
	case DialectTair:
		// Never without PX: CAS takes the key's time away then.
		a := b.add("CAS", isInteger, c)
		a.args = append(a.args, &c.cmd.Key, &c.cmd.Value, &c.cmd.Value, "PX", &c.ttl)
	default:
		b.single(extendScript, c, 1, (*string)(&c.cmd.Run), &c.cmd.Value, &c.ttl)
		return false
	}
	return true
}

// addRelease compares and deletes, in a dialect of the server's own.
func (b *batch) addRelease(c *call) (timeless bool) {
	switch Dialect(b.pipe.r.release.Load()) {
	case DialectRedis:
		// Never without IFEQ: DELEX is DEL then.
		a := b.add("DELEX", isInteger, c)
		a.args = append(a.args, &c.cmd.Key, "IFEQ", &c.cmd.Value)
	case DialectValkey:
		a := b.add("DELIFEQ", isInteger, c)
		a.args = append(a.args, &c.cmd.Key, &c.cmd.Value)
	case DialectTair:
		a := b.add("CAD", isInteger, c)
		a.args = append(a.args, &c.cmd.Key, &c.cmd.Value)
	default:
		b.releases = append(b.releases, c) // the dialect has changed this moment
		return false
	}
	return true
}

// setText spells a set, and keeps the last one.
func (r *Redis) setText(set wire.Set) *setText {
	if last := r.set.Load(); last != nil && last.set == set {
		return last
	}
	text := &setText{set: set, text: set.String()}
	r.set.Store(text)
	return text
}

// Reading.

// read gives an ask's calls their votes. err is the exchange's; what was answered
// before it broke off is answered.
func (b *batch) read(a *ask, err error) {
	if len(a.calls) == 0 {
		return
	}
	if err := b.broken(a, err); err != nil {
		if errors.Is(err, errAnswered) {
			err = b.givenUpFor()
		}
		for _, c := range a.calls {
			c.fail(err)
		}
		return
	}
	if c := a.calls[0]; c.probing {
		c.answers = append(c.answers, ask{sink: sink{raw: slices.Clone(a.sink.raw)}})
		return
	}
	if text, bad := a.sink.failure(); bad {
		b.readFailure(a, text)
		return
	}
	switch {
	case a.script == nil:
		a.calls[0].takeNative(a)
	case a.script == acquireScript || a.script == releaseScript:
		a.readList()
	default:
		c := a.calls[0]
		if answer, ok := decodeScript(a.sink.raw); ok && (answer.outcome != scriptReplaced || a.script.replaces()) {
			c.take(answer)
		} else {
			c.garbled(&a.sink)
		}
	}
}

// broken is why an ask has no whole answer, nil if it has one.
func (b *batch) broken(a *ask, err error) error {
	own := a.cmd.Err()
	switch {
	case err == nil && (own == nil || errors.Is(own, errAnswered) && len(a.sink.raw) > 0):
		return nil
	case err == nil:
		return explain(&b.lifetime, own)
	case own == nil && len(a.sink.raw) > 0:
		return nil
	case own == nil:
		own = err
	}
	return explain(&b.lifetime, own)
}

// givenUpFor is the answer for which the connection was given up before the others
// came.
func (b *batch) givenUpFor() error {
	for _, a := range b.asks[:b.used] {
		if text, bad := a.sink.failure(); bad && errors.Is(a.cmd.Err(), errAnswered) {
			return serverError(text)
		}
	}
	return errAnswered
}

// readFailure takes in an error answer. Some are a reason to ask again in another
// way: they say that nothing was done.
func (b *batch) readFailure(a *ask, text string) {
	noScript := a.script != nil && a.name == "EVALSHA" && len(text) >= 8 && text[:8] == "NOSCRIPT"
	for _, c := range a.calls {
		native := a.script == nil && (c.cmd.Op == wire.Extend || c.cmd.Op == wire.Release)
		switch {
		case noScript:
			c.byText = true
		case len(a.calls) > 1 && kindOf(text) == ErrPermission && nothingDone(text, a.name):
			c.alone = true // one of the keys is forbidden, but not all
		case c.waking && kindOf(text) == ErrPermission && nothingDone(text, a.name):
			// If it isn't the line that is forbidden, the release says so again.
			// Until the next Probe.
			b.pipe.r.mute.Store(true)
			c.quiet = true
		case native && isUnknown(text):
			// Until the next Probe.
			if c.cmd.Op == wire.Release {
				b.pipe.r.release.Store(uint32(DialectLua))
			} else {
				b.pipe.r.extend.Store(uint32(DialectLua))
			}
			c.byLua = true
		case native && c.cmd.Op == wire.Release && kindOf(text) == ErrOutOfMemory:
			c.byLua = true // Tair's CAD; a script may delete
		case native:
			c.fail(serverError(text))
			continue
		default:
			c.turnedDown(text, a.name)
			continue
		}
		c.resend = true
	}
}

// takeNative reads the answer to a command of the server's own.
func (c *call) takeNative(a *ask) {
	c.vote = wire.Vote{Outcome: wire.Refused}
	switch a.sink.raw[0] {
	case '+':
		c.vote.Outcome = wire.Granted
	case ':':
		r := reply{rest: a.sink.raw}
		n := r.integer()
		if !r.end() || n < -1 || n > 1 {
			c.garbled(&a.sink)
			return
		}
		if n == 1 {
			c.vote.Outcome = wire.Granted
		}
	}
	if c.pttl != nil && c.vote.Outcome == wire.Refused {
		// Only a hint: without it the waiter polls.
		r := reply{rest: c.pttl.sink.raw}
		if ms := r.integer(); r.end() {
			c.vote.Remaining = remaining(ms)
		}
	}
}

// readList reads an answer of acquire.lua or release.lua.
func (a *ask) readList() {
	l := list{reply: reply{rest: a.sink.raw}}
	acquire := a.script == acquireScript
	l.head(len(a.calls), acquire)
	for _, c := range a.calls {
		answer, failure, ok := l.next(acquire)
		switch {
		case !ok:
			c.garbled(&a.sink)
		case failure != "":
			//guard:listed-errors-are-a-scripts  an error in a list of answers comes from within a script, which may have set the key
			c.turnedDown(failure, "")
		default:
			answer.clock = l.clock
			c.take(answer)
		}
	}
	if !l.end() {
		for _, c := range a.calls {
			c.garbled(&a.sink)
		}
	}
}

// addClock adds the clock that was asked for beside commands that don't tell it.
func (b *batch) addClock() {
	if b.clock == nil {
		return
	}
	r := reply{rest: b.clock.sink.raw}
	if r.array() != 2 {
		return
	}
	now := r.clock()
	if !r.end() {
		return
	}
	for _, a := range b.asks[:b.used] {
		if a.script != nil && a.script != releaseScript {
			continue // it has told the clock itself
		}
		for _, c := range a.calls {
			if c.cmd.Clock && c.vote.Outcome != wire.Failed {
				c.vote.Clock = now
			}
		}
	}
}

// addWait turns grants that too few replicas have into failed votes.
func (b *batch) addWait(err error) {
	if b.wait == nil {
		return
	}
	why := b.replicated(err)
	if why == nil {
		return
	}
	for _, c := range b.calls {
		if c.writes() && c.vote.Outcome == wire.Granted {
			c.fail(why)
		}
	}
}

// replicated is why too few replicas have what was written.
func (b *batch) replicated(err error) error {
	cfg, s := b.pipe.r.cfg, &b.wait.sink
	if err := b.broken(b.wait, err); err != nil {
		return err
	}
	if text, bad := s.failure(); bad {
		return fmt.Errorf("%w: WAIT: %w", wire.ErrNotReplicated, serverError(text))
	}
	r := reply{rest: s.raw}
	n := r.integer()
	if !r.end() {
		return fmt.Errorf("%w: WAIT answered %.60q", ErrReply, s.raw)
	}
	//guard:replicas-have-it  a grant that too few replicas acknowledged doesn't count
	if n < int64(cfg.Replicas) {
		return fmt.Errorf("%w: %d of %d within %v; see to the replicas, or lower Config.Replicas",
			wire.ErrNotReplicated, n, cfg.Replicas, b.waited)
	}
	return nil
}

// lifetime is an exchange's context: it ends at the deadline of the last of its
// calls. The pipe's one timer ends it, which costs less than a timer for each.
type lifetime struct {
	deadline time.Time // zero: none
	done     chan struct{}
	over     atomic.Bool
}

// Deadline is when it ends.
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
