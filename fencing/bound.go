package fencing

import (
	"fmt"
	"math"
	"time"
)

// DefaultAhead is how far ahead of the clock a Guard believes a token unless
// Bound.Ahead says otherwise: one day.
const DefaultAhead = 24 * time.Hour

// Unbounded, as Bound.Ahead, makes a Guard believe every token up to MaxToken.
// It is for tokens of a service whose tokens are not clock-based and not small.
const Unbounded time.Duration = math.MaxInt64

// Bound is the largest token that a Guard believes. All guards of this module
// use it. The zero Bound is the default.
//
// A mark never falls, so a single token that is too large refuses every holder
// after it. A guard cannot ask the lock's servers what they have handed out, but
// it can ask a clock. A counter that was lost starts from its server's clock, in
// microseconds since 1970, and no server counts further ahead of its own clock
// than half of quorum.Config.MaxTTL. So no real token is further ahead than that
// of the latest time that a clock of the lock's servers has shown. That may be
// later than all of them show now: a clock that was ahead and has been set right
// leaves tokens that are ahead by as much. Tokens of other services that are
// small counters are far below the bound and pass as well.
//
// The clock is that of the process that has the guard. The store of the marks
// has a clock too, but the process refuses the token before it costs the store
// anything, and one rule serves all guards. A process whose clock is more than
// Ahead behind refuses every clock-based token and says so.
//
// The bound limits damage. It does not tell a real token from an invented one
// below the bound: decide who may show a token, and see Guard.Forget for the
// repair.
type Bound struct {
	// Ahead is how far a token may be ahead of the clock when the token is read
	// as microseconds since 1970. 0 means DefaultAhead, and Unbounded means that
	// every token up to MaxToken is believed. It must not be negative. It has to
	// cover half of the lock's MaxTTL and the difference between this machine's
	// clock and those of the lock's servers, also of one that was ahead and has
	// been set right.
	Ahead time.Duration

	// Now gives the time. It is called for every token, from several goroutines
	// at once. nil means time.Now.
	Now func() time.Time
}

// Validate reports whether b can be used. The error names the field, its value
// and the range.
func (b Bound) Validate() error {
	if b.Ahead < 0 {
		return fmt.Errorf("fencing: Bound.Ahead is %v, want 0 (for %v) or more, or Unbounded", b.Ahead, DefaultAhead)
	}
	return nil
}

// Limit gives the largest token that is believed now: at most MaxToken, and 0,
// which is no token, if the clock shows a time before 1970.
func (b Bound) Limit() Token {
	ahead := b.Ahead
	if ahead == 0 {
		ahead = DefaultAhead
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

// Check is what every Guard asks first: Validate, and then whether the token is
// within the bound. If it is not, the error is an *AheadError.
func (b Bound) Check(resource string, t Token) error {
	if err := Validate(resource, t); err != nil {
		return err
	}
	//guard:guard-bounds-tokens  a guard refuses a token that no server can have reached
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
