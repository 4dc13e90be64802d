package quorum

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// Handle is a lease on its way to another process, which goes on with it
// (Coordinator.Resume) or releases it (Coordinator.ReleaseHandle). Lease.HandOff makes
// it, and ends the lease where it was: at no time do two processes believe in it.
//
// It is a secret like a password, because whoever has it can take the lease or release
// it. So only Text writes it out: printing, logging and encoding/json don't.
//
// # Why one lease stays one
//
// Resume takes the lease over by a value of its own. It replaces the old value, on each
// instance in one step, and needs a quorum on which the old value was still there: so
// nobody else had the lock in between, as with an extension. Whatever the sender sent
// late names the old value. It can't shorten, extend or delete the new one; where the key
// is free it may set the old value again, which nobody counts, and which the sender
// deletes. The same holds for a second Resume of the same handle: it finds no quorum that
// has the old value.
//
// The new lease has a token of its own, for the same reason: what the sender writes late
// is refused by a resource that has seen the receiver's. Replacing raises each counter in
// the same step, so the argument for the order of tokens (see round) is that of any other
// round. The handle's token only says what the new one must be above.
type Handle struct {
	key      string
	value    *string // a pointer, so that fmt doesn't print it from within a struct
	token    fencing.Token
	ttl      time.Duration
	deadline time.Time
	set      wire.Set

	// How long the lease may live in all, 0 for no bound; how long it had lived when it
	// was handed off; and when that was, by the sender's wall clock.
	maxLife, lived time.Duration
	sent           time.Time
}

// Key is the resource.
func (h Handle) Key() string { return h.key }

// Token is the fencing token that the lease had. Resume gives a larger one.
func (h Handle) Token() fencing.Token { return h.token }

// Deadline is when the lease ends unless it is resumed, by the sender's wall clock.
func (h Handle) Deadline() time.Time { return h.deadline }

// HandOff ends the lease here, without releasing it, and gives it in a form for another
// process. It waits for an extension that is under way, and for answers of instances
// that are still to come: no longer than ctx, and without one for some InstanceTimeouts
// where an instance hangs, because each extension of KeepAlive waits for up to four. The
// contexts of the lease end with ErrHandedOff, and so does whatever is done with it
// afterwards.
//
// The lease goes on for what it had left, and expires if nobody resumes it. Its MaxLife
// goes along.
//
// Errors: ErrInterrupted with ctx's error, after which the lease is still held here, and
// why the lease was over before (ErrExpired, ErrLost, ErrReleased, ErrHandedOff,
// ErrClosed); ErrConfig for a nil lease.
func (l *Lease) HandOff(ctx context.Context) (Handle, error) {
	if l == nil {
		return Handle{}, errNoLease
	}
	extending := l.extensions()
	select {
	//guard:handoff-after-extension  a lease is handed off only after an extension under way has ended
	case extending <- struct{}{}:
		defer func() { <-extending }()
	case <-l.ended():
		return Handle{}, l.Err()
	case <-ctx.Done():
		return Handle{}, l.extendError(ErrInterrupted, causeOf(ctx), nil)
	}
	if err := l.Err(); err != nil {
		return Handle{}, err
	}
	c := l.state.c
	before := l.event(nil)
	now := c.reader.Now()
	l.mu.Lock()
	if l.released {
		l.mu.Unlock()
		return Handle{}, l.extendError(ErrReleased, nil, nil)
	}
	// In one step, so that a release at the same time either is before this, or finds that
	// the lease was handed off.
	//guard:handoff-ends-lease  handing a lease off ends it for its holder
	ends, first := l.endLocked(ErrHandedOff)
	if !first { // its deadline or Close came first, and it can still be released
		why := l.over
		l.mu.Unlock()
		return Handle{}, why
	}
	l.released = true
	value := l.state.value
	h := Handle{
		key: l.state.key, value: &value, token: l.token, ttl: l.terms.TTL, deadline: l.start.Wall.Add(l.length),
		//guard:max-life-goes-along  MaxLife counts the time before a hand-off, too
		set: c.cfg.Set, maxLife: l.terms.MaxLife, lived: drift.Elapsed(l.acquired, now), sent: now.Wall,
	}
	l.mu.Unlock()
	l.tellEnd(ErrHandedOff, ends)
	// Waiters of this process have to ask the instances from now on.
	c.queues.freed(l)
	select {
	case <-l.state.abandon():
		// Nothing of this process arrives any more but what went unanswered.
	case <-ctx.Done():
	}
	if released := c.cfg.Hooks.Released; released != nil {
		before.Err = ErrHandedOff
		released(ctx, before)
	}
	return h, nil
}

// Resume takes over a lease that was handed off: with its TTL, counted from here, and a
// value and a token of its own. It doesn't matter what the sender's clock shows, but a
// handle whose deadline has passed here as well is refused with ErrExpired, and nobody
// is asked. It takes scripts on the instances, also with Fencing Off (see Request.Replace).
//
// Errors: ErrConfig for a handle of another set of instances, of a TTL above MaxTTL, or
// of a token that isn't below the instances' counters; ErrExpired; ErrLost if so many
// instances say that the key is not the lease's that no quorum can have it; and those of
// TryAcquire but ErrHeldByCaller and ErrTaken. After an error from the instances the lease
// is given up: what was replaced has been deleted again. ReleaseHandle frees the rest
// before it expires.
func (c *Coordinator) Resume(ctx context.Context, handle Handle) (*Lease, error) {
	terms, lived, err := c.fits(handle)
	if err != nil {
		return nil, err
	}
	if err := c.ready(ctx, wire.Extend, handle.key); err != nil {
		return nil, err
	}
	view := &Coordinator{core: c.core, terms: terms}
	opts := &roundOptions{replace: *handle.value, resumes: true}
	lease, roundErr := view.tryOnce(ctx, handle.key, 1, opts)
	if roundErr != nil {
		return nil, roundErr
	}
	//guard:handle-token-below  a handle's token must be below the token of the resumed lease
	if lease.token <= handle.token && c.cfg.Fencing == On {
		c.discard(lease)
		return nil, fmt.Errorf("%w: the handle has the token %d, but the instances' counters have only come to %d: they have lost data, or the handle was altered", ErrConfig, handle.token, lease.token)
	}
	lease.acquired.Mono -= lived
	lease.acquired.Wall = lease.acquired.Wall.Add(-lived)
	c.queues.held(lease)
	return view.handOut(ctx, lease), nil
}

// ReleaseHandle releases a lease by its handle. Errors: ErrConfig for a handle of another
// set of instances, ErrNotHeld, ErrUnreachable, ErrClosed.
func (c *Coordinator) ReleaseHandle(ctx context.Context, handle Handle) error {
	if err := c.readable(handle); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := c.ready(ctx, wire.Release, handle.key); err != nil {
		return err
	}
	hold := newValueState(c.core, handle.key, *handle.value)
	for i := range hold.slots {
		hold.slots[i].presence.There = true // as far as is known; whoever lacks it will say so
	}
	return makeLease(c, ctx, hold, handle.token, c.terms, c.reader.Now()).Release(ctx)
}

// readable checks whether a handle is one for these instances.
func (c *Coordinator) readable(h Handle) error {
	if err := h.validate(); err != nil {
		return err
	}
	if h.set != c.cfg.Set {
		return fmt.Errorf("%w: %w: the handle is of the set %q, this is %q", ErrConfig, ErrSetMismatch, h.set, c.cfg.Set)
	}
	if c.cfg.Fencing == On && !h.token.Valid() {
		return fmt.Errorf("%w: the handle has no fencing token, but this Coordinator has Fencing on; set it the same in all clients", ErrConfig)
	}
	return nil
}

// fits gives the terms on which a handle is resumed, and how long its lease has lived.
func (c *Coordinator) fits(h Handle) (terms Terms, lived time.Duration, err error) {
	if err := c.readable(h); err != nil {
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
	// How long it was on its way is only known by two processes' clocks. Where they
	// disagree the life is longer than MaxLife by less than a TTL, for the keys expire.
	// A forged handle may say that it was sent in another millennium.
	//guard:max-life-forged  a handle from another millennium doesn't escape MaxLife
	lived = h.lived + min(max(0, now.Sub(h.sent)), math.MaxInt64/4)
	if terms.MaxLife == 0 {
		return terms, lived, nil
	}
	terms.TTL = min(terms.TTL, terms.MaxLife-lived).Truncate(time.Millisecond)
	if c.cfg.Drift.Validity(terms.TTL, 0) <= terms.MinValidity {
		return Terms{}, 0, expired(fmt.Sprintf("%v are left of its MaxLife, %v, and MinValidity is %v", max(0, terms.TTL), terms.MaxLife, terms.MinValidity))
	}
	return terms, lived, nil
}

// String hides the value, so that a handle that is printed gives nothing away.
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

// MarshalJSON fails: encoding/json is what loggers use for a struct with a handle in it.
func (h Handle) MarshalJSON() ([]byte, error) {
	//guard:handle-stays-secret  encoding/json doesn't write a handle's secret
	return nil, fmt.Errorf("%w: a handle is a secret, and isn't written by encoding/json; send what Handle.Text gives", ErrConfig)
}

// handleVersion is the first field of the text, so that a later form can be told
// from this one.
const handleVersion = 2

// maxHandle bounds what ParseHandle reads.
const maxHandle = 16 << 10

// handleText is the text's form.
type handleText struct {
	Version  int           `json:"redlock_handle"`
	Key      string        `json:"key"`
	Value    string        `json:"value"`
	Token    fencing.Token `json:"token"`
	TTL      time.Duration `json:"ttl_ns"`
	Deadline time.Time     `json:"deadline"`
	Set      string        `json:"set"` // Set.String
	MaxLife  time.Duration `json:"max_life_ns"`
	Lived    time.Duration `json:"lived_ns"`
	Sent     time.Time     `json:"sent"`
}

// Text writes the handle with its secret, for ParseHandle. Errors are ErrConfig: for the
// zero Handle, and for a key that isn't UTF-8, which JSON can't carry.
func (h Handle) Text() (string, error) {
	if err := h.validate(); err != nil {
		return "", err
	}
	if !utf8.ValidString(h.key) {
		return "", fmt.Errorf("%w: the handle's key %q is not UTF-8, and would be another one when it is read; use keys in UTF-8", ErrConfig, h.key)
	}
	text, err := json.Marshal(handleText{
		Version: handleVersion, Key: h.key, Value: *h.value, Token: h.token, TTL: h.ttl, Deadline: h.deadline,
		Set: h.set.String(), MaxLife: h.maxLife, Lived: h.lived, Sent: h.sent,
	})
	if err != nil {
		return "", fmt.Errorf("%w: the handle can't be written: %w", ErrConfig, err)
	}
	return string(text), nil
}

// ParseHandle reads what Handle.Text wrote. It accepts nothing else: no unknown field,
// no missing one, none twice or in other letters, nothing after the end. Errors are
// ErrConfig.
func ParseHandle(text string) (Handle, error) {
	h, err := parseHandle(text)
	if err == nil {
		err = h.validate()
	}
	if err != nil {
		return Handle{}, err
	}
	return h, nil
}

func parseHandle(text string) (Handle, error) {
	if len(text) > maxHandle {
		return Handle{}, fmt.Errorf("%w: the handle has %d bytes, at most %d are possible", ErrConfig, len(text), maxHandle)
	}
	fields, err := objectFields(text)
	if err != nil {
		return Handle{}, fmt.Errorf("%w: the handle can't be read: %w", ErrConfig, err)
	}
	var t handleText
	for _, field := range []struct {
		name string
		to   any
	}{
		{"redlock_handle", &t.Version}, {"key", &t.Key}, {"value", &t.Value}, {"token", &t.Token}, {"ttl_ns", &t.TTL},
		{"deadline", &t.Deadline}, {"set", &t.Set}, {"max_life_ns", &t.MaxLife}, {"lived_ns", &t.Lived}, {"sent", &t.Sent},
	} {
		raw, there := fields[field.name]
		if !there || string(raw) == "null" {
			return Handle{}, fmt.Errorf("%w: the handle has no %s", ErrConfig, field.name)
		}
		if err := json.Unmarshal(raw, field.to); err != nil {
			return Handle{}, fmt.Errorf("%w: the handle's %s can't be read", ErrConfig, field.name) // not the error, which may quote a secret
		}
		if field.name == "redlock_handle" && t.Version != handleVersion {
			return Handle{}, fmt.Errorf("%w: the handle has version %d, this library reads %d; use the same library in both processes", ErrConfig, t.Version, handleVersion)
		}
		delete(fields, field.name)
	}
	for name := range fields {
		return Handle{}, fmt.Errorf("%w: the handle has a field %.40q, which no handle has", ErrConfig, name)
	}
	set, err := wire.ParseSet(t.Set)
	if err != nil {
		return Handle{}, fmt.Errorf("%w: the handle's set: %w", ErrConfig, err)
	}
	return Handle{
		key: t.Key, value: &t.Value, token: t.Token, ttl: t.TTL, deadline: t.Deadline, set: set,
		maxLife: t.MaxLife, lived: t.Lived, sent: t.Sent,
	}, nil
}

// objectFields reads a JSON object, each field once and by its exact name: encoding/json
// itself takes the last of several, in whatever letters.
func objectFields(text string) (map[string]json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('{') {
		return nil, errors.New("it is no JSON object")
	}
	fields := make(map[string]json.RawMessage)
	for decoder.More() {
		token, err := decoder.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, errors.New("it is cut off or no JSON object")
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return nil, errors.New("it is cut off or no JSON object")
		}
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("it has the field %.40q twice", name)
		}
		fields[name] = raw
	}
	if end, err := decoder.Token(); err != nil || end != json.Delim('}') {
		return nil, errors.New("it is cut off")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has something after its end")
	}
	return fields, nil
}

func (h Handle) validate() error {
	if h.value == nil {
		return fmt.Errorf("%w: the handle is empty; Lease.HandOff and ParseHandle make one", ErrConfig)
	}
	if err := validateKey(h.key); err != nil {
		return fmt.Errorf("handle: %w", err)
	}
	if err := wholeMillis("the handle's TTL", h.ttl); err != nil {
		return err
	}
	if h.token > fencing.MaxToken {
		return fmt.Errorf("%w: the handle's token is %d, at most %d is possible", ErrConfig, h.token, fencing.MaxToken)
	}
	if h.maxLife < 0 || h.lived < 0 || h.lived > math.MaxInt64/4 || h.maxLife > math.MaxInt64/4 {
		return fmt.Errorf("%w: the handle's lease has lived for %v of %v, which can't be", ErrConfig, h.lived, h.maxLife)
	}
	random, owner, owned := strings.Cut(*h.value, ":")
	if len(random) != 40 || owned != (owner != "") || strings.Trim(random, "0123456789abcdef") != "" || validateOwner(owner) != nil {
		return fmt.Errorf("%w: the handle's value is not one that this library draws", ErrConfig)
	}
	if h.deadline.IsZero() || h.sent.IsZero() {
		return fmt.Errorf("%w: the handle has no deadline, or doesn't say when it was sent", ErrConfig)
	}
	return h.set.ValidateName()
}
