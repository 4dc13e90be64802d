package wire

import (
	"context"
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

	// RoundTrip is what a small exchange with the server takes at best, 0 if it is unknown.
	RoundTrip() time.Duration
}
