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

// WithExpiry sets how long a lock lasts unless it is extended; a fraction of a millisecond is cut off.
//
// With New it is 165 ms to 23 s. Shorter ones leave no validity after two InstanceTimeouts, and longer ones
// are above MaxTTL less 7 s, in which an address may come to lead to another server. Others are an
// *OptionError: give On a Coordinator whose quorum.Config allows them. MaxTTL is a matter of all clients of the
// servers, because a server that may have lost a lock doesn't vote for as long as any lock may last.
func WithExpiry(expiry time.Duration) Option {
	return OptionFunc(func(m *Mutex) { m.expiry = expiry })
}

// WithTries sets how often Lock tries, 32 by default. Lock doesn't poll, because a release
// notifies it. It waits for as long as that many tries would take, with the delays between them. That time
// doesn't run while servers that have just come up don't vote yet. With 0 or less it fails with ErrFailed, as
// redsync's does.
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
// expiry, and 2 ms, unless quorum.Lab.Drift sets it), which is what comes off the validity. A
// larger one is refused.
func WithDriftFactor(factor float64) Option {
	return OptionFunc(func(m *Mutex) {
		var ours drift.Allowance = m.rs.locks.Config().Lab.Drift
		if !(factor >= 0 && factor*1e6 <= float64(ours.PPM)) {
			m.refuse("WithDriftFactor", fmt.Sprintf("the factor is %v, and the Coordinator's is %v for all its mutexes: give redsync.On a Coordinator with a larger Config.Lab.Drift", factor, float64(ours.PPM)/1e6))
		}
	})
}

// WithShufflePools does nothing: all servers are asked at once.
func WithShufflePools(bool) Option { return OptionFunc(func(*Mutex) {}) }

// WithFailFast does nothing: a call always returns when its outcome is decided.
func WithFailFast(bool) Option { return OptionFunc(func(*Mutex) {}) }

// refuse notes the first option that can't be honoured.
func (m *Mutex) refuse(option, reason string) {
	if m.err == nil {
		m.err = &OptionError{option, reason}
	}
}
