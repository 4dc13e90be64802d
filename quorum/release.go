package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redquorum/redlock/quorum/internal/majority"
	"github.com/redquorum/redlock/quorum/wire"
)

// Release deletes the key on all instances where it may be, if it is still the lease's. It
// works on a context that has ended, too. It takes no longer than a few InstanceTimeouts,
// because it waits for no other goroutine.
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
	err := l.free(ctx)
	if before == held {
		l.reportLoss(why) // after the deletes, because it calls user code
	}
	l.reportRelease(ctx, event, err)
	return err
}

// errNoLease is the error of all calls on a nil or zero lease.
var errNoLease = fmt.Errorf("%w: the lease is nil, or was not made by Acquire; look at the error that came instead of it", ErrConfig)

// free deletes the keys. Then the first waiter of this process competes with others. While this process has
// turns left no other process is notified, so that the waiter goes first.
func (l *Lease) free(ctx context.Context) error {
	queues := l.state.c.queues
	goesOn, wanted := queues.endTurn(l)
	if !wanted {
		d := l.state.releaseAll(ctx, !goesOn, false)
		queues.freed(l)
		return d.err
	}
	// This process has had its turns. The next waiter here must know whether another process
	// was notified, and goes first, before it tries. But it waits no longer than a timeout,
	// because earlier requests may have to end first at that instance.
	c, d := l.state.c, l.state.releaseAll(ctx, true, true)
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
	c.background.spawn(func() { _ = l.free(context.Background()) }) // failed deletes stay pending
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

// deletion is a poll that deletes a value on every instance on which it may be, after all
// earlier requests to that instance. A delete that fails stays pending. A lost round is rolled
// back by one (rollBack), a lease that is released ends with one (releaseAll), and one asks nothing
// (abandon).
//
// No context ends it: every answer is under a timeout, and a caller that was cancelled must
// leave no keys behind and must still learn whether it held the lock.
type deletion struct {
	poll
	notifier         int           // the instance that is to notify a waiter, -1: none
	notifiers        []int         // those that are to do so for the other keys
	quiet, notifying wire.Request  // what the instances are asked
	held             bool          // a lease had the value: waiters rely on its release, and its holder on the outcome
	abandons         bool          // nothing is asked, see abandon
	awaited          []bool        // unless held, it is decided when these have answered
	queueAt          int           // the instance at which processes queue for the key
	queueAnswered    chan struct{} // if not nil, it is closed when that instance has answered
	err              error         // the outcome, written before the decision
}

// deletionBuffer is a deletion and its ballots and requests in one piece of memory.
type deletionBuffer struct {
	deletion
	ballotBuffer  [bufferedInstances]Ballot
	requestBuffer [bufferedInstances]request
}

// newDeletion makes a deletion. The context must be detached from the caller's.
func newDeletion(v *valueState, ctx context.Context) *deletion {
	d := &deletionBuffer{}
	n := len(v.c.members)
	d.poll.init(v, ctx, &d.deletion, buffer(d.ballotBuffer[:], n), buffer(d.requestBuffer[:], n))
	d.decided, d.notifier = make(chan struct{}), -1
	return &d.deletion
}

// releaseAll deletes the keys and returns as soon as the outcome is certain. The rest is done in
// the background. notifies says that waiting processes are notified, and awaitsQueue that the caller waits
// for the instance at which they queue.
func (v *valueState) releaseAll(ctx context.Context, notifies, awaitsQueue bool) *deletion {
	d := newDeletion(v, context.WithoutCancel(ctx))
	if notifies {
		d.notifyWaiters()
	}
	//guard:keyless-release-notifies  the release of a lease also notifies where the lease has no key
	d.held = true
	if awaitsQueue {
		d.queueAt, d.queueAnswered = v.c.queueInstance(v.key), make(chan struct{})
	}
	d.start()
	<-d.decided
	return d
}

// abandon leaves the value to another process, which replaces it by a value of its own. This
// process sets nothing any more. A SET without an answer may still arrive after the other
// process has released the lock, and would then block all clients for a TTL: there the
// delete becomes pending. An instance that is known to have the value isn't touched. done is
// closed when all work about the value has ended. That is soon, because each request is
// under the instance's timeout.
func (v *valueState) abandon() (done <-chan struct{}) {
	d := newDeletion(v, context.Background())
	d.abandons, d.awaited = true, slices.Repeat([]bool{true}, len(v.slots))
	d.start()
	return d.decided
}

// notifyWaiters has each key's first waiting process notified, by the instance at which processes
// queue for the key.
func (d *deletion) notifyWaiters() {
	c := d.state.c
	d.notifier = c.notifiesAt(d.state.key)
	for _, key := range d.state.also {
		//guard:each-key-notifies  the release of several keys notifies a waiter for each of them
		d.notifiers = append(d.notifiers, c.notifiesAt(key))
	}
}

func (d *deletion) start() {
	d.quiet = d.state.deleteRequest()
	d.notifying = d.quiet
	d.notifying.Notify = true
	d.state.markReleased()
	//guard:abandoned-is-not-deleted  an acquisition doesn't delete the value of a lease that was handed off
	//guard:release-learns-first  an acquisition doesn't delete the value of a lease before its release is decided
	if !d.abandons && !d.held {
		d.haveDeleted()
	}
	//guard:delete-everywhere  a release deletes on all instances
	d.askAll(d.state.c.reader.Now())
}

// haveDeleted has later acquisitions delete the value, where it may be.
func (d *deletion) haveDeleted() {
	for i := range d.requests {
		d.state.deletionBegins(i)
	}
}

func (d *deletion) firstRequest(i int) (*wire.Request, use) {
	key := d.state.presence(i)
	if d.abandons {
		//guard:sender-cleans-up  the sender deletes a key of its own that arrives after the hand-off
		if key.Unanswered > 0 && !key.There {
			d.requests[i].m.cleanup.add(d.state)
		}
		return nil, uncounted
	}
	notifies := i == d.notifier || slices.Contains(d.notifiers, i)
	// A SET that was refused or never sent has set nothing. But a waiter in the queue there may
	// have been notified, and have become the holder: then the next one waits for this release.
	if key.Absent() && !(notifies && d.held) {
		d.state.deletionEnds(i)
		return nil, uncounted
	}
	if notifies {
		return &d.notifying, uncounted
	}
	return &d.quiet, uncounted
}

func (d *deletion) answered(i int, _ bool, ballot Ballot) {
	v := d.state
	if v.noteAnswer(i, wire.Release, ballot.Vote).Absent() {
		v.deletionEnds(i)
	} else {
		//guard:delete-stays-pending  a delete that couldn't be delivered stays pending
		v.c.members[i].cleanup.add(v)
	}
	if d.held && ballot.Vote.Notified {
		v.letIn(i)
	}
}

func (d *deletion) count(i int, vote *wire.Vote) {
	outcome := vote.Outcome
	if outcome == wire.Failed && d.state.presence(i).Absent() {
		outcome = wire.Refused // it was asked only to notify
	}
	d.tally.Count(outcome)
	if i == d.queueAt && d.queueAnswered != nil {
		close(d.queueAnswered)
	}
	if d.awaited != nil {
		d.awaited[i] = false
	}
	if !d.isDecided() && d.certain() {
		if d.held {
			d.err = d.outcome()
			d.haveDeleted()
		}
		close(d.decided)
	}
}

// secondRequest: a deletion has no second requests.
func (d *deletion) secondRequest(int) (cmd *wire.Request, open bool) { return nil, false }

// certain reports whether no missing answer can change the outcome. The holder must learn that
// it didn't hold the lock. So an answer that may still prove that is waited for, even after no
// quorum can confirm the lease.
func (d *deletion) certain() bool {
	if !d.held {
		return !slices.Contains(d.awaited, true)
	}
	t := &d.tally
	return t.Verdict() == majority.Won || t.RefusalsDecide() || t.Verdict() == majority.Lost && t.Refused+t.Missing() < t.Blocking()
}

func (d *deletion) outcome() error {
	//guard:release-tells  a release that finds too few keys says so
	if d.tally.Verdict() == majority.Won {
		return nil
	}
	verdict := ErrUnreachable
	if d.tally.RefusalsDecide() {
		verdict = ErrNotHeld
	}
	err := d.state.c.roundError(wire.Release, d.state.keys, verdict)
	err.Votes = slices.Clone(d.ballots)
	return err
}

// letIn notes that an instance notified other processes. Where processes queue for several of the
// keys, the answer doesn't say for which of them it did. Then this process's waiters don't step back.
func (v *valueState) letIn(i int) {
	if !v.several() {
		v.c.queues.letIn(v.key)
		return
	}
	notified, n := "", 0
	for key := range v.each() {
		if v.c.queueInstance(key) == i {
			notified, n = key, n+1
		}
	}
	if n == 1 {
		v.c.queues.letIn(notified)
	}
}
