package judge

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/fencing"
)

// ErrHistory is wrapped by the error for operations that can't be judged.
var ErrHistory = errors.New("judge: bad history")

// Kind is the kind of an Operation.
type Kind string

// The kinds.
const (
	// Lock gets the lock of Key, from the request until the client had it.
	Lock Kind = "lock"
	// Unlock ends the client's last Lock of Key. Its time is the last moment at which the
	// client believed that it was the holder, or behaved as the holder: the release, the
	// end of the lease's validity, or a later request to the resource. A Lock without an
	// Unlock is held forever.
	Unlock Kind = "unlock"
	// Read reads the resource that Key protects.
	Read Kind = "read"
	// Write replaces it.
	Write Kind = "write"
)

// Outcome is the outcome of an Operation for its client.
type Outcome string

// The outcomes.
const (
	// Done: it was executed.
	Done Outcome = "done"
	// Refused: it was not executed, because the resource has seen a larger token. Leave
	// out operations that were refused for another reason.
	Refused Outcome = "refused"
	// Unknown: there was no reply. It may be executed at any time, or never.
	Unknown Outcome = "unknown"
)

// Operation is an operation of a client with its outcome.
type Operation struct {
	Client string // not empty
	Key    string
	Kind   Kind
	// Call and Return are the times of the request and of the reply, by one clock for
	// all clients. Return is at least Call; it is ignored where the
	// Outcome is Unknown.
	Call, Return time.Duration
	Outcome      Outcome
	// Token is that of the client's lease, 0: none.
	Token fencing.Token
	// Version is the version that a Read returned, or that a Write replaces: the one that
	// its writer had read. Every executed Write adds one. The first version is 0.
	Version uint64
	// Value is the value that a Read returned or a Write wrote. The first value is 0.
	Value int64
}

// String is the operation without its times.
func (o Operation) String() string {
	words := fmt.Sprintf("%s %s %q", o.Client, o.Kind, o.Key)
	if o.Token != 0 {
		words += fmt.Sprintf(" token %d", o.Token)
	}
	switch {
	case o.Outcome != Done:
		words += ": " + string(o.Outcome)
	case o.Kind == Read:
		words += fmt.Sprintf(": version %d, value %d", o.Version, o.Value)
	case o.Kind == Write:
		words += fmt.Sprintf(": value %d for version %d", o.Value, o.Version)
	}
	return words
}

func (o Operation) validate() error {
	switch {
	case o.Client == "":
		return errors.New("its Client has no name")
	case !slices.Contains([]Kind{Lock, Unlock, Read, Write}, o.Kind):
		return fmt.Errorf("its Kind is %q, want Lock, Unlock, Read or Write", o.Kind)
	case !slices.Contains([]Outcome{Done, Refused, Unknown}, o.Outcome):
		return fmt.Errorf("its Outcome is %q, want Done, Refused or Unknown", o.Outcome)
	case o.Call < 0 || o.Call > latest:
		return fmt.Errorf("its Call is %v, want 0 to %v", o.Call, latest)
	case o.Outcome != Unknown && (o.Return < o.Call || o.Return > latest):
		return fmt.Errorf("its Return is %v, want its Call %v to %v", o.Return, o.Call, latest)
	case o.Kind == Unlock && o.Outcome != Done:
		return fmt.Errorf("an Unlock that is %v: it is the end of the client's own belief, which is always Done", o.Outcome)
	}
	return nil
}

// latest bounds the times, so that twice one of them doesn't overflow.
const latest = 100 * 365 * 24 * time.Hour
