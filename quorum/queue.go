package quorum

import (
	"errors"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum/internal/handoff"
)

// queues has the wait queues of this process. "This process" means this Coordinator and its
// views: two Coordinators in one program are two processes here.
type queues struct {
	c     *core
	rules handoff.Rules

	mu      sync.Mutex // taken before a queue's, and not held while one is used
	byKey   map[string]*queue
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
	queues *queues
	key    string

	mu sync.Mutex
	handoff.Queue[*wait, *Lease]
	lost    *RoundError // the last round that was lost here, nil if one was won since
	removed bool        // queues doesn't have it any more
}

type position = handoff.Position

func newQueues(c *core) *queues {
	return &queues{
		c: c, byKey: make(map[string]*queue), sweepAt: sweepLeast,
		// A waiter's round may last an InstanceTimeout, and the pause after it BackoffMax.
		rules: handoff.Rules{Polls: !c.canNotify(), Long: c.cfg.Lab.BackoffMax + c.cfg.InstanceTimeout, Short: c.cfg.Lab.BackoffMin},
	}
}

// polls reports whether processes can't notify each other.
func (qs *queues) polls() bool { return qs.rules.Polls }

// lock returns the queue for a key, locked. If there is none it makes one.
func (qs *queues) lock(key string) *queue {
	for {
		qs.mu.Lock()
		q := qs.byKey[key]
		if q == nil {
			if len(qs.byKey) >= qs.sweepAt {
				qs.sweepLocked()
				qs.sweepAt = max(sweepLeast, 2*len(qs.byKey))
			}
			q = &queue{queues: qs, key: key, Queue: handoff.New[*wait, *Lease](&qs.rules)}
			qs.byKey[key] = q
		}
		qs.mu.Unlock()
		if q.mu.Lock(); !q.removed {
			return q
		}
		q.mu.Unlock()
		qs.forget(q)
	}
}

// lockExisting is lock, but returns nil if there is no queue for the key.
func (qs *queues) lockExisting(key string) *queue {
	qs.mu.Lock()
	q := qs.byKey[key]
	qs.mu.Unlock()
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
func (qs *queues) lockOf(key string, lease *Lease) *queue {
	q := qs.lockExisting(key)
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
		q.queues.forget(q)
	}
}

func (qs *queues) forget(q *queue) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.byKey[q.key] == q {
		delete(qs.byKey, q.key)
	}
}

// sweepLocked removes queues that nothing else would ever remove: those of leases that expired
// without a release, and those kept for other processes that were let in and didn't come.
func (qs *queues) sweepLocked() {
	now := qs.c.reader.Now().Mono
	for key, q := range qs.byKey {
		q.mu.Lock()
		if holder := q.Holder(); q.Waiting() == 0 && (holder == nil || holder.leftNow() <= 0) && q.Settled(now) {
			q.removed = true
			delete(qs.byKey, key)
		}
		q.mu.Unlock()
	}
}

func (q *queue) now() time.Duration { return q.queues.c.reader.Now().Mono }

// timeIfNeeded is the time, if the queue depends on it. To read the clocks costs more than the rest.
func (q *queue) timeIfNeeded() time.Duration {
	if !q.Timed() {
		return 0
	}
	return q.now()
}

// enter puts the waiter at the end of its key's queue, and returns how many are in it then.
func (w *wait) enter() (waiters int) {
	q := w.c.queues.lock(w.key)
	defer q.mu.Unlock()
	w.queue, w.wake, w.notified = q, nil, false
	q.Enter(w)
	return q.Waiting()
}

// news receives when the waiter should look at its queue.
func (w *wait) news() <-chan struct{} {
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
func (w *wait) notifyLocked() {
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
	yields   time.Duration // how long other processes go first
	competes bool          // the waiter asks the instances from now on
}

// look returns the waiter's view of the queue (see handoff.Queue.Look).
func (w *wait) look(waited bool) handoff.View[*Lease] {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	return w.lookLocked(waited)
}

func (w *wait) lookLocked(waited bool) handoff.View[*Lease] {
	if waited {
		w.notified = false
		select {
		case <-w.wake:
		default:
		}
	}
	return w.queue.Look(w, waited)
}

// lookOrCompete is look, and has the waiter ask the instances if it is the first, no other process goes
// first, and this process has no lease, or one that is over.
func (w *wait) lookOrCompete(waited bool, over *Lease) (v view) {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	v.View = w.lookLocked(waited)
	if w.inherited != nil {
		v.competes = true // it has the lock
		return v
	}
	if !v.First || v.Holder != nil && v.Holder != over {
		return v
	}
	// A waiter that may try only once doesn't wait.
	if q.Yields() && w.c.terms.MaxTries != 1 { // else without a look at the clocks
		v.yields = q.StepBack(q.now())
	}
	v.competes = v.yields <= 0
	return v
}

// competed notes that the waiter's round was sent, and lost.
func (w *wait) competed() {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	w.queue.Competed()
}

// leaveQueue removes the waiter, and gives up its position if no other waiter uses it. lease is the
// waiter's, nil if it has none.
func (w *wait) leaveQueue(lease *Lease) {
	q := w.queue
	var now time.Duration
	if lease != nil {
		now = q.now()
		q.queues.acquired(lease, q.key, now)
	}
	var inherited *inheritance
	defer func() {
		//guard:unwanted-is-released  a lease that was passed on to a waiter that leaves is released
		if inherited != nil {
			w.c.discard(inherited.lease)
			w.c.background.finish()
		}
	}()
	q.mu.Lock()
	defer q.unlock()
	inherited, w.inherited = w.inherited, nil
	if lease != nil {
		q.acquiredLocked(lease, now)
	}
	wake, withdraw := q.Leave(w, lease != nil)
	wake.notifyLocked()
	w.c.dequeue(q.key, withdraw) // under the lock: the next waiter here may take the same position
	q.passOnLocked()
}

// passOnLocked lets another process know that the lock is free, if the waiter here that was to have it next
// has left.
func (q *queue) passOnLocked() {
	//guard:cancelled-waiter-passes-on  a waiter that was to have the lock next and is cancelled lets another process know
	if q.Untold() {
		q.queues.c.notifyNext(q.key)
	}
}

// acquired notes that this process won a round, so that its waiters need not ask the instances. The
// caller notes it in the queue for the key except, unless that is empty.
func (qs *queues) acquired(lease *Lease, except string, now time.Duration) {
	for _, key := range lease.value.keys {
		if key != except {
			q := qs.lock(key)
			q.acquiredLocked(lease, now)
			q.mu.Unlock()
		}
	}
}

func (q *queue) acquiredLocked(lease *Lease, now time.Duration) {
	q.Acquired(lease, lease.token, now)
	q.lost = nil
}

// endTurn notes that the lease is released. goesOn reports that the next waiter of this process goes on with
// its turns, so that no other process is to be notified. Otherwise wanted says that a goroutine of this
// process waits for the lock, or another process may.
func (qs *queues) endTurn(lease *Lease) (goesOn, wanted bool) {
	for _, key := range lease.value.keys {
		q := qs.lockOf(key, lease)
		if q == nil {
			continue
		}
		switch {
		case qs.polls():
			// Other processes must find the lock free. After the last turn this process steps back.
			if q.EndTurn() {
				q.Yield(q.now())
			}
		//guard:several-let-others-in  the release of several keys notifies other processes, because the next waiter for each may be another one
		case len(lease.value.keys) == 1 && q.GoOn():
			goesOn = true
		default:
			wanted = wanted || q.Waiting() > 0 || q.Contested(q.timeIfNeeded())
		}
		q.mu.Unlock()
	}
	return goesOn, wanted
}

// freed notes that the lease is over, and notifies the first waiter for each of its keys.
func (qs *queues) freed(lease *Lease) {
	for _, key := range lease.value.keys {
		if q := qs.lockOf(key, lease); q != nil {
			q.Freed().notifyLocked()
			q.passOnLocked()
			q.unlock()
		}
	}
}

// peek returns how many goroutines of this process wait for the key, and the lease that this process
// has on it.
func (qs *queues) peek(key string) (waiting int, holder *Lease) {
	q := qs.lockExisting(key)
	if q == nil {
		return 0, nil
	}
	defer q.mu.Unlock()
	return q.Waiting(), q.Holder()
}

// letIn notes that a release notified another process.
func (qs *queues) letIn(key string) {
	q := qs.lock(key)
	defer q.mu.Unlock()
	q.LetIn(q.now())
}

// noteLost notes a round that was lost, for the other waiters.
func (w *wait) noteLost(err *RoundError) {
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
func (q *queue) lastLost() *RoundError {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lost
}

// setPosition sets this process's position, and returns the one that it had at another instance.
func (w *wait) setPosition(p position) (before position) {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	return w.queue.SetPosition(p, w.queue.now())
}

// notified takes in a notification at an address. If no goroutine here waits for the key, the process
// gives up its position, which has the next one notified.
func (qs *queues) notified(key string, instance int, address string) {
	q := qs.lock(key)
	defer q.unlock()
	if wake, ok := q.Notify(instance); ok {
		wake.notifyLocked()
		return
	}
	qs.c.subscriptions[instance].dequeue(key, address) // under the lock, see there
}

// changed notifies the waiters that use the subscription at an instance: it was opened, with
// that address, or lost together with their positions.
func (qs *queues) changed(instance int, address string) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, q := range qs.byKey {
		q.mu.Lock()
		q.Changed(instance, address).notifyLocked()
		q.mu.Unlock()
	}
}
