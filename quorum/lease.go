package quorum

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// Lease is a lock that was taken for a limited time. It is safe for concurrent use. A nil or zero
// Lease causes errors and no panics: its contexts and Done have ended, and it can't be extended,
// handed off or released (ErrConfig).
//
// Until its Validity is used up, no other client has a valid lease on the same key, if the
// assumptions of the package documentation hold. No client can be sure that it isn't about to
// be paused. So work under the lease should pass its Token to a resource that checks it.
type Lease struct {
	c        *core
	value    *value
	token    fencing.Token
	terms    *Terms // of the view that it was taken with
	acquired drift.Instant
	parent   context.Context // the values of the acquiring call's context, without its end

	mu       sync.Mutex
	stage    leaseStage
	over     error // why it isn't held any more, nil while it is
	overAt   time.Time
	start    drift.Instant   // just before the last won round was sent
	length   time.Duration   // validity counted from start
	contexts []*leaseContext // to end with it; none is added when it has ended
	own      context.Context
	capped   bool          // Terms.MaxLife has cut its TTL
	keep     time.Duration // the least TTL of an extension, see Keep

	// Made at their first use, because most leases need none.
	done      chan struct{} // closed when it has ended
	extending chan struct{} // has room for the one extension that is under way

	entry keeperEntry // guarded by the keeper's lock
}

// leaseStage is how far a lease has come. It only rises.
type leaseStage uint8

const (
	held leaseStage = iota
	// ended: it is over, and its holder may still release it.
	ended
	// released: its holder has released it, left it or handed it off.
	released
)

func newLease(ctx context.Context, c *core, v *value, token fencing.Token, terms *Terms, start drift.Instant) *Lease {
	return &Lease{
		c: c, value: v, token: token, terms: terms, acquired: start, parent: context.WithoutCancel(ctx),
		start: start, length: c.cfg.Lab.Drift.Validity(terms.TTL, 0), entry: keeperEntry{index: -1, extendAt: never},
	}
}

// none reports whether no Coordinator made the lease.
func (l *Lease) none() bool { return l == nil || l.value == nil }

// Key is the resource. For a lease on several (AcquireAll), it is the first in ascending order.
func (l *Lease) Key() string {
	if l.none() {
		return ""
	}
	return l.value.keys[0]
}

// Keys are all resources of the lease, in ascending order.
func (l *Lease) Keys() []string {
	if l.none() {
		return nil
	}
	return slices.Clone(l.value.keys)
}

// String names the lease, without its value.
func (l *Lease) String() string {
	if l.none() {
		return "no lease"
	}
	return fmt.Sprintf("lease on %v, token %d, valid for %v", l.value.keys, l.token, l.Validity())
}

// Format prints String for every verb. Otherwise fmt would print the Coordinator, too.
func (l *Lease) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, l.String()) }

// LogValue is the lease for log/slog.
func (l *Lease) LogValue() slog.Value {
	if l.none() {
		return slog.StringValue(l.String())
	}
	attrs := []slog.Attr{slog.String("key", l.value.keys[0]), slog.Uint64("token", uint64(l.token)), slog.Duration("validity", l.Validity())}
	if len(l.value.keys) > 1 {
		attrs = append(attrs, slog.Any("also", l.value.keys.others()))
	}
	return slog.GroupValue(attrs...)
}

// Value is what the key is set to on the instances: 40 random hexadecimal digits, ":" and
// Config.Owner if there is one, and a space and Terms.Note if there is one. Knowing it is enough to release the lease.
// A lease that one goroutine of a process passes on to the next keeps its value, so only the Token tells the two apart.
func (l *Lease) Value() string {
	if l.none() {
		return ""
	}
	return l.value.text
}

// Token is the fencing token. It is larger than that of every earlier lease on any of its keys. It
// is 0 if Config.Lab.Fencing is Off.
func (l *Lease) Token() fencing.Token {
	if l.none() {
		return 0
	}
	return l.token
}

// Instances names the instances that are known to have the lease now. If they are more than a
// quorum, the lease survives the loss of some.
func (l *Lease) Instances() []string {
	if l.none() {
		return nil
	}
	return l.value.instances()
}

// Validity is how long the holder may still act: the TTL, less the time since just before the
// request was sent (the larger of the monotonic and the wall clock's), less the drift
// allowance. It is 0 when the lease is over. It can't account for pauses after this call.
//
// If the deadline has passed and nothing has noticed that yet, this call ends the lease: its
// contexts end and Hooks.Lost is called before Validity returns.
func (l *Lease) Validity() time.Duration {
	if l.none() {
		return 0
	}
	return l.endIfOver()
}

// endIfOver ends the lease if its deadline has passed, and returns the validity that is left.
func (l *Lease) endIfOver() time.Duration {
	l.mu.Lock()
	left := l.leftLocked()
	expired := l.stage == held && left <= 0
	l.mu.Unlock()
	if expired {
		l.end(l.expiry())
		return 0
	}
	return left
}

// leftLocked is the validity, 0 if there is none.
func (l *Lease) leftLocked() time.Duration {
	if l.stage != held {
		return 0
	}
	return max(0, l.untilDeadlineLocked())
}

// untilDeadlineLocked is the time until the deadline, below zero after it, also of a lease that has ended.
func (l *Lease) untilDeadlineLocked() time.Duration {
	// Elapsed is the larger of two clocks, because the monotonic clock stands still while
	// the machine is suspended, and the wall clock can be stepped back.
	return l.length - drift.Elapsed(l.start, l.c.reader.Now())
}

// Deadline is when the validity is used up, by the wall clock. Once the lease is over, it is when
// the lease ended.
func (l *Lease) Deadline() time.Time {
	if l.none() {
		return time.Time{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stage != held {
		return l.overAt
	}
	return l.start.Wall.Add(l.length)
}

// Err is nil while the lease is valid. Then it says why the lease is over: ErrExpired,
// ErrReleased, ErrHandedOff, ErrLost or ErrClosed; ErrConfig for a nil or zero lease.
func (l *Lease) Err() error {
	if l.none() {
		return errNoLease
	}
	l.endIfOver()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// Done is closed when the lease has ended, at its deadline if not before.
func (l *Lease) Done() <-chan struct{} {
	if l.none() {
		return l.Context().Done() // which has ended
	}
	l.watch()
	return l.ending()
}

// ending is closed when the lease has ended. Nothing may end it in time without watch.
func (l *Lease) ending() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.stage != held {
			close(l.done)
		}
	}
	return l.done
}

// beginExtension waits until no extension is under way. Then none is begun before
// endExtension. The error says that the lease or ctx ended first.
func (l *Lease) beginExtension(ctx context.Context) error {
	if l.tryExtension() {
		return nil
	}
	select {
	case l.extensions() <- struct{}{}:
		return nil
	case <-l.ending():
		return l.Err()
	case <-ctx.Done():
		return l.extendError(ErrInterrupted, causeOf(ctx), nil)
	}
}

// tryExtension is beginExtension without waiting. It returns false if an extension is under way.
func (l *Lease) tryExtension() bool {
	select {
	case l.extensions() <- struct{}{}:
		return true
	default:
		return false
	}
}

func (l *Lease) endExtension() { <-l.extensions() }

func (l *Lease) extensions() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.extending == nil {
		l.extending = make(chan struct{}, 1)
	}
	return l.extending
}

func (l *Lease) stageNow() leaseStage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stage
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

// end ends the lease, once, and reports whether this call did. Its contexts end before any key
// is deleted, and before a waiter is notified.
func (l *Lease) end(why error) bool {
	first := l.moveTo(ended, why) == held
	if first {
		l.reportLoss(why)
	}
	return first
}

// moveTo ends the lease if it is held, and has it reach a stage. It returns the stage before.
func (l *Lease) moveTo(stage leaseStage, why error) (before leaseStage) {
	l.mu.Lock()
	ends, before := l.moveToLocked(stage, why)
	l.mu.Unlock()
	if before != held {
		why = l.Err() // another goroutine has ended the lease, but perhaps not yet all of its contexts
	}
	l.endEach(ends, why)
	return before
}

// endEach ends the contexts of a lease that has ended. Nothing has to watch it any more.
func (l *Lease) endEach(ends []*leaseContext, why error) {
	for _, ctx := range ends {
		ctx.end(why)
	}
	l.c.keeper.remove(l)
}

// reportLoss notifies the wait queue and the hook, unless the lease ended by its holder's will.
func (l *Lease) reportLoss(why error) {
	if errors.Is(why, ErrReleased) || errors.Is(why, ErrHandedOff) {
		return
	}
	l.c.queues.freed(l)
	if lost := l.c.cfg.Hooks.Lost; lost != nil {
		lost(l.event(why))
	}
}

// moveToLocked is moveTo, but returns the contexts that endEach is to end.
func (l *Lease) moveToLocked(stage leaseStage, why error) (ends []*leaseContext, before leaseStage) {
	before = l.stage
	l.stage = max(stage, before)
	//guard:context-ends-with-lease  a lease's contexts end when the lease is lost or released
	ends = l.contexts
	if before != held {
		return ends, before
	}
	now := l.c.reader.Now()
	l.over = why
	l.overAt = now.Wall
	if deadline := l.start.Wall.Add(l.length); deadline.Before(l.overAt) {
		l.overAt = deadline
	}
	if l.done != nil {
		close(l.done)
	}
	return ends, before
}

// watch has the keeper end the lease at its deadline. A lease without a context needs no
// keeper: Validity is computed at each call.
func (l *Lease) watch() { l.c.keeper.watch(l, never) }

// leftNow is the validity. It doesn't end the lease.
func (l *Lease) leftNow() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leftLocked()
}

// reportRelease calls Hooks.Released. before is the lease before its end, and err what came of the
// release.
func (l *Lease) reportRelease(ctx context.Context, before LeaseEvent, err error) {
	if released := l.c.cfg.Hooks.Released; released != nil {
		before.Err = err
		released(ctx, before)
	}
}

func (l *Lease) event(err error) LeaseEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return LeaseEvent{
		Key: l.value.keys[0], Also: l.value.keys.others(), Token: l.token, Validity: l.leftLocked(), Err: err,
		Held: drift.Elapsed(l.acquired, l.c.reader.Now()),
	}
}

// errNoLease is the error of all calls on a nil or zero lease.
var errNoLease = fmt.Errorf("%w: the lease is nil, or was not made by Acquire; look at the error that came instead of it", ErrConfig)

func (l *Lease) extendError(verdict, cause error, votes []Ballot) *RoundError {
	err := l.c.roundError(wire.Extend, l.value.keys, verdict)
	err.Cause, err.Votes = cause, votes
	return err
}
