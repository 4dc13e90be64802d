package quorum

import (
	"container/heap"
	"context"
	"math"
	"sync"
	"time"
)

// keeper ends leases at their deadlines and extends those that are kept alive. A
// Coordinator and its views share one, which costs one goroutine however many leases there
// are. A lease that is not watched is not in it: its validity is computed on demand.
//
// A lease that has expired ends on a goroutine of its own, so that a slow hook delays no other
// lease's end. When the Coordinator is closed all leases end before the first hook is called.
type keeper struct {
	c     *core
	start sync.Once

	mu     sync.Mutex
	leases keptLeases
	armed  time.Duration // when the goroutine looks again in any case, by the monotonic clock
	closed bool
	pause  time.Duration // until then, counted from when armed was set
	wake   chan struct{} // gets an element if the goroutine has to look sooner
}

// kept is what the keeper knows of a lease. Guarded by the keeper's lock.
type kept struct {
	present  bool
	index    int           // in keeper.leases, -1 while the goroutine checks the lease
	due      time.Duration // when to check it next, by the monotonic clock
	extendAt time.Duration // when to extend it, never if it is not to be extended
}

const never = time.Duration(math.MaxInt64)

// lookAgainAtEnd is when to look again at a lease that should have ended.
const lookAgainAtEnd = 20 * time.Millisecond

func newKeeper(c *core) *keeper {
	return &keeper{c: c, armed: never, wake: make(chan struct{}, 1)}
}

// watch has the lease ended at its deadline, and extended after extendIn, unless that is
// never. Background counts it until it has ended.
func (k *keeper) watch(l *Lease, extendIn time.Duration) {
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
	// KeepAlive may have set extendAt already, beside the first look at a context.
	l.kept.present = true
	if extendIn < never {
		l.kept.extendAt = now + extendIn
	}
	l.kept.due = min(now+look, l.kept.extendAt)
	heap.Push(&k.leases, l)
	k.wakeLocked(l.kept.due, now)
	k.mu.Unlock()
	// It may have ended before it was added.
	if l.hasEnded() {
		k.remove(l)
	}
}

// remove is called when a lease has ended.
func (k *keeper) remove(l *Lease) {
	k.mu.Lock()
	present := l.kept.present
	if present && l.kept.index >= 0 {
		heap.Remove(&k.leases, l.kept.index)
	}
	l.kept.present = false
	k.mu.Unlock()
	if present {
		k.c.background.Finish()
	}
}

// extendAfter has a lease that is watched extended after the pause.
func (k *keeper) extendAfter(l *Lease, pause time.Duration) {
	now := k.c.reader.Now().Mono
	k.mu.Lock()
	defer k.mu.Unlock()
	l.kept.extendAt = now + pause
	if l.kept.present && l.kept.index >= 0 && l.kept.extendAt < l.kept.due {
		l.kept.due = l.kept.extendAt
		heap.Fix(&k.leases, l.kept.index)
		k.wakeLocked(l.kept.due, now)
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
			tasks, pause := k.look()
			if timer = nil; pause < never {
				timer = k.c.clock.After(pause)
			}
			for _, task := range tasks {
				k.c.background.Go(task)
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

// look looks at the leases that are due. It returns what is to be done, each on a goroutine
// of its own, and the time until the next lease is due.
func (k *keeper) look() (tasks []func(), pause time.Duration) {
	now := k.c.reader.Now().Mono
	k.mu.Lock()
	var due []*Lease
	for len(k.leases) > 0 && k.leases[0].kept.due <= now {
		due = append(due, heap.Pop(&k.leases).(*Lease))
	}
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
			tasks = append(tasks, func() { l.Validity() }) // which ends it
			// Unless it is valid again by then: an extension was just won, or a wall clock that
			// was set forward is set back.
			l.kept.due = min(now+lookAgainAtEnd, max(now+time.Millisecond, l.kept.extendAt))
		case l.kept.extendAt <= now:
			l.kept.extendAt = never
			tasks = append(tasks, l.keepOnce)
			fallthrough
		default:
			l.kept.due = min(now+lookAgain(left[i]), l.kept.extendAt)
		}
		heap.Push(&k.leases, l)
	}
	k.armed = never
	if len(k.leases) == 0 {
		return tasks, never
	}
	k.armed = k.leases[0].kept.due
	//guard:context-at-deadline  a lease's contexts end at its deadline at the latest
	return tasks, max(0, k.armed-k.c.reader.Now().Mono)
}

// close ends all leases. Their contexts end before any hook is called.
func (k *keeper) close() {
	k.mu.Lock()
	k.closed = true
	all := k.leases
	k.leases = nil
	for _, l := range all {
		l.kept.index = -1
	}
	k.mu.Unlock()
	ended := all[:0]
	for _, l := range all {
		l.mu.Lock()
		ends, first := l.endLocked(ErrClosed)
		l.mu.Unlock()
		for _, end := range ends {
			end(ErrClosed)
		}
		if first {
			ended = append(ended, l)
		}
	}
	for _, l := range ended {
		l.announceEnd(ErrClosed, nil)
	}
}

// keepOnce extends a lease that is kept alive, and has the next extension made.
func (l *Lease) keepOnce() {
	if l.Validity() <= 0 {
		return
	}
	if _, more := l.nextTTL(); !more {
		return
	}
	c := l.state.c
	failed := l.extend(context.Background(), l.cappedTTL, c.patience(l.Validity())) != nil
	if left := l.Validity(); left > 0 {
		c.keeper.extendAfter(l, l.extensionPause(left, failed))
	}
}

// keptLeases is a heap by the time at which they are due.
type keptLeases []*Lease

func (k keptLeases) Len() int           { return len(k) }
func (k keptLeases) Less(i, j int) bool { return k[i].kept.due < k[j].kept.due }

func (k keptLeases) Swap(i, j int) {
	k[i], k[j] = k[j], k[i]
	k[i].kept.index, k[j].kept.index = i, j
}

// Push adds a lease.
func (k *keptLeases) Push(l any) {
	l.(*Lease).kept.index = len(*k)
	*k = append(*k, l.(*Lease))
}

// Pop removes the last lease.
func (k *keptLeases) Pop() any {
	last := len(*k) - 1
	l := (*k)[last]
	(*k)[last], *k = nil, (*k)[:last]
	l.kept.index = -1
	return l
}
