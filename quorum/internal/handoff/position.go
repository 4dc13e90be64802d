package handoff

import "time"

// Position is this process's position in the queue of waiting processes on a server.
type Position struct {
	Server   int
	Address  string // to be notified at; empty for no position
	Notified bool   // it was, and has lost the position with that
}

// Subscribe sets the server that is to notify the first waiter, -1 for none, and returns this
// process's position there, if it has one.
func (q *Queue[W, L]) Subscribe(server int) Position {
	q.server = server
	if q.position.Server != server {
		return Position{}
	}
	return q.position
}

// Stand sets this process's position, and returns the one that it had at another server, which is
// to be given up.
func (q *Queue[W, L]) Stand(p Position, now time.Duration) (withdraw Position) {
	before := q.position
	q.position = p
	q.turns.contested = now + q.rules.memory()
	if before.Server == p.Server {
		return Position{}
	}
	return before
}

// Notify takes in a server's notification, and returns the waiter to wake; ok is false if no
// goroutine here waits for it.
func (q *Queue[W, L]) Notify(server int) (wake W, ok bool) {
	if q.position.Address == "" || q.position.Server != server {
		return wake, false
	}
	q.position.Notified, q.notified = true, true
	return q.first(), true
}

// Changed notes that the subscription at a server was opened, or lost together with the
// position there, and returns the waiter to wake.
func (q *Queue[W, L]) Changed(server int) (wake W) {
	if q.position.Server == server {
		q.position = Position{}
	}
	if q.server == server {
		wake = q.first()
	}
	return wake
}
