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
	if l.none() {
		return
	}
	if k := l.state.c.keeper; k.keeps(l) {
		k.watch(l, k.nextExtension(l.Validity(), false))
	}
}

// nextTTL is the TTL for an extension, within Terms.MaxLife; more is false if that leaves nothing to
// gain.
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
	more = ttl > 0 && l.state.c.cfg.Drift.Validity(ttl, 0) > l.leftLocked()
	l.capped = l.capped || !more
	return ttl, more
}
