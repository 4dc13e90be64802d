package search

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// setsWorkload is a workload for leases on several keys. Three clients take sets of one to three
// of four keys, which overlap, in any order, and update the resource of each key. They wait for
// the lease or try, keep it alive, extend it or let it run out.
func setsWorkload() Workload {
	return Workload{
		Name: "sets", Title: "three clients take leases on several of four keys at once, and the sets overlap",
		Base: simulation.Config{
			Processes: 3, Witness: true,
			Quorum: quorum.Config{Terms: quorum.Terms{TTL: 4 * time.Second, MaxWait: 15 * time.Second}},
		},
		Rounds: 3, Span: 12 * time.Second,
		Work: func(_ simulation.Config, rounds int) simulation.Workload {
			return func(c *simulation.Client) {
				if !joins(c, setsOf*1000) {
					return
				}
				for round := range rounds {
					takeSet(c, draws{c, round * setsOf})
				}
			}
		},
	}
}

// setKeys are the keys. The first is the one that the other workloads use.
var setKeys = []string{"k", "l", "m", "n"}

// What a client draws for each round.
const (
	setsStart = iota
	setsSize
	setsFirst
	setsStep
	setsWaits
	setsKeeps
	setsThinks
	setsWork
	setsExtends
	setsMore
	setsRelease
	setsOf
)

// drawSet draws one to three keys, in any order.
func drawSet(d draws) []string {
	n, first, step := 1+d.pick(setsSize, 3), d.pick(setsFirst, len(setKeys)), 1+2*d.pick(setsStep, 2)
	keys := make([]string, n)
	for i := range keys {
		keys[i] = setKeys[(first+i*step)%len(setKeys)]
	}
	return keys
}

func takeSet(c *simulation.Client, d draws) {
	c.Sleep(d.ms(setsStart, 400))
	acquire := c.AcquireAll
	if d.pick(setsWaits, 4) == 0 {
		acquire = c.TryAcquireAll
	}
	leases, err := acquire(drawSet(d)...)
	if err != nil {
		return // why is in the log
	}
	if d.pick(setsKeeps, 3) == 0 {
		c.KeepAlive(leases[0])
	}
	thinks := d.some(setsThinks, 300, 600)
	for _, lease := range leases {
		update(c, lease, thinks)
	}
	c.Sleep(d.ms(setsWork, 2500))
	if d.pick(setsExtends, 2) == 0 {
		extend(c, leases[0])
	}
	if d.pick(setsMore, 3) > 0 {
		for _, lease := range leases {
			update(c, lease, thinks)
		}
	}
	if d.pick(setsRelease, 8) > 0 { // else it runs out
		_ = c.ReleaseAll(leases) // the log has its outcome
	}
}
