package quorum

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/majority"
	"github.com/redquorum/redlock/quorum/wire"
)

// Extend gives the lease its TTL (Terms.TTL) from now on. It needs a quorum of instances that are not in
// quarantine and on which the key is still the lease's. It also restores the lease on instances
// that lack it (after a restart, after a late grant, or after another client's key expired).
// These never count towards the quorum: otherwise an expired lease could be revived under an
// old token.
//
// The new validity counts from just before the extension was sent. If the extension isn't won, or
// Terms.MaxLife leaves nothing to gain, the error Is ErrNotExtended and the old deadline stands. In
// the first case another try may succeed. If so many instances say that the key is not the lease's
// that no quorum can have it, the lease ends at once, and the error Is ErrLost.
// After the deadline the error is ErrExpired, and no instance is asked. Other errors:
// ErrReleased, ErrHandedOff and ErrClosed if that ended the lease, ErrConfig for a nil lease,
// and ErrInterrupted with ctx's error, after which the outcome is unknown and the old deadline
// stands.
func (l *Lease) Extend(ctx context.Context) error {
	if l.none() {
		return errNoLease
	}
	return l.extend(ctx, 0)
}

// Keep extends the lease as Extend does, and makes its keys stay on the instances for at least d,
// which later extensions don't shorten. So no other client gets the lock for that long,
// even if the lease is left (Leave) or the process ends. d may be longer than MaxTTL: whole
// milliseconds, at least Terms.TTL, at most ten years. Keep doesn't make the lease itself valid
// for longer, and Release frees the lock as usual. Terms.MaxLife doesn't limit Keep. A lease that
// is handed off forgets d.
//
// Call it before other extensions: an instance where one of them had no answer doesn't count, because
// what arrives late would shorten the time. Then no other try helps (Retryable).
//
// Beyond MaxTTL, the keys that stay don't protect as a lease does: a server that lost its data
// votes again after its quarantine. Package once says what can be built on Keep, for a job that
// must not be begun again. Errors are those of Extend, and ErrConfig for d. After an error the
// keys may stay where the extension arrived, and the lease isn't worse off.
func (l *Lease) Keep(ctx context.Context, d time.Duration) error {
	if l.none() {
		return errNoLease
	}
	if err := validMillis("Keep's time", d); err != nil {
		return err
	}
	if d < l.terms.TTL {
		return fmt.Errorf("%w: Keep's time is %v, want at least TTL, which is %v", ErrConfig, d, l.terms.TTL)
	}
	return l.extend(ctx, d)
}

// extend extends the lease. If keep isn't zero, the extension is sent also if the lease gains nothing
// from it.
func (l *Lease) extend(ctx context.Context, keep time.Duration) error {
	if err := l.beginExtension(ctx); err != nil {
		return err
	}
	defer l.endExtension()
	if ctx.Err() != nil {
		return l.extendError(ErrInterrupted, causeOf(ctx), nil)
	}
	c := l.c
	e, err := l.newExtension(ctx, keep, c.cfg.InstanceTimeout)
	if err != nil {
		return err
	}
	answers := make(inbox, len(c.servers))
	c.sendExtensions([]*extension{e}, answers)
	for !e.decided() {
		select {
		case a := <-answers:
			e.count(a.s.index, &a.ballot)
		case <-ctx.Done():
			// It may still be won, but the holder doesn't learn that, and so must not count on
			// it.
			return e.conclude(ctx, l.extendError(ErrInterrupted, causeOf(ctx), e.votes.copies()))
		}
	}
	return e.conclude(ctx, e.result())
}

// extension is one extension of a lease.
type extension struct {
	lease  *Lease
	req    *wire.Request
	length time.Duration // the validity that it gives, from start on
	least  time.Duration // for how long an instance must keep the key to count
	capped bool          // Terms.MaxLife has cut it
	calls  []call
	start  drift.Instant
	votes  ballots
	tally  majority.Tally
}

// newExtension makes an extension to the terms' TTL, cut by MaxLife, or says why none is to be sent.
// The caller has begun the extension (beginExtension), so the cut is computed when the extension is
// sent, and not before a wait. timeout bounds each request to each instance.
func (l *Lease) newExtension(ctx context.Context, keep, timeout time.Duration) (*extension, error) {
	v, c := l.value, l.c
	ttl, more := l.nextTTL()
	// The time for which Keep has the keys stay is no validity.
	length := c.cfg.Lab.Drift.Validity(ttl, 0)
	switch {
	case l.Validity() <= 0:
		return nil, l.Err()
	case !more && keep == 0:
		// It would leave the keys with less time than the holder was promised, even if
		// only a minority took it.
		return nil, l.extendError(fmt.Errorf("%w: its life may not exceed MaxLife, %v", ErrNotExtended, l.terms.MaxLife), nil, nil)
	}
	capped := ttl < l.terms.TTL
	least := max(ttl, keep)
	l.mu.Lock()
	l.keep = max(l.keep, keep)
	ttl = max(ttl, l.keep)
	l.mu.Unlock()
	c.cfg.Hooks.tellStart(ctx, wire.Extend, v.keys, 1)
	//guard:restore-is-no-grant  an instance where the lease is put back doesn't count for the extension
	req := v.request(wire.Extend)
	req.TTL = ttl
	e := l.asking(req, length)
	e.capped, e.least = capped, least
	for i := range e.calls {
		e.calls[i].timeout = timeout
	}
	return e, nil
}

// asking is the extension with that request, which nobody has been asked for.
func (l *Lease) asking(req *wire.Request, length time.Duration) *extension {
	c := l.c
	return &extension{
		lease: l, req: req, length: length, least: req.TTL, calls: l.value.calls(req, nil),
		votes: slices.Clone(c.pending), tally: majority.Tally{Majority: c.majority},
	}
}

// nextTTL is the TTL for an extension, within Terms.MaxLife; more is false if that leaves nothing to
// gain. Only a TTL that MaxLife has cut can leave nothing: no lease is valid for longer than its own TTL
// gives, and a lease that was resumed has the TTL of its handle.
func (l *Lease) nextTTL() (ttl time.Duration, more bool) {
	ttl = l.terms.TTL
	if l.terms.MaxLife == 0 {
		return ttl, true
	}
	lived := drift.Elapsed(l.acquired, l.c.reader.Now())
	ttl = min(ttl, l.terms.MaxLife-lived).Truncate(time.Millisecond)
	if ttl == l.terms.TTL {
		return ttl, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	more = ttl > 0 && l.c.cfg.Lab.Drift.Validity(ttl, 0) > l.leftLocked()
	l.capped = l.capped || !more
	return ttl, more
}

// sendExtensions sends one extension or several, to one server after the other, so that each server can
// get them in one exchange. Each call has the number of its extension.
func (c *core) sendExtensions(all []*extension, to taker) {
	start := c.reader.Now() // before anything is sent: no key lives shorter than its TTL from here
	for _, e := range all {
		e.start = start
	}
	for i := range c.servers {
		for n, e := range all {
			if e.lease.value.crowded(i) {
				e.count(i, &Ballot{Instance: c.servers[i].name, Vote: wire.Vote{Unsent: true, Err: ErrOverloaded}})
				continue
			}
			e.calls[i].of, e.calls[i].to = n, to
			e.lease.value.send(&e.calls[i], start)
		}
	}
}

func (e *extension) decided() bool { return e.tally.Verdict() != majority.Pending }

// count takes in server i's vote. A server keeps the key for what it granted only if nothing shortens it:
// an extension sets the TTL at its arrival. If an earlier one has no answer and a TTL that is shorter than what
// this one promises, as Keep may, it may arrive after this one, when the server has hung. With an equal or a
// longer TTL the key only lives longer.
func (e *extension) count(i int, ballot *Ballot) {
	if e.decided() {
		return
	}
	if late := e.lease.value.shorter(i, e.least); late > 0 && ballot.Vote.Outcome == wire.Granted {
		ballot = &Ballot{Instance: ballot.Instance, Latency: ballot.Latency}
		ballot.Vote.Err = shortenedError{late, e.least}
	}
	e.votes[i] = ballot
	e.tally.Count(ballot.Vote.Outcome)
}

// shortenedError is why an instance that granted an extension doesn't count.
type shortenedError struct{ late, least time.Duration }

func (e shortenedError) Error() string {
	return fmt.Sprintf("%v: an earlier extension, to %v, may still arrive and shorten this one, to %v", ErrTimeout, e.late, e.least)
}

func (e shortenedError) Unwrap() error { return ErrTimeout }

// Permanent: nothing says that the earlier one can't arrive any more.
func (e shortenedError) Permanent() bool { return true }

// conclude reports how the extension ended.
func (e *extension) conclude(ctx context.Context, err error) error {
	l, c := e.lease, e.lease.c
	hooks := &c.cfg.Hooks
	if hooks.RoundDecided != nil {
		took := drift.Elapsed(e.start, c.reader.Now())
		hooks.RoundDecided(ctx, RoundEnd{Op: wire.Extend, Key: l.value.keys[0], Also: l.value.keys.others(), Try: 1, Started: e.start.Wall, Took: took, Validity: l.Validity(), Ballots: e.votes.copies(), Err: err})
	}
	if err == nil && hooks.Extended != nil {
		hooks.Extended(ctx, l.event(nil))
	}
	return err
}

// result carries out the verdict.
func (e *extension) result() error {
	l := e.lease
	//guard:extension-needs-quorum  only a quorum extends a lease
	if e.tally.Verdict() != majority.Lost {
		// The keys of a lease that isn't extended would only block other clients.
		l.value.follow(wire.Restore, e.req.TTL)
		return e.prolong()
	}
	// So many servers say "not yours" that certainly no quorum has it. The holder
	// must not go on until the deadline.
	if e.tally.RefusalsDecide() {
		err := l.extendError(ErrLost, nil, e.votes.copies())
		if !l.end(err) {
			return l.Err() // over before: it was released, and not lost
		}
		return err
	}
	return l.extendError(ErrNotExtended, nil, e.votes.copies())
}

// prolong sets the new deadline, unless the lease has ended meanwhile.
func (e *extension) prolong() error {
	l := e.lease
	//guard:late-replies  replies that come after the deadline extend nothing
	if l.Validity() <= 0 {
		return l.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	//guard:over-stays-over  a lease that was said to be over stays over
	if l.stage != held {
		return l.over
	}
	start, length := e.start, e.length
	if length-drift.Elapsed(start, l.c.reader.Now()) <= 0 {
		return l.extendError(fmt.Errorf("%w: %w", ErrNotExtended, ErrTooSlow), nil, e.votes.copies())
	}
	if length-drift.Elapsed(start, l.c.reader.Now()) < l.leftLocked() {
		return nil // Keep had no more time to give
	}
	//guard:extension-from-send  the new validity counts from before the extension was sent
	l.start, l.length, l.capped = start, length, l.capped || e.capped
	return nil
}
