package quorum

import (
	"context"
	"time"

	"github.com/redquorum/redlock/drift"
)

// KeepAlive extends the lease by itself, each time a third of its validity is
// used up, until it is released or lost, the Coordinator is closed, or its life
// has reached Terms.MaxLife. When it can't extend, it tries again until the
// deadline, and there the lease ends, not later. A second call does nothing.
//
// A goroutine keeps the lease alive, not its holder: work that hangs for ever
// keeps the lock for ever, unless MaxLife is set.
func (l *Lease) KeepAlive() {
	l.mu.Lock()
	start := !l.kept && l.over == nil
	l.kept = true
	l.mu.Unlock()
	if start {
		// The watcher ends the lease whatever becomes of the keeper.
		l.watch()
		l.hold.c.background.start(l.keep)
	}
}

func (l *Lease) keep() {
	const least = time.Millisecond
	share := time.Duration(3)
	for {
		left := l.Validity()
		if left <= 0 {
			return
		}
		select {
		case <-l.hold.c.clock.After(max(left/share, least)):
		case <-l.ended():
			return
		case <-l.hold.c.background.done:
			return // the watcher ends the lease
		}
		if _, more := l.nextTTL(); !more {
			return
		}
		if err := l.extend(context.Background(), l.cappedTTL); err == nil {
			share = 3
		} else {
			// Sooner and sooner, as the deadline comes nearer.
			share = 8
		}
	}
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
	if l.terms.MaxLife == 0 {
		return ttl, true
	}
	lived := drift.Elapsed(l.acquired, l.hold.c.reader.Now())
	ttl = min(ttl, l.terms.MaxLife-lived).Truncate(time.Millisecond)
	if ttl == l.terms.TTL {
		return ttl, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.capped = true
	return ttl, ttl > 0 && l.hold.c.cfg.Drift.Validity(ttl, 0) > l.leftLocked()
}
