package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// exchange is one pipeline of go-redis: the commands of many calls, in the order of their ranks, and
// their replies. Each link has one, which is used again.
type exchange struct {
	r           *Redis
	pipeline    redis.Pipeliner
	markKey     string
	cmds        []redis.Cmder
	runs        []scriptRun
	questions   []question
	transaction *transaction
}

// scriptRun is one call of a script: for one request, or for several of a kind.
type scriptRun struct {
	script *script
	calls  []*call
	cmd    *redis.Cmd
}

// run sends the calls' commands and sets their votes. It returns the calls that have to be sent once more,
// and the error after which the connection can't be used.
func (x *exchange) run(calls []*call) (again []*call, err error) {
	x.cmds, x.runs, x.questions = x.cmds[:0], x.runs[:0], x.questions[:0]
	defer func() {
		clear(x.cmds)
		clear(x.runs)
		clear(x.questions)
	}()
	ctx, sent := context.Background(), x.r.pipe.reader.Now()
	clocked, replicated := false, false
	for _, c := range calls {
		switch {
		case c.commands != nil:
			x.cmds = append(x.cmds, c.commands(x.markKey)...)
		case c.looks:
			x.questions = append(x.questions, x.question(c))
		case c.req.Op == wire.Acquire:
			x.transaction.add(c, sent)
		default:
			x.join(c)
		}
		clocked = clocked || c.req.Op == wire.Release && c.req.Clock
		replicated = replicated || x.r.cfg.Replicas > 0 && c.replicated()
	}
	for i := range x.runs {
		x.runs[i].build(x.r, x.markKey)
		x.cmds = append(x.cmds, x.runs[i].cmd)
	}
	for _, q := range x.questions {
		x.cmds = append(x.cmds, q.holder, q.left)
	}
	var now *redis.TimeCmd
	if clocked {
		now = redis.NewTimeCmd(ctx, "TIME")
		x.cmds = append(x.cmds, now)
	}
	x.cmds = x.transaction.commands(x.cmds, x.markKey)
	var acknowledged *redis.IntCmd
	if replicated {
		wait := replicaTimeout(x.r.cfg.ReplicaTimeout, calls)
		acknowledged = redis.NewIntCmd(ctx, "WAIT", x.r.cfg.Replicas, wait.Milliseconds())
		x.cmds = append(x.cmds, acknowledged)
	}
	err = x.send()
	var clock time.Time
	if clocked {
		clock = now.Val()
	}
	for i := range x.runs {
		again = append(again, x.runs[i].read(x.r, clock)...)
	}
	for i := range x.questions {
		x.questions[i].read()
	}
	more, bad := x.transaction.read(err, sent)
	again = append(again, more...)
	if replicated {
		x.r.replicated(calls, acknowledged)
	}
	for _, c := range calls {
		switch {
		case c.commands != nil && err != nil:
			c.fail(explain(err))
		case c.commands != nil:
			c.vote = wire.Vote{Outcome: wire.Granted}
		case errors.Is(c.vote.Err, wire.ErrNotMaster), errors.Is(c.vote.Err, ErrReply):
			// The address may lead to the new master by now, or the replies are out of step.
			bad = c.vote.Err
		}
	}
	return again, errors.Join(err, bad)
}

// send carries out the pipeline. The error is that of the connection; those of commands are theirs.
func (x *exchange) send() (err error) {
	defer func() {
		if p := recover(); p != nil { // in a hook of the caller's client
			err = recovered(p)
			for _, cmd := range x.cmds {
				cmd.SetErr(err)
			}
		}
	}()
	_ = x.pipeline.BatchProcess(context.Background(), x.cmds...)
	if _, err = x.pipeline.Exec(context.Background()); isReply(err) {
		// The first one's. The last one's says whether all were read.
		if err = x.cmds[len(x.cmds)-1].Err(); isReply(err) {
			err = nil
		}
	}
	return err
}

// join adds a request of a script. What can share a script does, because a script's start costs a server as
// much as several locks.
func (x *exchange) join(c *call) {
	for i := range x.runs {
		if x.runs[i].takes(c) {
			x.runs[i].calls = append(x.runs[i].calls, c)
			return
		}
	}
	x.runs = append(x.runs, scriptRun{calls: []*call{c}})
}

// takes reports whether a request can share the script.
func (s *scriptRun) takes(c *call) bool {
	first := s.calls[0]
	if first.req.Op != c.req.Op || c.alone || first.alone {
		return false
	}
	switch c.req.Op {
	case wire.Extend:
		//guard:one-run-per-list  requests share a script only if their clients know the same run
		return first.req.Run == c.req.Run
	case wire.Release:
		return true
	}
	return false
}

// build makes the command.
func (s *scriptRun) build(r *Redis, markKey string) {
	first, n := s.calls[0], 0
	for _, c := range s.calls {
		n += c.keys()
	}
	keys, args := make([]any, 0, 2*n+1), make([]any, 0, 2*n+8)
	req, f, w := &first.req, &first.req.Fence, &first.waiter
	marked := false
	if req.Op == wire.Extend || req.Op == wire.Raise || req.Op == wire.Restore || req.Op == wire.Pass || req.Op == wire.Tick {
		args = append(args, string(req.Run))
		marked = req.Run.Epoch() != ""
	}
	if req.Op == wire.Release {
		// The locks whose waiters are notified come first.
		slices.SortStableFunc(s.calls, func(a, b *call) int { return notifying(b) - notifying(a) })
	}
	if req.Op != wire.Tick {
		for _, c := range s.calls {
			for i := range c.keys() {
				keys = append(keys, r.lockArg(c.key(i)))
			}
		}
	}
	values := func() {
		for _, c := range s.calls {
			for range c.keys() {
				args = append(args, &c.req.Value)
			}
		}
	}
	counters := func() {
		for i := range first.keys() {
			keys = append(keys, r.Key(CounterKey(*first.key(i))))
		}
	}
	switch req.Op {
	case wire.Extend:
		s.script = extendScript
		values()
		for _, c := range s.calls {
			for range c.keys() {
				args = append(args, c.req.TTL.Milliseconds())
			}
		}
	case wire.Raise, wire.Restore, wire.Pass:
		s.script = liftScript
		token := any("")
		if f.On || req.Op == wire.Raise {
			token = uint64(f.Token)
			counters()
		}
		args = append(args, n, req.Value, req.TTL.Milliseconds(), token, f.Ahead.Microseconds(), f.TTL.Milliseconds(), req.Op.String())
	case wire.Tick:
		s.script = tickScript
	case wire.Look:
		if s.script = lookScript; f.On {
			counters()
		}
	case wire.Release:
		if s.script = releaseScript; n == 1 {
			s.script = releaseOneScript
		}
		for _, c := range s.calls {
			for i := 0; notifying(c) == 1 && i < c.keys(); i++ {
				keys = append(keys, r.Key(WaitersKey(*c.key(i))))
			}
		}
		values()
	case wire.Enqueue:
		s.script = enqueueScript
		keys = append(keys, r.Key(WaitersKey(w.Key)))
		args = append(args, w.Address, w.TTL.Milliseconds(), w.Front, w.Yield)
	case wire.Dequeue:
		s.script = dequeueScript
		keys = append(keys, r.Key(WaitersKey(w.Key)))
		args = append(args, w.Address)
	}
	if marked {
		keys = append(keys, markKey)
	}
	all := make([]any, 0, 3+len(keys)+len(args))
	//guard:first-in-full  a server gets a script in full until it is known to have it: there may be no time to ask again
	if r.loaded.Load()&s.script.bit == 0 || slices.ContainsFunc(s.calls, func(c *call) bool { return c.withSource }) {
		all = append(all, "EVAL", s.script.source)
	} else {
		all = append(all, "EVALSHA", s.script.sha)
	}
	s.cmd = redis.NewCmd(context.Background(), append(append(append(all, len(keys)), keys...), args...)...)
}

func notifying(c *call) int {
	if c.req.Notify {
		return 1
	}
	return 0
}

// read reads the reply and sets the votes. It returns the calls that have to be sent once more. clock is
// for releases, whose scripts don't tell it.
func (s *scriptRun) read(r *Redis, clock time.Time) (again []*call) {
	if err := s.cmd.Err(); err != nil {
		return s.failed(r, err)
	}
	r.loaded.Or(s.script.bit)
	l, ok := list(nil), true
	switch reply := s.cmd.Val().(type) {
	case int64:
		l = list{reply}
	case []any:
		l = reply
	}
	if s.calls[0].req.Op != wire.Release {
		var micros int64
		if micros, ok = l.first(); ok {
			clock, l = time.UnixMicro(micros), l[1:]
		}
	}
	for _, c := range s.calls {
		n := c.answers()
		if !ok || len(l) < n {
			c.fail(fmt.Errorf("%w: %v answered %.60q", ErrReply, c.req.Op, fmt.Sprint(s.cmd.Val())))
			continue
		}
		c.vote = c.voteOf(l)
		l = l[n:]
		if c.req.Clock || c.req.Op == wire.Tick {
			c.vote.Clock = clock
		}
		if c.vote.Outcome == wire.Granted && c.keys() > 1 {
			c.vote.Keys = uint8(c.keys())
		}
	}
	return nil
}

// answers is how many elements of a list are the answer to a request.
func (c *call) answers() int {
	switch c.req.Op {
	case wire.Extend, wire.Release:
		return c.keys()
	case wire.Tick:
		return 0
	}
	return 1
}

// voteOf reads the elements of a request.
func (c *call) voteOf(l list) (vote wire.Vote) {
	first := l.number(0)
	granted := first == 1
	switch c.req.Op {
	case wire.Extend:
		for i := range c.keys() {
			granted = granted && l.number(i) == 1
		}
	case wire.Release:
		granted = true
		for i := range c.keys() {
			granted = granted && l.number(i)&1 == 1
			vote.Notified = vote.Notified || l.number(i)&2 == 2
		}
	case wire.Look:
		if granted = l[0] == nil; !granted {
			vote.Holder, vote.Remaining = l.text(0), remaining(l.number(1))
		}
		if c.req.Fence.On {
			vote.Token = parseToken(l.text(2))
		}
	case wire.Tick:
		granted = true
	case wire.Dequeue:
		vote.Notified = first == 2
	}
	//guard:outcome-as-answered  only a script's grant is read as a grant
	if vote.Outcome = wire.Refused; granted {
		vote.Outcome = wire.Granted
	}
	return vote
}

// failed takes in that the script failed.
func (s *scriptRun) failed(r *Redis, err error) (again []*call) {
	text, c := err.Error(), s.calls[0]
	switch {
	case !isReply(err):
		for _, c := range s.calls {
			c.fail(explain(err))
		}
		return nil
	case strings.HasPrefix(text, "NOSCRIPT") && !c.withSource:
		r.loaded.And(^s.script.bit)
		for _, c := range s.calls {
			c.withSource = true
		}
	case len(s.calls) > 1:
		// Because of one of its keys, perhaps.
		for _, c := range s.calls {
			c.alone = true
		}
	case c.req.Op == wire.Release && c.req.Notify && kindOf(text) == ErrPermission:
		//guard:release-without-queue  a user without the right to the wait queue still releases
		r.cannotNotify.Store(true)
		c.req.Notify = false
	default:
		c.rejected(readable([]byte(text)), r.prefix)
		return nil
	}
	return s.calls
}

// question is that of a refused acquisition: who holds the lock, and for how long. It comes in an
// exchange of its own, because few acquisitions are refused, and each would pay for it. A long value in the
// lock's place is cut: its reply would hold up those of other requests.
type question struct {
	call   *call
	holder *redis.StringCmd
	left   *redis.IntCmd
}

// question makes the commands of one.
func (x *exchange) question(c *call) question {
	ctx, key := context.Background(), x.r.lockArg(c.inTheWay())
	return question{c, redis.NewStringCmd(ctx, "GETRANGE", key, 0, 16383), redis.NewIntCmd(ctx, "PTTL", key)}
}

// read reads the replies. If there are none, the vote stays a refusal.
func (q *question) read() {
	c := q.call
	c.looks = false
	if reply, ok := errors.AsType[redis.Error](q.holder.Err()); ok && kindOf(reply.Error()) == ErrWrongType {
		c.unsent(fmt.Errorf("%w: %q", ErrWrongType, *c.inTheWay()))
		return
	}
	if q.holder.Err() == nil {
		c.vote.Holder = q.holder.Val()
	}
	if q.left.Err() == nil {
		c.vote.Remaining = remaining(q.left.Val())
	}
}

// inTheWay is the key that was in the way.
func (c *call) inTheWay() *string { return c.key(max(0, int(c.vote.InTheWay)-1)) }

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
func parseToken(text string) fencing.Token {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
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

// replicated fails the grants that too few replicas have.
func (r *Redis) replicated(calls []*call, acknowledged *redis.IntCmd) {
	n, err := acknowledged.Result()
	if err == nil && n >= int64(r.cfg.Replicas) {
		return
	}
	for _, c := range calls {
		//guard:replicas-acknowledge  a grant counts only when as many replicas have it as the instance demands
		if c.replicated() && c.vote.Outcome == wire.Granted {
			if c.fail(fmt.Errorf("%w: %d of %d did in time", wire.ErrNotReplicated, n, r.cfg.Replicas)); err != nil {
				c.fail(fmt.Errorf("%w: %w", wire.ErrNotReplicated, explain(err)))
			}
		}
	}
}
