package search

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// crowdWorkload is a workload for goroutines of one process: two or three clients of one to four
// goroutines each. All wait for one lock, mostly hold it for moments, and take turns. Now and
// then one keeps it for longer, extends it or lets it run out.
func crowdWorkload() Workload {
	return Workload{
		Name: "crowd", Title: "two or three clients of several goroutines want one lock, for moments and often",
		Base: simulation.Config{
			Processes: 3, Witness: true,
			Quorum: quorum.Config{TTL: 10 * time.Second, MaxWait: 30 * time.Second},
		},
		Span: 6 * time.Second,
		Work: crowd,
	}
}

// What a goroutine draws for each round.
const (
	crowdStart = iota
	crowdKind
	crowdWork
	crowdThinks
	crowdings
)

func crowd(c *simulation.Client) {
	const third, goroutines = crowdings * 1000, crowdings*1000 + 1
	if !joins(c, third) {
		return
	}
	one := func(c *simulation.Client) {
		for round := range 8 {
			crowdRound(c, draws{c, round * crowdings})
		}
	}
	for range c.Pick(goroutines, 4) {
		c.Go(one)
	}
	one(c)
}

func crowdRound(c *simulation.Client, d draws) {
	c.Sleep(d.ms(crowdStart, 40))
	lease := get(c, waits)
	if lease == nil {
		return
	}
	percent := d.pick(crowdKind, 100)
	work := d.ms(crowdWork, 4)
	switch {
	case percent < 4:
		work *= 400
	case percent < 8:
		c.KeepAlive(lease)
	}
	update(c, lease, d.some(crowdThinks, 30, 40))
	c.Sleep(work)
	if percent >= 8 && percent < 14 {
		extend(c, lease)
		update(c, lease, 0)
	}
	if percent < 98 { // else it runs out
		_ = c.Release(lease) // the log has its outcome
	}
}
