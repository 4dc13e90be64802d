package quorum

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// wait is one Acquire.
//
// A try is a round, or a look at a lock that this process has, or that waiters before this one
// want, at each moment at which a waiter would ask the instances if the holder were another
// process. So Terms.MaxTries means the same wherever the holder is. Without MaxTries only the
// first look at each lock is counted, so that no waiter wakes only to count.
type wait struct {
	c            *Coordinator
	key          string // that it waits for: of several the first in the way
	all          keys   // that it acquires
	began        drift.Instant
	ctx          context.Context // the caller's, bounded by Terms.MaxWait
	instance     int             // the one with the queue that the waiter is in, if it has a subscription
	subscription *subscription   // that it uses there, nil if it uses none
	tries        int
	notifiedTry  int           // tries when a release last notified this waiter, see wasNotified and pause
	notifiedAt   time.Duration // and the monotonic clock
	last         *RoundError   // of the last try

	queue    *queue
	wake     chan struct{} // made by the first call of news
	notified bool          // since the last look; news reads it when it makes wake

	inherited *inheritance // that was passed on to this waiter; guarded by the queue's lock

	here, elsewhere bool // see WaitEnd
}

// acquire waits in the queue of this process, and returns the lease.
func (w *wait) acquire(caller context.Context) (lease *Lease, err error) {
	waiters := w.enter()
	defer func() { // also if a hook panics
		w.leave(lease)
		if w.c.cfg.Hooks.WaitEnded != nil {
			w.reportEnd(caller, lease, err)
		}
	}()
	if started := w.c.cfg.Hooks.WaitStarted; started != nil {
		started(caller, WaitStart{Key: w.all[0], Also: w.all.others(), Waiters: waiters})
	}
	return w.run(caller)
}

// errPanicked is WaitEnd.Err if a hook panicked, so that Acquire returns nothing.
var errPanicked = errors.New("quorum: a hook panicked")

// reportEnd calls Hooks.WaitEnded.
func (w *wait) reportEnd(caller context.Context, lease *Lease, err error) {
	e := WaitEnd{
		Key: w.all[0], Also: w.all.others(), Started: w.began.Wall, Waited: drift.Elapsed(w.began, w.c.reader.Now()),
		Tries: w.tries, Here: w.here, Elsewhere: w.elsewhere, Err: err,
	}
	if lease == nil {
		if err == nil {
			e.Err = errPanicked
		}
		w.c.cfg.Hooks.WaitEnded(caller, e)
		return
	}
	e.Token = lease.token
	w.c.withHook(lease, func() { w.c.cfg.Hooks.WaitEnded(caller, e) })
}

func (w *wait) run(caller context.Context) (*Lease, error) {
	for {
		if !w.untilDue() {
			return nil, w.gaveUp(caller)
		}
		if lease, late := w.inherits(); lease != nil {
			return lease, nil
		} else if late {
			continue
		}
		w.tries++
		lease, err := w.try()
		if err == nil {
			return lease, nil
		}
		if w.over() {
			if w.last == nil || !errors.Is(err.Verdict, ErrInterrupted) {
				w.last = err
			}
			return nil, w.gaveUp(caller)
		}
		w.last = err
		w.elsewhere = w.elsewhere || errors.Is(err.Verdict, ErrTaken)
		if err.hopeless(w.c.majority.Blocking()) {
			return nil, err
		}
		if w.exhausted() {
			return nil, w.gaveUp(caller)
		}
		w.changeQueue(err)
	}
}

// try runs a round.
func (w *wait) try() (*Lease, *RoundError) {
	round := w.c.round
	if w.exhausted() {
		round = w.c.contend // no other try follows a split
	}
	lease, err := round(w.ctx, w.all, w.tries)
	if err != nil {
		//guard:unsent-round-notifies-nobody  a waiter whose turn to begin a round didn't come lets another process know
		if len(err.Votes) > 0 {
			w.competed()
		}
		if key := w.all.at(inTheWay(err.Votes)); key == "" || key == w.key {
			w.noteLost(err)
		}
	}
	return lease, err
}

// exhausted reports whether there were as many tries as Terms allow.
func (w *wait) exhausted() bool {
	return w.c.terms.MaxTries > 0 && w.tries >= w.c.terms.MaxTries
}

// untilDue waits until a round is due. It reports false when the wait is over.
func (w *wait) untilDue() bool {
	i := interval{wait: w, nextIsTry: true}
	next := look
	if w.tries > 0 && w.rests() {
		next = i.rest(w.last, w.pause(w.last, false), false)
	}
	for {
		switch next {
		case look:
			next = i.look()
		case sleep:
			next = i.sleep()
		case compete:
			return true
		case giveUp:
			return false
		}
	}
}

// over reports whether the caller or the Coordinator has ended the wait.
func (w *wait) over() bool { return w.ctx.Err() != nil || w.c.closed() }

// lookError is the error of a try that was a look at a lock that this process has or waits for.
func (w *wait) lookError(holder *Lease) *RoundError {
	err := &RoundError{Op: wire.Acquire, Verdict: ErrTaken, Quorum: w.c.majority.Q}
	if holder != nil {
		err.Holder = w.c.holderHere(holder, holder.Validity())
	} else if lost := w.queue.lastLost(); lost != nil {
		*err = *lost // what the first waiter saw
		if lost.Holder != nil {
			holder := *lost.Holder // the other error keeps its own
			holder.Key = ""
			err.Holder = &holder
		}
	} else {
		err.Holder = &Holder{Here: true, Owner: w.c.cfg.Owner}
	}
	err.Key, err.Also = w.all[0], w.all.others()
	if len(w.all) > 1 && err.Holder != nil {
		err.Holder.Key = w.key
	}
	return err
}

// leave ends the wait, with that lease if it isn't nil.
func (w *wait) leave(lease *Lease) {
	w.leaveQueue(lease)
	w.unsubscribe()
}

// pause is how long to wait before the next round: full jitter under a bound that doubles, or
// under the highest bound if the waiter expects a notification; but no longer than until a
// quorum can be free.
//
// The bound starts low again when the lock was released to this waiter. If it loses that round,
// it was as a rule too early on a server that has yet to get the delete, and no other
// notification will come.
func (w *wait) pause(last *RoundError, notified bool) time.Duration {
	bound := w.c.cfg.Lab.BackoffMax
	// BackoffMin<<shift may overflow, so BackoffMax is shifted.
	if shift := max(w.tries-w.notifiedTry-1, 0); !notified && shift < 63 && w.c.cfg.Lab.BackoffMin <= bound>>shift {
		bound = w.c.cfg.Lab.BackoffMin << shift
	}
	pause := w.c.random.jitter(bound)
	if last == nil {
		return pause
	}
	if h := last.Holder; h != nil && h.Here && h.Remaining > 0 {
		return min(pause, h.Remaining)
	}
	if free := freeIn(last.Votes, w.c.quarantines(w.c.reader.Now()), w.c.majority.Q); free > 0 {
		pause = min(pause, free)
	}
	return pause
}

// freeIn is when a quorum can be free at the latest, if no holder extends: the Q-th smallest
// of the times that instances gave, 0 if they gave none. Instances that granted are free now.
//
// It takes the quarantines from the servers, and not from the failed votes: these come all at
// once, and it depends on the scheduler which of them were counted before the round was lost.
func freeIn(votes []Ballot, quarantines []*QuarantineError, quorum int) time.Duration {
	var times []time.Duration
	for i, ballot := range votes {
		vote := ballot.Vote
		switch {
		case quarantines[i] != nil:
			times = append(times, quarantines[i].Remaining+time.Millisecond)
		case vote.Outcome == wire.Granted:
			times = append(times, 0)
		case vote.Outcome == wire.Refused && vote.Remaining > 0:
			times = append(times, vote.Remaining+time.Millisecond)
		}
	}
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	// Fewer than a quorum are known if instances are down. Then another try is due when the known
	// ones are free.
	return times[min(quorum, len(times))-1]
}

// gaveUp says why the wait is over.
func (w *wait) gaveUp(caller context.Context) error {
	err := &WaitError{
		Key: w.all[0], Also: w.all.others(), Tries: w.tries, Verdict: ErrExhausted,
		Waited: drift.Elapsed(w.began, w.c.reader.Now()),
	}
	if w.last != nil {
		last := *w.last
		if caller.Err() == nil && errors.Is(last.Verdict, ErrInterrupted) {
			// MaxWait ended the round, not the caller's context. Too few instances had
			// answered, or the round's turn hadn't come.
			if early, queued := last.Verdict.(*overloadError); queued {
				last.Verdict = early.inTime()
			} else {
				last.Verdict = ErrNoQuorum
			}
			last.Cause = nil
		}
		err.Last = &last
	}
	switch {
	case caller.Err() != nil:
		err.Verdict, err.Cause = ErrInterrupted, causeOf(caller)
	case w.c.closed():
		err.Verdict = ErrClosed
	}
	return err
}

// interval is what a waiter does between two rounds. It looks at the queue of this process, and sleeps
// while this process has the lock or other waiters come first. Or it rests before a round: until the
// pause is over, or a release notifies it.
type interval struct {
	*wait
	waited bool // it has slept since its last look

	nextIsTry  bool             // the next look counts as a try
	nextTry    <-chan time.Time // receives when the next look counts again
	holderEnd  <-chan time.Time // receives when the holder may be over, while the waiter is the first
	overHolder *Lease           // the holder, if it is over

	pause   <-chan time.Time // receives when a round is due, nil if the waiter doesn't rest
	lost    *RoundError      // the round before, nil if there was none because the waiter steps back
	yields  bool             // it steps back for another process
	front   bool             // it was notified before, and may queue at the front
	address string           // of the last try to queue
}

// action is what a waiter does next.
type action uint8

const (
	look action = iota
	sleep
	compete // ask the instances
	giveUp
)

// look looks at the queue of this process.
func (i *interval) look() action {
	v := i.lookOrCompete(i.waited, i.overHolder)
	switch {
	case v.competes:
		return compete
	case v.yields > 0 && i.c.queues.polls():
		return i.rest(nil, v.yields, true)
	case v.yields > 0:
		return i.rest(nil, i.wait.pause(nil, false), true) // or until it is notified
	}
	left := heldFor(v.Holder)
	if v.First && left == 0 {
		i.overHolder = v.Holder
		return look
	}
	i.waited, i.here = true, true
	if i.nextIsTry && !i.countLook(v.Holder) {
		return giveUp
	}
	if i.holderEnd = nil; v.First {
		i.holderEnd = i.c.clock.After(left)
	}
	return sleep
}

// countLook counts a look at a lock that this process has as a try. It reports false if it was the last.
func (i *interval) countLook(holder *Lease) bool {
	i.nextIsTry = false
	//guard:looks-count-as-tries  a look at a lock that this process holds counts as a try
	i.tries++
	i.last = i.lookError(holder)
	if i.exhausted() {
		return false
	}
	if i.c.terms.MaxTries > 0 {
		i.nextTry = i.c.clock.After(i.wait.pause(i.last, i.c.notifiesAt(i.key) >= 0))
	}
	return true
}

// rest begins a pause before a round. lost is the round before, nil if there was none because the
// waiter steps back.
func (i *interval) rest(lost *RoundError, pause time.Duration, yields bool) action {
	i.waited = false
	if pause <= 0 {
		if i.over() && !yields {
			return giveUp
		}
		return look
	}
	i.pause, i.lost, i.yields, i.address = i.c.clock.After(pause), lost, yields, ""
	i.front = i.subscribe().Notified
	return i.queueUp()
}

// queueUp has this process wait in the queue at an instance, if that can notify, and it doesn't yet.
func (i *interval) queueUp() action {
	now := i.currentAddress()
	if now == "" || now == i.address {
		return sleep
	}
	i.address = now
	queued, free, ok := i.enqueue(now, i.front, i.yields)
	switch {
	case !ok:
		return giveUp
	case queued:
		pause := i.wait.pause(i.lost, true)
		if i.yields {
			//guard:let-in-within-a-timeout  a waiter that steps back for another process tries when that one must have asked
			pause = min(pause, i.c.cfg.InstanceTimeout)
		}
		i.pause = i.c.clock.After(pause)
	case free && i.refusedThere(i.lost):
		// It was released since that vote.
		i.wasNotified()
		i.pause = nil
		return look
	}
	return sleep
}

// sleep sleeps until something happens.
func (i *interval) sleep() action {
	holderEnd, nextTry := i.holderEnd, i.nextTry
	if i.pause != nil {
		holderEnd, nextTry = nil, nil
	}
	rested := false
	select {
	case <-i.pause:
		rested = true
	case <-holderEnd:
	case <-nextTry:
		i.nextIsTry = true
	case <-i.news():
	case <-i.ctx.Done():
		return giveUp
	case <-i.c.background.closing:
		return giveUp
	}
	if i.pause == nil {
		return look
	}
	// Also at the end of the pause: a notification may have come while the waiter queued.
	switch seen := i.wait.look(true); {
	case seen.Notified:
		i.wasNotified()
	case !seen.Freed && !rested:
		return i.queueUp() // the subscription was opened or lost
	}
	// If a lease of this process is over, or the pause, another process has the lock as a rule, or has
	// died, or was this one.
	i.pause = nil
	return look
}

// heldFor is how long to wait for a lease of this process, 0 if it is over or there is none.
func heldFor(holder *Lease) time.Duration {
	if holder == nil {
		return 0
	}
	if left := holder.Validity(); left > 0 {
		// In parts, as the lease's own watcher does: after a suspension the timer would be
		// late.
		return checkAgainAfter(left)
	}
	if holder.stageNow() >= released {
		// Its deletes are under way, and would meet the requests of a round.
		return holder.value.c.cfg.InstanceTimeout
	}
	return 0
}

// wasNotified notes that a release notified the waiter, so that its next pauses are short.
//
// A notification may be about the waiter's own key, which it deleted after a lost round. Where
// that goes on, as with a stale key on a quorum, most pauses must be long nevertheless.
func (w *wait) wasNotified() {
	now := w.c.reader.Now().Mono
	if w.notifiedTry == 0 || now-w.notifiedAt > 4*w.c.cfg.Lab.BackoffMax {
		//guard:notified-tries-soon  a waiter that was notified and lost the round tries again soon
		w.notifiedTry = w.tries
		w.notifiedAt = now
	}
}

// refusedThere reports whether the instance with the queue refused the round because of the
// key.
func (w *wait) refusedThere(last *RoundError) bool {
	if last == nil || len(last.Votes) == 0 {
		return false
	}
	vote := last.Votes[w.instance].Vote
	return vote.Outcome == wire.Refused && (vote.InTheWay == 0 || w.all.at(vote.InTheWay) == w.key)
}
