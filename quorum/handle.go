package quorum

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

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
	Key   string        `json:"key"`
	Value string        `json:"value"`
	Token fencing.Token `json:"token"`
	// TTL is the lease's time to live, which Resume uses again.
	TTL time.Duration `json:"ttl_ns"`
	// Deadline is Lease.Deadline. It is on the sender's wall clock; it only
	// serves to refuse a handle that is long over.
	Deadline time.Time `json:"deadline"`
	// Set is the set of instances that it was taken on.
	Set Set `json:"set"`
}

// handleVersion is the first field of the text, so that a later form can be told
// from this one.
const handleVersion = 1

// maxHandle bounds what ParseHandle reads.
const maxHandle = 16 << 10

type handleText struct {
	Version int `json:"redlock_handle"`
	Handle
}

// Handle gives the lease in a form that can be sent to another process.
func (l *Lease) Handle() Handle {
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

// MarshalText writes the handle as JSON.
func (h Handle) MarshalText() ([]byte, error) {
	if err := h.validate(); err != nil {
		return nil, err
	}
	return json.Marshal(handleText{Version: handleVersion, Handle: h})
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
	// Not embedded here: Handle's own UnmarshalJSON would be called again.
	type plain Handle
	var parsed struct {
		Version int `json:"redlock_handle"`
		plain
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&parsed); err != nil {
		return Handle{}, fmt.Errorf("%w: the handle can't be read: %w", ErrConfig, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Handle{}, fmt.Errorf("%w: the handle has something after its end", ErrConfig)
	}
	if parsed.Version != handleVersion {
		return Handle{}, fmt.Errorf("%w: the handle is of version %d, this library reads version %d", ErrConfig, parsed.Version, handleVersion)
	}
	h := Handle(parsed.plain)
	return h, h.validate()
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
	random, owner, _ := strings.Cut(h.Value, ":")
	if len(random) != 40 || strings.Trim(random, "0123456789abcdef") != "" || validateOwner(owner) != nil {
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
	e.run()
	if err := e.decide(ctx, start, l.length); err != nil {
		return nil, err
	}
	c.locals.held(l)
	return c.handOut(l), nil
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
	terms := c.terms
	terms.TTL = handle.TTL
	if err := terms.validate(c.cfg); err != nil {
		return nil, fmt.Errorf("handle: %w", err)
	}
	if err := c.ready(ctx, Extend, handle.Key); err != nil {
		return nil, err
	}
	hold := newHold(c.core, handle.Key, handle.Value)
	for i := range hold.marks {
		hold.marks[i] = present // as far as is known; whoever lacks it will say so
	}
	return makeLease(c, ctx, hold, handle.Token, terms, c.reader.Now()), nil
}
