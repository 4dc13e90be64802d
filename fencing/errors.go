package fencing

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNoToken is wrapped by the error for an operation that carried no
	// token: the zero Token, or a context or a request without one. A lease
	// taken with fencing turned off has none, and a resource that is guarded
	// must not take a write without one.
	ErrNoToken = errors.New("fencing: no token")

	// ErrBadToken is wrapped by the error for a token that cannot have been
	// issued: above MaxToken, or text that ParseToken does not accept.
	ErrBadToken = errors.New("fencing: bad token")

	// ErrStale matches every *StaleError: the resource has seen a larger token, so
	// this token's lease has ended and a later holder has arrived. Retrying with
	// the same token cannot succeed.
	ErrStale = errors.New("fencing: stale token")

	// ErrAhead matches every *AheadError: the token is further ahead of the clock
	// than the guard's Bound allows.
	ErrAhead = errors.New("fencing: token ahead of the clock")

	// ErrBadResource is wrapped by the error for a resource name that is
	// empty, longer than MaxResourceLen bytes, or not valid UTF-8 text.
	ErrBadResource = errors.New("fencing: bad resource name")
)

// StaleError reports that a Guard refused a token because the resource has seen a
// larger one. It matches ErrStale.
type StaleError struct {
	Resource string // the resource as the caller named it
	Token    Token  // the token that was refused
	Highest  Token  // the largest token the resource had seen, always above Token
}

// Error names the refused token and says what to do.
func (e *StaleError) Error() string {
	return fmt.Sprintf("fencing: stale token %d for resource %q: it has seen token %d, so this lease is over; stop and acquire again",
		uint64(e.Token), e.Resource, uint64(e.Highest))
}

// Is makes every StaleError match ErrStale.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// AheadError reports that a Guard refused a token because no lock server can have
// issued it yet, see Bound. Nothing was changed. It matches ErrAhead.
type AheadError struct {
	Resource string // the resource as the caller named it
	Token    Token  // the token that was refused, always above Limit
	Limit    Token  // the largest token that the guard accepted at that moment
}

// Error names the refused token and the limit, and says what to do.
func (e *AheadError) Error() string {
	return fmt.Sprintf("fencing: token %d for resource %q is ahead of the clock: the limit is %d (%s as microseconds since 1970); "+
		"find out where the token comes from, set the clocks of this machine and of the lock's servers right, or raise Bound.Ahead",
		uint64(e.Token), e.Resource, uint64(e.Limit), time.UnixMicro(int64(e.Limit)).UTC().Format(time.RFC3339))
}

// Is makes every AheadError match ErrAhead.
func (e *AheadError) Is(target error) bool { return target == ErrAhead }
