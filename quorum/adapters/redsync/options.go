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
// off. At least 5 ms, at most 364 days.
//
// A server that may have lost locks doesn't vote until the longest of them has expired. So the first
// lock on new servers, and after a majority was restarted, waits: for 30 s if the longest expiry on the servers is
// less than 23 s, or else for 1, 2, 4, 8, ... minutes, whichever is the first that is longer than it by 7 s. The
// first mutex with an expiry in a higher range than all before, of whatever name and in whatever process, raises that
// for all. Other processes follow with their next Lock. It
// stays raised. To lower it, stop all processes and delete the servers' marks (instance.MarkKey).
//
// With On an expiry above MaxTTL less 7 s is an *OptionError.
func WithExpiry(expiry time.Duration) Option {
	return OptionFunc(func(m *Mutex) { m.expiry = expiry })
}

// WithTries sets how often Lock tries, 32 by default. Lock doesn't poll, because a release
// notifies it. It waits for as long as that many tries would take, with the delays between them. While
// servers that came up a while ago don't vote yet, that time doesn't run, see WithExpiry. With 0 or less it fails with ErrFailed, as redsync's does.
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
