package fencing

import (
	"fmt"
	"math"
	"time"
)

// defaultAhead is how far ahead of the clock a token may be unless Bound.Ahead
// is set: one day.
const defaultAhead = 24 * time.Hour

// Unbounded, as Bound.Ahead, makes a Guard accept every token up to MaxToken. Use
// it for a lock service whose tokens are neither clock-based nor small.
const Unbounded time.Duration = math.MaxInt64

// Bound limits the tokens that a Guard accepts. All guards of this module use it.
// The zero Bound is the default.
//
// A mark never falls, so a single token that is too large locks out every later
// holder. A guard cannot ask the lock's servers which tokens they issued, but it
// can read a clock. A lost counter restarts from its server's clock, in
// microseconds since 1970, and no server counts further ahead of its own clock
// than half of quorum.Config.MaxTTL. So a real token is at most that far ahead of
// the latest time that any of the lock servers' clocks has shown. That time may be
// later than all of them show now: a clock that ran ahead and was corrected leaves
// tokens that are ahead by as much. Tokens of other services that are small
// counters are far below the bound and pass too.
//
// The guard uses the clock of its own process. The store of the marks has a clock
// too, but the process can refuse the token without a request to the store, and
// one rule serves all guards. A process whose clock is more than Ahead behind
// refuses every clock-based token with an *AheadError.
//
// The bound limits damage. It cannot distinguish a real token from an invented
// token below the bound: decide who may show a token. Guard.Forget is the repair.
type Bound struct {
	// Ahead is how far a token may be ahead of the clock when the token is read
	// as microseconds since 1970. 0 means a day, and Unbounded accepts every
	// token up to MaxToken. It must not be negative. It must cover half of the
	// lock's MaxTTL plus the difference between this machine's clock and the
	// clocks of the lock's servers, including a clock that ran ahead and was
	// corrected.
	Ahead time.Duration

	// Now returns the time. It is called for every token, from several goroutines
	// at once. nil means time.Now.
	Now func() time.Time
}

// Validate returns an error if b cannot be used. The error names the field, its
// value and the range.
func (b Bound) Validate() error {
	if b.Ahead < 0 {
		return fmt.Errorf("fencing: Bound.Ahead is %v, want 0 (for %v) or more, or Unbounded", b.Ahead, defaultAhead)
	}
	return nil
}

// Limit returns the largest token that is accepted now: at most MaxToken, and 0,
// which is no token, if the clock shows a time before 1970.
func (b Bound) Limit() Token {
	ahead := b.Ahead
	if ahead == 0 {
		ahead = defaultAhead
	}
	if ahead == Unbounded {
		return MaxToken
	}
	now := b.now().UnixMicro()
	switch {
	case now < 0:
		return 0
	case Token(now) > MaxToken: // the sum below could overflow
		return MaxToken
	}
	return min(MaxToken, Token(now+ahead.Microseconds()))
}

// Check calls Validate, then checks the token against the bound. Every Guard calls
// it first. If the token is above the bound, the error is an *AheadError.
func (b Bound) Check(resource string, t Token) error {
	if err := Validate(resource, t); err != nil {
		return err
	}
	if limit := b.Limit(); t > limit {
		return &AheadError{Resource: resource, Token: t, Limit: limit}
	}
	return nil
}

func (b Bound) now() time.Time {
	if b.Now != nil {
		return b.Now()
	}
	return time.Now()
}
