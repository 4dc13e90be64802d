package designs

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

const (
	// readTimeout bounds the wait of a lock on one server for a reply: go-redis's default.
	readTimeout = 3 * time.Second
	// documentTimeout is the longest of the document's for a TTL of 10 s: "in the ~ 5-50 milliseconds range".
	documentTimeout = 50 * time.Millisecond
	// retryDelay bounds the random pause between two tries of an Acquire: the default of redlock-py and
	// redlock-rb.
	retryDelay = 200 * time.Millisecond
)

// lock is a Recipe in one process.
type lock struct {
	Recipe
	servers   []simulation.Redis
	config    quorum.Config
	timeout   time.Duration // of each command
	allowance drift.Allowance
	reader    *drift.Reader
}

var _ simulation.Locker = (*lock)(nil)

func (r Recipe) locker(p simulation.Process) (simulation.Locker, error) {
	if len(p.Redis) == 0 {
		return nil, fmt.Errorf("%w: there is no server to lock on", quorum.ErrConfig)
	}
	l := &lock{Recipe: r, servers: p.Redis, config: p.Config, timeout: p.Config.InstanceTimeout, reader: drift.NewReader(p.Config.Lab.Clock)}
	switch {
	case !r.Majority:
		l.servers, l.timeout = l.servers[:1], readTimeout
	case r.NoTimeout:
		l.timeout = 24 * time.Hour
	case l.timeout == 0:
		l.timeout = min(documentTimeout, p.Config.TTL/4)
	}
	if r.Elapsed == nil {
		l.Elapsed = drift.Elapsed
	}
	if !r.NoDrift {
		l.allowance = cmp.Or(p.Config.Lab.Drift, drift.Default())
	}
	return l, nil
}

// Close does nothing: nothing runs in the background.
func (l *lock) Close(context.Context) error { return nil }

func (l *lock) TryAcquire(ctx context.Context, key string) (simulation.Lease, error) {
	return l.try(ctx, key, l.value())
}

// Acquire tries until it has the lock, within MaxTries, MaxWait and ctx.
func (l *lock) Acquire(ctx context.Context, key string) (simulation.Lease, error) {
	clock, value := l.config.Lab.Clock, l.value()
	start := clock.Now()
	for n := 1; ; n++ {
		lease, err := l.try(ctx, key, value)
		if err == nil {
			return lease, nil
		}
		pause := l.pause()
		waited, most := clock.Since(start), l.config.MaxTries
		if l.Every == 0 && (most > 0 && n >= most || l.config.MaxWait > 0 && waited+pause >= l.config.MaxWait) {
			return nil, fmt.Errorf("%w after %d tries in %v: %w", quorum.ErrExhausted, n, waited, err)
		}
		// ctx is checked before and after, rather than in a select: after a crash of the
		// process both are ready.
		if ctx.Err() == nil {
			<-clock.After(pause)
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", quorum.ErrInterrupted, context.Cause(ctx))
		}
		if !l.ReuseValue {
			value = l.value()
		}
	}
}

// try is one round: steps 1 to 5 of the document.
func (l *lock) try(ctx context.Context, key, value string) (simulation.Lease, error) {
	e := &lease{lock: l, key: key, value: value}
	sent := l.reader.Now()
	votes := e.ask(ctx, l.Recipe.Acquire, nil)
	e.begin(sent)
	err := l.decide(votes, quorum.ErrTaken, quorum.ErrNoQuorum)
	if err == nil && e.Validity() <= 0 && !l.LateStart {
		err = quorum.ErrTooSlow
	}
	if err != nil {
		granted := func(i int) bool { return votes[i].granted }
		if !l.ReleaseGranted {
			granted = nil // everywhere, because a grant may have been lost
		}
		e.ask(ctx, l.Recipe.Release, granted) // where this fails, the key expires
		return nil, err
	}
	for _, v := range votes {
		if l.LargestReply && v.granted {
			e.token = max(e.token, v.reply)
		}
	}
	return e, nil
}

// vote is a server's answer.
type vote struct {
	granted bool          // also if a later command than the first one has failed
	reply   fencing.Token // a number, of the last command
	err     error
}

// decide returns nil if a quorum has granted a request, and the error for a refusal if too many servers refused it
// for that. Otherwise it returns the error for an unclear result, with the first server's.
func (l *lock) decide(votes []vote, refusal, unclear error) error {
	granted, refused := 0, 0
	var failed error
	for _, v := range votes {
		switch {
		case v.err != nil:
			failed = cmp.Or(failed, v.err)
		case v.granted:
			granted++
		default:
			refused++
		}
	}
	needed := len(votes)/2 + 1
	if l.QuorumOfReachable {
		needed = (granted+refused)/2 + 1
	}
	switch {
	case refused > len(votes)-needed:
		return refusal
	case granted < needed:
		return errors.Join(unclear, failed)
	}
	return nil
}

// value returns the value of a try: 20 random bytes, as in the Redis document, unless all have one value.
func (l *lock) value() string {
	if l.Value != "" {
		return l.Value
	}
	return hex.EncodeToString(l.draw(20))
}

func (l *lock) pause() time.Duration {
	if l.Every != 0 {
		return l.Every
	}
	return time.Duration(binary.LittleEndian.Uint64(l.draw(8)) % uint64(retryDelay))
}

func (l *lock) draw(n int) []byte {
	b := make([]byte, n)
	if _, err := io.ReadFull(l.config.Lab.Random, b); err != nil {
		panic(fmt.Errorf("designs: no random numbers: %w", err))
	}
	return b
}
