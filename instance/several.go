package instance

import "github.com/redquorum/redlock/quorum/wire"

// This file has the commands of leases on several keys (wire.Request.Also). Each request is one
// script, so one step of the server: acquire_all.lua and lift_all.lua, or extend.lua and
// release.lua, which take many locks anyway. A transaction can't do it, because it sets those keys
// that are free. Servers are independent masters, no cluster, so the keys may be in any slots.

// several reports whether the call is about several keys.
func (c *call) several() bool { return len(c.req.Also) > 0 }

// locksOf is how many locks calls are about.
func locksOf(calls []*call) int {
	n := len(calls)
	for _, c := range calls {
		n += len(c.req.Also)
	}
	return n
}

// appendKeys appends the locks' keys.
func (c *call) appendKeys(args []any) []any {
	args = append(args, &c.req.Key)
	for i := range c.req.Also {
		args = append(args, &c.req.Also[i])
	}
	return args
}

// appendEach appends an argument for each of the locks.
func (c *call) appendEach(args []any, arg any) []any {
	for range 1 + len(c.req.Also) {
		args = append(args, arg)
	}
	return args
}

// addSeveral adds a script for a call's locks, with their counters and texts if it is fenced. The
// caller appends what comes after the nonce and the run.
func (b *batch) addSeveral(s *script, c *call, fenced bool) *command {
	n := 1 + len(c.req.Also)
	keys := n
	if fenced {
		keys = 3 * n
	}
	a := b.addOne(s, c, keys+c.marks())
	a.args = c.appendKeys(a.args)
	if fenced {
		a.args = append(a.args, c.counterKey())
		for _, key := range c.req.Also {
			a.args = append(a.args, CounterKey(key))
		}
		a.args = append(a.args, c.setKey())
		for _, key := range c.req.Also {
			a.args = append(a.args, SetKey(key))
		}
	}
	if c.marks() > 0 {
		a.args = append(a.args, &b.pipe.r.markKey)
	}
	a.args = append(a.args, &a.nonce, (*string)(&c.req.Run))
	return a
}

func (b *batch) addAcquireAll(c *call) {
	req, n := &c.req, 1+len(c.req.Also)
	script := acquireAllBareScript
	if req.Fence.On {
		script = acquireAllScript
	}
	a := b.addSeveral(script, c, req.Fence.On)
	a.args = append(a.args, &c.ttl)
	if req.Fence.On {
		a.args = append(a.args, &c.quarter, &b.pipe.r.setText(req.Fence.Set).text, &c.ahead, &c.reserve, &c.token)
	}
	a.args = append(a.args, n, &req.Value, &req.Replace)
}

// addLiftAll adds a Raise or a Restore.
func (b *batch) addLiftAll(c *call) {
	req, n := &c.req, 1+len(c.req.Also)
	fenced := req.Fence.On || req.Op == wire.Raise
	a := b.addSeveral(liftAllScript, c, fenced)
	ttl := int64(0)
	if req.Op == wire.Restore {
		ttl = c.ttl
	}
	a.args = append(a.args, n, &req.Value, ttl)
	if fenced {
		a.args = append(a.args, &c.token, &c.quarter, &c.ahead, &b.pipe.r.setText(req.Fence.Set).text)
	}
}
