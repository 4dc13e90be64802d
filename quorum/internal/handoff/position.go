package handoff

import "time"

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
	//guard:notified-needs-no-step-back  a process that is notified itself doesn't step back for another
	q.turns.yield = 0
	return q.first(), true
}

// Changed notes the address of the subscription at an instance, empty if it was lost, and returns
// the waiter to wake. A position at another address there is lost. One at this address is not:
// the waiter may have read the address, and taken the position, before this call.
func (q *Queue[W, L]) Changed(instance int, address string) (wake W) {
	//guard:position-outlasts-the-notice  a position that a waiter took before the queue learned of its subscription stays
	if q.position.Instance == instance && q.position.Address != address {
		q.position = Position{}
	}
	if q.instance == instance {
		wake = q.first()
	}
	return wake
}
