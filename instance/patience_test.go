//go:build unix

package instance_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
)

// story is a test on real servers, with leases of a TTL.
type story struct {
	*testing.T
	ttl time.Duration
}

// tooLate is the panic value that ends a story.
type tooLate struct{}

// patiently runs a story. A busy machine may be too slow for it: a lease that must still be valid,
// or a quarantine that must still last, has ended. Then the story is repeated with twice the TTL.
func patiently(t *testing.T, ttl time.Duration, tell func(s *story)) {
	t.Helper()
	for range 6 {
		s := &story{t, ttl}
		if inTime(func() { tell(s) }) {
			return
		}
		t.Logf("the machine was too slow for a TTL of %v", ttl)
		ttl *= 2
	}
	t.Fatal("the machine is too slow")
}

func inTime(tell func()) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			if _, late := p.(tooLate); !late {
				panic(p)
			}
			ok = false
		}
	}()
	tell()
	return true
}

func (s *story) late() { panic(tooLate{}) }

// holds demands that a lease is still valid.
func (s *story) holds(held *quorum.Lease) {
	if held.Validity() == 0 {
		s.late()
	}
}

// excluded demands that a client got no second lease, because of a quarantine. The client's result
// is from before.
func (s *story) excluded(err error, held *quorum.Lease) {
	s.Helper()
	if err == nil {
		require.Zero(s, held.Validity(), "two leases at once")
		s.late()
	}
	require.ErrorIs(s, err, quorum.ErrQuarantined)
}

// quarantined demands the error of a quarantine that began no earlier than since.
func (s *story) quarantined(err error, since time.Time) {
	s.Helper()
	if err == nil && time.Since(since) > s.ttl {
		s.late()
	}
	require.ErrorIs(s, err, quorum.ErrQuarantined)
}

// client is a Coordinator whose requests are repeated if the machine was too slow: that says
// nothing about the server's answer.
type client struct{ *quorum.Coordinator }

// slow reports whether a request failed because the machine was too slow, or because of a request
// of the clock monitor in the same batch.
func slow(err error) bool {
	return errors.Is(err, quorum.ErrTimeout) || err != nil && (strings.Contains(err.Error(), "its address may lead to another server by now") ||
		strings.Contains(err.Error(), "than a request beside this one was for"))
}

// unhurried repeats a request while the machine is too slow for it.
func (c client) unhurried(ctx context.Context, do func() error) error {
	for deadline := time.Now().Add(time.Minute); ; {
		err := do()
		if !slow(err) || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		c.deleted(ctx)
	}
}

// deleted waits until pending deletes have arrived, unless that takes long.
func (c client) deleted(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = c.Settle(ctx)
}

func (c client) TryAcquire(ctx context.Context, key string) (lease *quorum.Lease, err error) {
	err = c.unhurried(ctx, func() error {
		lease, err = c.Coordinator.TryAcquire(ctx, key)
		return err
	})
	return lease, err
}

func (c client) Verify(ctx context.Context) (report quorum.Report, err error) {
	err = c.unhurried(ctx, func() error {
		report, err = c.Coordinator.Verify(ctx)
		return err
	})
	return report, err
}

func (c client) Trust(ctx context.Context) error {
	return c.unhurried(ctx, func() error { return c.Coordinator.Trust(ctx) })
}

// release releases a lease. If that takes longer than the lease or a timeout, the key is gone
// nevertheless.
func (c client) release(t *testing.T, lease *quorum.Lease) {
	t.Helper()
	if err := lease.Release(t.Context()); !slow(err) && !errors.Is(err, quorum.ErrNotHeld) {
		require.NoError(t, err)
	}
	c.deleted(t.Context())
}

// notices asks for a lock until the server has answered in another run than the client knows, and
// returns the error of the last try. Tries that were too slow, or that a proxy refused before its
// server was back, don't count.
func (c client) notices(t *testing.T, key string) (err error) {
	t.Helper()
	noticed := false
	for deadline := time.Now().Add(time.Minute); ; {
		_, err = c.Coordinator.TryAcquire(t.Context(), key)
		noticed = noticed || errors.Is(err, quorum.ErrOtherRun)
		if again := slow(err) || errors.Is(err, instance.ErrServer) || errors.Is(err, instance.ErrReply); !again || time.Now().After(deadline) {
			require.True(t, noticed, "%v", err)
			return err
		}
	}
}
