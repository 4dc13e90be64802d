package simulation

import (
	"context"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
)

// Lease is a lock as its holder sees it. A *quorum.Lease is one; a design of
// another kind brings its own. Values of the type must be comparable, as pointers
// are.
//
// A Lease may also have a method Quorum() int: how many servers have its key. It
// is what a check holds its validity to, see Overvalued; 0 is for designs of which
// nothing of the kind can be demanded. Without it the Coordinator's quorum counts.
//
// And it may have a method Show(context.Context) fencing.Token: the token that it
// shows to the resource when it is used, where that isn't Token's.
type Lease interface {
	Key() string
	// Value is what the key is set to on the servers, "" if nothing is.
	Value() string
	// Token is the fencing token, 0 if there is none.
	Token() fencing.Token
	// Validity is what the holder believes is left, by its own clocks.
	Validity() time.Duration
	Extend(ctx context.Context) error
	Release(ctx context.Context) error
}

var _ Lease = (*quorum.Lease)(nil)

// Locker is a lock design as one process runs it. A process whose workload has
// returned closes it; one that crashes doesn't, nothing does any more.
type Locker interface {
	TryAcquire(ctx context.Context, key string) (Lease, error)
	Acquire(ctx context.Context, key string) (Lease, error)
	Close(ctx context.Context) error
}

// Coordinated is what a Locker is too that is built on a Coordinator. A crash
// closes that: else what waits in it would go on waiting.
type Coordinated interface {
	Coordinator() *quorum.Coordinator
}

// Process is what a Locker is made of: all that a process has in the world. The
// context that its methods get ends when the process crashes, and so should every
// loop that they run.
type Process struct {
	// Name and Index are the process's: "c1" has the index 0. The witness, see
	// Config.Witness, has a process too.
	Name  string
	Index int
	// Config is Config.Quorum with Clock, Random, Owner and Hooks filled in: ready
	// for quorum.New.
	Config quorum.Config
	// Instances are the servers, and after them the aliases, through the library's
	// door.
	Instances []quorum.Instance
	// Redis is the same servers, in the same order, by Redis's own commands.
	Redis []Redis
}

// Library makes a Locker of this library's Coordinator. It is what processes run
// unless Config.Locker says otherwise.
func Library(c *quorum.Coordinator) Locker { return library{c} }

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

// asLease keeps a nil pointer from becoming an interface that isn't nil.
func asLease(lease *quorum.Lease, err error) (Lease, error) {
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// newLocker makes a process's Locker by the Config.
func (c Config) newLocker(p Process) (Locker, error) {
	if c.Locker != nil {
		return c.Locker(p)
	}
	coordinator, err := quorum.New(p.Config, p.Instances...)
	if err != nil {
		return nil, err
	}
	return Library(coordinator), nil
}
