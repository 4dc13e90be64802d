package quorum

import (
	"errors"

	"github.com/redquorum/redlock/quorum/wire"
)

// Leave ends the lease and leaves its keys on the instances until they expire: a TTL after the
// acquisition or the last extension, at the latest. Until then no other client gets the lock. It
// asks no instance and waits for nothing. Package once uses it for a job that must not be begun
// again.
//
// The lease's contexts end with ErrReleased, KeepAlive stops, and no delete is sent or becomes
// pending. An instance that hasn't answered yet may have the key, or get it when the request
// arrives, and keeps it for a TTL from then. It is not deleted there either: a delete could take
// the key from an instance that has it, and then the loss of another one would free the lock
// early.
//
// Nil means that the lease was valid. The other errors are the reason if it was over before
// (ErrExpired, ErrLost, ErrClosed), when its keys may be gone; ErrReleased and ErrHandedOff if it
// was released, left or handed off before; and ErrConfig for a nil lease. After any of them, too,
// nothing is deleted by a later Release, which returns ErrReleased.
func (l *Lease) Leave() error {
	if l.none() {
		return errNoLease
	}
	event, why := l.event(nil), l.Err()
	//guard:left-is-released  a lease that was left can't be released afterwards
	//guard:leave-ends-lease  leaving a lease ends it for its holder
	before := l.moveTo(released, ErrReleased)
	if before >= released {
		return l.releasedBefore()
	}
	//guard:left-not-restored  an extension under way puts nothing back once the lease was left
	l.state.release()
	if before == ended {
		why = l.Err()
	}
	// Waiters of this process must ask the instances from now on.
	l.state.c.queues.freed(l)
	event.Left = true
	l.reportRelease(l.parent, event, why)
	return why
}

// releasedBefore is the error of a call that comes after Release, Leave or HandOff.
func (l *Lease) releasedBefore() error {
	verdict := ErrReleased
	if errors.Is(l.Err(), ErrHandedOff) {
		verdict = ErrHandedOff
	}
	return l.state.c.roundError(wire.Release, l.state.keys, verdict)
}
