package matrix

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

const (
	ttl = 10 * time.Second
	key = "k"
)

// world is the configuration of all curves. It has no checks of progress.
func world() simulation.Config { return simulation.Config{Progress: -1} }

// played plays a run with a design. It gives 1 if a violation breaks what the design promises,
// and 0 otherwise.
func played(design string, seed uint64, cfg simulation.Config, s simulation.Schedule, work simulation.Workload) (int64, error) {
	d, err := designs.ByName(design)
	if err != nil {
		return 0, err
	}
	r, err := simulation.Run(seed, d.Configure(cfg), s, work)
	if err != nil {
		return 0, fmt.Errorf("matrix: %w", err)
	}
	return one(slices.ContainsFunc(r.Kinds(), func(k record.ViolationKind) bool { return cells.Promised(d, k) })), nil
}

// one is 1 for true.
func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// yours is a series for each design that was registered.
func yours(xs []float64, play func(design string) playing) []series {
	var all []series
	for _, d := range designs.Registered() {
		all = append(all, series{name: d.Name, points: at(xs, play(d.Name))})
	}
	return all
}

// pauses: the holder is stopped between the check of its lease and its write, at a random
// moment of the lease.
func pauses() curve {
	const begins, lasts, next = time.Second, 9_800 * time.Millisecond, ttl + 50*time.Millisecond
	play := func(design string) playing {
		return func(x float64, seed uint64) (int64, error) {
			pause := fault.Fault{Kind: fault.Pause, Process: "c1", Op: "write", Nth: 1, For: time.Duration(x * float64(ttl))}
			return played(design, seed, world(), simulation.Schedule{pause}, func(c *simulation.Client) {
				search.Look(c)
				if c.Index == 1 {
					c.SleepUntil(begins + next)
					if lease, err := c.TryAcquire(key); err == nil {
						_, _, _ = c.Read(lease) // the guard may refuse it
					}
					return
				}
				c.SleepUntil(begins)
				lease, err := c.TryAcquire(key)
				if err != nil {
					return
				}
				c.Sleep(time.Duration(c.Pick(1, int(lasts))))
				if value, version, err := c.Read(lease); err == nil && c.Valid(lease) {
					_ = c.Write(lease, value+1, version) // the checks see its outcome
				}
			})
		}
	}
	xs := steps(0, 1.5, 0.125)
	return curve{
		id: "pause", title: "A pause between the check and the write",
		words: "The holder checks its lease at a random moment of the lease, and is stopped before it writes. The share of writes that come after the next holder equals the pause's share of the lease. The lock makes no difference; a resource that checks tokens does.",
		x:     report.Scale{Label: "length of the pause", Unit: "TTL"}, y: report.Scale{Label: "runs with a violation", Percent: true},
		series: append([]series{
			{name: "setpx-cad", points: at(xs, play("setpx-cad"))},
			{name: "default", points: at(xs, play("default"))},
			{name: "token-admit", points: at(xs, play("token-admit"))},
		}, yours(xs, play)...),
		lines: []report.Series{line("calculated, without a guard", steps(0, 1.5, 0.0125), func(x float64) float64 {
			return min(1, max(0, (x*float64(ttl)-float64(next-lasts))/float64(lasts)))
		})},
	}
}

// rates: how far apart clocks may run, depending on the allowance.
func rates() curve {
	const floor, network = 2 * time.Millisecond, time.Microsecond
	validity := func(x float64) float64 { return float64(ttl)*(1-x) - float64(floor) - 2*float64(network) }
	// breaks finds the smallest rate at which a lease outlives its keys.
	breaks := func(sides func(ppm int64) simulation.Schedule) playing {
		return func(x float64, seed uint64) (int64, error) {
			var failed error
			rate := sort.Search(200_000, func(ppm int) bool {
				cfg := world()
				cfg.Processes, cfg.LatencyMin, cfg.LatencyMax = 1, network, network
				cfg.Quorum.Drift = drift.Allowance{PPM: int64(x*1e6 + 0.5), Floor: floor}
				broken, err := played("redlock", seed, cfg, sides(int64(ppm)), func(c *simulation.Client) {
					c.SleepUntil(time.Second)
					_, _ = c.TryAcquire(key) // the checks see its outcome
				})
				if err != nil {
					failed = err
				}
				return broken != 0
			})
			return int64(rate), failed
		}
	}
	servers := func(ppm int64) simulation.Schedule {
		return simulation.Schedule{{Kind: fault.Rate, Server: fault.Any, PPM: ppm}}
	}
	both := func(ppm int64) simulation.Schedule {
		return append(servers(ppm), fault.Fault{Kind: fault.Rate, Process: fault.Any, PPM: -ppm})
	}
	xs := []float64{.001, .002, .005, .01, .02, .05, .09}
	return curve{
		id: "rate", title: "How far apart clocks may run",
		words: "The smallest error of the clocks' rates at which a holder believes in its lease for longer than the servers keep it. An allowance of 1 % covers 0.5 % on both sides; chrony slews a clock by 8.3 %.",
		x:     report.Scale{Label: "drift allowance", Log: true, Percent: true}, y: report.Scale{Label: "error of the rate at which it breaks", Log: true, Percent: true},
		series: []series{
			{name: "servers' clocks fast", unit: 1e-6, points: at(xs, breaks(servers))},
			{name: "and the client's slow", unit: 1e-6, points: at(xs, breaks(both))},
		},
		lines: []report.Series{
			line("TTL/(1+r) = validity", xs, func(x float64) float64 { return float64(ttl)/validity(x) - 1 }),
			line("TTL(1-r)/(1+r) = validity", xs, func(x float64) float64 {
				return (float64(ttl) - validity(x)) / (float64(ttl) + validity(x))
			}),
		},
	}
}

// losing plays a lease on so many servers. Each of them then loses it with a probability by
// a fault of its own, and another client asks for it.
func losing(design string, granted int, hit fault.Fault) playing {
	return func(p float64, seed uint64) (int64, error) {
		dice := rand.New(rand.NewPCG(seed, 1))
		var s simulation.Schedule
		for i := range 5 {
			server := string(rune('A' + i))
			if i >= granted {
				s = append(s, fault.Fault{Kind: fault.Cut, Process: "c1", Server: server, At: 900 * time.Millisecond, For: 600 * time.Millisecond})
			}
			if dice.Float64() < p {
				f := hit
				f.Server, f.At = server, 2*time.Second
				s = append(s, f)
			}
		}
		return played(design, seed, world(), s, func(c *simulation.Client) {
			search.Look(c)
			c.SleepUntil(time.Second + time.Duration(c.Index)*2*time.Second)
			if lease, err := c.TryAcquire(key); err == nil {
				c.Sleep(5 * time.Second)
				c.Valid(lease)
			}
		})
	}
}

// failovers: k^N against what breaks a bare majority.
func failovers() curve {
	loses := fault.Fault{Kind: fault.Failover, For: 100 * time.Millisecond, By: 5 * time.Second}
	xs := []float64{.05, .1, .2, .3, .5, .7}
	fine := steps(.05, .7, .01)
	return curve{
		id: "failover", title: "Failovers that lose the lock, on one pair and on five",
		words: "A failover to an asynchronous replica loses the lock with the probability k. All N servers lose it with the probability k to the N, which is often quoted; but two holders need fewer: one lost key if the lease is on three of five servers, and three if it is on all five.",
		x:     report.Scale{Label: "k, for one failover", Log: true, Percent: true}, y: report.Scale{Label: "runs with two holders", Log: true, Percent: true},
		series: append([]series{
			{name: "setpx-cad on one pair", points: at(xs, losing("setpx-cad", 5, loses))},
			{name: "redlock, lease on 3 of 5", points: at(xs, losing("redlock", 3, loses))},
			{name: "redlock, lease on 5 of 5", points: at(xs, losing("redlock", 5, loses))},
		}, yours(xs, func(design string) playing { return losing(design, 5, loses) })...),
		lines: []report.Series{
			line("k", fine, func(k float64) float64 { return k }),
			line("1-(1-k)³", fine, func(k float64) float64 { return atLeast(1, 3, k) }),
			line("3 or more of 5", fine, func(k float64) float64 { return atLeast(3, 5, k) }),
			line("k⁵", fine, func(k float64) float64 { return atLeast(5, 5, k) }),
		},
	}
}

// race plays one round in which all clients ask at the same moment. It gives 1 if it has no
// winner. It has ended everywhere before anybody has deleted anything, so each server that is
// up votes for a random client.
func race(servers, up int) playing {
	return func(x float64, seed uint64) (int64, error) {
		d, err := designs.ByName("textbook")
		if err != nil {
			return 0, err
		}
		cfg := world()
		cfg.Servers, cfg.Processes, cfg.LatencyMin, cfg.LatencyMax = servers, int(x), 10*time.Millisecond, 11*time.Millisecond
		var down simulation.Schedule
		for i := up; i < servers; i++ {
			down = append(down, fault.Fault{Kind: fault.Restart, Server: string(rune('A' + i)), For: time.Hour})
		}
		r, err := simulation.Run(seed, d.Configure(cfg), down, func(c *simulation.Client) {
			c.SleepUntil(time.Second)
			_, _ = c.TryAcquire(key) // the counter has the winner
		})
		return one(r.Log.Counts()["a lease was acquired"] == 0), err
	}
}

// noWinner is the probability of a round without a winner: no two of k clients can win, and each
// does with the same probability.
func noWinner(servers, up int) func(float64) float64 {
	return func(k float64) float64 { return 1 - k*atLeast(servers/2+1, up, 1/k) }
}

// splits: rounds without a winner.
func splits() curve {
	all, few := []float64{2, 3, 5, 7, 10}, []float64{2, 3, 4}
	return curve{
		id: "split", title: "Clients that ask at the same moment, and none gets a majority",
		words: "The share of first rounds without a winner.",
		x:     report.Scale{Label: "clients"}, y: report.Scale{Label: "rounds without a winner", Percent: true},
		series: []series{
			{name: "5 servers", points: at(all, race(5, 5))},
			{name: "3 servers", points: at(all, race(3, 3))},
			{name: "5 servers, 4 up", points: at(few, race(5, 4))},
		},
		lines: []report.Series{
			line("calculated, 5", steps(2, 10, 1), noWinner(5, 5)),
			line("calculated, 3", steps(2, 10, 1), noWinner(3, 3)),
			line("calculated, 4 of 5", steps(2, 10, 1), noWinner(5, 4)),
		},
	}
}
