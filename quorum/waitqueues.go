package quorum

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum/internal/handoff"
)

// waitQueues has the wait queues of this process. "This process" means this Coordinator and its
// views: two Coordinators in one program are two processes here.
type waitQueues struct {
	c     *core
	rules handoff.Rules

	mu      sync.Mutex // taken before a queue's, and not held while one is used
	queues  map[string]*queue
	sweepAt int // the number of queues at which unused ones are removed
}

const sweepLeast = 1024

// queue is the wait queue for one key: the goroutines that want it, and the lease that this process
// has on it. It exists while a goroutine waits in it, a lease of this process is held, or another
// process may wait for the lock. Package handoff has the rules. This type adds the clock, the lock and
// the channels.
//
// Nothing here blocks or calls user code. A waiter's context belongs to the user, so the waiter
// checks it, and not the goroutine that hands it a lease.
type queue struct {
	all *waitQueues
	key string

	mu sync.Mutex
	handoff.Queue[*waiter, *Lease]
	lost    *RoundError // the last round that was lost here, nil if one was won since
	removed bool        // waitQueues doesn't have it any more
}

type position = handoff.Position

// waiter is one goroutine in a queue.
type waiter struct {
	queue *queue
	c     *Coordinator    // whose terms a lease that is handed to it gets
	ctx   context.Context // whose values such a lease keeps

	several  bool // it wants several locks at once, and can't be handed the lease of one
	reserves bool // a round of it reserves tokens for its successors

	wake     chan struct{} // made by the first call of news
	notified bool          // since the last look; news reads it when it makes wake
}

func newWaitQueues(c *core) *waitQueues {
	return &waitQueues{
		c: c, queues: make(map[string]*queue), sweepAt: sweepLeast,
		// A waiter's round may last an InstanceTimeout, and the pause after it BackoffMax.
		rules: handoff.Rules{Polls: !c.canNotify(), Long: c.cfg.BackoffMax + c.cfg.InstanceTimeout, Short: c.cfg.BackoffMin},
	}
}

// polls reports whether processes can't notify each other.
func (w *waitQueues) polls() bool { return w.rules.Polls }

// lock returns the queue for a key, locked. If there is none it makes one.
func (w *waitQueues) lock(key string) *queue {
	for {
		w.mu.Lock()
		q := w.queues[key]
		if q == nil {
			if len(w.queues) >= w.sweepAt {
				w.sweepLocked()
				w.sweepAt = max(sweepLeast, 2*len(w.queues))
			}
			q = &queue{all: w, key: key, Queue: handoff.New[*waiter, *Lease](&w.rules)}
			w.queues[key] = q
		}
		w.mu.Unlock()
		if q.mu.Lock(); !q.removed {
			return q
		}
		q.mu.Unlock()
		w.forget(q)
	}
}

// lockExisting is lock, but returns nil if there is no queue for the key.
func (w *waitQueues) lockExisting(key string) *queue {
	w.mu.Lock()
	q := w.queues[key]
	w.mu.Unlock()
	if q == nil {
		return nil
	}
	if q.mu.Lock(); q.removed {
		q.mu.Unlock()
		return nil
	}
	return q
}

// lockOf is lockExisting for a key of a lease, if that is this process's last on it.
func (w *waitQueues) lockOf(key string, lease *Lease) *queue {
	q := w.lockExisting(key)
	if q != nil && q.Holder() != lease {
		q.mu.Unlock()
		return nil
	}
	return q
}

// unlock unlocks the queue, and removes it if it is not used any more.
func (q *queue) unlock() {
	removed := q.Waiting() == 0 && q.Holder() == nil && q.Settled(q.timeIfNeeded())
	q.removed = removed
	q.mu.Unlock()
	if removed {
		q.all.forget(q)
	}
}

func (w *waitQueues) forget(q *queue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queues[q.key] == q {
		delete(w.queues, q.key)
	}
}

// sweepLocked removes queues that nothing else would ever remove: those of leases that expired
// without a release, and those kept for other processes that were let in and didn't come.
func (w *waitQueues) sweepLocked() {
	now := w.c.reader.Now().Mono
	for key, q := range w.queues {
		q.mu.Lock()
		if holder := q.Holder(); q.Waiting() == 0 && (holder == nil || holder.leftNow() <= 0) && q.Settled(now) {
			q.removed = true
			delete(w.queues, key)
		}
		q.mu.Unlock()
	}
}

func (q *queue) now() time.Duration { return q.all.c.reader.Now().Mono }

// timeIfNeeded is the time, if the queue depends on it. To read the clocks costs more than the rest.
func (q *queue) timeIfNeeded() time.Duration {
	if !q.Timed() {
		return 0
	}
	return q.now()
}

// enter puts a waiter at the end of the queue for a key, and returns how many are in it then.
func (w *waitQueues) enter(key string, waiter *waiter) (waiters int) {
	q := w.lock(key)
	defer q.mu.Unlock()
	waiter.queue = q
	q.Enter(waiter)
	return q.Waiting()
}

// news receives when the waiter should look at its queue.
func (w *waiter) news() <-chan struct{} {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	if w.wake == nil {
		w.wake = make(chan struct{}, 1)
		if w.notified {
			w.wake <- struct{}{}
		}
	}
	return w.wake
}

// notifyLocked notifies a waiter, if it isn't nil.
func (w *waiter) notifyLocked() {
	if w == nil {
		return
	}
	w.notified = true
	select {
	case w.wake <- struct{}{}:
	default: // it is notified already, or will be when it waits
	}
}

// view is what a waiter sees of its queue, and what it does.
type view struct {
	handoff.View[*Lease]
	yields     time.Duration // how long other processes go first
	competes   bool          // the waiter asks the instances from now on
	successors int           // then, how many waiters may get the lock without a round of their own
}

// look returns the waiter's view of the queue (see handoff.Queue.Look).
func (w *waiter) look(waited bool) handoff.View[*Lease] {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	return w.lookLocked(waited)
}

func (w *waiter) lookLocked(waited bool) handoff.View[*Lease] {
	if waited {
		w.notified = false
		select {
		case <-w.wake:
		default:
		}
	}
	return w.queue.Look(w, waited)
}

// step is look, and has the waiter ask the instances if it is the first, this process has no lease
// but perhaps one that is over, and no other process goes first.
func (w *waiter) step(waited bool, over *Lease) (v view) {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	v.View = w.lookLocked(waited)
	if !v.First || v.Handed != nil || v.Holder != nil && v.Holder != over {
		return v
	}
	// A waiter that may try only once doesn't wait.
	if q.Yields() && w.c.terms.MaxTries != 1 { // else without a look at the clocks
		v.yields = q.StepBack(q.now())
	}
	if v.competes = v.yields <= 0 && q.Compete(v.View); v.competes && w.reserves {
		v.successors = q.Successors(q.now())
	}
	return v
}

// decline takes back the lease that the waiter was handed.
func (w *waiter) decline() {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	w.queue.Decline()
}

// leave removes the waiter, and gives up its position if no other waiter uses it. It has a lease if
// that isn't nil, by a round if fresh. leave returns the lease that the waiter was handed.
func (w *waiter) leave(lease *Lease, fresh bool) (handed *Lease) {
	q := w.queue
	var now time.Duration
	if fresh {
		now = q.now()
		q.all.held(lease, q.key, now)
	}
	q.mu.Lock()
	defer q.unlock()
	if fresh {
		q.heldLocked(lease, now)
	}
	wake, handed, withdraw := q.Leave(w, lease != nil)
	wake.notifyLocked()
	w.c.dequeue(q.key, withdraw) // under the lock: the next waiter here may take the same position
	return handed
}

// held notes that this process won a round, so that its waiters need not ask the instances. The queue
// for the key but, if that isn't empty, learns it elsewhere.
func (w *waitQueues) held(lease *Lease, but string, now time.Duration) {
	for key := range lease.state.each() {
		if key != but {
			q := w.lock(key)
			q.heldLocked(lease, now)
			q.mu.Unlock()
		}
	}
}

func (q *queue) heldLocked(lease *Lease, now time.Duration) {
	q.Acquired(lease, lease.token, now)
	q.lost = nil
}

// handOver hands the lease, which its holder has ended, to the first waiter. It reports false if
// that waiter doesn't wait for it, the lease is not fit for it, or this process's turns are over;
// wanted then says that a goroutine of this process waits for it, or another process may.
func (w *waitQueues) handOver(lease *Lease) (handed, wanted bool) {
	q := w.lockOf(lease.state.key, lease)
	if q == nil {
		return false, false
	}
	defer q.mu.Unlock()
	//guard:several-not-handed-over  a lease on several keys isn't handed to a waiter for one of them
	if lease.state.several() {
		return false, false
	}
	next, ok := q.Next(lease.brief())
	//guard:several-not-handed-one  a waiter for several keys isn't handed the lease of one of them
	if ok && !next.several {
		if to := lease.successor(next.c, next.ctx); to != nil {
			q.HandOver(to).notifyLocked()
			return true, false
		}
	}
	return false, q.Waiting() > 0 || q.Contested(q.timeIfNeeded())
}

// endTurn notes that a lease is released while processes poll. If that was the last of this
// process's turns, the process steps back.
func (w *waitQueues) endTurn(lease *Lease) {
	for key := range lease.state.each() {
		if q := w.lockOf(key, lease); q != nil {
			if q.EndTurn(lease.brief()) {
				q.Yield(q.now())
			}
			q.mu.Unlock()
		}
	}
}

// freed notes that the lease is over, and notifies the first waiter for each of its keys.
func (w *waitQueues) freed(lease *Lease) {
	for key := range lease.state.each() {
		if q := w.lockOf(key, lease); q != nil {
			q.Freed().notifyLocked()
			q.unlock()
		}
	}
}

// present is the number of goroutines of this process that wait for the key, and the lease that this
// process has on it.
func (w *waitQueues) present(key string) (waiting int, holder *Lease) {
	q := w.lockExisting(key)
	if q == nil {
		return 0, nil
	}
	defer q.mu.Unlock()
	return q.Waiting(), q.Holder()
}

// letIn notes that a release notified another process.
func (w *waitQueues) letIn(key string) {
	q := w.lock(key)
	defer q.mu.Unlock()
	q.LetIn(q.now())
}

// refused notes a lost round.
func (w *waiter) refused(err *RoundError) {
	if errors.Is(err.Verdict, ErrInterrupted) {
		return // it is about this caller's context, and says nothing to others
	}
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost = err
	if errors.Is(err.Verdict, ErrTaken) {
		q.Taken(q.now())
	}
}

// lastLost is the last round that was lost in this queue, nil if one was won since.
func (w *waiter) lastLost() *RoundError {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	return w.queue.lost
}

// subscribe is handoff.Queue.Subscribe.
func (w *waiter) subscribe(instance int) position {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	return w.queue.Subscribe(instance)
}

// setPosition sets this process's position, and returns the one that it had at another instance.
func (w *waiter) setPosition(p position) (before position) {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	return w.queue.SetPosition(p, w.queue.now())
}

// notified takes in a notification at an address. If no goroutine here waits for the key, the process
// gives up its position, which has the next one notified.
func (w *waitQueues) notified(key string, instance int, address string) {
	q := w.lock(key)
	defer q.unlock()
	if wake, ok := q.Notify(instance); ok {
		wake.notifyLocked()
		return
	}
	w.c.subscriptions[instance].dequeue(key, address) // under the lock, see there
}

// changed notifies the waiters that use the subscription at an instance: it was opened, with
// that address, or lost together with their positions.
func (w *waitQueues) changed(instance int, address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.queues {
		q.mu.Lock()
		q.Changed(instance, address).notifyLocked()
		q.mu.Unlock()
	}
}
