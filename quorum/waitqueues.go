package quorum

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum/internal/handoff"
)

// waitQueues has the wait queues of this process: for each key the goroutines that want it, and
// the lease that this process has on it. Package handoff has the rules. This type adds the
// clock, the lock and the channels. "This process" means this Coordinator and its views: two
// Coordinators in one program are two processes here.
//
// Nothing here blocks or calls user code. A waiter's context belongs to the user, so the waiter
// checks it, and not the goroutine that hands it a lease.
type waitQueues struct {
	c     *core
	rules handoff.Rules

	mu      sync.Mutex
	queues  map[string]*queue
	sweepAt int // the number of queues at which unused ones are removed
}

const sweepLeast = 1024

// queue is the wait queue for one key. It exists while a goroutine waits in it, a lease
// of this process is held, or another process may wait for the lock.
type queue struct {
	handoff.Queue[*waiter, *Lease]
	lost *RoundError // the last round that was lost here, nil if one was won since
}

type (
	view     = handoff.View[*Lease]
	position = handoff.Position
)

// waiter is one goroutine in a queue.
type waiter struct {
	queues *waitQueues
	key    string
	c      *Coordinator    // whose terms a lease that is handed to it gets
	ctx    context.Context // whose values such a lease keeps

	several bool // it wants several locks at once, and can't be handed the lease of one

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
func (l *waitQueues) polls() bool { return l.rules.Polls }

// enter puts a waiter at the end of its queue, and returns how many are in it then.
func (l *waitQueues) enter(w *waiter) (waiters int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.queues = l
	q := l.queueLocked(w.key)
	q.Enter(w)
	return q.Waiting()
}

// lock locks the queues and returns the waiter's queue.
func (w *waiter) lock() *queue {
	w.queues.mu.Lock()
	return w.queues.queues[w.key]
}

func (w *waiter) unlock() { w.queues.mu.Unlock() }

// news receives when the waiter should look at its queue.
func (w *waiter) news() <-chan struct{} {
	w.lock()
	defer w.unlock()
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

// look returns the waiter's view of the queue (see handoff.Queue.Look).
func (w *waiter) look(waited bool) view {
	q := w.lock()
	defer w.unlock()
	if waited {
		w.notified = false
		select {
		case <-w.wake:
		default:
		}
	}
	return q.Look(w, waited)
}

// compete notes that the first waiter asks the instances from now on. It reports false if the
// queue has changed since the waiter looked.
func (w *waiter) compete(seen view) bool {
	q := w.lock()
	defer w.unlock()
	return q.Compete(seen)
}

// decline takes back the lease that the waiter was handed.
func (w *waiter) decline() {
	q := w.lock()
	defer w.unlock()
	q.Decline()
}

// leave removes the waiter, and gives up its position if no other waiter uses it. It returns the
// lease that the waiter was handed.
func (w *waiter) leave(won bool) (handed *Lease) {
	q := w.lock()
	defer w.unlock()
	wake, handed, withdraw := q.Leave(w, won)
	wake.notifyLocked()
	w.c.dequeue(w.key, withdraw) // under the lock: the next waiter here may take the same position
	w.queues.dropLocked(w.key, q)
	return handed
}

// held notes that this process won a round, so that its waiters need not ask the instances.
func (l *waitQueues) held(lease *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.c.reader.Now().Mono
	for key := range lease.state.each() {
		q := l.queueLocked(key)
		q.Acquired(lease, lease.token, now)
		q.lost = nil
	}
}

// successors is how many waiters may get the lock without a round of their own if the first
// waiter wins it now.
func (w *waiter) successors() int {
	q := w.lock()
	defer w.unlock()
	return q.Successors(w.queues.c.reader.Now().Mono)
}

// handOff hands the lease, which its holder has ended, to the first waiter. It reports false if
// that waiter doesn't wait for it, the lease is not fit for it, or this process's turns are over.
func (l *waitQueues) handOff(lease *Lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queueOf(lease.state.key, lease)
	//guard:several-not-handed-over  a lease on several keys isn't handed to a waiter for one of them
	if q == nil || lease.state.several() {
		return false
	}
	next, ok := q.Next(lease.brief())
	//guard:several-not-handed-one  a waiter for several keys isn't handed the lease of one of them
	if !ok || next.several {
		return false
	}
	passed := lease.pass(next.c, next.ctx)
	if passed == nil {
		return false
	}
	q.HandOver(passed).notifyLocked()
	return true
}

// endTurn notes that a lease is released while processes poll. If that was the last of this
// process's turns, the process steps back.
func (l *waitQueues) endTurn(lease *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range lease.state.each() {
		if q := l.queueOf(key, lease); q != nil && q.EndTurn(lease.brief()) {
			q.Yield(l.c.reader.Now().Mono)
		}
	}
}

// freed notes that the lease is over, and notifies the first waiter for each of its keys.
func (l *waitQueues) freed(lease *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range lease.state.each() {
		if q := l.queueOf(key, lease); q != nil {
			q.Freed().notifyLocked()
			l.dropLocked(key, q)
		}
	}
}

// waiting is how many goroutines of this process wait for the key.
func (l *waitQueues) waiting(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := l.queues[key]; q != nil {
		return q.Waiting()
	}
	return 0
}

// busy reports whether a goroutine of this process holds the key or waits for it.
func (l *waitQueues) busy(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[key]
	return q != nil && (q.Holder() != nil || q.Waiting() > 0)
}

// holder is the lease of this process on the key, nil if there is none.
func (l *waitQueues) holder(key string) *Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := l.queues[key]; q != nil {
		return q.Holder()
	}
	return nil
}

// wanted reports whether a goroutine of this process waits for the lease, or another process
// may wait for it.
func (l *waitQueues) wanted(lease *Lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queueOf(lease.state.key, lease)
	return q != nil && (q.Waiting() > 0 || q.Contested(l.nowFor(q)))
}

// letIn notes that a release notified another process.
func (l *waitQueues) letIn(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queueLocked(key).LetIn(l.c.reader.Now().Mono)
}

// yields is how long the waiter lets other processes go first.
func (w *waiter) yields() time.Duration {
	q := w.lock()
	defer w.unlock()
	if !q.Yields() {
		return 0 // without a look at the clocks
	}
	return q.StepBack(w.queues.c.reader.Now().Mono)
}

// refused notes a lost round.
func (w *waiter) refused(err *RoundError) {
	q := w.lock()
	defer w.unlock()
	if errors.Is(err.Verdict, ErrInterrupted) {
		return // it is about this caller's context, and says nothing to others
	}
	q.lost = err
	if errors.Is(err.Verdict, ErrTaken) {
		q.Taken(w.queues.c.reader.Now().Mono)
	}
}

// lastLost is the last round that was lost in this queue, nil if one was won since.
func (w *waiter) lastLost() *RoundError {
	q := w.lock()
	defer w.unlock()
	return q.lost
}

// setPosition sets this process's position, and returns the one that it had at another instance.
func (w *waiter) setPosition(p position) (before position) {
	q := w.lock()
	defer w.unlock()
	return q.SetPosition(p, w.queues.c.reader.Now().Mono)
}

// notified takes in a notification at an address. If no goroutine here waits for the key, the process
// gives up its position, which has the next one notified.
func (l *waitQueues) notified(key string, instance int, address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := l.queues[key]; q != nil {
		if wake, ok := q.Notify(instance); ok {
			wake.notifyLocked()
			return
		}
	}
	l.c.subscriptions[instance].dequeue(key, address) // under the lock, see there
}

// changed notifies the waiters that use the subscription at an instance: it was opened, with
// that address, or lost together with their positions.
func (l *waitQueues) changed(instance int, address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.queues {
		q.Changed(instance, address).notifyLocked()
	}
}

// nowFor is the time for the queue.
func (l *waitQueues) nowFor(q *queue) time.Duration {
	if !q.Timed() {
		return 0
	}
	return l.c.reader.Now().Mono
}

// queueOf is the queue for a key of a lease that is this process's last on it, else nil.
func (l *waitQueues) queueOf(key string, lease *Lease) *queue {
	if q := l.queues[key]; q != nil && q.Holder() == lease {
		return q
	}
	return nil
}

func (l *waitQueues) queueLocked(key string) *queue {
	q := l.queues[key]
	if q == nil {
		if len(l.queues) >= l.sweepAt {
			l.sweepLocked()
			l.sweepAt = max(sweepLeast, 2*len(l.queues))
		}
		q = &queue{Queue: handoff.New[*waiter, *Lease](&l.rules)}
		l.queues[key] = q
	}
	return q
}

// dropLocked removes a queue that is not used any more.
func (l *waitQueues) dropLocked(key string, q *queue) {
	if q.Waiting() == 0 && q.Holder() == nil && q.Settled(l.nowFor(q)) {
		delete(l.queues, key)
	}
}

// sweepLocked removes queues that nothing else would ever remove: those of leases that expired
// without a release, and those kept for other processes that were let in and didn't come.
func (l *waitQueues) sweepLocked() {
	now := l.c.reader.Now().Mono
	for key, q := range l.queues {
		if holder := q.Holder(); q.Waiting() == 0 && (holder == nil || holder.leftNow() <= 0) && q.Settled(now) {
			delete(l.queues, key)
		}
	}
}
