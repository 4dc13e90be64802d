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

// retryDelay bounds the random pause between two tries of an Acquire, in all designs except the
// library's own: the default of redlock-py and redlock-rb.
const retryDelay = 200 * time.Millisecond

// Patience waits for a lock: try, pause, try again.
type Patience struct {
	Clock  clock.Clock
	Random io.Reader
	// TTL is of the lock; MaxTries and MaxWait bound an Acquire. As in quorum.Config.
	TTL      time.Duration
	MaxTries int
	MaxWait  time.Duration
	// Every is the pause between two tries. Default: a random one of up to 200 ms.
	Every time.Duration
	// Forever ignores both bounds.
	Forever bool
}

// PatienceOf returns the Patience of a process's Config.
func PatienceOf(p simulation.Process) Patience {
	return Patience{Clock: p.Config.Lab.Clock, Random: p.Config.Lab.Random, TTL: p.Config.TTL, MaxTries: p.Config.MaxTries, MaxWait: p.Config.MaxWait}
}

// Acquire tries until it has the lock, within MaxTries, MaxWait and ctx.
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
		if !p.Forever && (p.MaxTries > 0 && n >= p.MaxTries || p.MaxWait > 0 && waited+pause >= p.MaxWait) {
			return nil, fmt.Errorf("%w after %d tries in %v: %w", quorum.ErrExhausted, n, waited, err)
		}
		// Checked before and after, rather than in a select: after a crash of the
		// process both are ready.
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
	return time.Duration(binary.LittleEndian.Uint64(b[:]) % uint64(retryDelay)), nil
}

// NewValue returns a random value of 20 bytes, as in the Redis document.
func NewValue(random io.Reader) (string, error) {
	var b [20]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("designs: no random numbers: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}
