package matrix

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// rounds is how many times each client wants the lock.
const rounds = 3

// base is the world of every cell, before the fault and the design have set up their
// parts of it. The TTL is shorter than some of the work, so that leases run out.
func base() simulation.Config {
	return simulation.Config{
		Processes: 3, Witness: true,
		Quorum: quorum.Config{Terms: quorum.Terms{TTL: 2 * time.Second, MaxWait: 8 * time.Second}},
	}
}

// What a client draws for each round.
const (
	aboutStart = iota
	aboutWaiting
	aboutKeeping
	aboutThinking
	aboutWork
	aboutExtending
	aboutRelease
	abouts
)

// work is what the clients do: two or three of them get the lock, read, think, look
// at the lease and write, work on, extend or not, write once more, and release or
// not. They do nothing without looking at their lease first: what goes wrong is the
// design's.
func work(cfg simulation.Config) simulation.Workload {
	// With instances in quarantine it depends on which of several answers of one
	// moment it has seen how long an Acquire waits.
	waits := cfg.Quorum.RestartQuarantine == quorum.Off && cfg.Quorum.ClockMonitor == quorum.Off
	return func(c *simulation.Client) {
		if c.Index == 2 && c.Pick(rounds*abouts, 2) == 0 {
			return // two clients only
		}
		look(c)
		for n := range rounds {
			round{c, n}.play(waits)
		}
	}
}

// round is one client's round.
type round struct {
	c *simulation.Client
	n int
}

func (r round) pick(about, n int) int { return r.c.Pick(uint64(r.n*abouts+about), n) }

// some is a time from 0 to most.
func (r round) some(about int, most time.Duration) time.Duration {
	return time.Duration(r.pick(about, int(most/time.Millisecond))) * time.Millisecond
}

func (r round) play(waits bool) {
	c := r.c
	c.Sleep(r.some(aboutStart, 400*time.Millisecond))
	lease := r.get(waits)
	if lease == nil {
		return
	}
	if r.pick(aboutKeeping, 3) == 0 {
		c.KeepAlive(lease)
	}
	r.update(lease)
	c.Sleep(r.some(aboutWork, 2_200*time.Millisecond))
	if r.pick(aboutExtending, 2) == 0 && c.Valid(lease) {
		if err := c.Extend(lease); err != nil {
			c.Note("not extended")
		}
		// Extend is back when a quorum has answered. What it does about the others it
		// does at that moment: whether a Release comes before or after is the
		// scheduler's choice.
		c.Sleep(time.Millisecond)
	}
	r.update(lease)
	if r.pick(aboutRelease, 8) > 0 { // else it runs out
		_ = c.Release(lease) // what became of it is in the log
	}
}

// get waits for the lock, in the library's way or by trying again and again.
func (r round) get(waits bool) simulation.Lease {
	if waits && r.pick(aboutWaiting, 2) == 0 {
		lease, err := r.c.Acquire(key)
		if err != nil {
			return nil // why is in the log
		}
		return lease
	}
	for range 12 {
		lease, err := r.c.TryAcquire(key)
		if err == nil {
			return lease
		}
		r.c.Sleep(250 * time.Millisecond)
	}
	return nil
}

// update adds one to the resource, unless the lease turns out to be over.
func (r round) update(lease simulation.Lease) {
	if !r.c.Valid(lease) {
		return
	}
	value, version, err := r.c.Read(lease)
	if err != nil {
		return
	}
	if r.pick(aboutThinking, 2) == 0 {
		r.c.Sleep(r.some(aboutThinking, 600*time.Millisecond))
	}
	if r.c.Valid(lease) {
		_ = r.c.Write(lease, value+1, version) // refused or unknown: the checks see what became of it
	}
}
