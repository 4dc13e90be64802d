package quorum

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redquorum/redlock/fencing"
)

// Handle is a lease in a form that can be sent to another process, which can
// then extend it (Coordinator.Resume) or release it (Coordinator.ReleaseHandle).
// Whoever sends it away must stop using the lease: two processes that both
// believe in it exclude everybody but each other.
//
// It is a secret like a password: whoever has it can release the lock.
type Handle struct {
	// Key, Value and Token are the lease's.
	Key   string
	Value string
	Token fencing.Token
	// TTL is the lease's time to live, which Resume uses again.
	TTL time.Duration
	// Deadline is Lease.Deadline. It is on the sender's wall clock; it only
	// serves to refuse a handle that is long over.
	Deadline time.Time
	// Set is the set of instances that it was taken on.
	Set Set
}

// handleVersion is the first field of the text, so that a later form can be told
// from this one.
const handleVersion = 1

// maxHandle bounds what ParseHandle reads.
const maxHandle = 16 << 10

// handleText is the text's form: a Handle's fields, as pointers that tell a field
// that is missing from a zero. It is a type of its own, and doesn't embed Handle,
// whose MarshalJSON it would then have.
type handleText struct {
	Version  *int           `json:"redlock_handle"`
	Key      *string        `json:"key"`
	Value    *string        `json:"value"`
	Token    *fencing.Token `json:"token"`
	TTL      *time.Duration `json:"ttl_ns"`
	Deadline *time.Time     `json:"deadline"`
	Set      *string        `json:"set"` // Set.String
}

// Handle gives the lease in a form that can be sent to another process. The handle of a
// lease that is over and was passed on to another goroutine is good for nothing.
func (l *Lease) Handle() Handle {
	// Whoever gets it may release the lease without a word to this process:
	// those who wait for it here have to ask the instances from now on.
	l.hold.c.locals.freed(l)
	l.mu.Lock()
	l.sent = true // before the value is read: now it is passed on no more, or it was
	l.mu.Unlock()
	return Handle{
		Key: l.Key(), Value: l.Value(), Token: l.token, TTL: l.terms.TTL,
		Deadline: l.Deadline(), Set: l.hold.c.cfg.Set,
	}
}

// String hides the value, so that a handle that is printed gives nothing away.
// MarshalText writes it whole.
func (h Handle) String() string {
	return fmt.Sprintf("handle of %q, token %d, until %s", h.Key, h.Token, h.Deadline.Format(time.RFC3339Nano))
}

// GoString hides the value from %#v as well.
func (h Handle) GoString() string { return "quorum.Handle(" + h.String() + ")" }

// LogValue hides the value from log/slog, whose handlers would else call
// MarshalText or MarshalJSON.
func (h Handle) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("key", h.Key),
		slog.Uint64("token", uint64(h.Token)),
		slog.Duration("ttl", h.TTL),
		slog.Time("deadline", h.Deadline),
		slog.String("set", h.Set.String()),
	)
}

// MarshalText writes the handle as JSON. Errors are ErrConfig: for a handle that
// ParseHandle would refuse, and for a key that isn't UTF-8, which JSON can't carry.
func (h Handle) MarshalText() ([]byte, error) {
	if err := h.validate(); err != nil {
		return nil, err
	}
	if !utf8.ValidString(h.Key) {
		return nil, fmt.Errorf("%w: the handle's key %q is not UTF-8, and would be another one when it is read; use keys in UTF-8", ErrConfig, h.Key)
	}
	version, set := handleVersion, h.Set.String()
	text, err := json.Marshal(handleText{&version, &h.Key, &h.Value, &h.Token, &h.TTL, &h.Deadline, &set})
	if err != nil {
		return nil, fmt.Errorf("%w: the handle can't be written: %w", ErrConfig, err)
	}
	return text, nil
}

// MarshalJSON writes the handle as MarshalText does.
func (h Handle) MarshalJSON() ([]byte, error) { return h.MarshalText() }

// UnmarshalText reads what MarshalText wrote; see ParseHandle.
func (h *Handle) UnmarshalText(text []byte) error {
	parsed, err := ParseHandle(string(text))
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (h *Handle) UnmarshalJSON(text []byte) error { return h.UnmarshalText(text) }

// ParseHandle reads what Handle.MarshalText wrote. It accepts nothing else: no
// unknown field, no missing one, nothing after the end. Errors are ErrConfig.
func ParseHandle(text string) (Handle, error) {
	if len(text) > maxHandle {
		return Handle{}, fmt.Errorf("%w: the handle has %d bytes, at most %d are possible", ErrConfig, len(text), maxHandle)
	}
	var parsed handleText
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&parsed); err != nil {
		return Handle{}, fmt.Errorf("%w: the handle can't be read: %w", ErrConfig, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Handle{}, fmt.Errorf("%w: the handle has something after its end", ErrConfig)
	}
	if parsed.Version == nil {
		return Handle{}, fmt.Errorf("%w: the text is not a handle: it has no field redlock_handle", ErrConfig)
	}
	if *parsed.Version != handleVersion {
		return Handle{}, fmt.Errorf("%w: the handle is of version %d, this library reads version %d", ErrConfig, *parsed.Version, handleVersion)
	}
	h, err := parsed.handle()
	if err == nil {
		err = h.validate()
	}
	if err != nil {
		return Handle{}, err
	}
	return h, nil
}

// handle gives the Handle, if no field is missing.
func (t handleText) handle() (Handle, error) {
	if t.Key == nil || t.Value == nil || t.Token == nil || t.TTL == nil || t.Deadline == nil || t.Set == nil {
		return Handle{}, fmt.Errorf("%w: the handle lacks one of the fields key, value, token, ttl_ns, deadline and set", ErrConfig)
	}
	set, err := ParseSet(*t.Set)
	if err != nil {
		return Handle{}, fmt.Errorf("%w: the handle's set: %w", ErrConfig, err)
	}
	return Handle{Key: *t.Key, Value: *t.Value, Token: *t.Token, TTL: *t.TTL, Deadline: *t.Deadline, Set: set}, nil
}

func (h Handle) validate() error {
	if err := validateKey(h.Key); err != nil {
		return fmt.Errorf("handle: %w", err)
	}
	if err := wholeMillis("the handle's TTL", h.TTL); err != nil {
		return err
	}
	if h.Token > fencing.MaxToken {
		return fmt.Errorf("%w: the handle's token is %d, at most %d is possible", ErrConfig, h.Token, fencing.MaxToken)
	}
	random, owner, owned := strings.Cut(h.Value, ":")
	if len(random) != 40 || owned != (owner != "") || strings.Trim(random, "0123456789abcdef") != "" || validateOwner(owner) != nil {
		return fmt.Errorf("%w: the handle's value is not one that this library draws", ErrConfig)
	}
	if h.Deadline.IsZero() {
		return fmt.Errorf("%w: the handle has no deadline", ErrConfig)
	}
	return h.Set.validateName()
}

// Resume takes over a lease from its handle: it extends it by its own TTL, and
// gives it with the validity counted from here. It doesn't matter what the clock
// of the sender shows, but a handle whose deadline has passed here as well is
// refused with ErrExpired and nobody is asked.
//
// Errors: ErrConfig for a handle of another set of instances or a TTL above
// MaxTTL, and those of Lease.Extend. The lease isn't released on an error.
func (c *Coordinator) Resume(ctx context.Context, handle Handle) (*Lease, error) {
	l, err := c.fromHandle(ctx, handle)
	if err != nil {
		return nil, err
	}
	start := c.reader.Now()
	if !start.Wall.Before(handle.Deadline) {
		return nil, l.extendError(ErrExpired, nil, nil)
	}
	l.start, l.acquired = start, start
	e := l.newExtension(ctx, l.terms.TTL)
	e.run(start)
	if err := e.decide(ctx, start, l.length); err != nil {
		return nil, err
	}
	return c.handOut(ctx, l, false), nil
}

// ReleaseHandle releases a lease by its handle. Errors are those of
// Lease.Release, and ErrConfig.
func (c *Coordinator) ReleaseHandle(ctx context.Context, handle Handle) error {
	l, err := c.fromHandle(context.WithoutCancel(ctx), handle)
	if err != nil {
		return err
	}
	return l.Release(ctx)
}

func (c *Coordinator) fromHandle(ctx context.Context, handle Handle) (*Lease, error) {
	if err := handle.validate(); err != nil {
		return nil, err
	}
	if handle.Set != c.cfg.Set {
		return nil, fmt.Errorf("%w: %w: the handle is of the set %q, this is %q", ErrConfig, ErrSetMismatch, handle.Set, c.cfg.Set)
	}
	if c.cfg.Fencing == On && !handle.Token.Valid() {
		return nil, fmt.Errorf("%w: the handle has no fencing token, but this Coordinator has Fencing on; set it the same in all clients", ErrConfig)
	}
	terms := c.terms
	terms.TTL = handle.TTL
	if err := terms.validate(c.cfg); err != nil {
		return nil, fmt.Errorf("handle: %w", err)
	}
	if err := c.ready(ctx, Extend, handle.Key); err != nil {
		return nil, err
	}
	hold := newHold(c.core, handle.Key, handle.Value)
	for i := range hold.spots {
		hold.spots[i].mark.there = true // as far as is known; whoever lacks it will say so
	}
	return makeLease(c, context.WithoutCancel(ctx), hold, handle.Token, terms, c.reader.Now()), nil
}
