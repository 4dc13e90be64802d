package quorum

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
)

// Lease is a lock that was taken, for a time. It is safe for concurrent use. What a holder
// does with a nil Lease by mistake is an error and no panic: it has nothing, its contexts
// and Done have ended, and it can't be extended, handed off or released (ErrConfig).
//
// Holding a Lease means: until Validity is used up, no other client has one on
// the same key, as long as the assumptions of the package documentation hold.
// Since no client can know for sure that it isn't about to be paused, what is
// done under the lease should carry its Token to a resource that checks it.
type Lease struct {
	state    *valueState
	token    fencing.Token
	terms    Terms
	acquired drift.Instant
	round    *round          // nil for ReleaseHandle
	parent   context.Context // the acquiring call's values, without its end

	mu       sync.Mutex
	start    drift.Instant // just before the last won round was sent
	length   time.Duration // validity counted from start
	over     error         // why the lease has ended, nil while it runs
	overAt   time.Time
	ends     map[context.Context]context.CancelCauseFunc // contexts to end with it
	released bool                                        // Release was called
	watched  bool                                        // the keeper ends it at its deadline
	keeps    bool                                        // the keeper extends it
	capped   bool                                        // its life has reached Terms.MaxLife
	passed   bool                                        // another one has gone on under the value
	own      context.Context

	kept kept // guarded by the keeper's lock

	// Made when they are first asked for: most leases are taken and released
	// without.
	done      chan struct{} // closed when it has ended
	extending chan struct{} // holds one element while an extension is under way
}

func newLease(c *Coordinator, r *round, start drift.Instant) *Lease {
	l := makeLease(c, r.ctx, &r.state, r.first(), c.terms, start)
	l.round = r
	l.state.reserve(r.reserved)
	return l
}

// makeLease makes a lease. The context is detached already.
func makeLease(c *Coordinator, detached context.Context, h *valueState, token fencing.Token, terms Terms, start drift.Instant) *Lease {
	return &Lease{
		state: h, token: token, terms: terms, acquired: start,
		parent: detached,
		start:  start,
		length: c.cfg.Drift.Validity(terms.TTL, 0),
	}
}

// Key is the resource.
func (l *Lease) Key() string {
	if l == nil {
		return ""
	}
	return l.state.key
}

// String names the lease, and gives nothing away by which it could be released.
func (l *Lease) String() string {
	if l == nil {
		return "no lease"
	}
	return fmt.Sprintf("lease on %q, token %d, valid for %v", l.state.key, l.token, l.Validity())
}

// Format prints String for every verb: fmt would print the Coordinator behind it, too.
func (l *Lease) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, l.String()) }

// LogValue is the lease for log/slog.
func (l *Lease) LogValue() slog.Value {
	if l == nil {
		return slog.StringValue(l.String())
	}
	return slog.GroupValue(slog.String("key", l.state.key), slog.Uint64("token", uint64(l.token)), slog.Duration("validity", l.Validity()))
}

// Value is what the key is set to on the instances: 40 random hexadecimal digits,
// and ":" and Config.Owner if there is one. Whoever knows it can release the
// lease. It tells one acquisition from another, not one holder: those of this process
// who follow each other (see Config.Cohorts) share it, which Token doesn't. Empty once
// the lease was passed on, for the value is the next one's then.
func (l *Lease) Value() string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	//guard:handover-hides-value  a holder that handed its lease over can't give the key away
	if l.passed {
		return ""
	}
	return l.state.value
}

// Token is the fencing token: larger than that of every earlier lease on the same
// key. 0 if Config.Fencing is Off.
func (l *Lease) Token() fencing.Token {
	if l == nil {
		return 0
	}
	return l.token
}

// Votes is every instance's vote, with those that came after the round was won.
func (l *Lease) Votes() []Ballot {
	if l == nil || l.round == nil {
		return nil
	}
	return l.round.snapshot()
}

// Instances names those that are known to have the lease now: more than a quorum
// means that it survives the loss of some.
func (l *Lease) Instances() []string {
	if l == nil {
		return nil
	}
	return l.state.instances()
}

// Validity is how long the holder may still act: the TTL, less the time since
// just before it was asked for by the monotonic or the wall clock (whichever
// went further), less the drift allowance. 0 when the lease is over. It doesn't
// count what the holder will lose by being paused after it asked.
func (l *Lease) Validity() time.Duration {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	left := l.leftLocked()
	expired := l.over == nil && left <= 0
	l.mu.Unlock()
	if expired {
		//guard:expired-is-over  a lease whose deadline has passed is over for good
		l.end(l.expiry())
		return 0
	}
	return left
}

// leftLocked is the validity, 0 when there is none. l.mu is held.
func (l *Lease) leftLocked() time.Duration {
	if l.over != nil {
		return 0
	}
	// Elapsed is the larger of both clocks: the monotonic one stands still in a
	// suspended machine, the wall clock can be stepped back.
	return max(0, l.length-drift.Elapsed(l.start, l.state.c.reader.Now()))
}

// Deadline is when the validity is used up, by the wall clock; for a lease that is
// over, when it ended.
func (l *Lease) Deadline() time.Time {
	if l == nil {
		return time.Time{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != nil {
		return l.overAt
	}
	return l.start.Wall.Add(l.length)
}

// Err is nil while the lease is valid, and then says why it is not: ErrExpired,
// ErrReleased, ErrHandedOff, ErrLost or ErrClosed; ErrConfig for a nil lease.
func (l *Lease) Err() error {
	if l == nil {
		return errNoLease
	}
	l.Validity()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// Done is closed when the lease has ended, at its deadline at the latest.
func (l *Lease) Done() <-chan struct{} {
	if l == nil {
		return ended
	}
	l.watch()
	return l.ended()
}

// ended is the Done of what has never begun.
var ended = func() chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}()

// ended is closed when the lease has ended, if anything is there to end it in time
// (see watch).
func (l *Lease) ended() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.over != nil {
			close(l.done)
		}
	}
	return l.done
}

// extensions holds one element while an extension is under way.
func (l *Lease) extensions() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.extending == nil {
		l.extending = make(chan struct{}, 1)
	}
	return l.extending
}

// releasing reports whether Release was called: what is left of it is seconds at
// most.
func (l *Lease) releasing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.released
}

// fit reports whether the lease has as much validity as its terms demand, without ending
// anything.
func (l *Lease) fit() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.leftLocked()
	return left > 0 && left >= l.terms.MinValidity
}

// expired reports whether the validity is used up, without ending anything.
func (l *Lease) expired() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leftLocked() <= 0
}

func (l *Lease) expiry() error {
	l.mu.Lock()
	capped := l.capped
	l.mu.Unlock()
	if capped {
		return fmt.Errorf("%w: its life reached MaxLife, %v", ErrExpired, l.terms.MaxLife)
	}
	return ErrExpired
}

// end ends the lease, once, and reports whether this call did. What depends on
// it is told before anything is deleted, and before anybody is woken to compete.
func (l *Lease) end(why error) bool {
	l.mu.Lock()
	ends, first := l.endLocked(why)
	l.mu.Unlock()
	if first {
		l.tellEnd(why, ends)
	}
	return first
}

// endLocked ends the lease unless it has ended, and gives the contexts that tellEnd is to
// end with it. l.mu is held.
func (l *Lease) endLocked(why error) (ends []context.CancelCauseFunc, first bool) {
	if l.over != nil {
		return nil, false
	}
	now := l.state.c.reader.Now()
	l.over = why
	l.overAt = now.Wall
	if deadline := l.start.Wall.Add(l.length); deadline.Before(l.overAt) {
		l.overAt = deadline
	}
	//guard:context-ends-with-lease  a lease's contexts end when the lease is lost or released
	ends = slices.Collect(maps.Values(l.ends))
	clear(l.ends)
	if l.done != nil {
		close(l.done)
	}
	return ends, true
}

// tellEnd tells those that depend on the lease that it has ended.
func (l *Lease) tellEnd(why error, ends []context.CancelCauseFunc) {
	for _, end := range ends {
		end(why)
	}
	l.state.c.keeper.remove(l)
	if !errors.Is(why, ErrReleased) && !errors.Is(why, ErrHandedOff) {
		l.state.c.queues.freed(l)
		if lost := l.state.c.cfg.Hooks.Lost; lost != nil {
			lost(l.event(why))
		}
	}
}

// watch has the keeper end the lease at its deadline. A lease that nobody watches costs
// nothing: its Validity is computed when it is asked for.
func (l *Lease) watch() { l.watchAndExtend(never) }

// watchAndExtend is watch, and has the lease extended after a pause, unless that is never.
// It reports whether nobody watched the lease before.
func (l *Lease) watchAndExtend(extendIn time.Duration) (first bool) {
	l.mu.Lock()
	first = !l.watched && l.over == nil
	l.watched = true
	l.mu.Unlock()
	if first {
		l.state.c.keeper.watch(l, extendIn)
	}
	return first
}

// leftNow is the validity, without ending anything.
func (l *Lease) leftNow() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leftLocked()
}

func (l *Lease) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over != nil
}

// lookAgain is when to look at a validity again that has so much left.
func lookAgain(left time.Duration) time.Duration {
	const least = 20 * time.Millisecond
	//guard:context-after-suspension  a lease's end is noticed even if timers stood still while the machine was suspended
	return min(left, max(left/4, least))
}

func (l *Lease) event(err error) LeaseEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return LeaseEvent{
		Key: l.state.key, Token: l.token, Validity: l.leftLocked(), Err: err,
		Held: drift.Elapsed(l.acquired, l.state.c.reader.Now()),
	}
}
