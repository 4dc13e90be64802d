package instance

import (
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// list is the requests that one call of a script is about: one, or several of a kind, because a script's
// start costs a server as much as several locks.
type list struct {
	script *script
	calls  []*call
	inFull bool // the script went along
}

// join adds a request to a list.
func (x *exchange) join(c *call) {
	for i := range x.lists {
		if x.lists[i].takes(c) {
			x.lists[i].calls = append(x.lists[i].calls, c)
			return
		}
	}
	x.lists = append(x.lists, list{calls: []*call{c}})
}

// takes reports whether a request can be in the list.
func (l *list) takes(c *call) bool {
	first := l.calls[0]
	if first.req.Op != c.req.Op || c.alone || first.alone {
		return false
	}
	//guard:one-run-per-list  requests share a script only if their clients know the same run
	return c.req.Op == wire.Release || c.req.Op == wire.Extend && first.req.Run == c.req.Run
}

// command makes the list's command. The scripts say what their keys and arguments are.
func (l *list) command(x *exchange) redis.Cmder {
	first, r, n := l.calls[0], x.r, 0
	req, f, w := &first.req, &first.req.Fence, &first.req.Waiter
	// The locks whose waiters are notified come first.
	slices.SortStableFunc(l.calls, func(a, b *call) int { return notifying(b) - notifying(a) })
	keys, args := x.keys[:0], x.args[:0]
	inRun := req.Op == wire.Tick || req.Op.Held() && req.Op != wire.Release // see run.lua
	if inRun {
		args = append(args, (*string)(&req.Run))
	}
	for _, c := range l.calls {
		for i := range c.req.Keys {
			keys = append(keys, r.lockArg(&c.req.Keys[i]))
			if req.Op == wire.Extend || req.Op == wire.Release {
				args = append(args, &c.req.Value)
			}
		}
		n += len(c.req.Keys)
	}
	beside := func(suffix string) {
		for _, c := range l.calls {
			if req.Op == wire.Release && !c.req.Notify {
				continue
			}
			for _, key := range c.req.Keys {
				keys = append(keys, x.beside(key, suffix))
			}
		}
	}
	switch req.Op {
	case wire.Extend:
		l.script = extendScript
		for _, c := range l.calls {
			for range c.req.Keys {
				args = append(args, c.req.TTL.Milliseconds())
			}
		}
	case wire.Raise, wire.Restore, wire.Pass:
		l.script = liftScript
		token := any("")
		if f.On || req.Op == wire.Raise {
			token = uint64(f.Token)
			beside(counterSuffix)
		}
		args = append(args, n, req.Value, req.TTL.Milliseconds(), token, f.Ahead.Microseconds(), f.TTL.Milliseconds(), req.Op.String())
	case wire.Tick:
		l.script = tickScript
	case wire.Look:
		if l.script = lookScript; f.On {
			beside(counterSuffix)
		}
	case wire.Release:
		if l.script = releaseScript; n == 1 {
			l.script = releaseOneScript
		}
		beside(waitersSuffix)
	case wire.Enqueue:
		l.script, args = enqueueScript, append(args, w.Address, req.TTL.Milliseconds(), w.Front, w.Yield)
		beside(waitersSuffix)
	case wire.Dequeue:
		l.script, args = dequeueScript, append(args, w.Address)
		beside(waitersSuffix)
	}
	if inRun && req.Run.Epoch() != "" {
		keys = append(keys, x.markKey)
	}
	x.keys, x.args = keys, args
	all := append(make([]any, 0, 3+len(keys)+len(args)), "EVALSHA", l.script.sha, len(keys))
	// There may be no time to send a script again.
	if l.inFull = r.loaded.Load()&l.script.bit == 0; l.inFull {
		all[0], all[1] = "EVAL", l.script.source
	}
	return x.command(append(append(all, keys...), args...)...)
}

func notifying(c *call) int {
	if c.req.Notify {
		return 1
	}
	return 0
}

// read reads the reply and sets the votes. clock is for releases, whose scripts don't tell it.
func (l *list) read(r *Redis, p *parser, clock time.Time) {
	if text, failed := p.failure(); failed {
		l.failed(r, text)
		return
	}
	if l.script != releaseOneScript {
		p.array()
	}
	if l.calls[0].req.Op != wire.Release {
		clock = time.UnixMicro(p.integer())
	}
	for _, c := range l.calls {
		if c.read(p); p.bad {
			c.fail(p.why())
			continue
		}
		if c.unnotified { // it was denied because of the queues, not because of the locks
			r.cannotNotify.Store(true)
		}
		if c.req.Clock || c.req.Op == wire.Tick {
			c.vote.Clock = clock
		}
		if c.vote.Outcome == wire.Granted && len(c.req.Keys) > 1 {
			c.vote.Keys = uint8(len(c.req.Keys))
		}
	}
	if !p.bad {
		r.loaded.Or(l.script.bit)
	}
}

// read reads a request's part of a list's reply.
func (c *call) read(p *parser) {
	granted, vote := true, wire.Vote{Outcome: wire.Refused}
	switch c.req.Op {
	case wire.Tick:
	case wire.Look:
		holder, held := p.text()
		if left := p.integer(); held {
			vote.Holder, vote.Remaining = string(holder), remaining(left)
		}
		if granted = !held; c.req.Fence.On {
			counter, _ := p.text()
			vote.Token = parseToken(counter)
		}
	case wire.Release:
		for range c.req.Keys {
			done := p.integer()
			granted = granted && done&1 == 1
			vote.Notified = vote.Notified || done&2 == 2
		}
	case wire.Dequeue:
		done := p.integer()
		granted, vote.Notified = done == 1, done == 2
	case wire.Extend:
		for range c.req.Keys {
			granted = p.integer() == 1 && granted
		}
	default:
		granted = p.integer() == 1
	}
	if granted {
		vote.Outcome = wire.Granted
	}
	c.vote = vote
}

// failed takes in that the script failed.
func (l *list) failed(r *Redis, text string) {
	c := l.calls[0]
	switch {
	case strings.HasPrefix(text, "NOSCRIPT") && !l.inFull:
		r.loaded.And(^l.script.bit)
	case len(l.calls) > 1:
		for _, c := range l.calls {
			c.alone = true // because of one of its keys, perhaps
		}
	case c.req.Op == wire.Release && c.req.Notify && kindOf(text) == ErrPermission:
		c.unnotified, c.req.Notify = true, false
	default:
		c.rejected(text, r.prefix)
		return
	}
	for _, c := range l.calls {
		c.again = true
	}
}
