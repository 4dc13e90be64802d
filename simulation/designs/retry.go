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

// Patience is how a lock is waited for: try, pause, try again.
type Patience struct {
	Clock  clock.Clock
	Random io.Reader
	Terms  quorum.Terms
	// Every, if not 0, is the pause between two tries, the same each time. Default: a
	// random one of up to RetryDelay.
	Every time.Duration
	// Forever ignores Terms' bounds.
	Forever bool
}

// PatienceOf is a process's, by its Config.
func PatienceOf(p simulation.Process) Patience {
	return Patience{Clock: p.Config.Clock, Random: p.Config.Random, Terms: p.Config.Terms}
}

// Acquire tries until the lock is had, within Terms.MaxTries and Terms.MaxWait
// and for as long as ctx lives.
func (p Patience) Acquire(ctx context.Context, try func(n int) (simulation.Lease, error)) (simulation.Lease, error) {
	start := p.Clock.Now()
	for n := 1; ; n++ {
		lease, err := try(n)
		if err == nil {
			return lease, nil
		}
		pause, drawErr := p.pause()
		if drawErr != nil {
			return nil, drawErr
		}
		waited := p.Clock.Since(start)
		if !p.Forever && (p.Terms.MaxTries > 0 && n >= p.Terms.MaxTries || p.Terms.MaxWait > 0 && waited+pause >= p.Terms.MaxWait) {
			return nil, fmt.Errorf("%w after %d tries in %v: %w", quorum.ErrExhausted, n, waited, err)
		}
		// Looked at before and after, rather than in a select: when the process has
		// crashed both are ready.
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", quorum.ErrInterrupted, context.Cause(ctx))
		}
		<-p.Clock.After(pause)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", quorum.ErrInterrupted, context.Cause(ctx))
		}
	}
}

func (p Patience) pause() (time.Duration, error) {
	if p.Every != 0 {
		return p.Every, nil
	}
	var b [8]byte
	if _, err := io.ReadFull(p.Random, b[:]); err != nil {
		return 0, fmt.Errorf("designs: no random numbers: %w", err)
	}
	return time.Duration(binary.LittleEndian.Uint64(b[:]) % uint64(RetryDelay)), nil
}

// NewValue draws what a lock's key is set to: 20 bytes, as the Redis document has
// it.
func NewValue(random io.Reader) (string, error) {
	var b [20]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("designs: no random numbers: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}
