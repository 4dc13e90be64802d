package redsync

import "time"

// SetLinger has shared sets end sooner. The result restores what was set before.
func SetLinger(d time.Duration) (restore func()) {
	before := linger
	linger = d
	return func() { linger = before }
}

// Shared is how many sets are shared.
func Shared() int {
	setsMu.Lock()
	defer setsMu.Unlock()
	return len(sets)
}
