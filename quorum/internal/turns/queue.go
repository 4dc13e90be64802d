// Package turns has the rules by which the goroutines of a process share a lock, and by
// which the process shares it with others.
//
// A Queue is a value, which must not be copied once a waiter is in it. Its methods take what
// happened and return what is to be done. It has no clock, no channel and no goroutine, and isn't
// safe for concurrent use: package quorum keeps these around it. So all orders of events can be
// tried (see TestQueueInEveryOrder).
package turns

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/fencing"
)

// Queue is the wait queue of one process for one key: first come, first served. W stands
// for a waiter, and L for a lease of this process; their zero values are none. Only the
// first waiter competes on the instances. The others cost them nothing.
type Queue[W, L comparable] struct {
	rules   *Rules
	waiting []W
	buffer  [1]W // for a single waiter, so that it costs no memory
	holder  L    // the lease of this process

	freed, notified bool // what the first waiter has yet to learn

	turns    turns
	untold   bool     // a release notified no other process, because a waiter here goes on, which has yet to ask
	position Position // in the queue that an instance keeps
	instance int      // that is to notify the first waiter, -1 for none
}

// New returns an empty queue.
func New[W, L comparable](rules *Rules) Queue[W, L] {
	return Queue[W, L]{rules: rules, instance: -1}
}

// View is what a waiter sees of its queue.
type View[L comparable] struct {
	First  bool
	Holder L // the lease of this process
	// Freed: a lease of this process is over. Notified: a release notified this process.
	Freed, Notified bool
}

// Waiting is how many waiters there are.
func (q *Queue[W, L]) Waiting() int { return len(q.waiting) }

// Holder is the lease of this process.
func (q *Queue[W, L]) Holder() L { return q.holder }

// Enter puts a waiter at the end.
func (q *Queue[W, L]) Enter(w W) {
	if len(q.waiting) == 0 {
		q.waiting = q.buffer[:0]
	}
	q.waiting = append(q.waiting, w)
}

// Look returns a waiter's view. If it was waiting, Freed and Notified are reset. If it is about to ask
// the instances they stay: a waiter that was notified may lose its round because the rest of the release
// arrives later, and then asks again at once.
func (q *Queue[W, L]) Look(w W, waited bool) View[L] {
	v := View[L]{First: q.isFirst(w), Holder: q.holder}
	if v.First && waited {
		v.Freed, v.Notified = q.freed, q.notified
		q.freed, q.notified = false, false
	}
	return v
}

// Competed notes that the first waiter has asked the instances, and didn't win. The rollback of its round
// notifies another process.
func (q *Queue[W, L]) Competed() { q.untold = false }

// Leave removes a waiter; hasLease says whether it leaves with a lease. It returns the waiter to wake,
// and the position to give up, if no waiter is left to use it or the lock came without it.
func (q *Queue[W, L]) Leave(w W, hasLease bool) (wake W, withdraw Position) {
	first := q.isFirst(w)
	if first {
		// The slice is cut off at its front, so that a turn takes as long with ten thousand
		// waiters as with two. Enter moves them to new memory every now and then.
		var none W
		q.waiting[0] = none
		q.waiting = q.waiting[1:]
	} else {
		i := slices.Index(q.waiting, w)
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	if first {
		//guard:next-is-notified  a waiter that becomes the first in the queue is notified
		wake = q.First()
	}
	if hasLease || len(q.waiting) == 0 {
		if !hasLease || !q.position.Notified { // else the notification was for this
			withdraw = q.position
		}
		q.position, q.freed, q.notified = Position{}, false, false
	}
	return wake, withdraw
}

// Acquired notes that a round of this process was won.
func (q *Queue[W, L]) Acquired(lease L, token fencing.Token, now time.Duration) {
	q.holder, q.untold = lease, false // another goroutine may have been faster
	q.turns.begin(q.rules, len(q.waiting), token, now)
}

// GoOn notes that this process releases its lease. It reports whether the next waiter goes on with the
// turns of this process. Then no other process is notified. Otherwise the turns are over.
func (q *Queue[W, L]) GoOn() bool {
	q.turns.left--
	if q.untold = q.turns.left > 0 && len(q.waiting) > 0; !q.untold {
		q.turns.left = 0
	}
	return q.untold
}

// Untold reports, once, whether another process has to be notified after all: a release that is over
// notified none, and no waiter is left to go on.
func (q *Queue[W, L]) Untold() bool {
	var none L
	untold := q.untold && len(q.waiting) == 0 && q.holder == none
	q.untold = q.untold && !untold
	return untold
}

// Freed notes that the lease of this process is over, and returns the waiter to wake.
func (q *Queue[W, L]) Freed() (wake W) {
	var none L
	q.holder, q.freed = none, true
	return q.First()
}

func (q *Queue[W, L]) isFirst(w W) bool { return len(q.waiting) > 0 && q.waiting[0] == w }

// First is the waiter that comes next.
func (q *Queue[W, L]) First() (w W) {
	if len(q.waiting) > 0 {
		w = q.waiting[0]
	}
	return w
}

// Position is this process's position in the queue of waiting processes at an instance.
type Position struct {
	Instance int
	Address  string // to be notified at; empty for no position
	Notified bool   // it was, and has lost the position with that
}

// Subscribe sets the instance that is to notify the first waiter, -1 for none, and returns this
// process's position there, if it has one.
func (q *Queue[W, L]) Subscribe(instance int) Position {
	q.instance = instance
	if q.position.Instance != instance {
		return Position{}
	}
	return q.position
}

// SetPosition sets this process's position, and returns the one that it had at another instance,
// which is to be given up.
func (q *Queue[W, L]) SetPosition(p Position, now time.Duration) (withdraw Position) {
	before := q.position
	q.position = p
	q.turns.contested = now + q.rules.memory()
	if before.Instance == p.Instance {
		return Position{}
	}
	return before
}

// Notify takes in an instance's notification, and returns the waiter to wake; ok is false if no
// goroutine here waits for it.
func (q *Queue[W, L]) Notify(instance int) (wake W, ok bool) {
	if q.position.Address == "" || q.position.Instance != instance {
		return wake, false
	}
	q.position.Notified, q.notified = true, true
	q.turns.yield = 0
	return q.First(), true
}

// Changed notes the address of the subscription at an instance, empty if it was lost, and returns
// the waiter to wake. A position at another address there is lost. One at this address is not:
// the waiter may have read the address, and taken the position, before this call.
func (q *Queue[W, L]) Changed(instance int, address string) (wake W) {
	if q.position.Instance == instance && q.position.Address != address {
		q.position = Position{}
	}
	if q.instance == instance {
		wake = q.First()
	}
	return wake
}

// Rules are the same for all queues of a process.
type Rules struct {
	// Polls: processes can't notify each other. Then this process steps back after its turns:
	// for Long if another process is known to want the lock, which is longer than the pauses
	// between two looks of that process; for Short in any case (see Yield).
	Polls       bool
	Long, Short time.Duration
}

const (
	// maxTurns bounds how often in a row the lock passes from one goroutine of this
	// process to the next before other processes are let in.
	maxTurns = 128

	// yieldFor is how long this process steps back for a process that was notified: far
	// longer than a notification takes, and short enough if that process has died.
	yieldFor = 20 * time.Millisecond

	// contestedFor is how long a key counts as contested after another process was seen to
	// want it, too. If processes poll it is contestedTurns long steps back.
	contestedFor   = time.Second
	contestedTurns = 4

	// probeShare is how much shorter a step back is than the time for which this process had
	// the lock, if no other process is known to want it.
	probeShare = 16
)

// turns is how this process takes turns with others. Times are by a monotonic clock,
// and 0 stands for never.
type turns struct {
	// left is how many goroutines of this process, counting the holder, may have the lock
	// before other processes are let in. When the lock comes to this process it is set to the
	// number of waiters, so that each waiter of any process has one turn before any has two.
	left int

	yield     time.Duration // until when this process lets others in first
	contested time.Duration // until when another process may want the lock
	since     time.Duration // when the lock came here

	sought bool          // another process wanted the lock when it came here
	token  fencing.Token // of the last round that this process won
}

// begin notes that a round was won.
func (t *turns) begin(r *Rules, waiting int, token fencing.Token, now time.Duration) {
	t.yield = 0
	if r.Polls && t.token != 0 && token > t.token+1 {
		t.contested = now + r.memory() // another process has asked since: each try takes a token
	}
	t.token = token
	if t.left <= 0 { // else its turns go on
		t.left, t.sought, t.since = turnsOf(waiting), now < t.contested, now
	}
}

// turnsOf is how many turns a process has when the lock comes to it, if so many wait there.
func turnsOf(waiting int) int {
	//guard:other-processes-get-in  waiters here don't keep waiters in other processes out for long
	return min(waiting, maxTurns)
}

// memory is how long a key counts as contested after another process was seen to want it.
func (r *Rules) memory() time.Duration {
	if r.Polls {
		return max(contestedFor, contestedTurns*r.Long)
	}
	return contestedFor
}

// Timed reports whether the queue depends on the time. If it doesn't the caller need not read the
// clocks, which costs more than the rest.
func (q *Queue[W, L]) Timed() bool {
	return max(q.turns.yield, q.turns.contested) > 0
}

// Contested reports whether another process may want the lock.
func (q *Queue[W, L]) Contested(now time.Duration) bool { return now < q.turns.contested }

// Settled reports whether no other process is expected to take the lock.
func (q *Queue[W, L]) Settled(now time.Duration) bool {
	return now >= max(q.turns.contested, q.turns.yield)
}

// EndTurn notes that the lease is released while processes poll, and reports whether that was the
// last of this process's turns.
func (q *Queue[W, L]) EndTurn() (last bool) {
	q.turns.left--
	return q.turns.left <= 0
}

// Yield has this process step back after its turns, if processes poll.
//
// A process isn't notified that others poll for the lock that it has. It knows that they do if it
// was refused while it waited itself, or if a token is missing between two of its own. Then it
// steps back until each of them has looked once, so that no waiting process is passed over twice
// in a row. If it knows of no other process, it may have asked again each time before another one
// looked. So it steps back briefly then, too. Sooner or later another process gets the lock, if
// any wants it.
func (q *Queue[W, L]) Yield(now time.Duration) {
	t, r := &q.turns, q.rules
	if t.sought {
		t.yield = now + r.Long
	} else {
		t.yield = now + min(max(r.Short, (now-t.since)/probeShare), r.Long)
	}
}

// LetIn notes that a release notified a process. It may have been this one: a goroutine here can
// have taken the lock while another one was in the queue of an instance.
func (q *Queue[W, L]) LetIn(now time.Duration) {
	q.turns.contested = now + contestedFor
	// The process's own notification may come before the answer to its release.
	if !q.position.Notified {
		q.turns.yield = now + yieldFor
	}
}

// Yields reports whether other processes may have to be let in first (see StepBack).
func (q *Queue[W, L]) Yields() bool { return q.turns.yield > 0 }

// StepBack is how long the process lets others go first. If another process was notified it says
// so once, because the waiter then takes a position behind that process.
func (q *Queue[W, L]) StepBack(now time.Duration) time.Duration {
	left := q.turns.yield - now
	if !q.rules.Polls {
		q.turns.yield = 0
	}
	return max(left, 0)
}

// Taken notes that a round found the lock taken: this process's turns are over.
func (q *Queue[W, L]) Taken(now time.Duration) {
	q.turns.left, q.turns.contested = 0, now+q.rules.memory()
}
