package search

import "github.com/redquorum/redlock/simulation"

// setsWorkload is the mixed workload with leases on several keys. The clients take sets of one to
// three of four keys, which overlap, in any order.
func setsWorkload() Workload {
	w := Mixed()
	w.Name, w.Title = "sets", "three clients take leases on several of four keys at once, and the sets overlap"
	w.Work = inRounds(setsOf, takeSet)
	return w
}

// setKeys are the keys. The first is the one that the other workloads use.
var setKeys = []string{"k", "l", "m", "n"}

// What a client draws for each round, besides what it draws in a mixed one.
const (
	setsSize = abouts + iota
	setsFirst
	setsStep
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
	c.Sleep(d.ms(aboutStart, 400))
	acquire := c.AcquireAll
	if d.pick(aboutWaiting, 4) == 0 {
		acquire = c.TryAcquireAll
	}
	if leases, err := acquire(drawSet(d)...); err == nil { // else the reason is in the log
		use(c, d, leases...)
	}
}
