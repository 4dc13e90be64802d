package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/redquorum/redlock/quorum/internal/majority"
	"github.com/redquorum/redlock/quorum/wire"
)

// Release deletes the key on all instances where it may be, if it is still the lease's. It also
// works with a context that has ended. It takes no longer than a few InstanceTimeouts, because it
// waits for no other goroutine.
//
// Nil means that a quorum still had the lease. ErrNotHeld: it had expired or was taken
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
	err := l.free(before == held)
	if before == held {
		l.reportLoss(why) // after the deletes, because it calls user code
	}
	l.reportRelease(ctx, event, err)
	return err
}

// free deletes the keys. Then the first waiter of this process competes with others. While this process has
// turns left no other process is notified, so that the waiter goes first. If the lease may be passed on, that waiter
// gets the lock without a delete.
func (l *Lease) free(passed bool) error {
	v, c := l.value, l.c
	goesOn, wanted := c.queues.endTurn(l)
	if passed && goesOn && l.pass() {
		return nil
	}
	var notify []bool
	if !goesOn {
		notify = c.subscriptions.notifying(v.keys)
	}
	r := c.release(v, notify)
	// Only from now on may acquisitions delete the value: else the release might find nothing.
	v.deleteEarly()
	select {
	case <-r.queueAnswered:
		wanted = false
	default:
	}
	if !wanted {
		c.queues.freed(l)
		return r.err()
	}
	// This process has had its turns. The next waiter here must know whether another process
	// was notified, and goes first, before it tries. But it waits no longer than a timeout,
	// because earlier requests may have to end first at that server.
	c.background.spawn(func() {
		over := c.clock.After(c.cfg.InstanceTimeout)
		select {
		case <-r.queueAnswered:
		case <-over:
		}
		c.queues.freed(l)
	})
	return r.err()
}

// releasing is the deletion of a lease's value, as its holder waits for it.
type releasing struct {
	c             *core
	v             *value
	decided       chan struct{} // closed when no missing answer can change the outcome
	queueAt       int           // the server at which processes queue for the key
	queueAnswered chan struct{} // closed when that has answered

	mu    sync.Mutex
	votes ballots
	tally majority.Tally
}

// release deletes the value, and returns as soon as no missing answer can change the outcome. The rest is done in
// the background.
func (c *core) release(v *value, notify []bool) *releasing {
	r := &releasing{
		c: c, v: v, decided: make(chan struct{}), queueAt: c.servers.queueInstance(v.keys[0]), queueAnswered: make(chan struct{}),
		votes: slices.Clone(c.pending), tally: majority.Tally{Majority: c.majority},
	}
	v.delete(notify, r)
	<-r.decided // soon, because every request is under a timeout
	return r
}

// take counts an answer.
func (r *releasing) take(c *call) {
	i, outcome := c.s.index, c.ballot.Vote.Outcome
	if c.ballot.Vote.Notified {
		r.letIn(i)
	}
	if outcome == wire.Failed && r.v.absent(i) {
		outcome = wire.Refused // it was asked only to notify
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i == r.queueAt {
		close(r.queueAnswered)
	}
	if r.certain() {
		return
	}
	r.votes[i] = &c.ballot
	if r.tally.Count(outcome); r.certain() {
		close(r.decided)
	}
}

// letIn notes that server i notified other processes. Where processes queue for several of the
// keys, the answer doesn't say for which of them it did. Then this process's waiters don't step back.
func (r *releasing) letIn(i int) {
	notified, n := r.v.keys[0], 0
	for _, key := range r.v.keys {
		if len(r.v.keys) == 1 || r.c.servers.queueInstance(key) == i {
			notified, n = key, n+1
		}
	}
	if n == 1 {
		r.c.queues.letIn(notified)
	}
}

// certain reports whether no missing answer can change the outcome. The holder must learn that
// it didn't hold the lock. So an answer that may still prove that is waited for, even after no
// quorum can confirm the lease.
func (r *releasing) certain() bool {
	t := &r.tally
	return t.Verdict() == majority.Won || t.RefusalsDecide() || t.Verdict() == majority.Lost && t.Refused+t.Missing() < t.Blocking()
}

// err is what the holder learns.
func (r *releasing) err() error {
	//guard:release-tells  a release that finds too few keys says so
	if r.tally.Verdict() == majority.Won {
		return nil
	}
	verdict := ErrUnreachable
	if r.tally.RefusalsDecide() {
		verdict = ErrNotHeld
	}
	err := r.c.roundError(wire.Release, r.v.keys, verdict)
	err.Votes = r.votes.copies()
	return err
}

// discard releases a lease that no caller has.
func (c *core) discard(l *Lease) {
	l.moveTo(released, ErrReleased)
	c.background.spawn(func() { _ = l.free(false) }) // failed deletes stay pending
}

// Leave ends the lease and leaves its keys on the instances until they expire: a TTL after the
// acquisition or the last extension, at the latest. Until then no other client gets the lock. It
// asks no instance and waits for nothing. Package once uses it for a job that must not be begun
// again.
//
// The lease's contexts end with ErrReleased, KeepAlive stops, and no delete is sent or becomes
// pending. An instance that hasn't answered yet may have the key, or get it when the request
// arrives, and keeps it for a TTL from then. The key is not deleted there either: a delete could
// remove it from an instance that counts, and then the loss of one more instance would free the
// lock early.
//
// Nil means that the lease was valid. If the lease was over before, the error is the reason
// (ErrExpired, ErrLost, ErrClosed), and the keys may be gone. It is ErrReleased or ErrHandedOff
// if the lease was released, left or handed off before, and ErrConfig for a nil lease. Also after
// an error, a later Release deletes nothing and returns ErrReleased.
func (l *Lease) Leave() error {
	if l.none() {
		return errNoLease
	}
	event, why := l.event(nil), l.Err()
	before := l.moveTo(released, ErrReleased)
	if before >= released {
		return l.releasedBefore()
	}
	// An extension under way must put nothing back.
	l.value.leave()
	if before == ended {
		why = l.Err()
	}
	// Waiters of this process must ask the instances from now on.
	l.c.queues.freed(l)
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
	return l.c.roundError(wire.Release, l.value.keys, verdict)
}

// withHook calls a hook before the caller gets the lease. If the hook panics no caller gets the
// lease. Then it is released, so that its keys don't stay for a TTL.
func (c *core) withHook(lease *Lease, hook func()) {
	returned := false
	defer func() {
		if !returned {
			//guard:panic-releases  a lease that no caller gets because a hook panics is released
			c.discard(lease)
		}
	}()
	hook()
	returned = true
}
