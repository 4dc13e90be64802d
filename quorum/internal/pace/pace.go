// Package pace says when leases are looked at and extended.
package pace

import "time"

// Pace spreads the extensions of leases that are kept alive.
type Pace struct {
	// Timeout bounds each request to each instance, unless it is an extension that has time.
	Timeout time.Duration
	// Jitter draws from zero to a bound.
	Jitter func(bound time.Duration) time.Duration
}

// Next is when to extend a lease next that has so much validity left.
func (p Pace) Next(now, left time.Duration, failed bool) time.Duration {
	due := now + p.pause(left, failed)
	if failed {
		return due
	}
	return max(due.Truncate(max(1, together(left))), now+left/6)
}

// pause is the pause before the next extension of a lease that has so much validity left.
//
// Leases that were taken together must not be extended together each time. So the pauses are
// random: at least a sixth of the validity, and up to a third. After an extension that failed
// up to a quarter of what is left is added.
//
// A repeated extension adds to the servers' load, which may be too high already. So the next
// try begins a Timeout or more after one that failed. By then its requests were answered or
// have timed out, so that at most one extension of a lease is under way at each instance. Only
// in the last two Timeouts are the pauses shorter.
func (p Pace) pause(left time.Duration, failed bool) time.Duration {
	const least = time.Millisecond
	//guard:extensions-spread  leases that were taken together are extended at different times
	pause := left/3 - p.Jitter(left/6)
	if failed {
		//guard:extensions-spaced  an extension isn't repeated while the one before may be under way
		pause = min(p.Timeout, left/2) + p.Jitter(left/4)
	}
	return max(pause, least)
}

// together is by how much an extension is brought forward at most to go out together with others
// of the Coordinator. That saves most of their cost: an exchange with a server costs more than
// dozens of extensions in it.
func together(left time.Duration) time.Duration { return min(10*time.Millisecond, left/64) }

// Patience is the timeout of an extension by KeepAlive: a Timeout or, while much validity is
// left, up to four. A late answer to an extension is as good as an early one, because the new
// validity counts from before it was sent. And another try would cost slow servers a second
// extension.
func (p Pace) Patience(left time.Duration) time.Duration {
	//guard:late-extensions-count  a keep-alive uses the answers of servers that are late
	return max(p.Timeout, min(4*p.Timeout, left/8))
}

// LookAgain is after how long to check a validity again of which so much is left.
func LookAgain(left time.Duration) time.Duration {
	const least = 20 * time.Millisecond
	//guard:context-after-suspension  a lease's end is noticed even if timers stood still while the machine was suspended
	return min(left, max(left/4, least))
}
