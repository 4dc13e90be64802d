package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation/bench/client"
	"github.com/redquorum/redlock/simulation/bench/stats"
	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// ownCase is something to measure of this library alone, as a process of its own.
type ownCase struct {
	what    string // for the progress and for tables
	servers int
	rounds  int
	task    client.Task
}

const servers = 5

// mostServers is the number of servers of the largest case.
const mostServers = 9

// busy is the number of workers that keep the servers busy.
const busy = 128

// throughputCases are for comparisons. Otherwise the throughput of all contenders is measured.
func throughputCases(o options) (cases []ownCase) {
	for _, n := range o.workers {
		cases = append(cases, ownCase{
			wrap.Count(n, "worker"), servers, o.times,
			client.Task{TTL: ttl, Long: o.long, Workers: n},
		})
	}
	return cases
}

func scaleCases(o options) (cases []ownCase) {
	add := func(what string, n, keys int) {
		cases = append(cases, ownCase{what, n, o.times, client.Task{TTL: ttl, Long: o.long, Workers: busy, Keys: keys}})
	}
	for _, n := range []int{3, 5, 7, mostServers} {
		add(fmt.Sprintf("%d servers", n), n, 0)
	}
	for _, keys := range []int{1, 1000, 1_000_000} {
		add(wrap.Count(keys, "key"), servers, keys)
	}
	return cases
}

// heldRounds bounds the rounds with kept leases, each of which takes longer than a TTL.
const heldRounds = 3

func heldTTL(o options) time.Duration {
	if o.quick {
		return 3 * time.Second
	}
	return 30 * time.Second
}

func heldCases(o options) (cases []ownCase) {
	long, numbers := heldTTL(o), []int{10_000, 100_000}
	if o.quick {
		numbers = []int{2000} // the heap differs by some hundred kilobytes without them
	}
	for _, n := range numbers {
		cases = append(cases, ownCase{
			wrap.Count(n, "lease"), servers, min(o.times, heldRounds), client.Task{TTL: long, Long: long, Leases: n},
		})
	}
	return cases
}

// measureOwn performs one case once.
func (m measurement) measureOwn(p program, c ownCase) (result client.Result, err error) {
	f := m.fleet[:c.servers]
	if err := f.flush(); err != nil {
		return result, err
	}
	c.task.Addrs = f.addrs()
	err = assigned(m.ctx, c.task, &result, p.path)
	if err == nil && result == (client.Result{}) {
		err = errors.New("the client program has measured nothing")
	}
	return result, err
}

// cases performs the cases of a part in turns.
func (m measurement) cases(part string, cases []ownCase) ([][]client.Result, error) {
	return inTurns(cases[0].rounds, len(cases), func(round, i int) (client.Result, error) {
		m.progress(fmt.Sprintf("%s, round %d of %d: %s", part, round+1, cases[i].rounds, cases[i].what))
		return m.measureOwn(m.client, cases[i])
	})
}

// Scale is the throughput of many workers with a number of servers, and of keys.
type Scale struct {
	Servers int `json:"servers"`
	Keys    int `json:"keys"` // 0: a key for each worker, otherwise each acquisition takes a random one
	Workers int `json:"workers"`
	client.Cycles
	// Ratio is the cycles per second divided by those of five servers and a key for each
	// worker, in the same round.
	stats.Ratio
}

func measuredScale(m measurement, results *Results) error {
	cases := scaleCases(m.options)
	all, err := m.cases("scale", cases)
	if err != nil {
		return err
	}
	base := slices.IndexFunc(cases, func(c ownCase) bool { return c.servers == servers && c.task.Keys == 0 })
	perSecond := func(i int) []float64 {
		return stats.Each(all[i], func(r client.Result) float64 { return r.Cycles.PerSecond })
	}
	for i, c := range cases {
		results.Scale = append(results.Scale, Scale{
			c.servers, c.task.Keys, c.task.Workers,
			stats.Join(stats.Each(all[i], cyclesOf)), stats.RatioOf(perSecond(i), perSecond(base)),
		})
	}
	return nil
}

func measuredHeld(m measurement, results *Results) error {
	all, err := m.cases("held", heldCases(m.options))
	for _, of := range all {
		results.Held = append(results.Held, stats.Join(stats.Each(of, heldOf)))
	}
	return err
}

func cyclesOf(r client.Result) client.Cycles { return *r.Cycles }
func heldOf(r client.Result) client.Held     { return *r.Held }

// Against is a comparison of two checkouts of this library.
type Against struct {
	This    string       `json:"this"` // the commits
	Other   string       `json:"other"`
	Figures []Comparison `json:"figures"`
}

// Comparison is one figure of both.
type Comparison struct {
	Part string `json:"part"`
	What string `json:"what"`
	stats.Comparison
}

// against measures two programs. The other is measured right before or after this one, so that
// both have the same load on the machine beside them.
func (m measurement) against(other program) (*Against, error) {
	result := &Against{This: m.client.version, Other: other.version}
	both := []program{m.client, other}
	for _, part := range parts {
		if !slices.Contains(m.options.parts, part.name) {
			continue
		}
		for _, c := range part.cases(m.options) {
			all, err := inTurns(c.rounds, len(both), func(round, i int) (client.Result, error) {
				m.progress(fmt.Sprintf("%s, %s, round %d of %d: %s", part.name, c.what, round+1, c.rounds, both[i].version))
				return m.measureOwn(both[i], c)
			})
			if err != nil {
				return nil, err
			}
			for _, f := range figuresOf(all) {
				result.Figures = append(result.Figures, Comparison{part.name, c.what, f})
			}
		}
	}
	return result, nil
}

// figuresOf compares what two programs have measured.
func figuresOf(both [][]client.Result) []stats.Comparison {
	if both[0][0].Held != nil {
		return stats.Compare(stats.Each(both[0], heldOf), stats.Each(both[1], heldOf))
	}
	return stats.Compare(stats.Each(both[0], cyclesOf), stats.Each(both[1], cyclesOf))
}
