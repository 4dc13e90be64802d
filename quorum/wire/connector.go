package wire

import (
	"context"
	"fmt"
	"time"
)

// Connector is an Instance that connects to its server before it can send. It is optional. With
// it, a request's timeout counts from when there is a connection: over a long distance a
// connection can take longer to make than an exchange may take, and requests that pay for it
// would all fail after a pause.
type Connector interface {
	Instance

	// Connected reports whether a request need not wait for a connection: because there is
	// one, or because the server didn't answer lately and waiting wouldn't help.
	Connected() bool

	// Connect has a connection made, and waits for it, for no longer than a limit of the
	// Instance's own or until ctx has ended. The error says why there is none.
	Connect(ctx context.Context) error

	// Distance is what the instance has measured.
	Distance() Distance
}

// Distance is how far away a server is.
type Distance struct {
	// RoundTrip is what a small exchange takes at best, and Setup what the last connection
	// took to make. 0 if it is unknown.
	RoundTrip, Setup time.Duration
}

// Check returns a DistanceError if the server is too far away for the timeout, and nil otherwise.
func (d Distance) Check(timeout time.Duration) *DistanceError {
	if timeout <= 0 || d.RoundTrip <= timeout/2 {
		return nil
	}
	return &DistanceError{Distance: d, Timeout: timeout}
}

// DistanceError says that a server is too far away for quorum.Config.InstanceTimeout: its answers
// come too late, or those of requests that take a second exchange. It Is ErrTimeout.
type DistanceError struct {
	Distance
	// Timeout is the InstanceTimeout that was too short.
	Timeout time.Duration
}

// Enough is an InstanceTimeout for this distance: three round trips, rounded up to 10 ms.
func (e *DistanceError) Enough() time.Duration { return roundUp(3*e.RoundTrip, 10*time.Millisecond) }

// TTL is the least TTL for that InstanceTimeout.
func (e *DistanceError) TTL() time.Duration { return roundUp(3*e.Enough(), 100*time.Millisecond) }

func roundUp(d, to time.Duration) time.Duration { return (d + to - 1) / to * to }

func (e *DistanceError) Error() string {
	return fmt.Sprintf("the server is too far away for an InstanceTimeout of %v: a round trip takes %v, and making a connection took %v; set quorum.Config.InstanceTimeout to %v or more, and TTL to %v or more",
		e.Timeout, e.RoundTrip.Round(time.Millisecond), e.Setup.Round(time.Millisecond), e.Enough(), e.TTL())
}

// Unwrap returns ErrTimeout.
func (e *DistanceError) Unwrap() error { return ErrTimeout }
