package simulation

import (
	"context"
	"errors"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// Lease is a lock as its holder sees it, such as a *quorum.Lease. Values of the type must
// be comparable, as pointers are.
//
// A Lease may also have a method Quorum() int: how many servers must have its key for
// its validity, see Overvalued. 0 is for designs without such a guarantee. The default is
// the Coordinator's quorum.
//
// It may also have a method Show(context.Context) fencing.Token: the token that it shows
// to the resource, if that isn't Token's.
type Lease interface {
	Key() string
	// Value is the key's value on the servers, "" if there is none.
	Value() string
	// Token is the fencing token, 0 if there is none.
	Token() fencing.Token
	// Validity is the remaining validity by the holder's own clocks.
	Validity() time.Duration
	Extend(ctx context.Context) error
	Release(ctx context.Context) error
}

var _ Lease = (*quorum.Lease)(nil)

// Locker is a lock design in one process. The process closes it when its workload has
// returned, but not when it crashes.
type Locker interface {
	TryAcquire(ctx context.Context, key string) (Lease, error)
	Acquire(ctx context.Context, key string) (Lease, error)
	Close(ctx context.Context) error
}

// Coordinated is implemented by a Locker that is built on a Coordinator. A crash closes
// the Coordinator, because its waiters would wait forever otherwise.
type Coordinated interface {
	Coordinator() *quorum.Coordinator
}

// Process is everything that a process gives to its Locker. The context of the Locker's
// methods ends when the process crashes, and all their loops should end then too.
type Process struct {
	// Name and Index are the process's: "c1" has the index 0. The witness, see
	// Config.Witness, has a process too.
	Name  string
	Index int
	// Config is Config.Quorum with Clock, Random, Owner and Hooks filled in: ready
	// for quorum.New.
	Config quorum.Config
	// Instances are the servers, for the library.
	Instances []wire.Instance
	// Redis is the same servers in the same order, for Redis's own commands.
	Redis []Redis
}

// Redis sends Redis's own commands to one server, for designs that don't use this library.
// Package redismodel lists the commands. There is also WAIT.
type Redis interface {
	// Do sends one command, at most once. An error is the connection's (ErrRefused,
	// ErrReset) or the context's. Unless it is ErrRefused, the command may have been
	// executed.
	Do(ctx context.Context, args ...string) (redismodel.Reply, error)
}

// The errors of calls, for errors.Is.
var (
	// ErrRefused: the server is down. The command was not sent.
	ErrRefused = errors.New("simulation: connection refused")
	// ErrReset: the connection broke before the reply arrived. The command may have been
	// executed.
	ErrReset = errors.New("simulation: connection reset")
	// ErrCrashed: the calling process has crashed, and only its goroutines remain.
	ErrCrashed = errors.New("simulation: the process has crashed")
)

// Library makes a Locker with this library's Coordinator. It is the default of Config.Locker.
func Library(p Process) (Locker, error) {
	c, err := quorum.New(p.Config, p.Instances...)
	if err != nil {
		return nil, err
	}
	return library{c}, nil
}

type library struct{ c *quorum.Coordinator }

var _ Coordinated = library{}

func (l library) Coordinator() *quorum.Coordinator { return l.c }

func (l library) TryAcquire(ctx context.Context, key string) (Lease, error) {
	return asLease(l.c.TryAcquire(ctx, key))
}

func (l library) Acquire(ctx context.Context, key string) (Lease, error) {
	return asLease(l.c.Acquire(ctx, key))
}

func (l library) Close(ctx context.Context) error { return l.c.Close(ctx) }

// asLease prevents a non-nil interface with a nil pointer.
func asLease(lease *quorum.Lease, err error) (Lease, error) {
	if err != nil {
		return nil, err
	}
	return lease, nil
}
