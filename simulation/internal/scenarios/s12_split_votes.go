package scenarios

import (
	"context"
	"errors"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
)

// step is the time from one round to the next of clients in lockstep.
const step = 100 * ms

// evenly is a network in which a round is over everywhere before anybody has given
// anything back: each server's vote is then one draw among the clients.
var evenly = simulation.Config{LatencyMin: 10 * ms, LatencyMax: 11 * ms}

// lockstep is the library by clients that try again after a fixed time, all in the
// same moment.
func lockstep() designs.Design {
	return withSetting("lockstep", "this library by clients that try again at fixed moments", "redlock", func(c *simulation.Config) {
		inner := c.Locker
		c.Locker = func(p simulation.Process) (simulation.Locker, error) {
			locker, err := inner(p)
			if err != nil {
				return nil, err
			}
			return inStep{locker, p}, nil
		}
	})
}

// inStep is a Locker that tries in lockstep with others.
type inStep struct {
	simulation.Locker
	p simulation.Process
}

var _ simulation.Coordinated = inStep{}

func (l inStep) Coordinator() *quorum.Coordinator {
	if c, ok := l.Locker.(simulation.Coordinated); ok {
		return c.Coordinator()
	}
	return nil
}

// Acquire tries a hundred times at most.
func (l inStep) Acquire(ctx context.Context, key string) (lease simulation.Lease, err error) {
	clock := l.p.Config.Clock
	began := clock.Now()
	for range 100 {
		if lease, err = l.TryAcquire(ctx, key); err == nil || ctx.Err() != nil {
			return lease, err
		}
		clock.Sleep(step - clock.Since(began)%step)
	}
	return nil, err
}

// splitVotes is S12. How often a round has no winner, and how many rounds it takes,
// is counted by Split.
func splitVotes() Scenario {
	base := evenly
	base.Processes = 5
	base.Quorum.MaxTries = 100
	return Scenario{
		ID:    "S12",
		Title: "Five clients at once, and nobody gets a majority",
		Steps: []string{
			"0: five clients ask five servers; each server's vote goes to whose SET comes first, and seldom to one client three times",
			"100, 200, ...: who waits the same time as the others after a lost round meets them again",
		},
		Assumption: "somebody wins",
		Breaks:     "liveness, for as long as they stay in step: a round has no winner with a probability of .710",
		Helps:      "random delays; better, after a round that was split, asking one server first, the same for all: who is refused there asks no further",
		Source:     "the Redis document, \"Retry on Failure\": a random delay, to desynchronize; samcook/RedLock.net #60",
		Base:       base,
		Work: func(c *simulation.Client) {
			look(c)
			until(c, 0)
			if lease, err := c.Acquire(key); err == nil {
				release(c, lease)
			}
		},
		Free:    []Free{{Process: simulation.Any, By: 170 * ms}},
		Reached: []string{"acquire granted", "acquire refused", "a lease was acquired"},
		Verdicts: expect(Verdict{Kinds: breaks(simulation.NoProgress).Kinds, AtLeast: .2}, "lockstep").
			and(none, group(voting, fenced)...),
		Variants: []designs.Design{lockstep()},
	}
}

// Split is k clients that ask N servers for one lock at one moment.
type Split struct {
	// Servers is N, Up how many of them answer, Clients k.
	Servers, Up, Clients int
}

// Splits is the list that is played.
func Splits() []Split {
	return []Split{
		{3, 3, 2}, {3, 3, 3}, {3, 3, 5}, {3, 3, 10},
		{5, 5, 2}, {5, 5, 3}, {5, 5, 5}, {5, 5, 10},
		{5, 4, 2}, {5, 4, 3}, {5, 3, 2},
	}
}

// NoWinner is the probability that a round has no winner if each server that is up
// votes for one of the clients at random: 1 less k times the probability that one
// client gets Q votes or more, since no two can.
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

// Retry is what clients do after a round that they have lost.
type Retry string

// The ways to try again.
const (
	// Lockstep waits until the same moment as everybody else.
	Lockstep Retry = "lockstep"
	// Random waits for a random time: the classic answer.
	Random Retry = "random delays"
	// OneFirst is this library's Acquire: random delays, and after a split round
	// one server is asked first.
	OneFirst Retry = "one server first"
)

// Race is how a Split ended.
type Race struct {
	// Rounds is how many the first client to get the lock took for it, 0 if none
	// got it.
	Rounds int
	// Took is the time until then from the moment at which all began.
	Took time.Duration
}

// Play plays one run, until the first client has the lock.
func (s Split) Play(seed uint64, retry Retry) (Race, error) {
	d, err := designs.ByName("redlock")
	if err != nil {
		return Race{}, err
	}
	cfg := evenly
	cfg.Servers, cfg.Processes = s.Servers, s.Clients
	cfg.Quorum.MaxWait = 5 * time.Second
	cfg.Progress = -1 // who never gets there is counted, not reported
	d.Apply(&cfg)
	tries := make(rounds, s.Clients)
	cfg.Locker = tries.counting(cfg.Locker)
	var schedule simulation.Schedule
	for i := s.Up; i < s.Servers; i++ {
		schedule = append(schedule, simulation.Fault{Kind: simulation.Restart, Server: string(rune('A' + i)), For: time.Hour})
	}
	r, err := simulation.Run(seed, cfg, schedule, s.race(retry))
	if err != nil {
		return Race{}, err
	}
	for e := range r.Log.All() {
		if e.Kind == simulation.Acquired {
			return Race{Rounds: tries.of(e.Process), Took: e.At - at(0)}, nil
		}
	}
	return Race{}, nil
}

// race is one client's part: it ends when it has the lock, or somebody else does.
func (s Split) race(retry Retry) simulation.Workload {
	return func(c *simulation.Client) {
		until(c, 0)
		if retry == OneFirst {
			_, _ = c.Acquire(key) // who gets it is in the history
			return
		}
		for round := range uint64(600) {
			if _, err := c.TryAcquire(key); err == nil || s.decided(err) {
				return
			}
			if retry == Random {
				c.Sleep(time.Duration(c.Pick(round, int(2*step))))
			} else {
				until(c, time.Duration(round+1)*step)
			}
		}
	}
}

// decided reports whether a round was lost to keys of an earlier one: a majority
// that stands for so long is somebody's lease.
func (s Split) decided(err error) bool {
	var round *quorum.RoundError
	if !errors.As(err, &round) {
		return false
	}
	old := 0
	for _, ballot := range round.Votes {
		if left := ballot.Vote.Remaining; left > 0 && left < 10*time.Second-step/2 {
			old++
		}
	}
	return old > s.Servers/2
}
