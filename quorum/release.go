package quorum

import (
	"context"
	"errors"
	"fmt"

	"github.com/redquorum/redlock/quorum/wire"
)

// Release deletes the key on all instances where it may be, if it is still the lease's. It
// works on a context that has ended, too. It takes no longer than a few InstanceTimeouts,
// because it waits for no other goroutine.
//
// Nil means that a quorum still had the lease, or that it was handed to another goroutine of
// this process while it was valid (see Config.Cohorts). ErrNotHeld: it had expired or was taken
// over on so many instances that the holder had no lock any more; its work may have collided
// with another holder's. ErrUnreachable: too few instances answered to tell; the deletes stay
// pending until the instances answer. ErrReleased, ErrHandedOff: it was released, left or handed
// off before. ErrConfig and ErrNotHeld: the lease is nil, as it is if Acquire failed.
func (l *Lease) Release(ctx context.Context) error {
	if l.none() {
		return fmt.Errorf("%w: %w", ErrNotHeld, errNoLease)
	}
	event, why := l.event(nil), ErrReleased // before the end, so that Validity is what was left
	if event.Validity == 0 {
		why = l.expiry() // nothing may have noticed its deadline
	}
	// The holder's contexts end before the first delete is sent, so that no other client can
	// get the lock while they last.
	//guard:contexts-end-first  a holder's contexts end before its keys are deleted
	before := l.moveTo(released, why)
	if before >= released {
		return l.releasedBefore()
	}
	var err error
	if handed, wanted := l.handOver(); !handed {
		err = l.free(ctx, wanted)
	}
	if before == held {
		l.reportLoss(why) // after the deletes, because it calls user code
	}
	l.reportRelease(ctx, event, err)
	return err
}

// errNoLease is the error of all calls on a nil or zero lease.
var errNoLease = fmt.Errorf("%w: the lease is nil, or was not made by Acquire; look at the error that came instead of it", ErrConfig)

// handOver hands the lease to the first waiter of this process, see queues.handOver.
func (l *Lease) handOver() (handed, wanted bool) {
	queues := l.state.c.queues
	if queues.polls() {
		// Other processes must find the lock free, so it is freed after each turn.
		queues.endTurn(l)
		return false, false
	}
	return queues.handOver(l)
}

// free deletes the keys. Then the first waiter of this process competes with others. wanted is as in
// queues.handOver.
func (l *Lease) free(ctx context.Context, wanted bool) error {
	queues := l.state.c.queues
	if !wanted {
		d := l.state.releaseAll(ctx, false)
		queues.freed(l)
		return d.err
	}
	// This process has had its turns. The next waiter here must know whether another process
	// was notified, and goes first, before it tries. But it waits no longer than a timeout,
	// because earlier requests may have to end first at that instance.
	c, d := l.state.c, l.state.releaseAll(ctx, true)
	select {
	case <-d.queueAnswered:
		queues.freed(l)
	default:
		c.background.spawn(func() {
			//guard:hung-queue-is-not-awaited  the next waiter of a process waits for the instance with the queue for a timeout at most
			select {
			case <-d.queueAnswered:
			case <-c.clock.After(c.cfg.InstanceTimeout):
			}
			queues.freed(l)
		})
	}
	return d.err
}

// discard releases a lease that no caller has.
func (c *core) discard(l *Lease) {
	l.moveTo(released, ErrReleased)
	if handed, wanted := l.handOver(); !handed {
		c.background.spawn(func() { _ = l.free(context.Background(), wanted) }) // failed deletes stay pending
	}
}

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
	l.state.markReleased()
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
