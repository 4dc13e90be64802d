package quorum

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
)

// locals has the wait queues of this process: for each key the goroutines that want it,
// first come first served, and the lease that this process has on it. Only the first
// waiter of a queue competes on the instances; the others cost them nothing.
//
// Nothing here blocks, and nothing here calls user code: a waiter's context belongs to
// the user, so its owner looks at it, and not whoever hands it a lease.
type locals struct {
	reader *drift.Reader

	// Where processes can't notify each other (polls), this one steps back after its
	// turns: for long where another process is known to want the lock, for longer than
	// that one's pauses between two looks; for short in any case (see endTurn).
	polls       bool
	long, short time.Duration

	mu      sync.Mutex
	queues  map[string]*queue
	sweepAt int // the number of queues at which those that are over are removed
}

const (
	sweepLeast = 1024

	// maxTurns bounds how often in a row the lock passes from one goroutine of this
	// process to the next before other processes are let in.
	maxTurns = 128

	// yieldFor is how long this process steps back for a process that was notified:
	// far longer than a notification takes, and short enough if that process has died.
	yieldFor = 20 * time.Millisecond

	// contestedFor is how long a key counts as contested after another process was
	// seen to want it, too; where processes poll it is contestedTurns long steps back.
	contestedFor   = time.Second
	contestedTurns = 4

	// probeShare is the share of the time for which this process had the lock that it
	// steps back where nobody is known to want it.
	probeShare = 16
)

// queue is the wait queue for one key. It exists while a goroutine waits in it, a lease
// of this process is held, or another process may wait for the lock.
type queue struct {
	waiting []*waiter
	room    [1]*waiter // for a single waiter
	holder  *Lease     // a lease of this process, nil if there is none

	// turns is how many goroutines of this process, counting the holder, may have the
	// lock before other processes are let in. It is set when the lock comes to this
	// process, to the number of waiters: everybody who waited, here and elsewhere, has
	// one turn before anybody has two. Where the lock is held for moments it is two for
	// each: to pass the lock to another process costs as much as some turns, and the
	// others wait for less than a tenth of a validity. Where no other process is known
	// to wait it is maxTurns then: a newcomer waits that long, once.
	turns int

	// By the monotonic clock, 0 for never: until when this process lets others in
	// first, until when another process may want the lock, and when the lock came here.
	yield, contested, since time.Duration

	sought bool // another process wanted the lock when it came here

	place place    // this process's in the queue that a server keeps
	ear   *hearing // by which the first waiter is to be called; nil if it doesn't listen

	freed, called bool // what the first waiter has yet to hear of

	brief bool          // the last lease here was held so shortly that it could be handed on
	lost  *RoundError   // the last round that was lost here, nil since the lock came here
	token fencing.Token // of the last lease that a round of this process won
}

// place is this process's place in the queue that a server keeps.
type place struct {
	ear     *hearing
	address string // empty for no place
	called  bool   // by a call, with which the place was lost
}

// waiter is one goroutine in a queue.
type waiter struct {
	locals *locals
	key    string
	c      *Coordinator    // for a lease that is handed to it
	ctx    context.Context // the same

	wake     chan struct{} // nil until the goroutine waits for it
	notified bool          // before that

	// trying: it competes on the instances, and can't be handed a lease.
	trying bool
	lease  *Lease // that it was handed
}

// position is what a waiter sees of its queue.
type position struct {
	first  bool
	holder *Lease // of this process
	given  *Lease // to this waiter
	// freed: a lease of this process is over. called: a release notified this process.
	freed, called bool
}

func newLocals(cfg *Config, reader *drift.Reader, polls bool) *locals {
	return &locals{
		reader: reader, queues: make(map[string]*queue), polls: polls,
		// A waiter's round may last an InstanceTimeout, and the pause after it BackoffMax.
		long: cfg.BackoffMax + cfg.InstanceTimeout, short: cfg.BackoffMin,
	}
}

// enter puts a waiter at the end of its queue.
func (l *locals) enter(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.locals = l
	q := l.queueLocked(w.key)
	q.waiting = append(q.waiting, w)
}

// news is notified when there is something to look at.
func (w *waiter) news() <-chan struct{} {
	w.locals.mu.Lock()
	defer w.locals.mu.Unlock()
	if w.wake == nil {
		w.wake = make(chan struct{}, 1)
		if w.notified {
			w.wake <- struct{}{}
		}
	}
	return w.wake
}

// look says how the queue stands. For a waiter that was waiting it takes in the news. One
// that is about to ask the instances leaves them: if it is called, and its round is lost
// because it is faster than the rest of the release, it asks again at once.
func (w *waiter) look(waited bool) position {
	l := w.locals
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[w.key]
	p := position{first: q.waiting[0] == w, holder: q.holder, given: w.lease}
	if !waited {
		return p
	}
	w.notified = false
	select {
	case <-w.wake:
	default:
	}
	if p.first {
		p.freed, p.called = q.freed, q.called
		q.freed, q.called = false, false
	}
	return p
}

// compete notes that the first waiter asks the instances from now on, unless the queue
// has changed since it looked.
func (w *waiter) compete(p position) bool {
	w.locals.mu.Lock()
	defer w.locals.mu.Unlock()
	w.trying = w.lease == nil && w.locals.queues[w.key].holder == p.holder
	return w.trying
}

// park notes that the waiter waits for a lease of this process.
func (w *waiter) park() {
	w.locals.mu.Lock()
	defer w.locals.mu.Unlock()
	w.trying = false
}

// decline takes the lease back that the waiter was handed.
func (w *waiter) decline() *Lease {
	w.locals.mu.Lock()
	defer w.locals.mu.Unlock()
	lease := w.lease
	w.lease = nil
	return lease
}

// leave removes the waiter, wherever in the queue it is. It gives the place that is to
// be given up: this process's place, if no waiter is left to use it or the lock came
// without it.
func (w *waiter) leave(won bool) place {
	l := w.locals
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[w.key]
	for i, other := range q.waiting {
		if other != w {
			continue
		}
		q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
		if i == 0 {
			//guard:next-is-notified  a waiter that becomes the first in the queue is notified
			q.notifyLocked() // there is another first
		}
		break
	}
	var left place
	if won || len(q.waiting) == 0 {
		left, q.place = q.place, place{}
		q.freed, q.called = false, false
		if won && left.called {
			left = place{} // the call was for this
		}
	}
	l.dropLocked(w.key, q)
	return left
}

// held notes that a round of this process was won, so that the first waiter need not
// ask the instances who has the lock.
func (l *locals) held(lease *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.reader.Now().Mono
	q := l.queueLocked(lease.hold.key)
	q.holder, q.lost, q.yield = lease, nil, 0
	if l.polls && q.token != 0 && lease.token > q.token+1 {
		q.turns, q.contested = 0, now+l.memory() // another process has had it since
	}
	q.token = lease.token
	if !l.polls || q.turns <= 0 { // else its turns go on
		q.turns, q.sought, q.since = l.newTurns(q, now), q.contestedAt(now), now
	}
	if len(l.queues) >= l.sweepAt {
		l.sweepLocked()
		l.sweepAt = max(sweepLeast, 2*len(l.queues))
	}
}

// newTurns is how many turns this process has when the lock comes to it.
func (l *locals) newTurns(q *queue, now time.Duration) int {
	n := len(q.waiting)
	switch {
	case !q.brief:
		return min(n, maxTurns)
	//guard:other-processes-get-in  local hand-overs don't keep waiters in other processes out for long
	case n > 1 && !l.polls && !q.contestedAt(now):
		return maxTurns
	default:
		return min(2*n, maxTurns)
	}
}

// successors is how many waiters may follow the first one without a round of their own,
// if that one wins the lock now.
func (w *waiter) successors() int {
	l := w.locals
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.newTurns(l.queues[w.key], l.reader.Now().Mono)-1, 0)
}

// handOff gives the lease, which is over for its holder, to the first waiter, if that
// one waits for it, the lease is fit for that, and it is still this process's turn.
//
// Whoever releases decides, and doesn't wait for the waiter: that one may be cancelled
// by now, and then hands the lease on itself (see wait.leave).
func (l *locals) handOff(lease *Lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[lease.hold.key]
	if q == nil || q.holder != lease {
		return false
	}
	q.brief = lease.brief()
	if len(q.waiting) == 0 || q.turns <= 1 {
		return false
	}
	first := q.waiting[0]
	//guard:handover-to-a-waiter  a lease is handed only to a waiter that waits for it
	if first.trying || first.lease != nil {
		return false
	}
	next := lease.pass(first.c, first.ctx)
	if next == nil {
		return false
	}
	q.turns--
	q.holder, first.lease = next, next
	q.notifyLocked()
	return true
}

// endTurn notes that the lease is being released where processes poll. If that was the
// last of this process's turns, it steps back.
//
// Nobody tells a process that others poll for the lock that it has. It knows that they do
// if it was refused while it waited itself, or if a token was given between two of its
// own. Then it stays away until each of them has looked once: so no process that waits is
// passed over twice in a row. If it knows of nobody, it may just have asked again before
// anybody else looked each time: so it stays away for a moment, too. Sooner or later
// another process has the lock then, if any wants it.
func (l *locals) endTurn(lease *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[lease.hold.key]
	if q == nil || q.holder != lease {
		return
	}
	q.brief = lease.brief()
	if q.turns--; q.turns > 0 {
		return
	}
	now := l.reader.Now().Mono
	if q.sought {
		//guard:polling-is-fair  where processes poll, the last holder lets others go first
		q.yield = now + l.long
	} else {
		q.yield = now + min(max(l.short, (now-q.since)/probeShare), l.long)
	}
}

// freed notes that the lease is over, and notifies the first waiter.
func (l *locals) freed(lease *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[lease.hold.key]
	if q == nil || q.holder != lease {
		return
	}
	q.holder, q.freed = nil, true
	q.notifyLocked()
	l.dropLocked(lease.hold.key, q)
}

// wanted reports whether a goroutine of this process waits for the lease, or another
// process may do so.
func (l *locals) wanted(lease *Lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[lease.hold.key]
	return q != nil && q.holder == lease &&
		(len(q.waiting) > 0 || q.contested != 0 && q.contestedAt(l.reader.Now().Mono))
}

// letIn notes that a release notified another process.
func (l *locals) letIn(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queueLocked(key)
	now := l.reader.Now().Mono
	q.yield, q.contested = now+yieldFor, now+contestedFor
}

// yields is for how long other processes are to be let in first. Of one that was notified
// it says so once: the waiter takes its place behind that one then.
func (w *waiter) yields() time.Duration {
	l := w.locals
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[w.key]
	if q.yield == 0 {
		return 0 // without a look at the clocks
	}
	left := q.yield - l.reader.Now().Mono
	if !l.polls {
		q.yield = 0
	}
	return max(left, 0)
}

// refused notes a lost round. Where the lock is taken this process's turns are over.
func (w *waiter) refused(err *RoundError) {
	l := w.locals
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[w.key]
	q.lost = err
	if errors.Is(err.Verdict, ErrTaken) {
		q.turns, q.contested = 0, l.reader.Now().Mono+l.memory()
	}
}

// memory is how long a key counts as contested after another process was seen to want it.
func (l *locals) memory() time.Duration {
	if l.polls {
		return max(contestedFor, contestedTurns*l.long)
	}
	return contestedFor
}

// lastLost is the last round that was lost in this queue, nil if the lock came here
// since.
func (w *waiter) lastLost() *RoundError {
	w.locals.mu.Lock()
	defer w.locals.mu.Unlock()
	return w.locals.queues[w.key].lost
}

// listen sets the ear by which the first waiter is to be called, and gives this
// process's place, if it has one there.
func (w *waiter) listen(ear *hearing) place {
	l := w.locals
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[w.key]
	q.ear = ear
	if q.place.ear != ear {
		return place{}
	}
	return q.place
}

// stand sets this process's place, and gives the one that it had elsewhere.
func (w *waiter) stand(p place) (before place) {
	l := w.locals
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[w.key]
	before, q.place = q.place, p
	q.contested = l.reader.Now().Mono + l.memory()
	if before.ear == p.ear {
		return place{}
	}
	return before
}

// call takes in a call for the key, and reports whether anybody here waits for it.
func (l *locals) call(key string, ear *hearing) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[key]
	if q == nil || q.place.ear != ear {
		return false
	}
	q.place.called, q.called = true, true
	q.notifyLocked()
	return true
}

// changed notifies those who listen by the ear: it was opened, or lost together with
// their places.
func (l *locals) changed(ear *hearing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.queues {
		if q.place.ear == ear {
			q.place = place{}
		}
		if q.ear == ear {
			q.notifyLocked()
		}
	}
}

// notifyLocked wakes the first waiter.
func (q *queue) notifyLocked() {
	if len(q.waiting) == 0 {
		return
	}
	first := q.waiting[0]
	first.notified = true
	select {
	case first.wake <- struct{}{}:
	default: // it is notified already, or will be when it waits
	}
}

// contestedAt reports whether another process may want the lock, too.
func (q *queue) contestedAt(now time.Duration) bool { return now < q.contested }

func (l *locals) queueLocked(key string) *queue {
	q := l.queues[key]
	if q == nil {
		q = &queue{}
		q.waiting = q.room[:0]
		l.queues[key] = q
	}
	return q
}

// overAt reports whether the queue is of no use any more.
func (q *queue) overAt(now time.Duration) bool {
	return len(q.waiting) == 0 && (q.holder == nil || q.holder.expired()) && now >= max(q.contested, q.yield)
}

func (l *locals) dropLocked(key string, q *queue) {
	if len(q.waiting) > 0 || q.holder != nil {
		return
	}
	// Reading the clocks costs more than the rest.
	if max(q.contested, q.yield) == 0 || q.overAt(l.reader.Now().Mono) {
		delete(l.queues, key)
	}
}

// sweepLocked removes queues that nothing else would ever remove: of leases that ran out
// without a release, and of processes that didn't come although they were let in.
func (l *locals) sweepLocked() {
	now := l.reader.Now().Mono
	for key, q := range l.queues {
		if q.overAt(now) {
			delete(l.queues, key)
		}
	}
}
