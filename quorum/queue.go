package quorum

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum/internal/turns"
)

// queues has the wait queues of this process. "This process" means this Coordinator and its
// views: two Coordinators in one program are two processes here.
//
// One lock guards them all, and waiter.inherited. It is held for a few steps at a time:
// nothing under it blocks or calls user code. A waiter's context belongs to the user, so the waiter
// checks it, and not the goroutine that passes a lease on to it.
type queues struct {
	*env
	subscriptions *subscriptions
	rules         turns.Rules

	mu      sync.Mutex
	byKey   map[string]*queue
	sweepAt int // the number of queues at which unused ones are removed
}

const sweepLeast = 1024

// queue is the wait queue for one key: the goroutines that want it, and the lease that this process
// has on it. It exists while a goroutine waits in it, a lease of this process is held, or another
// process may wait for the lock. Package turns has the rules. This file adds the clock, the lock and
// the channels.
type queue struct {
	turns.Queue[*waiter, *Lease]
	key  string
	lost *RoundError // the last round that was lost here, nil if one was won since
}

// waiter is a goroutine that waits in a queue.
type waiter struct {
	queues    *queues
	ctx       context.Context // the caller's, bounded by Terms.MaxWait
	terms     *Terms
	all       keys   // that it acquires
	key       string // that it waits for: of several the first in the way
	queue     *queue
	wake      chan struct{} // gets an element when the waiter should look at its queue
	inherited *inheritance  // that was passed on to this waiter; guarded by the queues' lock
}

func newQueues(e *env, subscriptions *subscriptions) *queues {
	return &queues{
		env: e, subscriptions: subscriptions, byKey: make(map[string]*queue), sweepAt: sweepLeast,
		// A waiter's round may last an InstanceTimeout, and the pause after it BackoffMax.
		rules: turns.Rules{Polls: !subscriptions.canNotify(), Long: e.cfg.Lab.BackoffMax + e.cfg.InstanceTimeout, Short: e.cfg.Lab.BackoffMin},
	}
}

// polls reports whether processes can't notify each other.
func (qs *queues) polls() bool { return qs.rules.Polls }

// ofLocked is the queue for a key. If there is none it makes one.
func (qs *queues) ofLocked(key string) *queue {
	if q := qs.byKey[key]; q != nil {
		return q
	}
	if len(qs.byKey) >= qs.sweepAt {
		qs.sweepLocked()
		qs.sweepAt = max(sweepLeast, 2*len(qs.byKey))
	}
	q := &queue{key: key, Queue: turns.New[*waiter, *Lease](&qs.rules)}
	qs.byKey[key] = q
	return q
}

// ofLeaseLocked is the queue for a key of a lease, nil unless that is this process's last on it.
func (qs *queues) ofLeaseLocked(key string, lease *Lease) *queue {
	if q := qs.byKey[key]; q != nil && q.Holder() == lease {
		return q
	}
	return nil
}

// tidyLocked removes a queue that is not used any more.
func (qs *queues) tidyLocked(q *queue) {
	if q.Waiting() == 0 && q.Holder() == nil && q.Settled(qs.timeIfNeeded(q)) {
		delete(qs.byKey, q.key)
	}
}

// sweepLocked removes queues that nothing else would ever remove: those of leases that expired
// without a release, and those kept for other processes that were let in and didn't come.
func (qs *queues) sweepLocked() {
	now := qs.now()
	for key, q := range qs.byKey {
		if holder := q.Holder(); q.Waiting() == 0 && (holder == nil || holder.leftNow() <= 0) && q.Settled(now) {
			delete(qs.byKey, key)
		}
	}
}

func (qs *queues) now() time.Duration { return qs.reader.Now().Mono }

// timeIfNeeded is the time, if a queue depends on it. To read the clocks costs more than the rest.
func (qs *queues) timeIfNeeded(q *queue) time.Duration {
	if !q.Timed() {
		return 0
	}
	return qs.now()
}

// enter puts the waiter at the end of its key's queue, and returns how many are in it then.
func (w *waiter) enter() (waiters int) {
	qs := w.queues
	w.wake = make(chan struct{}, 1)
	qs.mu.Lock()
	defer qs.mu.Unlock()
	w.queue = qs.ofLocked(w.key)
	w.queue.Enter(w)
	return w.queue.Waiting()
}

// notify has a waiter look at its queue, if it isn't nil.
func (w *waiter) notify() {
	if w == nil {
		return
	}
	select {
	case w.wake <- struct{}{}:
	default: // it was notified already
	}
}

// view is what a waiter sees of its queue, and what it does.
type view struct {
	turns.View[*Lease]
	yields   time.Duration // how long other processes go first
	competes bool          // the waiter asks the instances from now on
}

// look returns the waiter's view of the queue (see turns.Queue.Look).
func (w *waiter) look(waited bool) turns.View[*Lease] {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	return w.lookLocked(waited)
}

func (w *waiter) lookLocked(waited bool) turns.View[*Lease] {
	if waited {
		select {
		case <-w.wake:
		default:
		}
	}
	return w.queue.Look(w, waited)
}

// lookOrCompete is look, and has the waiter ask the instances if it is the first, no other process goes
// first, and this process has no lease, or one that is over.
func (w *waiter) lookOrCompete(waited bool, over *Lease) (v view) {
	qs, q := w.queues, w.queue
	qs.mu.Lock()
	defer qs.mu.Unlock()
	v.View = w.lookLocked(waited)
	if w.inherited != nil {
		v.competes = true // it has the lock
		return v
	}
	if !v.First || v.Holder != nil && v.Holder != over {
		return v
	}
	// A waiter that may try only once doesn't wait.
	if q.Yields() && w.terms.MaxTries != 1 { // else without a look at the clocks
		v.yields = q.StepBack(qs.now())
	}
	v.competes = v.yields <= 0
	return v
}

// leaveQueue removes the waiter, and gives up its position if no other waiter uses it. lease is the
// waiter's, nil if it has none. inherited was passed on to the waiter, which has not taken it; nil if nothing was.
func (w *waiter) leaveQueue(lease *Lease) (inherited *inheritance) {
	qs, q := w.queues, w.queue
	var now time.Duration
	if lease != nil {
		now = qs.now()
		qs.acquired(lease, q.key, now)
	}
	qs.mu.Lock()
	defer qs.mu.Unlock()
	inherited, w.inherited = w.inherited, nil
	if lease != nil {
		q.acquired(lease, now)
	}
	wake, withdraw := q.Leave(w, lease != nil)
	wake.notify()
	qs.subscriptions.dequeue(q.key, withdraw) // under the lock: the next waiter here may take the same position
	qs.passOnLocked(q)
	qs.tidyLocked(q)
	return inherited
}

// passOnLocked lets another process know that the lock is free, if the waiter here that was to have it next
// has left.
func (qs *queues) passOnLocked(q *queue) {
	//guard:cancelled-waiter-passes-on  a waiter that was to have the lock next and is cancelled lets another process know
	if q.Untold() {
		qs.subscriptions.notifyNext(q.key)
	}
}

// acquired notes that this process won a round, so that its waiters need not ask the instances. The
// caller notes it in the queue for the key except, unless that is empty.
func (qs *queues) acquired(lease *Lease, except string, now time.Duration) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, key := range lease.value.keys {
		if key != except {
			qs.ofLocked(key).acquired(lease, now)
		}
	}
}

func (q *queue) acquired(lease *Lease, now time.Duration) {
	q.Acquired(lease, lease.token, now)
	q.lost = nil
}

// endTurn notes that the lease is released. goesOn reports that the next waiter of this process goes on with
// its turns, so that no other process is to be notified. Otherwise wanted says that a goroutine of this
// process waits for the lock, or another process may.
func (qs *queues) endTurn(lease *Lease) (goesOn, wanted bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, key := range lease.value.keys {
		q := qs.ofLeaseLocked(key, lease)
		switch {
		case q == nil:
		case qs.polls():
			// Other processes must find the lock free. After the last turn this process steps back.
			if q.EndTurn() {
				q.Yield(qs.now())
			}
		// The next waiter for another of several keys may be in another process.
		case len(lease.value.keys) == 1 && q.GoOn():
			goesOn = true
		default:
			wanted = wanted || q.Waiting() > 0 || q.Contested(qs.timeIfNeeded(q))
		}
	}
	return goesOn, wanted
}

// freed notes that the lease is over, and notifies the first waiter for each of its keys.
func (qs *queues) freed(lease *Lease) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, key := range lease.value.keys {
		if q := qs.ofLeaseLocked(key, lease); q != nil {
			q.Freed().notify()
			qs.passOnLocked(q)
			qs.tidyLocked(q)
		}
	}
}

// holder is the lease that this process has on the key, nil if it has none.
func (qs *queues) holder(key string) *Lease {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if q := qs.byKey[key]; q != nil {
		return q.Holder()
	}
	return nil
}

// letIn notes that a release notified another process.
func (qs *queues) letIn(key string) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.ofLocked(key).LetIn(qs.now())
}

// lost notes for the other waiters that the waiter lost a round.
func (w *waiter) lost(err *RoundError) {
	qs, q := w.queues, w.queue
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if len(err.Votes) > 0 {
		q.Competed()
	}
	// An interrupted one is about this caller's context, and says nothing to others.
	if at := w.all.at(inTheWay(err.Votes)); at != "" && at != w.key || errors.Is(err.Verdict, ErrInterrupted) {
		return
	}
	q.lost = err
	if errors.Is(err.Verdict, ErrTaken) {
		q.Taken(qs.now())
	}
}

// lastLost is the last round that was lost in the waiter's queue, nil if one was won since.
func (w *waiter) lastLost() *RoundError {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	return w.queue.lost
}

// setPosition sets this process's position, and returns the one that it had at another instance.
func (w *waiter) setPosition(p position) (before position) {
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	return w.queue.SetPosition(p, w.queues.now())
}

// notified takes in a notification at an address. If no goroutine here waits for the key, the process
// gives up its position, which has the next one notified.
func (qs *queues) notified(key string, instance int, address string) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	q := qs.ofLocked(key)
	if wake, ok := q.Notify(instance); ok {
		wake.notify()
	} else {
		qs.subscriptions.at[instance].dequeue(key, address) // under the lock, see there
	}
	qs.tidyLocked(q)
}

// changed notifies the waiters that use the subscription at an instance: it was opened, with
// that address, or lost together with their positions.
func (qs *queues) changed(instance int, address string) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, q := range qs.byKey {
		q.Changed(instance, address).notify()
	}
}

// inheritance is a lease that was passed on, and the round that did it.
type inheritance struct {
	lease *Lease
	end   RoundEnd
}

// heir is the waiter that a lease can be passed on to: the first one for its key, if that wants no other keys, and
// on the same terms. Nil if there is none. Whether its context has ended is for the waiter to look at.
func (qs *queues) heir(l *Lease) *waiter {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	q := qs.ofLeaseLocked(l.value.keys[0], l)
	if q == nil {
		return nil
	}
	w := q.First()
	if w == nil || len(w.all) > 1 || len(l.value.keys) > 1 || *w.terms != *l.terms {
		return nil
	}
	return w
}

// inherit gives the heir its lease, unless it has left meanwhile.
func (qs *queues) inherit(before *Lease, heir *waiter, next *inheritance) bool {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	q := qs.ofLeaseLocked(before.value.keys[0], before)
	if q == nil || q.First() != heir {
		return false
	}
	heir.inherited = next
	qs.background.add()
	q.Freed()
	q.acquired(next.lease, qs.now())
	heir.notify()
	return true
}
