package quorum

import (
	"time"

	"github.com/redquorum/redlock/drift"
)

// KeepAlive extends the lease by itself, each time between a sixth and a third of its
// validity is used up, until it is released or lost, the Coordinator is closed, or
// its life has reached Terms.MaxLife. When it can't extend, it tries again until the
// deadline, and there the lease ends, not later. A second call does nothing.
//
// The Coordinator keeps the lease alive, not its holder: work that hangs forever keeps the
// lock forever, unless MaxLife is set.
func (l *Lease) KeepAlive() {
	if l == nil {
		return
	}
	l.mu.Lock()
	start := !l.keeps && l.over == nil
	l.keeps = true
	l.mu.Unlock()
	if !start {
		return
	}
	pause := l.extensionPause(l.Validity(), false)
	if !l.watchAndExtend(pause) {
		l.state.c.keeper.extendAfter(l, pause)
	}
}

// extensionPause is the pause before the next extension of a lease that has so much
// validity left.
//
// Many leases that were taken together must not fall due together, again and again. So the
// pauses are random: half of a third at least, and after an extension that failed up to a
// quarter of what is left is added.
//
// A repeated extension adds to the load of servers that may be overloaded. So it begins an
// InstanceTimeout after the one that failed, or later: by then its requests have been
// answered or given up, and at each instance no more than one extension of a lease is under
// way. Only in the last two InstanceTimeouts the pauses are shorter.
func (l *Lease) extensionPause(left time.Duration, failed bool) time.Duration {
	const least = time.Millisecond
	c := l.state.c
	//guard:extensions-spread  leases that were taken together are extended at different times
	pause := left/3 - c.random.Jitter(left/6)
	if failed {
		//guard:extensions-spaced  an extension isn't repeated while the one before may be under way
		pause = min(c.cfg.InstanceTimeout, left/2) + c.random.Jitter(left/4)
	}
	return max(pause, least)
}

// patience is for how long the keeper waits for an instance: for an InstanceTimeout or, while
// much validity is left, for up to four. The answer to an extension is as good when it is
// late, for the new validity counts from before it was sent. And to ask once more would
// cost servers that are late a second extension.
func (c *core) patience(left time.Duration) time.Duration {
	//guard:late-extensions-count  a keep-alive uses the answers of servers that are late
	return max(c.cfg.InstanceTimeout, min(4*c.cfg.InstanceTimeout, left/8))
}

// cappedTTL is nextTTL's TTL; an extension by what gains nothing does nothing.
func (l *Lease) cappedTTL() time.Duration {
	ttl, _ := l.nextTTL()
	return ttl
}

// nextTTL is the TTL for the next extension, so that the life stays within
// Terms.MaxLife; more is false if that leaves nothing to gain.
func (l *Lease) nextTTL() (ttl time.Duration, more bool) {
	ttl = l.terms.TTL
	//guard:max-life  MaxLife bounds a lease that is kept alive
	if l.terms.MaxLife == 0 {
		return ttl, true
	}
	lived := drift.Elapsed(l.acquired, l.state.c.reader.Now())
	ttl = min(ttl, l.terms.MaxLife-lived).Truncate(time.Millisecond)
	if ttl == l.terms.TTL {
		return ttl, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.capped = true
	return ttl, ttl > 0 && l.state.c.cfg.Drift.Validity(ttl, 0) > l.leftLocked()
}
