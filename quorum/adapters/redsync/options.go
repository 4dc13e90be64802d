package redsync

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redquorum/redlock/drift"
)

// DelayFunc gives the time between one try and the next, by the number of tries so far.
type DelayFunc func(tries int) time.Duration

// redsyncDelay is redsync's default.
func redsyncDelay(int) time.Duration { return 50*time.Millisecond + rand.N(200*time.Millisecond) }

// Option sets up a Mutex.
type Option interface {
	Apply(*Mutex)
}

// OptionFunc is an Option.
type OptionFunc func(*Mutex)

// Apply calls f.
func (f OptionFunc) Apply(mutex *Mutex) { f(mutex) }

// WithExpiry sets how long a lock lasts unless it is extended, in milliseconds; a fraction is cut
// off. quorum.Terms.TTL has the bounds, MaxTTL (30 s by default) among them.
func WithExpiry(expiry time.Duration) Option {
	return OptionFunc(func(m *Mutex) { m.expiry = expiry })
}

// WithTries sets how often Lock tries, 32 by default. Lock doesn't poll, because a release
// notifies it. It waits for as long as that many tries would take, with the delays between them.
// With 0 or less it fails with ErrFailed, as redsync's does.
func WithTries(tries int) Option {
	return OptionFunc(func(m *Mutex) { m.tries = tries })
}

// WithRetryDelay sets the delay between tries, see WithTries.
func WithRetryDelay(delay time.Duration) Option {
	return WithRetryDelayFunc(func(int) time.Duration { return delay })
}

// WithRetryDelayFunc sets the delays between tries, by default random ones of 50 to 250 ms. The
// function is called by NewMutex, for the first 1000 delays at most; further ones count as their
// mean. See WithTries.
func WithRetryDelayFunc(delayFunc DelayFunc) Option {
	return OptionFunc(func(m *Mutex) {
		if delayFunc == nil {
			m.refuse("WithRetryDelayFunc", "the function is nil; leave the option out for redsync's delays")
			return
		}
		m.delay = delayFunc
	})
}

// WithDriftFactor accepts a factor up to the drift allowance of the Coordinator (0.01 of the
// expiry, and 2 ms, unless quorum.Config.Drift sets it), which is what comes off the validity. A
// larger one is refused.
func WithDriftFactor(factor float64) Option {
	return OptionFunc(func(m *Mutex) {
		var ours drift.Allowance = m.rs.locks.Config().Drift
		if !(factor >= 0 && factor*1e6 <= float64(ours.PPM)) {
			m.refuse("WithDriftFactor", fmt.Sprintf("the factor is %v, and the Coordinator's is %v for all its mutexes: give redsync.Open a quorum.Config with a larger Drift", factor, float64(ours.PPM)/1e6))
		}
	})
}

// WithTimeoutFactor is refused, because the timeout is one for all mutexes, and for each server:
// quorum.Config.InstanceTimeout, a hundredth of the default expiry (at least 50 ms). redsync's is
// for all servers together.
func WithTimeoutFactor(factor float64) Option {
	return OptionFunc(func(m *Mutex) {
		m.refuse("WithTimeoutFactor", fmt.Sprintf("the factor is %v, but the timeout is one for all mutexes, %v for each server: set quorum.Config.InstanceTimeout for redsync.Open", factor, m.rs.locks.Config().InstanceTimeout))
	})
}

// WithShufflePools does nothing: all servers are asked at once.
func WithShufflePools(bool) Option { return OptionFunc(func(*Mutex) {}) }

// WithFailFast does nothing: a call always returns when its outcome is decided.
func WithFailFast(bool) Option { return OptionFunc(func(*Mutex) {}) }

// WithSetNXOnExtend is refused. An extension always puts the lock back on servers that lack it, as
// long as a quorum has it. But a lock that a quorum has lost isn't revived: another client may have
// had it meanwhile.
func WithSetNXOnExtend() Option {
	return OptionFunc(func(m *Mutex) {
		m.refuse("WithSetNXOnExtend", "a lock that expired is not revived, because another client may have had it: leave the option out, and Lock again if Extend fails. Extend puts the lock back on single servers that lack it without this option")
	})
}

// WithGenValueFunc is refused. Each try has a random value of its own: if values could repeat, the
// late delete of one holder would free the lock of another.
func WithGenValueFunc(func() (string, error)) Option {
	return OptionFunc(func(m *Mutex) {
		m.refuse("WithGenValueFunc", "values are random, because one that repeats lets a late holder delete the next one's lock: leave the option out. quorum.Config.Owner puts a name into them, and Lease().HandOff gives a lock to another process")
	})
}

// WithValue is refused. Lease().HandOff and Coordinator.Resume or ReleaseHandle give a lock to
// another process, so that at no moment both believe that they have it.
func WithValue(string) Option {
	return OptionFunc(func(m *Mutex) {
		m.refuse("WithValue", "a value alone doesn't say until when its lock lasts, nor which token it has: hand the lock over with Lease().HandOff, and take it up with Coordinator.Resume, or free it with ReleaseHandle")
	})
}

// refuse notes the first option that can't be honoured.
func (m *Mutex) refuse(option, reason string) {
	if m.err == nil {
		m.err = &OptionError{option, reason}
	}
}
