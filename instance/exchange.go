package instance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// exchange is one pipeline of go-redis: the commands of many calls and their replies. Each link has one, which
// is used again. The commands are those of a Probe; TIME, if a release asks for the clock; the lists; the
// questions; the transaction; and WAIT, if a grant has to be replicated.
//
// go-redis writes the replies to raw, except a Probe's. That costs no allocation for each of them.
type exchange struct {
	r           *Redis
	pipeline    redis.Pipeliner
	markKey     string // with the term, see deployment.find
	raw         bytes.Buffer
	cmds        []redis.Cmder
	lists       []list
	questions   []*call
	transaction transaction

	// Buffers that are used again.
	keys, args []any
	names      []*keyArg
	named      int // how many of them are in use
}

func newExchange(r *Redis, pipeline redis.Pipeliner, markKey string) *exchange {
	x := &exchange{r: r, pipeline: pipeline, markKey: markKey}
	x.transaction.init(x)
	return x
}

// command makes a command whose reply goes to raw.
func (x *exchange) command(args ...any) *redis.RawWriteToCmd {
	return redis.NewRawWriteToCmd(context.Background(), &x.raw, args...)
}

// beside is the name of another key in a lock's slot.
func (x *exchange) beside(key, suffix string) *keyArg {
	if x.named == len(x.names) {
		x.names = append(x.names, &keyArg{})
	}
	name := x.names[x.named]
	x.named++
	name.set(x.r.prefix, key, suffix)
	return name
}

// keyArg is the name of a key in a buffer that is used again.
type keyArg struct{ b []byte }

// set sets it to the key beside a lock's, see CounterKey and WaitersKey.
func (a *keyArg) set(prefix, key, suffix string) {
	a.b = append(append(append(append(a.b[:0], prefix...), '{'), key...), suffix...)
}

// MarshalBinary returns the name to go-redis.
func (a *keyArg) MarshalBinary() ([]byte, error) { return a.b, nil }

// String returns the name to go-redis's hooks.
func (a *keyArg) String() string { return string(a.b) }

// run sends the calls' commands and sets their votes, and says which calls have to be sent once more
// (call.again). The error is why the connection can't be used any more.
func (x *exchange) run(calls []*call) (err error) {
	defer x.reset()
	sent := x.r.pipe.reader.Now()
	clocked, replicated := false, false
	for _, c := range calls {
		switch {
		case c.commands != nil:
			x.cmds = append(x.cmds, c.commands(x.markKey)...)
		case c.looks:
			x.questions = append(x.questions, c)
		case c.req.Op == wire.Acquire:
			x.transaction.add(c, sent)
		default:
			x.join(c)
		}
		clocked = clocked || c.req.Op == wire.Release && c.req.Clock
		replicated = replicated || x.r.cfg.Replicas > 0 && c.replicated()
	}
	if clocked {
		x.cmds = append(x.cmds, x.command("TIME"))
	}
	for i := range x.lists {
		x.cmds = append(x.cmds, x.lists[i].command(x))
	}
	for _, c := range x.questions {
		// A long value in the lock's place is cut: its reply would hold up those of other requests.
		key := x.r.lockArg(c.inTheWay())
		x.cmds = append(x.cmds, x.command("GETRANGE", key, 0, 16383), x.command("PTTL", key))
	}
	x.transaction.commands()
	if replicated {
		wait := replicaTimeout(x.r.cfg.ReplicaTimeout, calls)
		x.cmds = append(x.cmds, x.command("WAIT", x.r.cfg.Replicas, wait.Milliseconds()))
	}

	err = x.send()
	p := &parser{rest: x.raw.Bytes(), err: err}
	var clock time.Time
	if clocked {
		if _, failed := p.failure(); !failed { // a release doesn't need it
			clock = p.clock()
		}
	}
	for i := range x.lists {
		x.lists[i].read(x.r, p, clock)
	}
	for _, c := range x.questions {
		c.answered(p)
	}
	bad := x.transaction.read(p, sent)
	if replicated {
		x.r.replicated(calls, p)
	}
	if p.bad || len(p.rest) > 0 {
		bad = p.why()
	}
	for _, c := range calls {
		switch {
		case c.commands != nil && err != nil:
			c.fail(explain(err))
		case c.commands != nil:
			c.vote = wire.Vote{Outcome: wire.Granted}
		case c.vote.Err == nil: // nearly always, and the rest isn't free
		//guard:moved-slot-is-followed  a node that says MOVED is asked nothing more
		case errors.Is(c.vote.Err, wire.ErrNotMaster), errors.Is(c.vote.Err, ErrReply), redis.HasErrorPrefix(c.vote.Err, "MOVED "):
			// The address may lead to the new master by now, another node has the locks' slot, or the replies are out of step.
			bad = c.vote.Err
		}
	}
	return errors.Join(err, bad)
}

// send carries out the pipeline. The error is that of the connection; those of commands are theirs.
func (x *exchange) send() (err error) {
	defer func() {
		if p := recover(); p != nil { // in a hook of the caller's client
			err = recovered(p)
		}
	}()
	for _, cmd := range x.cmds {
		cmd.SetErr(nil)
	}
	_ = x.pipeline.BatchProcess(context.Background(), x.cmds...)
	if _, err = x.pipeline.Exec(context.Background()); isReply(err) {
		// The first one's. The last one's says whether all were read.
		if err = x.cmds[len(x.cmds)-1].Err(); isReply(err) {
			err = nil
		}
	}
	return err
}

// reset makes it ready for other calls.
func (x *exchange) reset() {
	clear(x.cmds)
	clear(x.lists)
	clear(x.questions)
	clear(x.keys)
	clear(x.args)
	x.cmds, x.lists, x.questions = x.cmds[:0], x.lists[:0], x.questions[:0]
	x.keys, x.args, x.named = x.keys[:0], x.args[:0], 0
	x.transaction.reset()
	if x.raw.Reset(); x.raw.Cap() > 64<<10 { // what a long value has left
		x.raw = bytes.Buffer{}
	}
}

// inTheWay is the key that was in the way of an acquisition. Who holds it is asked in an exchange of its own,
// because few acquisitions are refused, and each would pay for the question.
func (c *call) inTheWay() *string { return &c.req.Keys[max(0, int(c.vote.InTheWay)-1)] }

// answered reads who holds the lock, and for how long. Without a reply the vote stays a refusal.
func (c *call) answered(p *parser) {
	c.looks = false
	holder, failed := p.failure()
	if failed && kindOf(holder) == ErrWrongType {
		c.unsent(fmt.Errorf("%w: %q", ErrWrongType, *c.inTheWay()))
	} else if !failed {
		text, _ := p.text()
		c.vote.Holder = string(text)
	}
	if _, failed := p.failure(); !failed && !p.bad {
		if left := p.integer(); !p.bad && c.vote.Err == nil {
			c.vote.Remaining = remaining(left)
		}
	}
}

// remaining reads PTTL's reply. A key that has gone meanwhile has next to nothing left.
func remaining(ms int64) time.Duration {
	switch {
	case ms == -1:
		return wire.NoExpiry
	case ms <= 0:
		return time.Millisecond
	case ms > int64(1<<63-1)/int64(time.Millisecond):
		return 1<<63 - 1
	}
	return time.Duration(ms) * time.Millisecond
}

// parseToken reads a counter as it stands, 0 if it is none.
func parseToken(text []byte) fencing.Token {
	n, _ := strconv.ParseUint(string(text), 10, 64)
	return fencing.Token(n)
}

// replicaTimeout is how long the server waits for the replicas: as configured, or half of what is left of
// the calls' time.
func replicaTimeout(configured time.Duration, calls []*call) time.Duration {
	if configured > 0 {
		return configured
	}
	left := defaultReplicaTimeout
	for _, c := range calls {
		if !c.deadline.IsZero() {
			left = min(left, time.Until(c.deadline)/2)
		}
	}
	return max(left, time.Millisecond).Truncate(time.Millisecond)
}

// replicated reads WAIT's reply, and fails the grants that too few replicas have.
func (r *Redis) replicated(calls []*call, p *parser) {
	text, failed := p.failure()
	n := int64(0)
	if !failed {
		n = p.integer()
	}
	why := fmt.Errorf("%w: %d of %d did in time", wire.ErrNotReplicated, n, r.cfg.Replicas)
	switch {
	case failed:
		why = fmt.Errorf("%w: %w", wire.ErrNotReplicated, serverError(text))
	case p.bad:
		why = fmt.Errorf("%w: %w", wire.ErrNotReplicated, p.why())
	case n >= int64(r.cfg.Replicas):
		return
	}
	for _, c := range calls {
		if c.replicated() && c.vote.Outcome == wire.Granted {
			c.fail(why)
		}
	}
}
