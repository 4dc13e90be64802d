package instance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// exchange is one pipeline of go-redis: the commands of many calls, in the order of their ranks, and
// their replies. Each link has one, which is used again.
type exchange struct {
	r           *Redis
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

func (x *exchange) init(r *Redis) { x.r, x.transaction = r, newTransaction(r) }

// run sends the calls' commands and sets their votes. It returns the calls that have to be sent once more,
// and the error after which the connection can't be used.
func (x *exchange) run(l *link, calls []*call) (again []*call, err error) {
	x.cmds, x.runs, x.questions = x.cmds[:0], x.runs[:0], x.questions[:0]
	defer func() {
		clear(x.cmds)
		clear(x.runs)
		clear(x.questions)
	}()
	//guard:mark-of-this-term  a master that Sentinel brings back in the same run has no mark of its new term
	markKey := x.r.markKey + l.term
	var now *redis.TimeCmd
	for _, c := range calls {
		if c.commands != nil {
			x.cmds = append(x.cmds, c.commands(l.term)...)
		}
	}
	sent := l.p.reader.Now()
	x.scripts(calls, markKey, sent)
	x.ask(calls)
	if slices.ContainsFunc(calls, func(c *call) bool { return c.req.Op == wire.Release && c.req.Clock }) {
		now = redis.NewTimeCmd(context.Background(), "TIME")
		x.cmds = append(x.cmds, now)
	}
	x.cmds = x.transaction.commands(x.cmds, markKey)
	var acknowledged *redis.IntCmd
	if x.r.cfg.Replicas > 0 && slices.ContainsFunc(calls, (*call).replicated) {
		wait := replicaTimeout(x.r.cfg.ReplicaTimeout, calls)
		acknowledged = redis.NewIntCmd(context.Background(), "WAIT", x.r.cfg.Replicas, wait.Milliseconds())
		x.cmds = append(x.cmds, acknowledged)
	}
	err = x.send(l)
	for _, c := range calls {
		if c.commands != nil {
			if c.vote = (wire.Vote{Outcome: wire.Granted}); err != nil {
				c.fail(explain(err))
			}
		}
	}
	var clock time.Time
	if now != nil {
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
	if acknowledged != nil {
		x.r.replicated(calls, acknowledged)
	}
	for _, c := range calls {
		// The address may lead to the new master by now, or the replies are out of step.
		if errors.Is(c.vote.Err, wire.ErrNotMaster) || errors.Is(c.vote.Err, ErrReply) {
			bad = c.vote.Err
		}
	}
	return again, errors.Join(err, bad)
}

// send carries out the pipeline. The error is that of the connection; those of commands are theirs.
func (x *exchange) send(l *link) (err error) {
	defer func() {
		if p := recover(); p != nil { // in a hook of the caller's client
			err = recovered(p)
			for _, cmd := range x.cmds {
				cmd.SetErr(err)
			}
		}
	}()
	_ = l.pipeline.BatchProcess(context.Background(), x.cmds...)
	_, err = l.pipeline.Exec(context.Background())
	if _, reply := errors.AsType[redis.Error](err); reply {
		// The first one's. The last one's says whether all were read.
		err = x.cmds[len(x.cmds)-1].Err()
		if _, reply := errors.AsType[redis.Error](err); reply {
			err = nil
		}
	}
	return err
}

// scripts adds the calls of scripts: those that keep leases first, then releases, then the others. What
// can share a script does, because a script's start costs a server as much as several locks.
func (x *exchange) scripts(calls []*call, markKey string, now drift.Instant) {
	for _, c := range calls {
		switch {
		case c.commands != nil || c.looks:
			continue
		case c.req.Op == wire.Acquire:
			x.transaction.add(c, now)
			continue
		}
		if i := slices.IndexFunc(x.runs, func(s scriptRun) bool { return s.takes(c) }); i >= 0 {
			x.runs[i].calls = append(x.runs[i].calls, c)
		} else {
			x.runs = append(x.runs, scriptRun{calls: []*call{c}})
		}
	}
	for i := range x.runs {
		x.runs[i].build(x.r, markKey)
		x.cmds = append(x.cmds, x.runs[i].cmd)
	}
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
	locks := func() {
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
	marked := true
	req, f := &first.req, &first.req.Fence
	switch req.Op {
	case wire.Extend:
		s.script = extendScript
		locks()
		args = append(args, string(req.Run))
		values()
		for _, c := range s.calls {
			for range c.keys() {
				args = append(args, c.req.TTL.Milliseconds())
			}
		}
	case wire.Raise, wire.Restore:
		s.script = liftScript
		token, ttl := any(""), int64(0)
		locks()
		if f.On || req.Op == wire.Raise {
			token = uint64(f.Token)
			counters()
		}
		if req.Op == wire.Restore {
			ttl = req.TTL.Milliseconds()
		}
		args = append(args, string(req.Run), first.keys(), req.Value, ttl, token, f.Ahead.Microseconds(), f.TTL.Milliseconds())
	case wire.Tick:
		s.script = tickScript
		args = append(args, string(req.Run))
	case wire.Look:
		s.script, marked = lookScript, false
		locks()
		if f.On {
			counters()
		}
	case wire.Release:
		s.script, marked = releaseScript, false
		if n == 1 {
			s.script = releaseOneScript
		}
		// The locks whose waiters are notified come first.
		slices.SortStableFunc(s.calls, func(a, b *call) int { return notifying(b) - notifying(a) })
		locks()
		for _, c := range s.calls {
			for i := 0; notifying(c) == 1 && i < c.keys(); i++ {
				keys = append(keys, r.Key(WaitersKey(*c.key(i))))
			}
		}
		values()
	case wire.Enqueue, wire.Dequeue:
		s.script, marked = enqueueScript, false
		w := &first.waiter
		keys = append(keys, r.lockArg(&w.Key), r.Key(WaitersKey(w.Key)))
		if args = append(args, w.Address); req.Op == wire.Dequeue {
			s.script = dequeueScript
		} else {
			args = append(args, w.TTL.Milliseconds(), w.Front, w.Yield)
		}
	}
	if marked && req.Run.Epoch() != "" {
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
	l, told := list(nil), false
	switch reply := s.cmd.Val().(type) {
	case int64:
		l, told = list{reply}, s.script == releaseOneScript
	case []any:
		if s.script == releaseScript || s.script == releaseOneScript {
			l, told = reply, s.script == releaseScript
			break
		}
		var micros int64
		if micros, told = list(reply).first(); told {
			clock, l = time.UnixMicro(micros), reply[1:]
		}
	}
	next := 0
	for _, c := range s.calls {
		n := 1
		if c.req.Op == wire.Extend || c.req.Op == wire.Release {
			n = c.keys()
		}
		if c.req.Op == wire.Tick {
			n = 0
		}
		if !told || len(l) < next+n {
			c.fail(fmt.Errorf("%w: %v answered %.60q", ErrReply, c.req.Op, fmt.Sprint(s.cmd.Val())))
			continue
		}
		c.vote = c.voteOf(l[next:])
		next += n
		if c.req.Clock || c.req.Op == wire.Tick {
			c.vote.Clock = clock
		}
		if c.vote.Outcome == wire.Granted && c.keys() > 1 {
			c.vote.Keys = uint8(c.keys())
		}
	}
	return nil
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
	reply, replied := errors.AsType[redis.Error](err)
	if !replied {
		for _, c := range s.calls {
			c.fail(explain(err))
		}
		return nil
	}
	text := readable([]byte(reply.Error()))
	switch {
	case strings.HasPrefix(text, "NOSCRIPT") && !s.calls[0].withSource:
		r.loaded.And(^s.script.bit)
		for _, c := range s.calls {
			c.withSource = true
		}
		return s.calls
	case len(s.calls) > 1:
		// Because of one of its keys, perhaps.
		for _, c := range s.calls {
			c.alone = true
		}
		return s.calls
	}
	c := s.calls[0]
	if c.req.Op == wire.Release && c.req.Notify && kindOf(text) == ErrPermission {
		//guard:release-without-queue  a user without the right to the wait queue still releases
		r.cannotNotify.Store(true)
		c.req.Notify = false
		return s.calls
	}
	c.rejected(text, r.prefix)
	return nil
}

// rejected sets the vote of a request to which the server replied with an error.
func (c *call) rejected(text, prefix string) {
	if other := runError(text, c.req.Run); other != nil {
		c.unsent(other)
		return
	}
	if counter := counterError(text, &c.req); counter != nil {
		c.unsent(counter)
		return
	}
	c.fail(c.wrongValue(text, prefix))
}

// wrongValue is the error of a script, which names the keys if one holds something else than it should.
func (c *call) wrongValue(text, prefix string) error {
	inner, _ := withoutScript(text)
	key := c.req.Key
	if c.req.Op == wire.Enqueue || c.req.Op == wire.Dequeue {
		key = WaitersKey(c.waiter.Key)
	}
	if rest, counter := strings.CutPrefix(inner, badCounter+" "); counter {
		return noToken(prefix+CounterKey(key), rest, len(c.req.Also), 2*c.req.Fence.Ahead)
	}
	err := moving(serverError(text), prefix)
	if kindOf(text) == ErrWrongType {
		err = fmt.Errorf("%w: %q%s", err, prefix+key, orAnother(len(c.req.Also)))
	}
	return err
}

// orAnother says that it may be another key of a request for several.
func orAnother(others int) string {
	if others == 0 {
		return ""
	}
	return ", or another key of the lease"
}

// noToken is the error of a counter that is none. What it is follows from the server's words.
func noToken(counter, said string, others int, maxTTL time.Duration) error {
	after := "MaxTTL"
	if maxTTL > 0 {
		after += fmt.Sprintf(" (%v)", maxTTL)
	}
	return fmt.Errorf("%w: %q%s holds no token (%s); find out what wrote it; when nobody has held the lock for %s, and no sooner, or tokens may fall, delete it on this server",
		wire.ErrCounter, counter, orAnother(others), said, after)
}

// question is that of a refused acquisition: who holds the lock, and for how long. It comes in an
// exchange of its own, because few acquisitions are refused, and each would pay for it. A long value in the
// lock's place is cut: its reply would hold up those of other requests.
type question struct {
	call   *call
	holder *redis.StringCmd
	left   *redis.IntCmd
}

// ask adds the questions.
func (x *exchange) ask(calls []*call) {
	ctx := context.Background()
	for _, c := range calls {
		if c.looks {
			key := x.r.lockArg(c.inTheWay())
			q := question{c, redis.NewStringCmd(ctx, "GETRANGE", key, 0, 16383), redis.NewIntCmd(ctx, "PTTL", key)}
			x.questions = append(x.questions, q)
			x.cmds = append(x.cmds, q.holder, q.left)
		}
	}
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

// isTimeout reports whether nothing came in time.
func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout() || errors.Is(err, wire.ErrTimeout)
}
