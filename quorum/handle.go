package quorum

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// Handle is a lease that one process hands off to another, which resumes it
// (Coordinator.Resume). Lease.HandOff makes the handle and ends the lease in the sender, so no two
// processes hold it at once.
//
// A handle is a secret like a password, because its owner can take or release the lease. Only
// Text writes it out. Printing, logging and encoding/json don't.
//
// # Why there is one holder
//
// Resume replaces the lease's value by a new one, on each instance in one atomic step, and
// needs a quorum on which the old value was still there. So no other client had the lock in
// between, as with an extension. Late requests of the sender name the old value. They can't
// shorten, extend or delete the new one. Where the key is free, they may set the old value again.
// No client counts that value. The sender deletes it on each instance that wasn't known to have it at the hand-off,
// and elsewhere it expires. A second Resume of the same handle fails, because no quorum has the old value any more.
//
// The new lease has a new token, so that a resource that has seen it refuses late writes of
// the sender. The token comes from the counters, as with every acquisition, so the argument for
// the order of tokens (package settlement) covers Resume, too. The new token must also be above
// the handle's.
type Handle struct {
	secret *atomic.Pointer[handleFields] // by reflection, as testify and go-cmp print, an address
}

// handleFields are what a handle's text carries, see Handle.Text.
type handleFields struct {
	Key      []byte        `json:"key"` // JSON has no string that isn't UTF-8
	Value    string        `json:"value"`
	Token    fencing.Token `json:"token"`
	TTL      time.Duration `json:"ttl_ns"`
	Deadline time.Time     `json:"deadline"`
	Set      string        `json:"set"`         // Set.String
	MaxLife  time.Duration `json:"max_life_ns"` // 0 for no bound
	Lived    time.Duration `json:"lived_ns"`    // how long the lease had been held when it was handed off
	Sent     time.Time     `json:"sent"`        // when that was, by the sender's wall clock
}

func newHandle(f handleFields) Handle {
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
func (h Handle) Key() string { return string(h.fields().Key) }

// Token is the fencing token of the lease. Resume gets a larger one.
func (h Handle) Token() fencing.Token { return h.fields().Token }

// Deadline is when the lease ends unless it is resumed, by the sender's wall clock.
func (h Handle) Deadline() time.Time { return h.fields().Deadline }

// HandOff ends the lease in this process, without releasing it, and returns a handle for
// another process. It waits for an extension that is under way and for answers that are still
// missing, but no longer than until ctx ends: a key that a slow instance sets after that may stay for its TTL. If an
// instance hangs, that may take several InstanceTimeouts, because an extension of KeepAlive waits for up to four. The
// contexts of the lease end with ErrHandedOff, and later calls on it fail with ErrHandedOff.
//
// The lease keeps its deadline, and expires if it isn't resumed. MaxLife keeps counting, too.
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
	c := l.c
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
		Key: []byte(l.value.keys[0]), Value: l.value.text, Token: l.token, TTL: l.terms.TTL, Deadline: l.start.Wall.Add(l.length), Set: c.cfg.Set.String(),
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
// replaced values have been deleted again. The rest expires.
func (c *Coordinator) Resume(ctx context.Context, handle Handle) (*Lease, error) {
	h := handle.fields()
	if err := c.checkHandle(h); err != nil {
		return nil, err
	}
	all := keys{handle.Key()}
	lived := h.heldBy(c.reader.Now().Wall)
	terms, err := c.termsFor(h, lived)
	if err != nil {
		return nil, err
	}
	if err := c.ready(ctx, wire.Extend, all); err != nil {
		return nil, err
	}
	view := &Coordinator{core: c.core, terms: terms}
	a := view.newAttempt(all, 1)
	a.handle = h.Value
	lease, roundErr := a.run(ctx)
	if roundErr != nil {
		return nil, roundErr
	}
	//guard:handle-token-below  a lease isn't resumed with a token that isn't above the sender's
	if lease.token <= h.Token && c.cfg.Lab.Fencing == On {
		c.discard(lease)
		return nil, fmt.Errorf("%w: the handle has the token %d, but the instances' counters have only reached %d: they have lost data, or another program wrote them", ErrConfig, h.Token, lease.token)
	}
	lease.backdate(lived)
	c.queues.acquired(lease, "", c.reader.Now().Mono)
	return view.deliver(ctx, lease), nil
}

var errNoHandle = fmt.Errorf("%w: the handle is empty; Lease.HandOff and ParseHandle make one", ErrConfig)

// checkHandle returns an error unless the handle is for these instances.
func (c *Coordinator) checkHandle(h handleFields) error {
	if err := c.none(); err != nil {
		return err
	}
	switch {
	case h.Value == "":
		return errNoHandle
	case h.Set != c.cfg.Set.String():
		return fmt.Errorf("%w: %w: the handle is of the set %q, this is %q", ErrConfig, ErrSetMismatch, h.Set, c.cfg.Set)
	}
	return nil
}

// termsFor returns the terms on which a handle is resumed whose lease has been held for so long.
func (c *Coordinator) termsFor(h handleFields, lived time.Duration) (Terms, error) {
	expired := func(why string, args ...any) (Terms, error) {
		return Terms{}, &RoundError{Op: wire.Extend, Key: string(h.Key), Verdict: fmt.Errorf("%w: "+why, append([]any{ErrExpired}, args...)...), Quorum: c.majority.Q}
	}
	if !c.reader.Now().Wall.Before(h.Deadline) {
		return expired("by the handle's deadline, %s", h.Deadline.Format(time.RFC3339Nano))
	}
	terms, fit := c.terms, c.covers(h.TTL)
	terms.TTL = h.TTL
	if terms.MaxLife == 0 || h.MaxLife > 0 && h.MaxLife < terms.MaxLife {
		terms.MaxLife = h.MaxLife
	}
	if terms.MaxLife == 0 { // otherwise the lease may be near its MaxLife, and have any TTL
		fit = c.validate(terms)
	}
	if fit != nil {
		return Terms{}, fmt.Errorf("handle: %w", fit)
	}
	if terms.MaxLife > 0 {
		// The time since the hand-off is known only from two processes' clocks. If they disagree
		// the lease may exceed MaxLife, by less than a TTL, because its keys expire.
		terms.TTL = min(terms.TTL, terms.MaxLife-lived).Truncate(time.Millisecond)
		if c.cfg.Lab.Drift.Validity(terms.TTL, 0) <= terms.MinValidity {
			return expired("%v are left of its MaxLife, %v, and MinValidity is %v", max(0, terms.TTL), terms.MaxLife, terms.MinValidity)
		}
	}
	return terms, nil
}

// heldBy is how long the lease has been held at that time of this process's wall clock. The wall clocks of
// the two processes may be centuries apart.
func (h handleFields) heldBy(now time.Time) time.Duration {
	return h.Lived + min(max(0, now.Sub(h.Sent)), maxMaxLife)
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
		slog.String("key", string(f.Key)),
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

// A handle's text is handlePrefix and, in base64url, sumSize bytes of a SHA-256 and the JSON that it is of. The
// sum shows accidents on the way. It doesn't show forgery: whoever can write a handle has the secret.
const (
	handlePrefix = "redlock-handle:3:" // with the version, so that a later form can be told from this one
	sumSize      = 8
)

var handleEncoding = base64.RawURLEncoding.Strict()

// Text returns the handle with its secret, as an opaque word for ParseHandle. The zero Handle has none: ErrConfig.
func (h Handle) Text() (string, error) {
	f := h.fields()
	if f.Value == "" {
		return "", errNoHandle
	}
	data, err := json.Marshal(f)
	if err != nil {
		return "", fmt.Errorf("%w: the handle can't be written: %w", ErrConfig, err)
	}
	sum := sha256.Sum256(data)
	return handlePrefix + handleEncoding.EncodeToString(append(sum[:sumSize], data...)), nil
}

// ParseHandle reads what Handle.Text wrote. Errors are ErrConfig: for a text that was cut off or altered on the
// way, and for a text of another version of this library. They don't quote it, because it is a secret.
func ParseHandle(text string) (Handle, error) {
	encoded, ours := strings.CutPrefix(text, handlePrefix)
	if !ours {
		return Handle{}, fmt.Errorf("%w: this is no handle, or one of another version of this library: it doesn't begin with %q; use the same version in both processes", ErrConfig, handlePrefix)
	}
	data, err := handleEncoding.DecodeString(encoded)
	if err == nil && len(data) > sumSize {
		sum := sha256.Sum256(data[sumSize:])
		var f handleFields
		if string(sum[:sumSize]) == string(data[:sumSize]) && json.Unmarshal(data[sumSize:], &f) == nil {
			return newHandle(f), nil
		}
	}
	return Handle{}, fmt.Errorf("%w: the handle was cut off or altered on its way; send what Handle.Text gives unchanged", ErrConfig)
}
