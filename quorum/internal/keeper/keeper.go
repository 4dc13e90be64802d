// Package keeper ends leases at their deadlines, and says when to extend those that are kept
// alive.
package keeper

import (
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/background"
	"github.com/redquorum/redlock/quorum/internal/pace"
	"github.com/redquorum/redlock/quorum/internal/wheel"
)

// lookAgainAtEnd is when to look again at a lease that should have ended.
const lookAgainAtEnd = 20 * time.Millisecond

// Config sets up a Keeper of leases. Its functions are called without the Keeper's lock, except
// Entry.
type Config[L any] struct {
	Clock  clock.Clock
	Reader *drift.Reader
	Group  *background.Group

	// Entry is where the Keeper keeps what it knows of the lease.
	Entry func(L) *Entry[L]
	// Left is the validity. It ends no lease.
	Left func(L) time.Duration
	// Ended reports whether the lease has ended.
	Ended func(L) bool
	// Over ends the lease if its validity is used up. It may take long.
	Over func(L)
	// Extend extends leases that are due together. It may take long.
	Extend func([]L)
	// Close ends all leases, because the Group was closed.
	Close func([]L)
}

// Keeper watches leases. It costs one goroutine however many leases there are, and one more for
// each group of extensions under way. A lease that is not watched is not in it: its validity is
// computed on demand.
//
// A lease that has expired ends on a goroutine of its own, so that a slow hook delays no other
// lease's end.
type Keeper[L any] struct {
	cfg   Config[L]
	start sync.Once

	mu     sync.Mutex
	leases wheel.Wheel[L] // not those that the goroutine checks
	armed  time.Duration  // when the goroutine looks again in any case, by the monotonic clock
	closed bool
	pause  time.Duration // until then, counted from when armed was set
	wake   chan struct{} // gets an element if the goroutine has to look sooner
}

// Entry is what the Keeper knows of a lease. Guarded by the Keeper's lock.
type Entry[L any] struct {
	entry    wheel.Entry[L] // when to check it next
	extendAt time.Duration  // when to extend it, wheel.Never if it is not to be extended
	present  bool
}

// NewEntry returns the Entry of a lease that is not watched.
func NewEntry[L any]() Entry[L] { return Entry[L]{extendAt: wheel.Never} }

// New returns a Keeper without leases.
func New[L any](cfg Config[L]) *Keeper[L] {
	return &Keeper[L]{cfg: cfg, armed: wheel.Never, wake: make(chan struct{}, 1)}
}

// Watch has the lease ended at its deadline, and extended at that time, unless that is
// wheel.Never. The Group counts it until it has ended.
func (k *Keeper[L]) Watch(l L, extendAt time.Duration) {
	k.cfg.Group.Add()
	k.start.Do(func() { k.cfg.Group.GoStanding(k.run) })
	now := k.cfg.Reader.Now().Mono
	look := pace.LookAgain(k.cfg.Left(l))
	k.mu.Lock()
	// Invariant: the goroutine sees every lease that is added, or none is added. It was
	// started before this, unless the Group was closed before.
	if k.closed || k.cfg.Group.Closed() {
		k.mu.Unlock()
		go func() {
			defer k.cfg.Group.Finish()
			k.cfg.Close([]L{l})
		}()
		return
	}
	e := k.cfg.Entry(l)
	e.present = true
	// ExtendAt may have been called already, beside the first look at a context.
	e.extendAt = min(e.extendAt, extendAt)
	k.addLocked(l, e, now, now+look)
	k.wakeLocked(e.entry.Due(), now)
	k.mu.Unlock()
	// It may have ended before it was added.
	if k.cfg.Ended(l) {
		k.Remove(l)
	}
}

// addLocked has a lease looked at when it is due for an extension, or before that.
func (k *Keeper[L]) addLocked(l L, e *Entry[L], now, due time.Duration) {
	e.entry.Value = l
	k.leases.Add(&e.entry, min(due, e.extendAt), now)
}

// Remove is called when a lease has ended.
func (k *Keeper[L]) Remove(l L) {
	k.mu.Lock()
	e := k.cfg.Entry(l)
	present := e.present
	if present && e.entry.In() {
		k.leases.Remove(&e.entry)
	}
	e.present = false
	k.mu.Unlock()
	if present {
		k.cfg.Group.Finish()
	}
}

// ExtendAt has a lease that is watched extended at that time.
func (k *Keeper[L]) ExtendAt(l L, at time.Duration) {
	now := k.cfg.Reader.Now().Mono
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.cfg.Entry(l)
	e.extendAt = at
	if e.present && e.entry.In() && at < e.entry.Due() {
		k.leases.Remove(&e.entry)
		k.addLocked(l, e, now, at)
		k.wakeLocked(at, now)
	}
}

// wakeLocked wakes the goroutine if it would look too late.
func (k *Keeper[L]) wakeLocked(due, now time.Duration) {
	if due >= k.armed {
		return
	}
	k.armed, k.pause = due, due-now
	select {
	case k.wake <- struct{}{}:
	default: // it is awake already
	}
}

// run looks at each lease when it is due, until the Group is closed. It reads the clocks only
// when a lease is due, and before it starts anything: so how often they are read does not depend
// on the scheduler, and a simulation can stop at each reading.
func (k *Keeper[L]) run() {
	var timer <-chan time.Time
	for {
		select {
		case <-timer:
			over, extend, pause := k.look()
			if timer = nil; pause < wheel.Never {
				timer = k.cfg.Clock.After(pause)
			}
			for _, l := range over {
				k.cfg.Group.Go(func() { k.cfg.Over(l) })
			}
			if len(extend) > 0 {
				k.cfg.Group.Go(func() { k.cfg.Extend(extend) })
			}
		case <-k.wake:
			k.mu.Lock()
			pause := k.pause
			k.mu.Unlock()
			timer = k.cfg.Clock.After(pause)
		case <-k.cfg.Group.Closing():
			k.mu.Lock()
			k.closed = true
			all := k.leases.Clear()
			k.mu.Unlock()
			k.cfg.Close(all)
			return
		}
	}
}

// look looks at the leases that are due. It returns those that are over, those that are to be
// extended, and the time until the next lease is due.
func (k *Keeper[L]) look() (over, extend []L, pause time.Duration) {
	now := k.cfg.Reader.Now().Mono
	k.mu.Lock()
	due := k.leases.Take(now)
	k.mu.Unlock()
	// Without the lock, because each lease has a lock of its own.
	left := make([]time.Duration, len(due))
	for i, l := range due {
		left[i] = k.cfg.Left(l)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, l := range due {
		e := k.cfg.Entry(l)
		if !e.present {
			continue
		}
		switch {
		case left[i] <= 0:
			over = append(over, l)
			// Unless it is valid again by then: an extension was just won, or a wall clock that
			// was set forward is set back.
			k.leases.Add(&e.entry, min(now+lookAgainAtEnd, max(now+time.Millisecond, e.extendAt)), now)
			continue
		case e.extendAt <= now:
			e.extendAt = wheel.Never
			extend = append(extend, l)
		}
		k.addLocked(l, e, now, now+pace.LookAgain(left[i]))
	}
	k.armed = k.leases.Next()
	if k.armed == wheel.Never {
		return over, extend, wheel.Never
	}
	//guard:context-at-deadline  a lease's contexts end at its deadline at the latest
	return over, extend, max(0, k.armed-k.cfg.Reader.Now().Mono)
}
