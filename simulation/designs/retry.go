package designs

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// RetryDelay bounds the random pause between two tries of an Acquire, in all
// designs but the library's own: what redlock-py and redlock-rb take by default.
const RetryDelay = 200 * time.Millisecond

// patience is one waiting for a lock: try, pause, try again.
type patience struct {
	clock  clock.Clock
	random io.Reader
	terms  quorum.Terms
	// every, if not 0, is the pause between two tries, the same each time.
	every time.Duration
	// forever ignores Terms' bounds.
	forever bool
}

// acquire tries until the lock is had, within Terms.MaxTries and Terms.MaxWait
// and for as long as ctx lives.
func (p patience) acquire(ctx context.Context, try func(n int) (simulation.Lease, error)) (simulation.Lease, error) {
	start := p.clock.Now()
	for n := 1; ; n++ {
		lease, err := try(n)
		if err == nil {
			return lease, nil
		}
		pause, drawErr := p.pause()
		if drawErr != nil {
			return nil, drawErr
		}
		waited := p.clock.Since(start)
		if !p.forever && (p.terms.MaxTries > 0 && n >= p.terms.MaxTries || p.terms.MaxWait > 0 && waited+pause >= p.terms.MaxWait) {
			return nil, fmt.Errorf("%w after %d tries in %v: %w", quorum.ErrExhausted, n, waited, err)
		}
		// Looked at before and after, rather than in a select: when the process has
		// crashed both are ready.
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", quorum.ErrInterrupted, context.Cause(ctx))
		}
		<-p.clock.After(pause)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", quorum.ErrInterrupted, context.Cause(ctx))
		}
	}
}

func (p patience) pause() (time.Duration, error) {
	if p.every != 0 {
		return p.every, nil
	}
	var b [8]byte
	if _, err := io.ReadFull(p.random, b[:]); err != nil {
		return 0, fmt.Errorf("designs: no random numbers: %w", err)
	}
	return time.Duration(binary.LittleEndian.Uint64(b[:]) % uint64(RetryDelay)), nil
}

// newValue draws what a lock's key is set to: 20 bytes, as the Redis document has
// it.
func newValue(random io.Reader) (string, error) {
	var b [20]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("designs: no random numbers: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}
