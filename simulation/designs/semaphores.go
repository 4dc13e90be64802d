package designs

import (
	"context"
	"fmt"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
)

// permits is how many holders the semaphores let in.
const permits = 2

// permit is a lease on a semaphore. All holders have the same key, and their tokens aren't ordered.
type permit struct {
	simulation.Lease
	key string
}

func (p *permit) Key() string          { return p.key }
func (p *permit) Value() string        { return "" }
func (p *permit) Token() fencing.Token { return 0 }

// Quorum is unknown to the checks: the keys on the servers have other names.
func (p *permit) Quorum() int { return 0 }

// asPermit makes a permit of a lease.
func asPermit(key string, lease simulation.Lease, err error) (simulation.Lease, error) {
	if err != nil {
		return nil, err
	}
	return &permit{lease, key}, nil
}

// place is the name of a permit's key.
func place(key string, n int) string { return fmt.Sprintf("%s/%d", key, n) }

// counted is a semaphore of locks on servers that count their holders.
type counted struct{ simulation.Locker }

func (c counted) TryAcquire(ctx context.Context, key string) (simulation.Lease, error) {
	lease, err := c.Locker.TryAcquire(ctx, key)
	return asPermit(key, lease, err)
}

func (c counted) Acquire(ctx context.Context, key string) (simulation.Lease, error) {
	lease, err := c.Locker.Acquire(ctx, key)
	return asPermit(key, lease, err)
}

// counting is an instance on which a key has several places: it grants the first that is free.
type counting struct{ wire.Instance }

func (i counting) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	i.ask(cmd, 1, timeout, to)
}

// ask asks for one place after the other. Extensions and releases find theirs by the value.
func (i counting) ask(cmd wire.Request, n int, timeout time.Duration, to wire.Receiver) {
	one := cmd
	one.Key = place(cmd.Key, n)
	i.Instance.Send(one, timeout, wire.ReceiverFunc(func(vote wire.Vote) {
		if vote.Outcome == wire.Refused && n < permits {
			i.ask(cmd, n+1, timeout, to)
			return
		}
		to.Receive(vote)
	}))
}

// countedByServers is the Redis document's algorithm on servers each of which counts holders.
func countedByServers(cfg *simulation.Config) {
	Textbook{}.Apply(cfg)
	of := cfg.Locker
	cfg.Permits = permits
	cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
		instances := make([]wire.Instance, len(p.Instances))
		for i, instance := range p.Instances {
			instances[i] = counting{instance}
		}
		p.Instances = instances
		locker, err := of(p)
		if err != nil {
			return nil, err
		}
		return counted{locker}, nil
	}
}

// anyOf is a semaphore with a lock for each permit.
type anyOf struct {
	simulation.Locker
	c        *quorum.Coordinator
	patience Patience
}

// Coordinator shows what a crash closes.
func (a anyOf) Coordinator() *quorum.Coordinator { return a.c }

func (a anyOf) TryAcquire(ctx context.Context, key string) (simulation.Lease, error) {
	keys := make([]string, permits)
	for n := range keys {
		keys[n] = place(key, n+1)
	}
	lease, err := a.c.TryAcquireAny(ctx, keys...)
	return asPermit(key, lease, err)
}

// Acquire isn't AcquireAny, which waits for each key on a goroutine of its own. Several of them may
// be woken by one event, and then the scheduler decides which is first.
func (a anyOf) Acquire(ctx context.Context, key string) (simulation.Lease, error) {
	return a.patience.Acquire(ctx, func(int) (simulation.Lease, error) { return a.TryAcquire(ctx, key) })
}

// lockForEach is the library's semaphore.
func lockForEach(cfg *simulation.Config) {
	asIs(cfg)
	cfg.Permits = permits
	cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
		c, err := quorum.New(p.Config, p.Instances...)
		if err != nil {
			return nil, err
		}
		return anyOf{simulation.Library(c), c, PatienceOf(p)}, nil
	}
}

func semaphores() []Design {
	return []Design{{
		Name: "semaphore-of-servers", Title: "a semaphore for two that each server counts, granted by a majority", Group: Semaphores, Servers: 5,
		Source:   "swarthy/redis-semaphore, RedlockSemaphore",
		Promises: "two holders at a time",
		Breaks:   "nothing has to fail: five servers with two places each have ten, a holder needs three, and so three get in (S35)",
		Cure:     "any-of-two",
		Apply:    countedByServers,
	}, {
		Name: "any-of-two", Title: "a semaphore with a lock for each of two permits: this library's TryAcquireAny", Group: Semaphores, Servers: 5,
		Source:   "package quorum, Coordinator.TryAcquireAny",
		Promises: "two holders at a time, under the assumptions of default",
		Breaks:   "as default: each permit is a lock",
		Apply:    lockForEach,
	}}
}
