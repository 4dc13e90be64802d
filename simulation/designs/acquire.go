package designs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// retryDelay bounds the random pause between two tries of an Acquire: the default of redlock-py and
// redlock-rb.
const retryDelay = 200 * time.Millisecond

var _ simulation.Locker = (*lock)(nil)

func (l *lock) TryAcquire(ctx context.Context, key string) (simulation.Lease, error) {
	value, err := l.value()
	if err != nil {
		return nil, err
	}
	return l.try(ctx, key, value)
}

// Acquire tries until it has the lock, within MaxTries, MaxWait and ctx.
func (l *lock) Acquire(ctx context.Context, key string) (simulation.Lease, error) {
	clock, value := l.config.Lab.Clock, ""
	start := clock.Now()
	for n := 1; ; n++ {
		if n == 1 || !l.ReuseValue {
			var err error
			if value, err = l.value(); err != nil {
				return nil, err
			}
		}
		lease, err := l.try(ctx, key, value)
		if err == nil {
			return lease, nil
		}
		pause, drawErr := l.pause()
		if drawErr != nil {
			return nil, drawErr
		}
		waited, most := clock.Since(start), l.config.MaxTries
		if l.Every == 0 && (most > 0 && n >= most || l.config.MaxWait > 0 && waited+pause >= l.config.MaxWait) {
			return nil, fmt.Errorf("%w after %d tries in %v: %w", quorum.ErrExhausted, n, waited, err)
		}
		// Checked before and after, rather than in a select: after a crash of the
		// process both are ready.
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", quorum.ErrInterrupted, context.Cause(ctx))
		}
		<-clock.After(pause)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", quorum.ErrInterrupted, context.Cause(ctx))
		}
	}
}

// try is one round: steps 1 to 5 of the document.
func (l *lock) try(ctx context.Context, key, value string) (simulation.Lease, error) {
	e := &lease{lock: l, key: key, value: value}
	sent := l.reader.Now()
	votes := e.ask(ctx, l.Recipe.Acquire, nil)
	e.begin(sent)
	granted, refused, err := count(votes)
	switch needed := l.quorum(votes); {
	case refused > len(votes)-needed:
		err = quorum.ErrTaken
	case granted < needed:
		err = errors.Join(quorum.ErrNoQuorum, err)
	case e.Validity() <= 0 && !l.LateStart:
		err = quorum.ErrTooSlow
	default:
		for _, v := range votes {
			if l.LargestReply && v.granted {
				e.token = max(e.token, v.reply)
			}
		}
		return e, nil
	}
	chosen := func(i int) bool { return votes[i].granted }
	if !l.ReleaseGranted {
		chosen = nil // everywhere, because a grant may have been lost
	}
	e.ask(ctx, l.Recipe.Release, chosen) // where this fails, the key expires
	return nil, err
}

func (l *lock) pause() (time.Duration, error) {
	if l.Every != 0 {
		return l.Every, nil
	}
	var b [8]byte
	err := l.draw(b[:])
	return time.Duration(binary.LittleEndian.Uint64(b[:]) % uint64(retryDelay)), err
}
