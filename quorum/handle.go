package quorum

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

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
	secret *atomic.Pointer[handleFields] // by reflection, as testify and go-cmp print, an address
}

// handleFields are those of a handle's text, in its order.
type handleFields struct {
	Version  int           `json:"redlock_handle"` // handleVersion
	Key      string        `json:"key"`
	Value    string        `json:"value"`
	Token    fencing.Token `json:"token"`
	TTL      time.Duration `json:"ttl_ns"`
	Deadline time.Time     `json:"deadline"`
	Set      string        `json:"set"`         // Set.String
	MaxLife  time.Duration `json:"max_life_ns"` // 0 for no bound
	Lived    time.Duration `json:"lived_ns"`    // how long the lease had been held when it was handed off
	Sent     time.Time     `json:"sent"`        // when that was, by the sender's wall clock
}

// handleVersion is the first field of the text, so that a later form can be told from this one.
const handleVersion = 2

func newHandle(f handleFields) Handle {
	f.Version = handleVersion
	h := Handle{new(atomic.Pointer[handleFields])}
	h.secret.Store(&f)
	return h
}

// fields are the handle's, zero for the zero Handle.
func (h Handle) fields() handleFields {
	if h.secret == nil {
		return handleFields{}
	}
	return *h.secret.Load()
}

// Key is the resource.
func (h Handle) Key() string { return h.fields().Key }

// Token is the fencing token of the lease. Resume gets a larger one.
func (h Handle) Token() fencing.Token { return h.fields().Token }

// Deadline is when the lease ends unless it is resumed, by the sender's wall clock.
func (h Handle) Deadline() time.Time { return h.fields().Deadline }

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
	if len(l.value.keys) > 1 {
		return Handle{}, fmt.Errorf("%w: a lease on several keys (%v) can't be handed off; release it", ErrConfig, l.value.keys)
	}
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
	h := newHandle(handleFields{
		Key: l.value.keys[0], Value: l.value.text, Token: l.token, TTL: l.terms.TTL, Deadline: l.start.Wall.Add(l.length), Set: c.cfg.Set.String(),
		MaxLife: l.terms.MaxLife, Lived: drift.Elapsed(l.acquired, now), Sent: now.Wall,
	})
	// In one step, so that a release at the same time either comes before this, or finds
	// that the lease was handed off.
	//guard:handoff-ends-lease  handing a lease off ends it for its holder
	ends, _ := l.moveToLocked(released, ErrHandedOff)
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
	h := handle.fields()
	if err := c.checkHandle(h); err != nil {
		return nil, err
	}
	lived := h.heldBy(c.reader.Now().Wall)
	terms, err := c.termsFor(h, lived)
	if err != nil {
		return nil, err
	}
	all := keys{h.Key}
	if err := c.ready(ctx, wire.Extend, all); err != nil {
		return nil, err
	}
	view := &Coordinator{core: c.core, terms: terms}
	lease, roundErr := (&attempt{c: view, keys: all, try: 1, decider: -1, handle: h.Value}).run(ctx)
	if roundErr != nil {
		return nil, roundErr
	}
	//guard:handle-token-below  a handle's token must be below the token of the resumed lease
	if lease.token <= h.Token && c.cfg.Lab.Fencing == On {
		c.discard(lease)
		return nil, fmt.Errorf("%w: the handle has the token %d, but the instances' counters have only come to %d: they have lost data, or the handle was altered", ErrConfig, h.Token, lease.token)
	}
	lease.backdate(lived)
	c.queues.acquired(lease, "", c.reader.Now().Mono)
	return view.deliver(ctx, lease), nil
}

// ReleaseHandle releases a lease by its handle. Errors: ErrConfig for a handle of another
// set of instances, ErrNotHeld, ErrUnreachable, ErrClosed.
func (c *Coordinator) ReleaseHandle(ctx context.Context, handle Handle) error {
	h := handle.fields()
	if err := c.checkHandle(h); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	all := keys{h.Key}
	if err := c.ready(ctx, wire.Release, all); err != nil {
		return err
	}
	v := newValue(c.core, all, h.Value)
	for i := range v.places {
		v.places[i].presence.There = true // as far as is known; an instance without it will say so
	}
	v.won = true
	now := c.reader.Now()
	lease := newLease(ctx, v, h.Token, &c.terms, now)
	lease.length = min(max(0, h.Deadline.Sub(now.Wall)), c.cfg.MaxTTL)
	lease.backdate(h.heldBy(now.Wall))
	// Not by Lease.Release: this process never had the lease, so it can't have lost it.
	before := lease.event(nil)
	lease.end(ErrReleased)
	err := lease.free(false)
	lease.reportRelease(ctx, before, err)
	return err
}

// checkHandle returns an error unless the handle is for these instances.
func (c *Coordinator) checkHandle(h handleFields) error {
	if err := cmp.Or(c.none(), h.validate()); err != nil {
		return err
	}
	if h.Set != c.cfg.Set.String() {
		return fmt.Errorf("%w: %w: the handle is of the set %q, this is %q", ErrConfig, ErrSetMismatch, h.Set, c.cfg.Set)
	}
	if c.cfg.Lab.Fencing == On && !h.Token.Valid() {
		return fmt.Errorf("%w: the handle has no fencing token, but this Coordinator has Fencing on; set it the same in all clients", ErrConfig)
	}
	return nil
}

// termsFor returns the terms on which a handle is resumed whose lease has been held for so long.
func (c *Coordinator) termsFor(h handleFields, lived time.Duration) (Terms, error) {
	expired := func(why string) error {
		return &RoundError{Op: wire.Extend, Key: h.Key, Verdict: fmt.Errorf("%w: %s", ErrExpired, why), Quorum: c.majority.Q}
	}
	if !c.reader.Now().Wall.Before(h.Deadline) {
		return Terms{}, expired("by the handle's deadline, " + h.Deadline.Format(time.RFC3339Nano))
	}
	terms := c.terms
	terms.TTL = h.TTL
	if h.MaxLife > 0 && (terms.MaxLife == 0 || h.MaxLife < terms.MaxLife) {
		terms.MaxLife = h.MaxLife
	}
	fit := c.covers(terms.TTL)
	if terms.MaxLife == 0 { // a lease near its MaxLife may have any TTL
		fit = c.validate(terms)
	}
	if fit != nil {
		return Terms{}, fmt.Errorf("handle: %w", fit)
	}
	if terms.MaxLife == 0 {
		return terms, nil
	}
	// The time since the hand-off is known only from two processes' clocks. If they disagree
	// the lease may exceed MaxLife, by less than a TTL, because its keys expire.
	terms.TTL = min(terms.TTL, terms.MaxLife-lived).Truncate(time.Millisecond)
	if c.cfg.Lab.Drift.Validity(terms.TTL, 0) <= terms.MinValidity {
		return Terms{}, expired(fmt.Sprintf("%v are left of its MaxLife, %v, and MinValidity is %v", max(0, terms.TTL), terms.MaxLife, terms.MinValidity))
	}
	return terms, nil
}

// heldBy is how long the lease has been held at that time of this process's wall clock. A forged
// handle may name another millennium.
func (h handleFields) heldBy(now time.Time) time.Duration {
	return h.Lived + min(max(0, now.Sub(h.Sent)), math.MaxInt64/4)
}

// backdate counts the time for which the lease was held before this process had it.
func (l *Lease) backdate(lived time.Duration) {
	l.acquired.Mono -= lived
	l.acquired.Wall = l.acquired.Wall.Add(-lived)
}

// String hides the value.
func (h Handle) String() string {
	f := h.fields()
	return fmt.Sprintf("handle of %q, token %d, until %s", f.Key, f.Token, f.Deadline.Format(time.RFC3339Nano))
}

// GoString hides the value from %#v as well.
func (h Handle) GoString() string { return "quorum.Handle(" + h.String() + ")" }

// LogValue hides the value from log/slog.
func (h Handle) LogValue() slog.Value {
	f := h.fields()
	return slog.GroupValue(
		slog.String("key", f.Key),
		slog.Uint64("token", uint64(f.Token)),
		slog.Duration("ttl", f.TTL),
		slog.Time("deadline", f.Deadline),
		slog.String("set", f.Set),
	)
}

// MarshalJSON fails, because loggers use encoding/json for a struct with a handle in it.
func (h Handle) MarshalJSON() ([]byte, error) {
	return nil, fmt.Errorf("%w: a handle is a secret, and isn't written by encoding/json; send what Handle.Text gives", ErrConfig)
}

// Text returns the handle with its secret, for ParseHandle. Errors are ErrConfig: for the zero
// Handle, and for a key that isn't UTF-8, which JSON can't carry, or has control characters.
func (h Handle) Text() (string, error) {
	f := h.fields()
	if err := f.validate(); err != nil {
		return "", err
	}
	return f.write()
}

func (h handleFields) write() (string, error) {
	if err := h.validKey(); err != nil {
		return "", err
	}
	text, err := json.Marshal(h)
	if err != nil {
		return "", fmt.Errorf("%w: the handle can't be written: %w", ErrConfig, err)
	}
	return string(text), nil
}

// ParseHandle reads what Handle.Text wrote, perhaps with other spaces, and accepts nothing else: no
// unknown field, no missing field, none twice or in other letters, nothing after the end. Errors
// are ErrConfig, and don't quote what can't be read, because it could be the secret.
func ParseHandle(text string) (Handle, error) {
	const most = 16 << 10
	if len(text) > most {
		return Handle{}, fmt.Errorf("%w: the handle has %d bytes, at most %d are possible", ErrConfig, len(text), most)
	}
	var f handleFields
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(text)) != nil || json.Unmarshal(compact.Bytes(), &f) != nil {
		return Handle{}, fmt.Errorf("%w: the handle can't be read: it is cut off, or is no JSON object with its fields", ErrConfig)
	}
	if f.Version != handleVersion {
		return Handle{}, fmt.Errorf("%w: the handle has version %d, this library reads %d; use the same library in both processes", ErrConfig, f.Version, handleVersion)
	}
	if err := f.validKey(); err != nil {
		return Handle{}, err
	}
	// encoding/json takes the last of several fields of a name, in upper or lower case.
	if again, err := f.write(); err != nil || again != compact.String() {
		return Handle{}, fmt.Errorf("%w: the handle isn't what Handle.Text wrote: it has a field too many or too few, or in another form; send it unchanged", ErrConfig)
	}
	if err := f.validate(); err != nil {
		return Handle{}, err
	}
	return newHandle(f), nil
}

// validKey refuses a key that isn't UTF-8, and one with control characters, which the receiver's
// terminal would execute.
func (h handleFields) validKey() error {
	switch {
	case !utf8.ValidString(h.Key):
		return fmt.Errorf("%w: the handle's key %q is not UTF-8, and would be another one when it is read; use keys in UTF-8", ErrConfig, h.Key)
	case strings.ContainsFunc(h.Key, unicode.IsControl):
		return fmt.Errorf("%w: the handle's key %q has control characters; use keys without them", ErrConfig, h.Key)
	}
	return nil
}

func (h handleFields) validate() error {
	if h == (handleFields{}) {
		return fmt.Errorf("%w: the handle is empty; Lease.HandOff and ParseHandle make one", ErrConfig)
	}
	if err := ValidateKey(h.Key); err != nil {
		return fmt.Errorf("handle: %w", err)
	}
	if err := validMillis("the handle's TTL", h.TTL); err != nil {
		return err
	}
	if h.Token > fencing.MaxToken {
		return fmt.Errorf("%w: the handle's token is %d, at most %d is possible", ErrConfig, h.Token, fencing.MaxToken)
	}
	if h.MaxLife < 0 || h.Lived < 0 || h.Lived > math.MaxInt64/4 || h.MaxLife > maxMaxLife {
		return fmt.Errorf("%w: the handle's lease has lived for %v of %v, which can't be", ErrConfig, h.Lived, h.MaxLife)
	}
	random, owner, note := readValue(h.Value)
	if len(random) != 40 || strings.Trim(random, "0123456789abcdef") != "" || validOwner(owner) != nil || validNote(note) != nil ||
		h.Value != writeValue(random, owner, note) {
		return fmt.Errorf("%w: the handle's value is not one that this library draws", ErrConfig)
	}
	if h.Deadline.IsZero() || h.Sent.IsZero() {
		return fmt.Errorf("%w: the handle has no deadline, or doesn't say when it was sent", ErrConfig)
	}
	if _, err := wire.ParseSet(h.Set); err != nil {
		return fmt.Errorf("%w: the handle's set: %w", ErrConfig, err)
	}
	return nil
}
