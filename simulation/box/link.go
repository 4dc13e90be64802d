//go:build unix

package box

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// link is a client's link to a server.
type link struct {
	*redisproc.Link
	client string          // "" for all clients
	faults Schedule        // that it has
	trap   <-chan struct{} // closed when the trap has caught something, nil without one
}

// shut reports whether it doesn't work both ways as it should.
func (l *link) shut() bool { return len(l.faults) > 0 }

// holdsBack reports whether something is held back at it.
func (l *link) holdsBack() bool {
	return slices.ContainsFunc(l.faults, func(step Step) bool { return slices.Contains([]verb{delay, hold, trap, snare}, step.Do) })
}

// do carries out a fault of the link, or ends it. The key is the lock that traps are about, and the TTL that of its leases.
func (l *link) do(ctx context.Context, step Step, key string, ttl time.Duration) (err error) {
	switch step.Do {
	case cut:
		l.Cut()
	case slow:
		l.Far(cmp.Or(step.By, ttl/2))
	case delay:
		l.Hold(redisproc.Requests)
	case hold:
		l.Hold(redisproc.Replies)
	case lose:
		l.Drop(redisproc.Replies)
	case miss:
		l.Miss(redisproc.Replies)
	case snare:
		l.trap = l.Trap(nth(1, key))
	case trap:
		l.trap = l.Trap(nth(2, key))
	case free:
		err = l.frees(ctx)
		l.trap = nil
	case heal:
		l.Reopen()
		l.Far(0)
	}
	l.faults = l.faults.after(step)
	return err
}

// nth returns a function that reports whether a piece is the n-th with the lock's key.
func nth(n int, key string) func(piece []byte) bool {
	seen := 0
	return func(piece []byte) bool {
		if bytes.Contains(piece, []byte(key)) {
			seen++
		}
		return seen == n
	}
}

// frees lets go of what a trap has caught, and waits until it is on its way to the server.
func (l *link) frees(ctx context.Context) error {
	sent := l.Passed(redisproc.Requests)
	l.Free()
	select {
	case <-l.trap:
		return until(ctx, func() bool { return l.Passed(redisproc.Requests) > sent })
	default:
		return nil
	}
}

// caught reports whether something is held back.
func (l *link) caught() bool {
	if l.trap == nil {
		return l.Waiting(redisproc.Requests)+l.Waiting(redisproc.Replies) > 0
	}
	select {
	case <-l.trap:
		return true
	default:
		return false
	}
}

// until polls until a condition is true, for as long as a driver's answer may take.
func until(ctx context.Context, is func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerLimit, errNoAnswer)
	defer cancel()
	for !is() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}
