package scenarios

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// roundTime is the time between the rounds of clients in lockstep.
const roundTime = 100 * ms

// evenly is a network in which a round has ended everywhere before anybody has deleted
// anything: each server's vote is one random choice among the clients.
var evenly = simulation.Config{LatencyMin: 10 * ms, LatencyMax: 11 * ms}

// lockstep is Redlock by clients that try again after a fixed time, all at the same moment. It
// isn't this library's code, which resolves a split in the same try.
func lockstep() designs.Design {
	return wrapped("lockstep", "Redlock in two pages of code, by clients that try again at fixed moments", "textbook",
		func(p simulation.Process, l simulation.Locker) simulation.Locker { return inStep{l, p} })
}

// inStep is a Locker that tries in lockstep with others.
type inStep struct {
	simulation.Locker
	p simulation.Process
}

// Acquire tries a hundred times at most.
func (l inStep) Acquire(ctx context.Context, key string) (lease simulation.Lease, err error) {
	clock := l.p.Config.Clock
	began := clock.Now()
	for range 100 {
		if lease, err = l.TryAcquire(ctx, key); err == nil || ctx.Err() != nil {
			return lease, err
		}
		clock.Sleep(roundTime - clock.Since(began)%roundTime)
	}
	return nil, err
}

// splitVotes is S12. A Split counts how often a round has no winner, and how many rounds it
// takes.
func splitVotes() []Scenario {
	base := evenly
	base.Processes = 5
	base.Quorum.MaxTries = 100
	return []Scenario{{
		ID:       "S12",
		Title:    "Five clients at once, and nobody gets a majority",
		Unplayed: "on real servers it is chance which client gets which vote first",
		Steps: []string{
			"0: five clients ask five servers; each server votes for the client whose SET comes first, and seldom do three vote for the same client",
			"100, 200, ...: clients that wait the same time after a lost round compete again",
		},
		Assumption: "some client wins",
		Breaks:     "liveness, as long as the clients stay in step: a round has no winner with a probability of .710",
		Helps:      "random delays",
		Source:     "the Redis document, \"Retry on Failure\": a random delay, to desynchronize; samcook/RedLock.net #60",
		Base:       base,
		Scripts:    everyClient(Script{until(0), await, release}),
		Free:       []Free{{Process: fault.Any, By: 170 * ms}},
		Reached:    []string{"acquire granted", "acquire refused", "a lease was acquired"},
		Verdicts: expect(Verdict{Kinds: breaks(record.NoProgress).Kinds, AtLeast: .2}, "lockstep").
			and(none, voting, fenced),
		Variants: []designs.Design{lockstep()},
	}}
}

// Split is a competition of clients that ask for one lock at one moment.
type Split struct {
	// Servers is the number of servers, and Up how many of them answer.
	Servers, Up, Clients int
}

// NoWinner is the probability that a round has no winner if each server that is up votes
// for a random client: 1 minus k times the probability that one of k clients gets Q votes or
// more. (No two can.)
func (s Split) NoWinner() float64 {
	wins, k := 0.0, float64(s.Clients)
	for votes := s.Servers/2 + 1; votes <= s.Up; votes++ {
		p := float64(choose(s.Up, votes))
		for i := range s.Up {
			if i < votes {
				p /= k
			} else {
				p *= (k - 1) / k
			}
		}
		wins += k * p
	}
	return 1 - wins
}

// choose is n over k.
func choose(n, k int) int {
	c := 1
	for i := range k {
		c = c * (n - i) / (i + 1)
	}
	return c
}

// Lockstep plays clients that wait after a lost round until the same moment as all others. It
// returns the number of rounds of the first client that got the lock, 0 if none did, and the
// time until then.
func (s Split) Lockstep(seed uint64) (rounds int, took time.Duration, err error) {
	return s.tryAgain(seed, func(c *simulation.Client, round uint64) { c.SleepUntil(at(time.Duration(round+1) * roundTime)) })
}

// Random is Lockstep with random delays: the classic answer.
func (s Split) Random(seed uint64) (rounds int, took time.Duration, err error) {
	return s.tryAgain(seed, func(c *simulation.Client, round uint64) { c.Sleep(time.Duration(c.Pick(round, int(2*roundTime)))) })
}

// Library is Lockstep with this library's Acquire.
func (s Split) Library(seed uint64) (won int, took time.Duration, err error) {
	rounds := make([]atomic.Int64, s.Clients)
	return s.play(seed, "redlock", rounds, func(cfg *simulation.Config) {
		inner := cfg.Locker
		cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
			p.Config.Hooks = p.Config.Hooks.And(quorum.Hooks{RoundStarted: func(context.Context, quorum.RoundStart) { rounds[p.Index].Add(1) }})
			return inner(p)
		}
	}, func(c *simulation.Client) {
		_, _ = c.Acquire(key) // the history has the winner
	})
}

// tryAgain plays clients of the document's algorithm that try until some client has the lock, with
// a pause after each round.
func (s Split) tryAgain(seed uint64, pause func(c *simulation.Client, round uint64)) (won int, took time.Duration, err error) {
	rounds, over := make([]atomic.Int64, s.Clients), false // one client runs at a time
	return s.play(seed, "textbook", rounds, func(*simulation.Config) {}, func(c *simulation.Client) {
		for round := uint64(0); round < 600 && !over; round++ {
			rounds[c.Index].Add(1)
			if _, err := c.TryAcquire(key); err == nil {
				over = true
				return
			}
			pause(c, round)
		}
	})
}

// play plays one run, until the first client has the lock.
func (s Split) play(seed uint64, base string, rounds []atomic.Int64, change func(*simulation.Config), client simulation.Workload) (won int, took time.Duration, err error) {
	cfg := evenly
	cfg.Servers, cfg.Processes = s.Servers, s.Clients
	cfg.Quorum.MaxWait = 5 * time.Second
	cfg.Progress = -1 // a client that never succeeds is counted, not reported
	design(base).Apply(&cfg)
	change(&cfg)
	var schedule simulation.Schedule
	for i := s.Up; i < s.Servers; i++ {
		schedule = append(schedule, fault.Fault{Kind: fault.Restart, Server: string(rune('A' + i)), For: time.Hour})
	}
	r, err := simulation.Run(seed, cfg, schedule, func(c *simulation.Client) {
		c.SleepUntil(at(0))
		client(c)
	})
	if err != nil {
		return 0, 0, err
	}
	for e := range r.Log.All() {
		if e.Kind == record.Acquired {
			var index int
			_, err := fmt.Sscanf(e.Process, "c%d", &index)
			return int(rounds[index-1].Load()), e.At - at(0), err
		}
	}
	return 0, 0, nil
}
