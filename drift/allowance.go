// Package drift computes how much of a lease's TTL is left, given the elapsed
// time and the error of the clocks. It reads no clock except the one it is
// given. It uses integers, so every machine computes the same result, and it
// imports only the standard library.
package drift

import (
	"fmt"
	"math"
	"time"
)

// Allowance is subtracted from a TTL because the clocks of the server and of
// the client do not run at the same rate:
//
//	ttl * PPM / 1 000 000 + Floor
//
// Source: the Redis document, "The Redlock algorithm", step 3. Its reference
// implementation uses a factor of 0.01 plus 2 ms.
//
// If both clocks have a relative rate error of at most r, a lease is safe while
// validity <= ttl*(1-r)/(1+r): 10 000 ppm cover an error of 5 025 ppm on each
// side. A clock that is being slewed may exceed that (chrony slews at up to
// 83 333 ppm). An allowance cannot cover a clock step: see Monitor.
type Allowance struct {
	// PPM is the proportional part in millionths, 0 to 500 000.
	PPM int64
	// Floor is the fixed part, 0 to an hour. It covers the resolution of expiry
	// on the servers, which is one millisecond.
	Floor time.Duration
}

// Default is the Redis document's allowance: one hundredth plus 2 ms.
func Default() Allowance { return Allowance{PPM: 10_000, Floor: 2 * time.Millisecond} }

// Validate returns an error if a field is out of range.
func (a Allowance) Validate() error {
	if a.PPM < 0 || a.PPM > 500_000 {
		return fmt.Errorf("drift: PPM is %d, want 0 to 500000 (10000 is one hundredth)", a.PPM)
	}
	if a.Floor < 0 || a.Floor > time.Hour {
		return fmt.Errorf("drift: Floor is %v, want 0 to 1h", a.Floor)
	}
	return nil
}

// Of returns the allowance for a TTL, rounded up to the nanosecond.
func (a Allowance) Of(ttl time.Duration) time.Duration {
	if ttl <= 0 {
		return a.Floor
	}
	// Split, because ttl*PPM overflows for a TTL above ten days.
	const million = 1_000_000
	whole, rest := int64(ttl)/million, int64(ttl)%million
	part := whole*a.PPM + (rest*a.PPM+million-1)/million
	return saturate(part, a.Floor)
}

// Validity returns how long the holder may still act: ttl - elapsed - allowance.
// It is zero or negative once the lease has expired, and never more than ttl. A
// negative ttl counts as zero.
func (a Allowance) Validity(ttl, elapsed time.Duration) time.Duration {
	// A clock that ran backwards must not extend a lease.
	elapsed = max(0, elapsed)
	// With a ttl of at least zero, the difference cannot overflow.
	//guard:drift-allowance  the validity is shorter than the TTL by the drift allowance
	return max(0, ttl) - saturate(int64(elapsed), a.Of(ttl))
}

// saturate adds two non-negative durations. It returns the largest Duration
// instead of overflowing.
func saturate(a int64, b time.Duration) time.Duration {
	if a > math.MaxInt64-int64(b) {
		return math.MaxInt64
	}
	return time.Duration(a) + b
}
