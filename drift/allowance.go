// Package drift is the arithmetic of time that a lease rests on: how much of a
// TTL is left after the time that has passed and the error that clocks may
// have. It is pure (it reads no clock but the one that it is handed), works in
// whole numbers, so that every machine computes the same, and imports only the
// standard library.
package drift

import (
	"fmt"
	"math"
	"time"
)

// Allowance is what is taken off a TTL because the clock of an instance and
// that of the client don't run at the same rate:
//
//	ttl * PPM / 1 000 000 + Floor
//
// Source: the Redis document, "The Redlock algorithm", step 3, and its reference
// implementation: a factor of 0.01 and 2 ms.
//
// With a relative rate error of r on both sides a lease is safe while
// validity <= ttl*(1-r)/(1+r): 10 000 ppm cover an error of 5 025 ppm on each.
// A clock that is being slewed may run faster than that (chrony slews at up to
// 83 333 ppm), and a clock that is stepped is no matter of rates at all: see
// Monitor.
type Allowance struct {
	// PPM is the proportional part in millionths, 0 to 500 000.
	PPM int64
	// Floor is the fixed part, for the whole milliseconds in which servers
	// expire keys: 0 to an hour.
	Floor time.Duration
}

// Default is the Redis document's allowance: one hundredth and 2 ms.
func Default() Allowance { return Allowance{PPM: 10_000, Floor: 2 * time.Millisecond} }

// Validate says what is wrong with a, if anything is.
func (a Allowance) Validate() error {
	if a.PPM < 0 || a.PPM > 500_000 {
		return fmt.Errorf("drift: PPM is %d, want 0 to 500000 (10000 is one hundredth)", a.PPM)
	}
	if a.Floor < 0 || a.Floor > time.Hour {
		return fmt.Errorf("drift: Floor is %v, want 0 to 1h", a.Floor)
	}
	return nil
}

// Of is the allowance for a TTL, rounded up to the nanosecond.
func (a Allowance) Of(ttl time.Duration) time.Duration {
	if ttl <= 0 {
		return a.Floor
	}
	// In two parts, because ttl*PPM overflows for a TTL above ten days.
	const million = 1_000_000
	whole, rest := int64(ttl)/million, int64(ttl)%million
	//guard:drift-rate  the drift allowance grows with the TTL
	part := whole*a.PPM + (rest*a.PPM+million-1)/million
	//guard:drift-floor  the drift allowance covers the whole milliseconds in which servers expire keys
	return saturate(part, a.Floor)
}

// Validity is how long a holder may still act: ttl - elapsed - allowance. It is
// zero or negative when the time is over, and never more than ttl; a ttl below
// zero counts as zero.
func (a Allowance) Validity(ttl, elapsed time.Duration) time.Duration {
	// A clock that ran backwards can't make a lease longer.
	elapsed = max(0, elapsed)
	// From zero up no difference can wrap round to a positive one.
	//guard:drift-allowance  the validity is shorter than the TTL by the drift allowance
	return max(0, ttl) - saturate(int64(elapsed), a.Of(ttl))
}

// saturate adds two durations that aren't negative and stays at the largest
// one instead of wrapping round to a negative one.
func saturate(a int64, b time.Duration) time.Duration {
	if a > math.MaxInt64-int64(b) {
		return math.MaxInt64
	}
	return time.Duration(a) + b
}
