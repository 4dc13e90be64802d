package quorum

import (
	"time"

	"github.com/redquorum/redlock/drift"
)

// KeepAlive has the Coordinator extend the lease whenever between a sixth and a third of its
// validity is used up, until it is released or lost, the Coordinator is closed, or it has
// reached Terms.MaxLife. If an extension fails the Coordinator tries again until the deadline,
// at which the lease ends. A second call does nothing.
//
// Extensions of different leases that are due within 10 ms go out together, in one exchange with
// each instance if they are not too many.
//
// The extensions don't depend on the holder's progress: work that hangs forever keeps the lock
// forever, unless MaxLife is set.
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
	k := l.state.c.keeper
	if at := k.nextExtension(l.Validity(), false); !l.watchAndExtend(at) {
		k.extendAt(l, at)
	}
}

// extensionPause is the pause before the next extension of a lease that has so much validity
// left.
//
// Leases that were taken together must not be extended together each time. So the pauses are
// random: at least a sixth of the validity, and up to a third. After an extension that failed
// up to a quarter of what is left is added.
//
// A repeated extension adds to the servers' load, which may be too high already. So the next
// try begins an InstanceTimeout or more after one that failed. By then its requests were
// answered or have timed out, so that at most one extension of a lease is under way at each
// instance. Only in the last two InstanceTimeouts are the pauses shorter.
func (c *core) extensionPause(left time.Duration, failed bool) time.Duration {
	const least = time.Millisecond
	//guard:extensions-spread  leases that were taken together are extended at different times
	pause := left/3 - c.random.Jitter(left/6)
	if failed {
		//guard:extensions-spaced  an extension isn't repeated while the one before may be under way
		pause = min(c.cfg.InstanceTimeout, left/2) + c.random.Jitter(left/4)
	}
	return max(pause, least)
}

// together is by how much an extension is brought forward at most to go out together with others
// of the Coordinator. That saves most of their cost: an exchange with a server costs more than
// dozens of extensions in it.
func together(left time.Duration) time.Duration { return min(10*time.Millisecond, left/64) }

// patience is the timeout of an extension by KeepAlive: an InstanceTimeout or, while much
// validity is left, up to four. A late answer to an extension is as good as an early one,
// because the new validity counts from before it was sent. And another try would cost slow
// servers a second extension.
func (c *core) patience(left time.Duration) time.Duration {
	//guard:late-extensions-count  a keep-alive uses the answers of servers that are late
	return max(c.cfg.InstanceTimeout, min(4*c.cfg.InstanceTimeout, left/8))
}

// nextTTL is the TTL for the next extension, within Terms.MaxLife; more is false if that leaves
// nothing to gain.
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
