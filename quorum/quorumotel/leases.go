package quorumotel

import (
	"sync"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
)

// leases knows which leases are held. Counting up at Acquired and down at the end
// would not do: of a lease that nobody watches or releases no end is told, and a
// lost one may be released as well. So each is kept with its deadline.
type leases struct {
	mu    sync.Mutex
	known map[leaseID]span
	limit int // how many may be known before the old ones are looked for
}

// leaseID names a lease. Tokens are never used twice; where fencing is off they are
// 0, and a lease is told from an earlier one on the same key by its age.
type leaseID struct {
	key   string
	token fencing.Token
}

// span is a lease's time: held from start, and valid until deadline.
type span struct{ start, deadline time.Time }

const (
	// grace is how long a lease is remembered after its deadline, for the hook that
	// tells of its end.
	grace = time.Minute
	// leastLimit bounds how often leases are looked through.
	leastLimit = 64
	// slack is what may pass between an event and its hook.
	slack = 10 * time.Millisecond
)

func newLeases() *leases { return &leases{known: make(map[leaseID]span), limit: leastLimit} }

// hold takes in a lease that was acquired or extended.
func (l *leases) hold(e quorum.LeaseEvent, now time.Time) {
	if e.Validity <= 0 {
		return // it ended while it was extended
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known[leaseID{e.Key, e.Token}] = span{start: now.Add(-e.Held), deadline: now.Add(e.Validity)}
	if len(l.known) > l.limit {
		l.forgetOld(now)
		// Twice what is left: each lease is looked at a constant number of times.
		l.limit = max(leastLimit, 2*len(l.known))
	}
}

// drop forgets a lease that has ended, and reports whether it was known.
func (l *leases) drop(e quorum.LeaseEvent, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := leaseID{e.Key, e.Token}
	s, ok := l.known[id]
	// A lease that is older than the one known is an earlier one.
	if !ok || e.Token == 0 && e.Held > now.Sub(s.start)+slack {
		return false
	}
	delete(l.known, id)
	return true
}

// held counts the leases that are valid now, by key.
func (l *leases) held(now time.Time) map[string]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetOld(now)
	held := make(map[string]int64)
	for id, s := range l.known {
		if s.deadline.After(now) {
			held[id.key]++
		}
	}
	return held
}

func (l *leases) forgetOld(now time.Time) {
	for id, s := range l.known {
		if now.Sub(s.deadline) > grace {
			delete(l.known, id)
		}
	}
}
