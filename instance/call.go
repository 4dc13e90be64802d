package instance

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
)

// call is one Do: the command, its arguments as go-redis takes them, and the
// vote. Calls are used again, so that a Do allocates little; go-redis gets
// pointers into the call, which it takes as it takes values.
//
// A call belongs to whoever runs it until it says that it is done, and is used
// again only then: one that was given up is left to the collector.
type call struct {
	exchange
	r    *Redis
	cmd  quorum.Command
	vote quorum.Vote
	done chan struct{}

	ttl, counterTTL int64 // milliseconds
	token           uint64
	set             string
	counter, nonce  bytesArg
	prefix          []byte
	args            [12]any
	raws            [maxAsks][]byte
	asked           [maxAsks]ask
	pttl            [2]any
}

// maxAsks: SET, PTTL, TIME and WAIT.
const maxAsks = 4

// maxReply is the longest answer to a command, in bytes: a Look at a key that
// is no lock may find a long value.
const maxReply = 64 << 10

// bytesArg is an argument that lies in a buffer.
type bytesArg struct{ b []byte }

// MarshalBinary gives the bytes to go-redis.
func (a *bytesArg) MarshalBinary() ([]byte, error) { return a.b, nil }

// String gives the bytes to go-redis's hooks.
func (a *bytesArg) String() string { return string(a.b) }

// newCalls makes an instance's pool of calls. Each has its own: the channels in
// them must not travel from one testing/synctest bubble to another.
func newCalls() *sync.Pool {
	return &sync.Pool{New: func() any { return &call{done: make(chan struct{}, 1)} }}
}

// ask runs a command and waits for its vote or the end of ctx.
func (r *Redis) ask(ctx context.Context, cmd quorum.Command) quorum.Vote {
	if ctx.Err() != nil {
		return quorum.Vote{Epoch: r.epoch.n.Load(), Unsent: true, Err: ended(ctx, nil)}
	}
	c := r.calls.Get().(*call)
	c.prepare(ctx, r, cmd)
	if ctx.Done() == nil {
		c.run()
	} else {
		// go-redis reads on after a cancellation. The goroutine ends with the
		// answer, the context's deadline or Options.ReadTimeout.
		go c.run()
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		select {
		case <-c.done:
		default:
			unsent := c.giveUp()
			return quorum.Vote{Epoch: r.epoch.n.Load(), Unsent: unsent, Err: ended(ctx, nil)}
		}
	}
	vote := c.vote
	c.forget()
	r.calls.Put(c)
	return vote
}

func (c *call) prepare(ctx context.Context, r *Redis, cmd quorum.Command) {
	c.client, c.ctx, c.r, c.cmd = r.client, ctx, r, cmd
	c.state.Store(unsent)
	c.ttl = cmd.TTL.Milliseconds()
	c.counterTTL = cmd.CounterTTL.Milliseconds()
	c.token = uint64(cmd.Token)
}

// forget drops what a call in the pool must not keep alive.
func (c *call) forget() {
	for i := range c.asked {
		// A long answer's buffer isn't worth keeping.
		if raw := c.asked[i].sink.raw; cap(raw) <= 4<<10 {
			c.raws[i] = raw[:0]
		}
		c.asked[i] = ask{}
	}
	c.client, c.ctx, c.r, c.asks = nil, nil, nil, nil
	c.cmd, c.vote, c.set = quorum.Command{}, quorum.Vote{}, ""
	clear(c.args[:])
	clear(c.pttl[:])
}

func (c *call) run() {
	defer func() {
		if p := recover(); p != nil {
			c.vote = c.failed(recovered(p))
		}
		c.vote.Epoch = c.r.epoch.n.Load()
		c.done <- struct{}{}
	}()
	c.vote = c.do()
}

func (c *call) do() quorum.Vote {
	switch c.cmd.Op {
	case quorum.Acquire:
		if c.cmd.Replace != "" {
			return c.replace()
		}
		if c.cmd.Fence {
			c.set = c.r.setText(c.cmd.Set)
			return c.eval(acquireScript, c.scripted(2, &c.cmd.Value, &c.ttl, &c.counterTTL, &c.set))
		}
		return c.bare()
	case quorum.Raise:
		return c.eval(raiseScript, c.scripted(2, &c.cmd.Value, &c.token, &c.counterTTL))
	case quorum.Extend:
		return c.extend()
	case quorum.Restore:
		if c.cmd.Fence {
			c.set = c.r.setText(c.cmd.Set)
			return c.eval(restoreScript, c.scripted(2, &c.cmd.Value, &c.ttl, &c.token, &c.counterTTL, &c.set))
		}
		return c.eval(restoreScript, c.scripted(1, &c.cmd.Value, &c.ttl))
	case quorum.Release:
		return c.release()
	case quorum.Look:
		if c.cmd.Fence {
			return c.eval(lookScript, c.scripted(2))
		}
		return c.eval(lookScript, c.scripted(1))
	case quorum.Tick:
		return c.tick()
	case quorum.Enlist:
		return c.eval(enlistScript, c.waiting(&c.cmd.Waiter, &c.ttl, flag(c.cmd.Front), flag(c.cmd.Yield)))
	case quorum.Withdraw:
		return c.eval(withdrawScript, c.waiting(&c.cmd.Waiter))
	default:
		return c.failed(fmt.Errorf("%w: there is no operation %v", ErrConfig, c.cmd.Op))
	}
}

// setText spells a set, and keeps the last one.
func (r *Redis) setText(set quorum.Set) string {
	if last := r.set.Load(); last != nil && last.set == set {
		return last.text
	}
	text := set.String()
	r.set.Store(&setText{set: set, text: text})
	return text
}

// failed is the vote of a command without a usable answer.
func (c *call) failed(err error) quorum.Vote {
	return quorum.Vote{Outcome: quorum.Failed, Unsent: c.state.Load() == unsent, Err: err}
}

// broken is the vote of a command that send failed for.
func (c *call) broken(err error) quorum.Vote { return c.failed(explain(c.ctx, err)) }

// turnedDown is the vote of a command that the server answered with an error. If
// it would have set the lock's key, and the server certainly didn't begin with it,
// nothing has to be deleted: as if it had never been sent. Without this a server
// whose memory is full would be owed a delete for every lock that is taken.
func (c *call) turnedDown(text string) quorum.Vote {
	vote := c.failed(serverError(text))
	if (c.cmd.Op == quorum.Acquire || c.cmd.Op == quorum.Restore) && nothingDone(text) {
		vote.Unsent = true
	}
	return vote
}

// garbled is the vote of a command whose answer has the wrong form.
func (c *call) garbled(s *sink) quorum.Vote {
	return c.failed(fmt.Errorf("%w: %v answered %.60q", ErrReply, c.cmd.Op, s.raw))
}

// begin starts a list of asks; the first one's name marks the exchange.
func (c *call) begin(name string) { c.name, c.asks = name, c.asked[:0] }

func (c *call) add(args []any, f form, prefix []byte) *sink {
	i := len(c.asks)
	c.asks = c.asked[:i+1]
	c.asks[i] = ask{args: args, sink: sink{form: f, prefix: prefix, limit: maxReply, raw: c.raws[i][:0]}}
	return &c.asks[i].sink
}

var timeArgs = []any{"TIME"}

// addTime asks for the clock if the command does.
func (c *call) addTime() *sink {
	if !c.cmd.Clock {
		return nil
	}
	return c.add(timeArgs, isPair, nil)
}

// addWait asks for the replicas' acknowledgement if the command needs it. It
// comes last: what is written before it on the connection is what it waits for.
// It is asked even where the lock turns out to be refused, as that isn't known
// yet; then its answer is ignored.
func (c *call) addWait() *sink {
	if c.r.cfg.Replicas == 0 {
		return nil
	}
	switch c.cmd.Op {
	case quorum.Acquire, quorum.Raise, quorum.Extend, quorum.Restore:
		return c.add([]any{"WAIT", c.r.cfg.Replicas, c.r.cfg.ReplicaTimeout.Milliseconds()}, isInteger, nil)
	default:
		return nil
	}
}

// replicated turns a grant that too few replicas have into a failed vote.
func (c *call) replicated(vote quorum.Vote, wait *sink) quorum.Vote {
	if wait == nil || vote.Outcome != quorum.Granted {
		return vote
	}
	if text, bad := wait.failure(); bad {
		return c.failed(fmt.Errorf("%w: WAIT: %w", quorum.ErrNotReplicated, serverError(text)))
	}
	r := reply{rest: wait.raw}
	n := r.integer()
	if !r.end() {
		return c.garbled(wait)
	}
	if n < int64(c.r.cfg.Replicas) {
		return c.failed(fmt.Errorf("%w: %d of %d within %v; see to the replicas, or lower Config.Replicas",
			quorum.ErrNotReplicated, n, c.r.cfg.Replicas, c.r.cfg.ReplicaTimeout))
	}
	return vote
}

// clocked adds the clock that was asked for beside the command.
func (c *call) clocked(vote quorum.Vote, clock *sink) quorum.Vote {
	if clock == nil {
		return vote
	}
	r := reply{rest: clock.raw}
	if r.array() == 2 {
		if t := r.clock(); r.end() {
			vote.Clock = t
		}
	}
	return vote
}

// scripted lays out a script's arguments: its keys (none, the lock's, and with 2
// the counter's), the nonce, and the rest. The script itself comes later.
func (c *call) scripted(keys int, rest ...any) []any {
	c.nonce.b = strconv.AppendUint(c.nonce.b[:0], c.r.nonce.Add(1), 10)
	c.prefix = append(append(append(c.prefix[:0], "*7\r\n:"...), c.nonce.b...), "\r\n"...)

	args := append(c.args[:0], &c.exchange, nil)
	switch keys {
	case 0:
		args = append(args, "0")
	case 1:
		args = append(args, "1", &c.cmd.Key)
	default:
		c.counter.b = append(append(append(c.counter.b[:0], '{'), c.cmd.Key...), counterSuffix...)
		args = append(args, "2", &c.cmd.Key, &c.counter)
	}
	return append(append(args, &c.nonce), rest...)
}

// counterSuffix ends the counter's key, which starts with a brace.
const counterSuffix = "}:redlock"

// eval runs a script by its hash, and by its text where the server lacks it: it
// is new, was restarted, or its scripts were flushed. NOSCRIPT says that nothing
// was done, so all is sent again, WAIT too.
func (c *call) eval(s *script, args []any) quorum.Vote {
	vote, missing := c.evalAs("EVALSHA", &s.sha, args)
	if !missing {
		return vote
	}
	if !c.again() {
		return c.failed(ended(c.ctx, nil))
	}
	vote, _ = c.evalAs("EVAL", &s.source, args)
	return vote
}

func (c *call) evalAs(name string, body *string, args []any) (vote quorum.Vote, missing bool) {
	args[1] = body
	c.begin(name)
	main := c.add(args, nil, c.prefix)
	wait := c.addWait()
	if err := c.send(); err != nil {
		return c.broken(err), false
	}
	if text, bad := main.failure(); bad {
		return c.turnedDown(text), name == "EVALSHA" && len(text) >= 8 && text[:8] == "NOSCRIPT"
	}
	a, ok := decodeScript(main.raw)
	if !ok || a.outcome == scriptReplaced && c.cmd.Replace == "" {
		return c.garbled(main), false
	}
	return c.replicated(c.voteOf(a), wait), false
}

// voteOf gives the vote that a script's answer is.
func (c *call) voteOf(a answer) quorum.Vote {
	vote := quorum.Vote{Outcome: quorum.Refused}
	if c.cmd.Clock {
		vote.Clock = a.clock
	}
	if a.outcome == scriptGranted || a.outcome == scriptReplaced {
		vote.Outcome = quorum.Granted
	}
	switch c.cmd.Op {
	case quorum.Release, quorum.Withdraw:
		vote.Woke = a.token == 1
	case quorum.Acquire:
		switch a.outcome {
		case scriptGranted, scriptReplaced:
			vote.Replaced = a.outcome == scriptReplaced
			vote.Token = fencing.Token(a.token)
			if c.cmd.Fence && !vote.Token.Valid() {
				return c.failed(fmt.Errorf("%w: the server counted to %d", ErrCounter, a.token))
			}
		case scriptRefused:
			vote.Remaining = remaining(a.ttl)
		case scriptOtherSet:
			vote.Err = &quorum.SetMismatchError{Mine: c.cmd.Set, Theirs: string(a.text)}
		}
	case quorum.Look:
		vote.Token = fencing.Token(a.token)
		if a.outcome == scriptRefused {
			vote.Holder, vote.Remaining = string(a.text), remaining(a.ttl)
		}
	}
	return vote
}

// remaining reads PTTL's answer.
func remaining(ms int64) time.Duration {
	switch {
	case ms == -1:
		return quorum.NoExpiry
	case ms <= 0:
		return 0
	case ms > int64(1<<63-1)/int64(time.Millisecond):
		return 1<<63 - 1
	default:
		return time.Duration(ms) * time.Millisecond
	}
}

// bare is the Redis document's SET NX PX, with PTTL behind it for the hint.
func (c *call) bare() quorum.Vote {
	args := append(c.args[:0], &c.exchange, &c.cmd.Key, &c.cmd.Value, "NX", "PX", &c.ttl)
	c.begin("SET")
	set := c.add(args, isStatus, nil)
	c.pttl = [2]any{"PTTL", &c.cmd.Key}
	pttl := c.add(c.pttl[:], isInteger, nil)
	clock, wait := c.addTime(), c.addWait()
	if err := c.send(); err != nil {
		return c.broken(err)
	}
	if text, bad := set.failure(); bad {
		return c.turnedDown(text)
	}
	vote := quorum.Vote{Outcome: quorum.Granted}
	if set.raw[0] != '+' {
		vote.Outcome = quorum.Refused
		// Only a hint: without it the waiter polls.
		if r := (reply{rest: pttl.raw}); true {
			if ms := r.integer(); r.end() {
				vote.Remaining = remaining(ms)
			}
		}
	}
	return c.replicated(c.clocked(vote, clock), wait)
}

// tick asks for the clock. By a script, though TIME would do: its answer carries
// the call's number, and a stale clock taken for a fresh one would pass for a jump.
func (c *call) tick() quorum.Vote {
	c.cmd.Clock = true
	return c.eval(tickScript, c.scripted(0))
}

// extend compares and extends, in the server's dialect.
func (c *call) extend() quorum.Vote {
	var args []any
	switch Dialect(c.r.extend.Load()) {
	case DialectRedis, DialectValkey:
		c.begin("SET")
		args = append(c.args[:0], &c.exchange, &c.cmd.Key, &c.cmd.Value, "IFEQ", &c.cmd.Value, "PX", &c.ttl)
		if vote, ok := c.native(args, isStatus); ok {
			return vote
		}
	case DialectTair:
		c.begin("CAS")
		// Never without PX: CAS takes the key's time away then.
		args = append(c.args[:0], &c.exchange, &c.cmd.Key, &c.cmd.Value, &c.cmd.Value, "PX", &c.ttl)
		if vote, ok := c.native(args, isInteger); ok {
			return vote
		}
	}
	return c.eval(extendScript, c.scripted(1, &c.cmd.Value, &c.ttl))
}

// replace acquires a key that may hold the value of a lease that is over.
func (c *call) replace() quorum.Vote {
	if !c.cmd.Fence {
		return c.eval(replaceScript, c.scripted(1, &c.cmd.Value, &c.cmd.Replace, &c.ttl))
	}
	c.set = c.r.setText(c.cmd.Set)
	return c.eval(replaceScript, c.scripted(2, &c.cmd.Value, &c.cmd.Replace, &c.ttl, &c.counterTTL, &c.set))
}

// waiting lays out the arguments of a script about those who wait for the lock.
func (c *call) waiting(rest ...any) []any {
	args := c.scripted(2, rest...)
	c.counter.b = append(append(append(c.counter.b[:0], '{'), c.cmd.Key...), waitersSuffix...)
	return args
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// wake releases and calls who waits, in one step, which takes a script in all
// dialects. ok is false if the user may not look at the line, and nothing was done.
func (c *call) wake() (vote quorum.Vote, ok bool) {
	vote = c.eval(wakeScript, c.waiting(&c.cmd.Value))
	if !errors.Is(vote.Err, ErrPermission) || !c.again() {
		return vote, true
	}
	// If it isn't the line that it may not touch, the release says so again.
	c.r.mute.Store(true)
	return vote, false
}

// release compares and deletes, in the server's dialect.
func (c *call) release() quorum.Vote {
	if c.cmd.Wake && !c.r.mute.Load() {
		if vote, ok := c.wake(); ok {
			return vote
		}
	}
	var args []any
	switch Dialect(c.r.release.Load()) {
	case DialectRedis:
		c.begin("DELEX")
		// Never without IFEQ: DELEX is DEL then.
		args = append(c.args[:0], &c.exchange, &c.cmd.Key, "IFEQ", &c.cmd.Value)
	case DialectValkey:
		c.begin("DELIFEQ")
		args = append(c.args[:0], &c.exchange, &c.cmd.Key, &c.cmd.Value)
	case DialectTair:
		c.begin("CAD")
		args = append(c.args[:0], &c.exchange, &c.cmd.Key, &c.cmd.Value)
	}
	if args != nil {
		if vote, ok := c.native(args, isInteger); ok {
			return vote
		}
	}
	return c.eval(releaseScript, c.scripted(1, &c.cmd.Value))
}

// native sends a dialect's own command. ok is false when the server refused it
// unexecuted in a way that a script may not be: the caller then runs the script.
func (c *call) native(args []any, f form) (vote quorum.Vote, ok bool) {
	main := c.add(args, f, nil)
	clock, wait := c.addTime(), c.addWait()
	if err := c.send(); err != nil {
		return c.broken(err), true
	}
	if text, bad := main.failure(); bad {
		switch {
		case isUnknown(text):
			// Until the next Probe.
			if c.cmd.Op == quorum.Release {
				c.r.release.Store(uint32(DialectLua))
			} else {
				c.r.extend.Store(uint32(DialectLua))
			}
		case c.cmd.Op == quorum.Release && kindOf(text) == ErrOutOfMemory:
			// Tair's CAD; a script may delete.
		default:
			return c.failed(serverError(text)), true
		}
		if !c.again() {
			return c.failed(ended(c.ctx, nil)), true
		}
		return quorum.Vote{}, false
	}
	vote.Outcome = quorum.Refused
	switch main.raw[0] {
	case '+':
		vote.Outcome = quorum.Granted
	case ':':
		r := reply{rest: main.raw}
		n := r.integer()
		if !r.end() || n < -1 || n > 1 {
			return c.garbled(main), true
		}
		if n == 1 {
			vote.Outcome = quorum.Granted
		}
	}
	return c.replicated(c.clocked(vote, clock), wait), true
}
