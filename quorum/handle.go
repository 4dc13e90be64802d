package quorum

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// Handle is a lease that one process hands off to another, which resumes it
// (Coordinator.Resume) or releases it (Coordinator.ReleaseHandle). Lease.HandOff makes the
// handle and ends the lease in the sender, so no two processes hold it at once.
//
// A handle is a secret like a password, because its owner can take or release the lease. Only
// Text writes it out. Printing, logging and encoding/json don't.
//
// # Why there is one holder
//
// Resume replaces the lease's value by a new one, on each instance in one atomic step, and
// needs a quorum on which the old value was still there. So no other client had the lock in
// between, as with an extension. Late requests of the sender name the old value. They can't
// shorten, extend or delete the new one. Where the key is free they may set the old value
// again, which no client counts, and which the sender deletes. A second Resume of the same
// handle fails, because no quorum has the old value any more.
//
// The new lease has a new token, so that a resource that has seen it refuses late writes of
// the sender. It is got as with every acquisition, so the argument for the order of tokens (package
// settlement) covers Resume, too. The new token must also be above the handle's.
type Handle struct {
	key      string
	value    *atomic.Pointer[string] // by reflection, as testify and go-cmp print, an address
	token    fencing.Token
	ttl      time.Duration
	deadline time.Time
	set      wire.Set

	// MaxLife, 0 for no bound; how long the lease had been held when it was handed off; and
	// when that was, by the sender's wall clock.
	maxLife, lived time.Duration
	sent           time.Time
}

func secret(value string) *atomic.Pointer[string] {
	p := new(atomic.Pointer[string])
	p.Store(&value)
	return p
}

// Key is the resource.
func (h Handle) Key() string { return h.key }

// Token is the fencing token of the lease. Resume gets a larger one.
func (h Handle) Token() fencing.Token { return h.token }

// Deadline is when the lease ends unless it is resumed, by the sender's wall clock.
func (h Handle) Deadline() time.Time { return h.deadline }

// HandOff ends the lease in this process, without releasing it, and returns a handle for
// another process. It waits for an extension that is under way and for answers that are still
// missing, no longer than ctx. If an instance hangs, that may take several InstanceTimeouts,
// because an extension of KeepAlive waits for up to four. The contexts of the lease end with
// ErrHandedOff, and later calls on it fail with ErrHandedOff.
//
// The lease keeps its deadline, and expires if it isn't resumed. MaxLife goes on, too.
//
// Errors: ErrInterrupted with ctx's error, after which the lease is still held here; the
// reason if the lease was over before (ErrExpired, ErrLost, ErrReleased, ErrHandedOff,
// ErrClosed); ErrConfig for a nil lease, and for a lease on several keys.
func (l *Lease) HandOff(ctx context.Context) (Handle, error) {
	if l.none() {
		return Handle{}, errNoLease
	}
	//guard:several-not-handed-off  a lease on several keys isn't handed off as one on the first of them
	if l.value.several() {
		return Handle{}, fmt.Errorf("%w: a lease on several keys (%v) can't be handed off; release it", ErrConfig, l.value.keys)
	}
	//guard:handoff-after-extension  a lease is handed off only after an extension under way has ended
	if err := l.beginExtension(ctx); err != nil {
		return Handle{}, err
	}
	defer l.endExtension()
	if err := l.Err(); err != nil {
		return Handle{}, err
	}
	c := l.value.c
	before := l.event(nil)
	now := c.reader.Now()
	l.mu.Lock()
	switch l.stage {
	case held:
	case ended: // by its deadline or Close, and it can still be released
		defer l.mu.Unlock()
		return Handle{}, l.over
	default:
		l.mu.Unlock()
		return Handle{}, l.extendError(ErrReleased, nil, nil)
	}
	// In one step, so that a release at the same time either comes before this, or finds
	// that the lease was handed off.
	//guard:handoff-ends-lease  handing a lease off ends it for its holder
	ends, _ := l.moveToLocked(released, ErrHandedOff)
	h := Handle{
		key: l.value.key, value: secret(l.value.text), token: l.token, ttl: l.terms.TTL, deadline: l.start.Wall.Add(l.length),
		//guard:max-life-goes-along  MaxLife counts the time before a hand-off, too
		set: c.cfg.Set, maxLife: l.terms.MaxLife, lived: drift.Elapsed(l.acquired, now), sent: now.Wall,
	}
	l.mu.Unlock()
	l.endEach(ends, ErrHandedOff)
	// From now on waiters of this process must ask the instances.
	c.queues.freed(l)
	l.value.abandon(ctx.Done()) // only requests without an answer can still arrive
	l.reportRelease(ctx, before, ErrHandedOff)
	return h, nil
}

// Resume takes over a lease that was handed off, with its TTL counted from now, and with a new
// value and token. The sender's clock need not agree with this one, but a handle whose deadline
// has passed by this clock is refused with ErrExpired, and no instance is asked.
//
// Errors: ErrConfig for a handle of another set of instances, with a TTL above MaxTTL, or with
// a token that isn't below the instances' counters; ErrExpired; ErrLost if so many instances
// say that the key is not the lease's that no quorum can have it; and those of TryAcquire
// except ErrHeldByCaller and ErrTaken. After an error from the instances the lease is lost:
// replaced values have been deleted again. ReleaseHandle deletes the rest before it expires.
func (c *Coordinator) Resume(ctx context.Context, handle Handle) (*Lease, error) {
	terms, lived, err := c.termsFor(handle)
	if err != nil {
		return nil, err
	}
	if err := c.ready(ctx, wire.Extend, keys{key: handle.key}); err != nil {
		return nil, err
	}
	view := &Coordinator{core: c.core, terms: terms}
	lease, roundErr := (&attempt{c: view, keys: keys{key: handle.key}, try: 1, decider: -1, handle: *handle.value.Load()}).run(ctx)
	if roundErr != nil {
		return nil, roundErr
	}
	//guard:handle-token-below  a handle's token must be below the token of the resumed lease
	if lease.token <= handle.token && c.cfg.Lab.Fencing == On {
		c.discard(lease)
		return nil, fmt.Errorf("%w: the handle has the token %d, but the instances' counters have only come to %d: they have lost data, or the handle was altered", ErrConfig, handle.token, lease.token)
	}
	lease.backdate(lived)
	c.queues.acquired(lease, "", c.reader.Now().Mono)
	return view.deliver(ctx, lease), nil
}

// ReleaseHandle releases a lease by its handle. Errors: ErrConfig for a handle of another
// set of instances, ErrNotHeld, ErrUnreachable, ErrClosed.
func (c *Coordinator) ReleaseHandle(ctx context.Context, handle Handle) error {
	if err := c.checkHandle(handle); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := c.ready(ctx, wire.Release, keys{key: handle.key}); err != nil {
		return err
	}
	v := newValue(c.core, keys{key: handle.key}, *handle.value.Load())
	for i := range v.places {
		v.places[i].presence.There = true // as far as is known; an instance without it will say so
	}
	v.won = true
	now := c.reader.Now()
	lease := newLease(ctx, v, handle.token, &c.terms, now)
	lease.length = min(max(0, handle.deadline.Sub(now.Wall)), c.cfg.MaxTTL)
	lease.backdate(handle.heldBy(now.Wall))
	// Not by Lease.Release: this process never had the lease, so it can't have lost it.
	before := lease.event(nil)
	lease.end(ErrReleased)
	err := lease.free(false)
	lease.reportRelease(ctx, before, err)
	return err
}

// checkHandle returns an error unless the handle is for these instances.
func (c *Coordinator) checkHandle(h Handle) error {
	if err := cmp.Or(c.none(), h.validate()); err != nil {
		return err
	}
	if h.set != c.cfg.Set {
		return fmt.Errorf("%w: %w: the handle is of the set %q, this is %q", ErrConfig, ErrSetMismatch, h.set, c.cfg.Set)
	}
	if c.cfg.Lab.Fencing == On && !h.token.Valid() {
		return fmt.Errorf("%w: the handle has no fencing token, but this Coordinator has Fencing on; set it the same in all clients", ErrConfig)
	}
	return nil
}

// termsFor returns the terms on which a handle is resumed, and how long its lease has been held.
func (c *Coordinator) termsFor(h Handle) (terms Terms, lived time.Duration, err error) {
	if err := c.checkHandle(h); err != nil {
		return Terms{}, 0, err
	}
	now := c.reader.Now().Wall
	expired := func(why string) error {
		return &RoundError{Op: wire.Extend, Key: h.key, Verdict: fmt.Errorf("%w: %s", ErrExpired, why), Quorum: c.majority.Q}
	}
	if !now.Before(h.deadline) {
		return Terms{}, 0, expired("by the handle's deadline, " + h.deadline.Format(time.RFC3339Nano))
	}
	terms = c.terms
	terms.TTL = h.ttl
	if h.maxLife > 0 && (terms.MaxLife == 0 || h.maxLife < terms.MaxLife) {
		terms.MaxLife = h.maxLife
	}
	fit := c.covers(terms.TTL)
	if terms.MaxLife == 0 { // a lease near its MaxLife may have any TTL
		fit = c.validate(terms)
	}
	if fit != nil {
		return Terms{}, 0, fmt.Errorf("handle: %w", fit)
	}
	// The time since the hand-off is known only from two processes' clocks. If they disagree
	// the lease may exceed MaxLife, by less than a TTL, because its keys expire.
	lived = h.heldBy(now)
	if terms.MaxLife == 0 {
		return terms, lived, nil
	}
	terms.TTL = min(terms.TTL, terms.MaxLife-lived).Truncate(time.Millisecond)
	if c.cfg.Lab.Drift.Validity(terms.TTL, 0) <= terms.MinValidity {
		return Terms{}, 0, expired(fmt.Sprintf("%v are left of its MaxLife, %v, and MinValidity is %v", max(0, terms.TTL), terms.MaxLife, terms.MinValidity))
	}
	return terms, lived, nil
}

// heldBy is how long the lease has been held at that time of this process's wall clock. A forged
// handle may name another millennium.
func (h Handle) heldBy(now time.Time) time.Duration {
	//guard:max-life-forged  a handle from another millennium doesn't escape MaxLife
	return h.lived + min(max(0, now.Sub(h.sent)), math.MaxInt64/4)
}

// backdate counts the time for which the lease was held before this process had it.
func (l *Lease) backdate(lived time.Duration) {
	l.acquired.Mono -= lived
	l.acquired.Wall = l.acquired.Wall.Add(-lived)
}

// String hides the value.
func (h Handle) String() string {
	return fmt.Sprintf("handle of %q, token %d, until %s", h.key, h.token, h.deadline.Format(time.RFC3339Nano))
}

// GoString hides the value from %#v as well.
func (h Handle) GoString() string { return "quorum.Handle(" + h.String() + ")" }

// LogValue hides the value from log/slog.
func (h Handle) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("key", h.key),
		slog.Uint64("token", uint64(h.token)),
		slog.Duration("ttl", h.ttl),
		slog.Time("deadline", h.deadline),
		slog.String("set", h.set.String()),
	)
}

// MarshalJSON fails, because loggers use encoding/json for a struct with a handle in it.
func (h Handle) MarshalJSON() ([]byte, error) {
	//guard:handle-stays-secret  encoding/json doesn't write a handle's secret
	return nil, fmt.Errorf("%w: a handle is a secret, and isn't written by encoding/json; send what Handle.Text gives", ErrConfig)
}

// Text returns the handle with its secret, for ParseHandle. Errors are ErrConfig: for the zero
// Handle, and for a key that isn't UTF-8, which JSON can't carry, or has control characters.
func (h Handle) Text() (string, error) {
	if err := h.validate(); err != nil {
		return "", err
	}
	return handleText{
		Key: h.key, Value: *h.value.Load(), Token: h.token, TTL: h.ttl, Deadline: h.deadline,
		Set: h.set.String(), MaxLife: h.maxLife, Lived: h.lived, Sent: h.sent,
	}.write()
}

// ParseHandle reads what Handle.Text wrote, perhaps with other spaces, and accepts nothing else. Errors
// are ErrConfig.
func ParseHandle(text string) (Handle, error) {
	f, err := readHandleText(text)
	if err != nil {
		return Handle{}, err
	}
	set, err := wire.ParseSet(f.Set)
	if err != nil {
		return Handle{}, fmt.Errorf("%w: the handle's set: %w", ErrConfig, err)
	}
	h := Handle{
		key: f.Key, value: secret(f.Value), token: f.Token, ttl: f.TTL, deadline: f.Deadline, set: set,
		maxLife: f.MaxLife, lived: f.Lived, sent: f.Sent,
	}
	if err := h.validate(); err != nil {
		return Handle{}, err
	}
	return h, nil
}

func (h Handle) validate() error {
	if h.value == nil {
		return fmt.Errorf("%w: the handle is empty; Lease.HandOff and ParseHandle make one", ErrConfig)
	}
	if err := ValidateKey(h.key); err != nil {
		return fmt.Errorf("handle: %w", err)
	}
	if err := validMillis("the handle's TTL", h.ttl); err != nil {
		return err
	}
	if h.token > fencing.MaxToken {
		return fmt.Errorf("%w: the handle's token is %d, at most %d is possible", ErrConfig, h.token, fencing.MaxToken)
	}
	if h.maxLife < 0 || h.lived < 0 || h.lived > math.MaxInt64/4 || h.maxLife > maxMaxLife {
		return fmt.Errorf("%w: the handle's lease has lived for %v of %v, which can't be", ErrConfig, h.lived, h.maxLife)
	}
	value := *h.value.Load()
	random, owner, note := readValue(value)
	if len(random) != 40 || strings.Trim(random, "0123456789abcdef") != "" || validOwner(owner) != nil || validNote(note) != nil ||
		value != writeValue(random, owner, note) {
		return fmt.Errorf("%w: the handle's value is not one that this library draws", ErrConfig)
	}
	if h.deadline.IsZero() || h.sent.IsZero() {
		return fmt.Errorf("%w: the handle has no deadline, or doesn't say when it was sent", ErrConfig)
	}
	return h.set.ValidateName()
}
