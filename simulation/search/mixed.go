package search

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// Mixed is a workload that does a bit of everything: two or three clients, of which
// the seed says who waits for the lock and who tries, who keeps it alive, extends it
// or lets it run out, who looks at it before writing, and how long all of it takes.
func Mixed() Workload {
	return Workload{
		Name: "mixed", Title: "two or three clients lock, read, look, write and release, each in its own way",
		Base: simulation.Config{
			Processes: 3, Witness: true,
			Quorum: quorum.Config{Terms: quorum.Terms{TTL: 4 * time.Second, MaxWait: 15 * time.Second}},
		},
		Rounds: 3, Span: 12 * time.Second,
		Work: func(_ simulation.Config, rounds int) simulation.Workload { return mixed{rounds}.play },
	}
}

// mixed is Mixed with its rounds.
type mixed struct {
	rounds int
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

func (m mixed) play(c *simulation.Client) {
	if !joins(c, abouts*1000) {
		return
	}
	for round := range m.rounds {
		m.round(c, func(about, n int) int { return c.Pick(uint64(round*abouts+about), n) })
	}
}

func (m mixed) round(c *simulation.Client, pick func(about, n int) int) {
	const ms = time.Millisecond
	c.Sleep(time.Duration(pick(aboutStart, 400)) * ms)
	lease := get(c, pick(aboutWaiting, 3))
	if lease == nil {
		return
	}
	if pick(aboutKeeping, 3) == 0 {
		c.KeepAlive(lease)
	}
	thinks := time.Duration(max(0, pick(aboutThinking, 600)-300)) * ms
	update(c, lease, thinks)
	c.Sleep(time.Duration(pick(aboutWork, 2500)) * ms)
	if pick(aboutExtending, 2) == 0 {
		if err := c.Extend(lease); err != nil {
			c.Note("not extended")
		}
	}
	if pick(aboutMore, 3) > 0 {
		update(c, lease, thinks)
	}
	if pick(aboutRelease, 8) > 0 { // else it runs out
		_ = c.Release(lease) // what became of it is in the log
	}
}

// joins reports whether the client takes part, which for the third one is drawn; who does
// has looked at the instances before anything happens to these.
func joins(c *simulation.Client, about uint64) bool {
	if c.Index == 2 && c.Pick(about, 2) == 0 {
		return false
	}
	if c.Coordinator != nil {
		if _, err := c.Coordinator.Verify(c.Context()); err != nil {
			c.Note("verify failed")
		}
	}
	return true
}

// Ways to get the lock.
const (
	once  = iota // try once
	polls        // try again and again
	waits        // in the library's way
)

// get gets the lock, or nil; why is in the log.
func get(c *simulation.Client, way int) simulation.Lease {
	const key = "k"
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
		if way == once {
			return nil
		}
		c.Sleep(500 * time.Millisecond)
	}
	return nil
}

// update adds one to the resource, unless the lease turns out to be over. It reads and
// writes nothing without a look at the lease: what goes wrong then isn't the holder's.
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
	_ = c.Write(lease, value+1, version) // refused or unknown: the checks see what became of it
}
