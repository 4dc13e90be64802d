package handoff

import (
	"time"

	"github.com/redquorum/redlock/fencing"
)

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
		t.left, t.contested = 0, now+r.memory() // another process has had it since
	}
	t.token = token
	if !r.Polls || t.left <= 0 { // else its turns go on
		t.left, t.sought, t.since = turnsOf(waiting), now < t.contested, now
	}
}

// turnsOf is how many turns a process has when the lock comes to it, if so many wait there.
func turnsOf(waiting int) int {
	//guard:other-processes-get-in  local hand-offs don't keep waiters in other processes out for long
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

// Successors is how many waiters may get the lock without a round of their own if the first one
// wins it now.
func (q *Queue[W, L]) Successors() int { return max(turnsOf(len(q.waiting))-1, 0) }

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
// was refused while it waited itself, or if a token was given between two of its own. Then it
// steps back until each of them has looked once, so that no waiting process is passed over twice
// in a row. If it knows of no other process, it may have asked again each time before another one
// looked. So it steps back briefly then, too. Sooner or later another process gets the lock, if
// any wants it.
func (q *Queue[W, L]) Yield(now time.Duration) {
	t, r := &q.turns, q.rules
	if t.sought {
		//guard:polling-is-fair  where processes poll, the last holder lets others go first
		t.yield = now + r.Long
	} else {
		t.yield = now + min(max(r.Short, (now-t.since)/probeShare), r.Long)
	}
}

// LetIn notes that a release notified a process. It may have been this one: a goroutine here can
// have taken the lock while another one was in the queue of an instance.
func (q *Queue[W, L]) LetIn(now time.Duration) {
	q.turns.contested = now + contestedFor
	//guard:no-step-back-for-itself  a process whose own notification came before the answer to its release doesn't step back
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
