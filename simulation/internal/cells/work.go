package cells

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// key is the lock's key.
const key = "k"

// rounds is how many times each client acquires the lock.
const rounds = 3

// base is the configuration of every cell, before the fault and the design change it. The TTL
// is shorter than some of the work, so that leases expire.
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

// work is what the clients do: two or three of them acquire the lock, read, pause, check the
// lease and write, work, maybe extend, write again, and maybe release. They check the lease
// before each access, so that each violation is due to the design.
func work(cfg simulation.Config) simulation.Workload {
	// With quarantines, an Acquire's waiting time depends on which of several simultaneous
	// replies it has seen.
	waits := cfg.Quorum.RestartQuarantine == quorum.Off && cfg.Quorum.ClockMonitor == quorum.Off
	return func(c *simulation.Client) {
		if c.Index == 2 && c.Pick(rounds*abouts, 2) == 0 {
			return // two clients only
		}
		Look(c)
		for n := range rounds {
			round{c, n}.play(waits)
		}
	}
}

// Look lets clients that monitor the servers see them.
func Look(c *simulation.Client) {
	if c.Coordinator == nil {
		return
	}
	if _, err := c.Coordinator.Verify(c.Context()); err != nil {
		c.Note("verify failed")
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
		// Extend returns when a quorum has answered, and handles the other instances at that
		// moment. Without the pause the scheduler would decide if Release is earlier.
		c.Sleep(time.Millisecond)
	}
	r.update(lease)
	if r.pick(aboutRelease, 8) > 0 { // else it runs out
		_ = c.Release(lease) // the log has its outcome
	}
}

// get acquires the lock: the library waits, or the client tries again and again.
func (r round) get(waits bool) simulation.Lease {
	if waits && r.pick(aboutWaiting, 2) == 0 {
		lease, err := r.c.Acquire(key)
		if err != nil {
			return nil // the log has the reason
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
		_ = r.c.Write(lease, value+1, version) // refused or unknown: the checks see the outcome
	}
}
