package quorum

import (
	"context"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum/internal/wheel"
)

// keeper ends leases at their deadlines and extends those that are kept alive. A
// Coordinator and its views share one, which costs one goroutine however many leases there
// are, and one more for each group of extensions under way. A lease that is not watched is
// not in it: its validity is computed on demand.
//
// A lease that has expired ends on a goroutine of its own, so that a slow hook delays no other
// lease's end. When the Coordinator is closed all leases end before the first hook is called.
type keeper struct {
	c     *core
	start sync.Once

	mu     sync.Mutex
	leases wheel.Wheel[*Lease] // not those that the goroutine checks
	armed  time.Duration       // when the goroutine looks again in any case, by the monotonic clock
	closed bool
	pause  time.Duration // until then, counted from when armed was set
	wake   chan struct{} // gets an element if the goroutine has to look sooner
}

// kept is what the keeper knows of a lease. Guarded by the keeper's lock.
type kept struct {
	entry    wheel.Entry[*Lease] // when to check it next
	extendAt time.Duration       // when to extend it, never if it is not to be extended
	present  bool
}

const never = wheel.Never

// lookAgainAtEnd is when to look again at a lease that should have ended.
const lookAgainAtEnd = 20 * time.Millisecond

func newKeeper(c *core) *keeper {
	return &keeper{c: c, armed: never, wake: make(chan struct{}, 1)}
}

// watch has the lease ended at its deadline, and extended at that time, unless that is
// never. Background counts it until it has ended.
func (k *keeper) watch(l *Lease, extendAt time.Duration) {
	k.c.background.Add()
	k.start.Do(func() { k.c.background.GoStanding(k.run) })
	now := k.c.reader.Now().Mono
	look := lookAgain(l.leftNow())
	k.mu.Lock()
	// Invariant: the goroutine sees every lease that is added, or none is added. It was
	// started before this, unless the Coordinator was closed before.
	if k.closed || k.c.closed() {
		k.mu.Unlock()
		go func() {
			defer k.c.background.Finish()
			l.end(ErrClosed)
		}()
		return
	}
	l.kept.present = true
	// KeepAlive may have set extendAt already, beside the first look at a context.
	l.kept.extendAt = min(l.kept.extendAt, extendAt)
	k.addLocked(l, now, now+look)
	k.wakeLocked(l.kept.entry.Due(), now)
	k.mu.Unlock()
	// It may have ended before it was added.
	if l.hasEnded() {
		k.remove(l)
	}
}

// addLocked has a lease looked at when it is due for an extension, or before that.
func (k *keeper) addLocked(l *Lease, now, due time.Duration) {
	l.kept.entry.Value = l
	k.leases.Add(&l.kept.entry, min(due, l.kept.extendAt), now)
}

// remove is called when a lease has ended.
func (k *keeper) remove(l *Lease) {
	k.mu.Lock()
	present := l.kept.present
	if present && l.kept.entry.In() {
		k.leases.Remove(&l.kept.entry)
	}
	l.kept.present = false
	k.mu.Unlock()
	if present {
		k.c.background.Finish()
	}
}

// nextExtension is when to extend a lease next that has so much validity left.
func (k *keeper) nextExtension(left time.Duration, failed bool) time.Duration {
	now, pause := k.c.reader.Now().Mono, k.c.extensionPause(left, failed)
	if failed {
		return now + pause
	}
	return max((now + pause).Truncate(max(1, together(left))), now+left/6)
}

// extendAt has a lease that is watched extended at that time.
func (k *keeper) extendAt(l *Lease, at time.Duration) {
	now := k.c.reader.Now().Mono
	k.mu.Lock()
	defer k.mu.Unlock()
	l.kept.extendAt = at
	if l.kept.present && l.kept.entry.In() && at < l.kept.entry.Due() {
		k.leases.Remove(&l.kept.entry)
		k.addLocked(l, now, at)
		k.wakeLocked(at, now)
	}
}

// wakeLocked wakes the goroutine if it would look too late.
func (k *keeper) wakeLocked(due, now time.Duration) {
	if due >= k.armed {
		return
	}
	k.armed, k.pause = due, due-now
	select {
	case k.wake <- struct{}{}:
	default: // it is awake already
	}
}

// run looks at each lease when it is due, until the Coordinator is closed. It reads the
// clocks only when a lease is due, and before it starts anything: so how often they are read
// does not depend on the scheduler, and a simulation can stop at each reading.
func (k *keeper) run() {
	var timer <-chan time.Time
	for {
		select {
		case <-timer:
			over, extend, pause := k.look()
			if timer = nil; pause < never {
				timer = k.c.clock.After(pause)
			}
			for _, l := range over {
				k.c.background.Go(func() { l.Validity() }) // which ends it
			}
			if len(extend) > 0 {
				k.c.background.Go(func() { k.extend(extend) })
			}
		case <-k.wake:
			k.mu.Lock()
			pause := k.pause
			k.mu.Unlock()
			timer = k.c.clock.After(pause)
		case <-k.c.background.Closing():
			k.close()
			return
		}
	}
}

// look looks at the leases that are due. It returns those that are over, those that are to be
// extended, and the time until the next lease is due.
func (k *keeper) look() (over, extend []*Lease, pause time.Duration) {
	now := k.c.reader.Now().Mono
	k.mu.Lock()
	due := k.leases.Take(now)
	k.mu.Unlock()
	// Without the lock, because each lease has a lock of its own.
	left := make([]time.Duration, len(due))
	for i, l := range due {
		left[i] = l.leftNow()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, l := range due {
		if !l.kept.present {
			continue
		}
		switch {
		case left[i] <= 0:
			over = append(over, l)
			// Unless it is valid again by then: an extension was just won, or a wall clock that
			// was set forward is set back.
			k.leases.Add(&l.kept.entry, min(now+lookAgainAtEnd, max(now+time.Millisecond, l.kept.extendAt)), now)
			continue
		case l.kept.extendAt <= now:
			l.kept.extendAt = never
			extend = append(extend, l)
		}
		k.addLocked(l, now, now+lookAgain(left[i]))
	}
	k.armed = k.leases.Next()
	if k.armed == never {
		return over, extend, never
	}
	//guard:context-at-deadline  a lease's contexts end at its deadline at the latest
	return over, extend, max(0, k.armed-k.c.reader.Now().Mono)
}

// extend extends leases that are due together, and has each extended again.
func (k *keeper) extend(leases []*Lease) {
	free := leases[:0]
	for _, l := range leases {
		if l.tryExtension() {
			free = append(free, l)
			continue
		}
		// The holder extends it, or hands it off. The others don't wait for that.
		k.c.background.Go(func() {
			if l.enterExtension(context.Background()) == nil {
				k.extendEntered([]*Lease{l})
			}
		})
	}
	k.extendEntered(free)
}

// extendEntered is extend, when no other extension of these leases is under way.
func (k *keeper) extendEntered(leases []*Lease) {
	ctx, decided := context.Background(), make(chan *extension, len(leases))
	all := make([]*extension, 0, len(leases))
	for _, l := range leases {
		left := l.Validity()
		if _, more := l.nextTTL(); left <= 0 || !more {
			l.leaveExtension()
			continue
		}
		e, err := l.newExtension(ctx, k.c.patience(left), decided)
		if e == nil {
			k.extended(l, err)
			continue
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return
	}
	k.c.send(all...)
	for range all {
		e := <-decided
		k.extended(e.lease, e.conclude(ctx, e.result()))
	}
}

// extended takes in the end of an extension.
func (k *keeper) extended(l *Lease, err error) {
	l.leaveExtension()
	if left := l.Validity(); left > 0 {
		k.extendAt(l, k.nextExtension(left, err != nil))
	}
}

// close ends all leases. Their contexts end before any hook is called.
func (k *keeper) close() {
	k.mu.Lock()
	k.closed = true
	all := k.leases.Clear()
	k.mu.Unlock()
	ended := all[:0]
	for _, l := range all {
		l.mu.Lock()
		ends, first := l.endLocked(ErrClosed)
		l.mu.Unlock()
		for _, ctx := range ends {
			ctx.end(ErrClosed)
		}
		if first {
			ended = append(ended, l)
		}
	}
	for _, l := range ended {
		l.announceEnd(ErrClosed, nil)
	}
}
