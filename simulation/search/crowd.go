package search

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// Crowd is a workload for what goroutines of one process do for each other: two or
// three clients of one to four goroutines each, that all wait for one lock, mostly have
// it for moments, and so pass it on among themselves, with a round or without one. Now
// and then one keeps it for longer, extends it or lets it run out.
func Crowd() Workload {
	return Workload{
		Name: "crowd", Title: "two or three clients of several goroutines want one lock, for moments and often",
		Base: simulation.Config{
			Processes: 3, Witness: true,
			Quorum: quorum.Config{Terms: quorum.Terms{TTL: 10 * time.Second, MaxWait: 30 * time.Second}},
		},
		Rounds: 8, Span: 6 * time.Second,
		Work: func(_ simulation.Config, rounds int) simulation.Workload { return crowd{rounds}.play },
	}
}

// crowd is Crowd with its rounds.
type crowd struct {
	rounds int
}

// What a goroutine draws for each round.
const (
	crowdStart = iota
	crowdKind
	crowdWork
	crowdThinks
	crowdings
)

func (w crowd) play(c *simulation.Client) {
	const third, goroutines = crowdings * 1000, crowdings*1000 + 1
	if !joins(c, third) {
		return
	}
	for range c.Pick(goroutines, 4) {
		c.Go(w.take)
	}
	w.take(c)
}

// take is what each goroutine does.
func (w crowd) take(c *simulation.Client) {
	for round := range w.rounds {
		w.round(c, func(about, n int) int { return c.Pick(uint64(round*crowdings+about), n) })
	}
}

func (w crowd) round(c *simulation.Client, pick func(about, n int) int) {
	const ms = time.Millisecond
	c.Sleep(time.Duration(pick(crowdStart, 40)) * ms)
	lease := get(c, waits)
	if lease == nil {
		return
	}
	percent := pick(crowdKind, 100)
	work := time.Duration(pick(crowdWork, 4)) * ms
	switch {
	case percent < 4:
		work *= 400 // what is held for so long isn't passed on without a round
	case percent < 8:
		c.KeepAlive(lease)
	}
	update(c, lease, time.Duration(max(0, pick(crowdThinks, 40)-30))*ms)
	c.Sleep(work)
	if percent >= 8 && percent < 14 {
		if err := c.Extend(lease); err != nil {
			c.Note("not extended")
		}
		update(c, lease, 0)
	}
	if percent < 98 { // else it runs out
		_ = c.Release(lease) // what became of it is in the log
	}
}
