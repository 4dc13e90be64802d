package quorum

import (
	"container/heap"
	"context"
	"math"
	"sync"
	"time"
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
	if k := l.c.keeper; k.startKeeping(l) {
		k.watch(l, k.nextExtension(l.Validity(), false))
	}
}

// keeper ends leases at their deadlines and extends those that are kept alive. A Coordinator and its
// views share one. It costs one goroutine however many leases there are, and one more for each group
// of extensions under way. A lease that is not watched is not in it: its validity is computed on
// demand.
//
// A lease that has expired ends on a goroutine of its own, so that a slow hook delays no other
// lease's end.
type keeper struct {
	c     *core
	start sync.Once

	mu     sync.Mutex
	leases dueLeases     // without those that the goroutine is checking
	armed  time.Duration // when the goroutine checks again in any case, by the monotonic clock
	closed bool
	pause  time.Duration // until then, counted from when armed was set
	wake   chan struct{} // gets an element if the goroutine has to check sooner
}

// keeperEntry is what the keeper knows of a lease. Guarded by the keeper's lock.
type keeperEntry struct {
	due      time.Duration // when to check it next
	index    int           // in keeper.leases, -1 if it isn't there
	extendAt time.Duration // when to extend it, never if it is not to be extended
	alive    bool          // it is kept alive
	watched  bool          // watch was called
	present  bool          // the keeper has it, and the background counts it
}

// never is when nothing is due.
const never = time.Duration(math.MaxInt64)

// dueLeases is a heap of leases, the first one to be checked on top.
type dueLeases []*Lease

func (d dueLeases) Len() int           { return len(d) }
func (d dueLeases) Less(i, j int) bool { return d[i].entry.due < d[j].entry.due }
func (d dueLeases) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].entry.index, d[j].entry.index = i, j
}

func (d *dueLeases) Push(l any) {
	l.(*Lease).entry.index = len(*d)
	*d = append(*d, l.(*Lease))
}

func (d *dueLeases) Pop() any {
	last := len(*d) - 1
	l := (*d)[last]
	(*d)[last], *d = nil, (*d)[:last]
	l.entry.index = -1
	return l
}

// checkAgainAtEnd is after how long to check a lease again that should have ended.
const checkAgainAtEnd = 20 * time.Millisecond

func newKeeper(c *core) *keeper {
	return &keeper{c: c, armed: never, wake: make(chan struct{}, 1)}
}

// startKeeping marks a lease as kept alive. It reports false if it was marked before, or is over.
func (k *keeper) startKeeping(l *Lease) (news bool) {
	lasts := l.stageNow() == held
	k.mu.Lock()
	defer k.mu.Unlock()
	news = lasts && !l.entry.alive
	l.entry.alive = true
	return news
}

// watch has the lease ended at its deadline, and extended at that time, unless that is never. The
// background counts it until it has ended.
func (k *keeper) watch(l *Lease, extendAt time.Duration) {
	over := l.stageNow() != held
	k.mu.Lock()
	before := l.entry.watched
	l.entry.watched = true
	k.mu.Unlock()
	if over {
		return
	}
	if before {
		if extendAt < never {
			k.extendAt(l, extendAt)
		}
		return
	}
	k.c.background.add()
	k.start.Do(func() { k.c.background.spawnResident(k.run) })
	now := k.c.reader.Now().Mono
	pause := checkAgainAfter(l.leftNow())
	k.mu.Lock()
	// Invariant: the goroutine sees every lease that is added, or none is added. It was
	// started before this, unless the Coordinator was closed before.
	if k.closed || k.c.closed() {
		k.mu.Unlock()
		go func() {
			defer k.c.background.finish()
			k.close([]*Lease{l})
		}()
		return
	}
	l.entry.present = true
	// extendAt may have been called already, by KeepAlive on another goroutine.
	l.entry.extendAt = min(l.entry.extendAt, extendAt)
	k.addLocked(l, now+pause)
	k.wakeLocked(l.entry.due, now)
	k.mu.Unlock()
	// It may have ended before it was added.
	if l.stageNow() != held {
		k.remove(l)
	}
}

// addLocked adds a lease, to be checked at due or when it is to be extended, whichever is first.
func (k *keeper) addLocked(l *Lease, due time.Duration) {
	l.entry.due = min(due, l.entry.extendAt)
	heap.Push(&k.leases, l)
}

// remove is called when a lease has ended.
func (k *keeper) remove(l *Lease) {
	k.mu.Lock()
	present := l.entry.present
	if present && l.entry.index >= 0 {
		heap.Remove(&k.leases, l.entry.index)
	}
	l.entry.present = false
	k.mu.Unlock()
	if present {
		k.c.background.finish()
	}
}

// extendAt has a lease that is watched extended at that time.
func (k *keeper) extendAt(l *Lease, at time.Duration) {
	now := k.c.reader.Now().Mono
	k.mu.Lock()
	defer k.mu.Unlock()
	l.entry.extendAt = at
	if l.entry.present && l.entry.index >= 0 && at < l.entry.due {
		l.entry.due = at
		heap.Fix(&k.leases, l.entry.index)
		k.wakeLocked(at, now)
	}
}

// wakeLocked wakes the goroutine if it would check too late.
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

// run checks each lease when it is due, until the Coordinator is closed. It reads the clocks only
// when a lease is due, and before it starts anything: so how often they are read does not depend
// on the scheduler, and a simulation can stop at each reading.
func (k *keeper) run() {
	var timer <-chan time.Time
	for {
		select {
		case <-timer:
			over, extend, pause := k.checkDue()
			if timer = nil; pause < never {
				timer = k.c.clock.After(pause)
			}
			for _, l := range over {
				k.c.background.spawn(func() { l.endIfOver() })
			}
			if len(extend) > 0 {
				k.c.background.spawn(func() { k.extend(extend) })
			}
		case <-k.wake:
			k.mu.Lock()
			pause := k.pause
			k.mu.Unlock()
			timer = k.c.clock.After(pause)
		case <-k.c.background.closing:
			k.mu.Lock()
			k.closed = true
			all := k.leases
			k.leases = nil
			for _, l := range all {
				l.entry.index = -1
			}
			k.mu.Unlock()
			k.close(all)
			return
		}
	}
}

// checkDue checks the leases that are due. It returns those that are over, those that are to be
// extended, and the time until the next lease is due.
func (k *keeper) checkDue() (over, extend []*Lease, pause time.Duration) {
	now := k.c.reader.Now().Mono
	k.mu.Lock()
	var due []*Lease
	for len(k.leases) > 0 && k.leases[0].entry.due <= now {
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
		if !l.entry.present {
			continue
		}
		switch {
		case left[i] <= 0:
			over = append(over, l)
			// Unless it is valid again by then: an extension was just won, or a wall clock that
			// was set forward is set back.
			l.entry.due = min(now+checkAgainAtEnd, max(now+time.Millisecond, l.entry.extendAt))
			heap.Push(&k.leases, l)
			continue
		case l.entry.extendAt <= now:
			l.entry.extendAt = never
			extend = append(extend, l)
		}
		k.addLocked(l, now+checkAgainAfter(left[i]))
	}
	if k.armed = never; len(k.leases) == 0 {
		return over, extend, never
	}
	k.armed = k.leases[0].entry.due
	//guard:context-at-deadline  a lease's contexts end at its deadline, as soon as a timer can fire
	return over, extend, max(0, k.armed-k.c.reader.Now().Mono)
}

// checkAgainAfter is after how long to check a validity again of which so much is left.
func checkAgainAfter(left time.Duration) time.Duration {
	const least = 20 * time.Millisecond
	//guard:context-after-suspension  a lease's end is noticed even if timers stood still while the machine was suspended
	return min(left, max(left/4, least))
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
		k.c.background.spawn(func() {
			if l.beginExtension(context.Background()) == nil {
				k.extendFree([]*Lease{l})
			}
		})
	}
	k.extendFree(free)
}

// extendFree is extend, when no other extension of these leases is under way.
func (k *keeper) extendFree(leases []*Lease) {
	all := make([]*extension, 0, len(leases))
	for _, l := range leases {
		e, err := l.newExtension(l.parent, 0, k.patience(l.Validity()))
		if err != nil {
			l.endExtension() // it is over, or has reached MaxLife
			continue
		}
		all = append(all, e)
	}
	answers := make(inbox, len(all)*len(k.c.servers))
	k.c.sendExtensions(all, answers)
	open := 0
	for _, e := range all {
		if e.decided() {
			k.extended(e)
		} else {
			open++
		}
	}
	for open > 0 {
		a := <-answers
		e := all[a.of]
		if e.decided() {
			continue
		}
		if e.count(a.s.index, &a.ballot); e.decided() {
			open--
			k.extended(e)
		}
	}
}

// extended takes in the end of an extension.
func (k *keeper) extended(e *extension) {
	l := e.lease
	err := e.conclude(l.parent, e.result())
	l.endExtension()
	if left := l.Validity(); left > 0 {
		k.extendAt(l, k.nextExtension(left, err != nil))
	}
}

// nextExtension is when to extend a lease next that has so much validity left. It may be brought
// forward, to go out together with others. That saves most of its cost: an exchange with a server
// costs more than dozens of extensions in it.
func (k *keeper) nextExtension(left time.Duration, failed bool) time.Duration {
	now := k.c.reader.Now().Mono
	due := now + k.pauseBefore(left, failed)
	if failed {
		return due
	}
	together := min(10*time.Millisecond, left/64)
	return max(due.Truncate(max(1, together)), now+left/6)
}

// pauseBefore is the pause before the next extension of a lease that has so much validity left.
//
// Leases that were taken together must not be extended together each time. So the pauses are
// random: at least a sixth of the validity, and up to a third. After an extension that failed
// up to a quarter of what is left is added.
//
// A repeated extension adds to the servers' load, which may be too high already. So the next
// try begins an InstanceTimeout or more after one that failed. By then its requests were answered or
// have timed out, so that at most one extension of a lease is under way at each instance. Only
// in the last two timeouts are the pauses shorter.
func (k *keeper) pauseBefore(left time.Duration, failed bool) time.Duration {
	const least = time.Millisecond
	pause := left/3 - k.c.random.jitter(left/6)
	if failed {
		// The extension before may still be under way.
		pause = min(k.c.cfg.InstanceTimeout, left/2) + k.c.random.jitter(left/4)
	}
	return max(pause, least)
}

// patience is the timeout of an extension by KeepAlive: an InstanceTimeout or, while much validity is
// left, up to four. A late answer to an extension is as good as an early one, because the new
// validity counts from before it was sent. And another try would cost slow servers a second
// extension.
func (k *keeper) patience(left time.Duration) time.Duration {
	timeout := k.c.cfg.InstanceTimeout
	return max(timeout, min(4*timeout, left/8))
}

// close ends leases because the Coordinator is closed. Their contexts end before any hook is
// called.
func (k *keeper) close(leases []*Lease) {
	first := leases[:0]
	for _, l := range leases {
		l.mu.Lock()
		ends, before := l.moveToLocked(ended, ErrClosed)
		l.mu.Unlock()
		for _, ctx := range ends {
			ctx.end(ErrClosed)
		}
		if before == held {
			first = append(first, l)
		}
	}
	for _, l := range first {
		l.endEach(nil, ErrClosed)
		l.reportLoss(ErrClosed)
	}
}
