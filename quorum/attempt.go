package quorum

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/settlement"
	"github.com/redquorum/redlock/quorum/wire"
)

// attempt is one round on the servers: it sends what the round orders, and gives it the answers.
type attempt struct {
	c     *Coordinator
	keys  keys
	try   int  // its number among the tries of one Acquire, from 1
	once  bool // its caller doesn't wait for the lock
	start drift.Instant
	v     *value
	after []*value      // the earlier ones under these keys that are being deleted, see values
	calls []call        // one to each server
	done  chan struct{} // closed when the answers decide the round

	mu    sync.Mutex
	round *round

	decider int    // the server that is asked first, -1: none, all are asked at once
	handle  string // the value of the lease that is resumed, empty for an acquisition
}

func (c *Coordinator) newAttempt(all keys, try int) *attempt {
	return &attempt{c: c, keys: all, try: try, decider: -1}
}

// playRound plays one round and returns the lease, or an error after the round was rolled back.
func (c *Coordinator) playRound(ctx context.Context, all keys, try int) (*Lease, *RoundError) {
	return c.newAttempt(all, try).run(ctx)
}

func (a *attempt) run(ctx context.Context) (*Lease, *RoundError) {
	c := a.c
	if err := c.admission.admit(ctx, a.handle != "" || a.decider >= 0, a.once); err != nil {
		return nil, a.notAdmitted(ctx, err)
	}
	entered, admitted := c.reader.Now(), true
	//guard:rollback-before-close  Close waits until a round that has begun is a lease or was rolled back
	if !c.background.begin() {
		c.admission.end(false, false, entered.Mono, entered.Mono)
		return nil, a.notAdmitted(ctx, ErrClosed)
	}
	defer c.background.finish()
	defer func() {
		// Also after a panic in a hook, because the caller may recover, as net/http does.
		//guard:admission-after-panic  a round whose hook panics is no longer counted as under way
		if admitted {
			c.admission.end(false, false, entered.Mono, entered.Mono)
		}
	}()
	digits, err := c.random.digits()
	if err != nil {
		return nil, c.roundError(wire.Acquire, a.keys, err)
	}
	c.cfg.Hooks.tellStart(ctx, wire.Acquire, a.keys, a.try)
	//guard:resumed-under-new-value  a resumed lease has a value of its own, which nothing late of the sender can touch
	a.v = newValue(c.values, a.keys, writeValue(digits, c.cfg.Owner, c.terms.Note))
	// Before the first SET is sent: no server starts counting the TTL earlier.
	//guard:start-before-send  the validity counts from before the first SET
	a.start = c.reader.Now()
	cause := a.ask(ctx)

	now := c.reader.Now()
	took := drift.Elapsed(a.start, now)
	//guard:round-time-counts  the time that a round took is taken off the validity
	validity := c.cfg.Lab.Drift.Validity(c.terms.TTL, took)
	why := a.result(validity)
	admitted = false
	c.admission.end(why == nil, why == nil || why == ErrTaken, entered.Mono, now.Mono)
	end := RoundEnd{Op: wire.Acquire, Key: a.keys[0], Also: a.keys.others(), Try: a.try, Started: a.start.Wall, Took: took}
	if why != nil {
		return nil, a.lose(ctx, end, cause)
	}
	c.noteRound(ctx, a.keys[0], a.start, nil)
	a.v.wins(a.round.token)
	lease := newLease(ctx, c.core, a.v, a.round.token, &c.terms, a.start)
	if hook := c.cfg.Hooks.RoundDecided; hook != nil {
		end.Token, end.Validity, end.Ballots = a.round.token, validity, a.round.votes.copies()
		c.withHook(lease, func() { hook(ctx, end) })
	}
	return lease, nil
}

// ask plays the round until it is decided. The error is the caller's context's, if that ended it.
func (a *attempt) ask(ctx context.Context) (cause error) {
	c, v := a.c, a.v
	req := v.request(wire.Acquire)
	req.TTL, req.Clock = c.terms.TTL, req.Fence.On
	if req.Fence.On {
		req.Fence.Token = c.servers.startToken(a.start)
	}
	resumes := a.handle != ""
	if resumes {
		// It is sent to every server at once, because it may come too late by its turn, and nothing else deletes the
		// handle's value there.
		req.Delete = []string{a.handle}
	} else {
		a.after = c.values.beingDeleted(v.keys)
	}
	a.calls, a.done = v.calls(req, a), make(chan struct{})
	r, orders := newRound(settlement.Rules{Quorum: c.majority.Q, Ahead: c.cfg.ahead()}, slices.Clone(c.pending), a.decider, resumes)
	a.round = r
	a.send(orders, a.start)
	select {
	case <-a.done:
	case <-ctx.Done():
		cause = a.end(ErrInterrupted, causeOf(ctx))
	case <-c.background.closing:
		_ = a.end(ErrClosed, nil)
	}
	return cause
}

// send sends what the round orders. now is as in call.start.
func (a *attempt) send(orders []order, now drift.Instant) {
	for _, o := range orders {
		if o.op == wire.Acquire {
			a.v.sendAfter(a.after, &a.calls[o.i], now)
			continue
		}
		req := a.v.request(wire.Raise)
		req.Fence.Token = a.round.token
		a.v.send(&call{s: a.c.servers[o.i], req: req, about: a.v, to: a}, now)
	}
}

// take gives an answer to the round, and sends what that orders.
func (a *attempt) take(c *call) {
	a.mu.Lock()
	decided := a.round.decided()
	orders := a.round.step(c.s.index, c.req.Op, &c.ballot)
	c.taken = true
	if !decided && a.round.decided() {
		close(a.done)
	}
	a.mu.Unlock()
	a.send(orders, drift.Instant{})
}

// ballots are those of the votes, with those that came after the round was decided.
func (a *attempt) ballots() []Ballot {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := slices.Clone(a.c.pending)
	for i := range a.calls {
		if c := &a.calls[i]; c.taken {
			all[i] = &c.ballot
		}
	}
	return all.copies()
}

// end ends a round that isn't decided, and returns the cause if this did.
func (a *attempt) end(why, cause error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.round.decided() {
		return nil
	}
	a.round.lose(why)
	return cause
}

// result ends the round: one that leaves too little validity is lost. It is nil if the round was won.
func (a *attempt) result(validity time.Duration) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	//guard:validity-left  a round that leaves too little validity gives no lease
	if a.round.stage == won && (validity <= 0 || validity < a.c.terms.MinValidity) {
		// Grants that came too late make no lease: the first of them may have expired
		// (scenario S3).
		a.round.lose(ErrTooSlow)
	}
	return a.round.why
}

// lose rolls the round back, and returns its error.
func (a *attempt) lose(ctx context.Context, end RoundEnd, cause error) *RoundError {
	c, r := a.c, a.round
	err := c.roundError(wire.Acquire, a.keys, r.why)
	err.Votes, err.Raises, err.Cause = r.votes.copies(), r.raises, cause
	if r.why == ErrTaken {
		err.Holder = holderIn(err.Votes, a.keys, c.majority)
	}
	//guard:rollback  a lost round deletes what it has set
	a.rollBack(ctx)
	if decided := c.cfg.Hooks.RoundDecided; decided != nil {
		end.Err, end.Ballots = err, err.Votes
		decided(ctx, end)
	}
	c.noteRound(ctx, a.keys[0], a.start, err)
	return err
}

// rollBack deletes the round's key on all servers, because a failed request may have been
// carried out. It returns when the servers that granted have answered the delete. The rest
// is done in the background.
func (a *attempt) rollBack(ctx context.Context) {
	v, r := a.v, a.round
	// A waiter that was refused by this round's keys is notified when they are gone. But if a
	// majority is down each round is lost, and waiters would notify each other as fast as they
	// can.
	var notify []bool
	if r.why != ErrNoQuorum && r.why != ErrUnsettled {
		notify = a.c.subscriptions.notifying(v.keys)
	}
	granted := make(inbox, len(v.places))
	//guard:rollback-detached  a lost round is rolled back even if its caller was cancelled
	v.delete(notify, granted)
	v.deleteEarly()
	n := 0
	for i := range r.votes {
		if r.votes[i].Vote.Outcome == wire.Granted {
			n++
		}
	}
	for n > 0 {
		select {
		case answer := <-granted:
			if r.votes[answer.s.index].Vote.Outcome == wire.Granted {
				n--
			}
		case <-ctx.Done():
			return
		case <-a.c.background.closing:
			return
		}
	}
}

// notAdmitted is the error of a round that was not admitted. It calls the hooks of any round.
func (a *attempt) notAdmitted(ctx context.Context, why error) *RoundError {
	err := a.c.roundError(wire.Acquire, a.keys, why)
	if errors.Is(why, ErrInterrupted) {
		err.Cause = causeOf(ctx)
	}
	a.c.cfg.Hooks.tellStart(ctx, wire.Acquire, a.keys, a.try)
	if decided := a.c.cfg.Hooks.RoundDecided; decided != nil {
		decided(ctx, RoundEnd{Op: wire.Acquire, Key: a.keys[0], Also: a.keys.others(), Try: a.try, Started: a.c.reader.Now().Wall, Err: err})
	}
	return err
}
