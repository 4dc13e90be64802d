package simulation

import (
	"context"

	"github.com/redquorum/redlock/simulation/redismodel"
)

// Redis sends Redis's own commands to one server, for designs that don't use this library.
// Package redismodel lists the commands. There is also WAIT.
type Redis interface {
	// Name is the server's.
	Name() string
	// Do sends one command, at most once. An error is the connection's (ErrRefused,
	// ErrReset) or the context's. Unless it is ErrRefused, the command may have been
	// executed.
	Do(ctx context.Context, args ...string) (redismodel.Reply, error)
}
