package search

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// Mixed is a workload that does a bit of everything, with two or three clients. The seed
// says which of them wait for the lock and which try, keep it alive, extend it or let it
// run out, and how long all of it takes. The cells of the matrix play it, too.
func Mixed() Workload {
	return Workload{
		Name: "mixed", Title: "two or three clients lock, read, look, write and release, each in its own way",
		Base: simulation.Config{
			Processes: 3, Witness: true,
			Quorum: quorum.Config{TTL: 4 * time.Second, MaxWait: 15 * time.Second},
		},
		Span: 12 * time.Second,
		Work: mixed,
	}
}

// draws is what a client draws for one round, by the number of what it is about.
type draws struct {
	c    *simulation.Client
	base int
}

func (d draws) pick(about, n int) int { return d.c.Pick(uint64(d.base+about), n) }

// ms is some whole milliseconds, fewer than most.
func (d draws) ms(about, most int) time.Duration { return d.some(about, 0, most) }

// some is some whole milliseconds, fewer than most-without: none with a probability of about without/most.
func (d draws) some(about, without, most int) time.Duration {
	return time.Duration(max(0, d.pick(about, most)-without)) * time.Millisecond
}

// What a client draws for each round.
const (
	aboutStart = iota
	aboutWaiting
	aboutKeeping
	aboutThinking
	aboutWork
	aboutExtending
	aboutMore
	aboutRelease
	abouts
)

func mixed(c *simulation.Client) {
	if !joins(c, abouts*1000) {
		return
	}
	for round := range 3 {
		d := draws{c, round * abouts}
		c.Sleep(d.ms(aboutStart, 400))
		if lease := get(c, "k", d.pick(aboutWaiting, 3)); lease != nil {
			use(c, d, lease)
		}
	}
}

// use is what a client does with leases on one or several keys, which it got together.
func use(c *simulation.Client, d draws, leases ...simulation.Lease) {
	if d.pick(aboutKeeping, 3) == 0 {
		c.KeepAlive(leases[0])
	}
	thinks := d.some(aboutThinking, 300, 600)
	updateAll := func() {
		for _, lease := range leases {
			update(c, lease, thinks)
		}
	}
	updateAll()
	c.Sleep(d.ms(aboutWork, 2500))
	if d.pick(aboutExtending, 2) == 0 {
		extend(c, leases[0])
	}
	if d.pick(aboutMore, 3) > 0 {
		updateAll()
	}
	if d.pick(aboutRelease, 8) > 0 { // else it runs out
		_ = c.Release(leases[0]) // the log has its outcome
	}
}

// joins reports whether the client takes part, which for the third one is drawn. A client
// that takes part looks at the servers before anything happens to them.
func joins(c *simulation.Client, about uint64) bool {
	if c.Index == 2 && c.Pick(about, 2) == 0 {
		return false
	}
	look(c)
	return true
}

// look lets clients that monitor the servers see them.
func look(c *simulation.Client) {
	if c.Coordinator == nil {
		return
	}
	if _, err := c.Coordinator.Verify(c.Context()); err != nil {
		c.Note("verify failed")
	}
}

// Ways to get the lock.
const (
	triesOnce = iota
	polls     // try again and again
	waits     // let the library wait
)

// get gets a lock, or nil; why is in the log.
func get(c *simulation.Client, key string, way int) simulation.Lease {
	if way == waits {
		lease, err := c.Acquire(key)
		if err != nil {
			return nil
		}
		return lease
	}
	for range 10 {
		lease, err := c.TryAcquire(key)
		if err == nil {
			return lease
		}
		if way == triesOnce {
			return nil
		}
		c.Sleep(500 * time.Millisecond)
	}
	return nil
}

func extend(c *simulation.Client, lease simulation.Lease) {
	if err := c.Extend(lease); err != nil {
		c.Note("not extended")
	}
}

// update adds one to the resource, unless the lease turns out to be over. It checks the
// lease before each read and write: if something goes wrong, it isn't the holder's fault.
func update(c *simulation.Client, lease simulation.Lease, thinks time.Duration) {
	if !c.Valid(lease) {
		return
	}
	value, version, err := c.Read(lease)
	if err != nil {
		return
	}
	if thinks > 0 {
		c.Sleep(thinks)
	}
	if !c.Valid(lease) {
		return
	}
	_ = c.Write(lease, value+1, version) // refused or unknown: the checks see the outcome
}
