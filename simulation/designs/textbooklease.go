package designs

import (
	"context"
	"sync"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
)

// textbookLease is a lease of a Textbook.
type textbookLease struct {
	lock       *textbook
	key, value string

	mu       sync.Mutex
	start    drift.Instant // before its commands were sent
	length   time.Duration // its validity then
	released bool
}

var _ simulation.Lease = (*textbookLease)(nil)

func (l *textbookLease) Key() string          { return l.key }
func (l *textbookLease) Value() string        { return l.value }
func (l *textbookLease) Token() fencing.Token { return 0 }

// Quorum is the document's, whatever the flaws.
func (l *textbookLease) Quorum() int { return len(l.lock.instances)/2 + 1 }

func (l *textbookLease) Validity() time.Duration {
	l.mu.Lock()
	start, length, released := l.start, l.length, l.released
	l.mu.Unlock()
	if released {
		return 0
	}
	return length - l.lock.elapsed(start)
}

// Extend is the document's "Extending the lock".
func (l *textbookLease) Extend(ctx context.Context) error {
	t := l.lock
	if l.Validity() <= 0 && !t.ExtendSets {
		return quorum.ErrExpired
	}
	start := t.reader.Now()
	votes := t.ask(ctx, wire.Request{Op: wire.Extend, Keys: []string{l.key}, Value: l.value, TTL: t.ttl}, nil)
	if t.ExtendSets {
		votes = l.set(ctx, votes)
	}
	if t.CountFromReply {
		start = t.reader.Now()
	}
	needed := t.quorum(votes)
	if t.PartialExtend {
		needed = 1
	}
	length := t.allowance.Validity(t.ttl, 0)
	if count(votes, wire.Granted) < needed || length-t.elapsed(start) <= 0 && !t.NoElapsedCheck {
		return quorum.ErrNotExtended
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.start, l.length = start, length
	return nil
}

// set sets the key where an extension didn't find it. Another client's key stays.
func (l *textbookLease) set(ctx context.Context, votes []wire.Vote) []wire.Vote {
	missing := func(i int) bool { return votes[i].Outcome == wire.Refused }
	set := l.lock.ask(ctx, wire.Request{Op: wire.Acquire, Keys: []string{l.key}, Value: l.value, TTL: l.lock.ttl}, missing)
	for i := range set {
		if !missing(i) {
			set[i] = votes[i]
		}
	}
	return set
}

// Release is the document's "Releasing the Lock": everywhere.
func (l *textbookLease) Release(ctx context.Context) error {
	l.mu.Lock()
	again := l.released
	l.released = true
	l.mu.Unlock()
	if again {
		return quorum.ErrReleased
	}
	t := l.lock
	votes := t.ask(ctx, wire.Request{Op: wire.Release, Keys: []string{l.key}, Value: l.value}, nil)
	switch q := len(t.instances)/2 + 1; {
	case count(votes, wire.Granted) >= q:
		return nil
	case count(votes, wire.Refused) > len(t.instances)-q:
		return quorum.ErrNotHeld
	default:
		return quorum.ErrUnreachable
	}
}
