package scenarios

import (
	"context"
	"fmt"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
)

// permits is how many holders the semaphores let in.
const permits = 2

// permit is a lease on a semaphore. All holders have the same key, and their tokens aren't ordered.
type permit struct{ simulation.Lease }

func (p *permit) Key() string          { return key }
func (p *permit) Value() string        { return "" }
func (p *permit) Token() fencing.Token { return 0 }

// Quorum is unknown to the checks: the keys on the servers have other names.
func (p *permit) Quorum() int { return 0 }

// semaphore is a Locker whose leases are permits.
type semaphore struct {
	simulation.Locker
	keys []string // of AcquireAny; nil if the Locker itself is a semaphore
}

func (s semaphore) TryAcquire(ctx context.Context, key string) (simulation.Lease, error) {
	return s.permit(ctx, key, s.Locker.TryAcquire, (*quorum.Coordinator).TryAcquireAny)
}

func (s semaphore) Acquire(ctx context.Context, key string) (simulation.Lease, error) {
	return s.permit(ctx, key, s.Locker.Acquire, (*quorum.Coordinator).AcquireAny)
}

func (s semaphore) permit(ctx context.Context, key string, one func(context.Context, string) (simulation.Lease, error),
	anyOf func(*quorum.Coordinator, context.Context, ...string) (*quorum.Lease, error),
) (simulation.Lease, error) {
	var lease simulation.Lease
	var err error
	if of, ok := s.Locker.(simulation.Coordinated); ok && s.keys != nil {
		lease, err = anyOf(of.Coordinator(), ctx, s.keys...)
	} else {
		lease, err = one(ctx, key)
	}
	if err != nil {
		return nil, err
	}
	return &permit{lease}, nil
}

// counting is an instance on which a key has several places: it grants the first that is free.
type counting struct{ wire.Instance }

func (i counting) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	i.ask(cmd, 1, timeout, to)
}

// ask asks for one place after the other. Extensions and releases find theirs by the value.
func (i counting) ask(cmd wire.Request, place int, timeout time.Duration, to wire.Receiver) {
	one := cmd
	one.Key = fmt.Sprintf("%s/%d", cmd.Key, place)
	i.Instance.Send(one, timeout, wire.ReceiverFunc(func(vote wire.Vote) {
		if vote.Outcome == wire.Refused && place < permits {
			i.ask(cmd, place+1, timeout, to)
			return
		}
		to.Receive(vote)
	}))
}

// semaphoreOfServers is the Redlock document's algorithm on servers each of which counts holders.
func semaphoreOfServers() designs.Design {
	d := designs.Design{
		Name: "semaphore-of-servers", Title: "a semaphore that each server counts, granted by a majority", Servers: 5,
		Source: "swarthy/redis-semaphore, RedlockSemaphore",
	}
	d.Apply = func(cfg *simulation.Config) {
		designs.Textbook{}.Apply(cfg)
		of := cfg.Locker
		cfg.Permits = permits
		cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
			p.Instances = append([]wire.Instance(nil), p.Instances...)
			for i, instance := range p.Instances {
				p.Instances[i] = counting{instance}
			}
			locker, err := of(p)
			return semaphore{Locker: locker}, err
		}
	}
	return d
}

// anyOfTwo is this library's AcquireAny on two keys.
func anyOfTwo() designs.Design {
	return withSetting("any-of-two", "this library's AcquireAny on two keys", "default", func(cfg *simulation.Config) {
		cfg.Permits = permits
		cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
			coordinator, err := quorum.New(p.Config, p.Instances...)
			if err != nil {
				return nil, err
			}
			return coordinated{semaphore{simulation.Library(coordinator), []string{key + "/1", key + "/2"}}, coordinator}, nil
		}
	})
}

// coordinated shows the Coordinator of a semaphore, which a crash closes.
type coordinated struct {
	semaphore
	c *quorum.Coordinator
}

func (c coordinated) Coordinator() *quorum.Coordinator { return c.c }

func semaphores() []Scenario {
	holdFrom := func(from time.Duration) Script {
		return Script{until(from), acquire, until(4 * time.Second), check, release}
	}
	return []Scenario{{
		ID:    "S35",
		Title: "Three clients want a semaphore for two",
		Steps: []string{
			"0: c1 can't reach D and E for 1 000, and takes a permit",
			"0: c2 can't reach A and B for 1 000",
			"500: c2 takes a permit",
			"2 000: c3 wants a permit; c1 and c2 have theirs until 4 000",
			"a semaphore that servers count: c1 has places on A, B and C, c2 on C, D and E; A, B, D and E have one left each, and three are enough",
		},
		Assumption: "servers that each let two in let two in together",
		Breaks:     "the limit: five servers with a limit of 2 have ten places, a holder needs three, and so three get in",
		Helps:      "a lock for each permit (AcquireAny): each key has one holder, so n keys have n",
		Source:     "swarthy/redis-semaphore, RedlockSemaphore",
		Base:       simulation.Config{Processes: 3},
		Schedule: append(
			each("DE", simulation.Fault{Kind: simulation.Cut, Process: "c1", At: at(0), For: time.Second}),
			each("AB", simulation.Fault{Kind: simulation.Cut, Process: "c2", At: at(0), For: time.Second})...,
		),
		Scripts: clients(holdFrom(0), holdFrom(500*ms), holdFrom(2*time.Second)),
		Verdicts: expect(none.reaching("c1 acquired", "c2 acquired", "c3 refused"), "any-of-two").
			and(breaks(simulation.TwoHolders).reaching("c1 acquired", "c2 acquired", "c3 acquired"), "semaphore-of-servers"),
		Variants: []designs.Design{semaphoreOfServers(), anyOfTwo()},
	}}
}
