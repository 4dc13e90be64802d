package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

const (
	ms  = time.Millisecond
	key = "k"
	// lead is the time before the story, in which the processes look around.
	lead = time.Second
)

// at is the true time of a moment of the story.
func at(d time.Duration) time.Duration { return lead + d }

// parts gives each process a part of its own.
func parts(by map[string]simulation.Workload) simulation.Workload {
	return func(c *simulation.Client) {
		look(c)
		if part := by[c.Name]; part != nil {
			part(c)
		}
	}
}

// look lets what watches the servers see them before anything happens to them.
// The second time finds the connections open, so that no vote has to be asked about
// anew.
func look(c *simulation.Client) {
	if c.Coordinator == nil {
		return
	}
	for range 2 {
		if _, err := c.Coordinator.Verify(c.Context()); err != nil {
			c.Note("verify failed")
		}
	}
}

// until waits for a moment of the story, by the process's own clock.
func until(c *simulation.Client, d time.Duration) { c.SleepUntil(at(d)) }

// take asks once, and gives nil if it isn't granted: the trace tells why.
func take(c *simulation.Client) simulation.Lease {
	lease, err := c.TryAcquire(key)
	if err != nil {
		return nil
	}
	return lease
}

// update reads, adds one and writes, if the lease is valid when it has read.
// Whether the write was carried out is for the checks to see.
func update(c *simulation.Client, lease simulation.Lease) {
	value, version, err := c.Read(lease)
	if err != nil || !c.Valid(lease) {
		return
	}
	_ = c.Write(lease, value+1, version)
}

// release gives the lock back. An error is in the trace.
func release(c *simulation.Client, lease simulation.Lease) { _ = c.Release(lease) }

// crew is some goroutines of one process that take turns with the lock from a moment on,
// for a few milliseconds each, so that it can pass from one to the next.
func crew(when time.Duration, goroutines, turns int) simulation.Workload {
	member := func(c *simulation.Client) {
		until(c, when)
		for range turns {
			lease, err := c.Acquire(key)
			if err != nil {
				return
			}
			update(c, lease)
			c.Sleep(2 * ms)
			release(c, lease)
		}
	}
	return func(c *simulation.Client) {
		for range goroutines - 1 {
			c.Go(member)
		}
		member(c)
	}
}

// turn is the plainest part: take the lock at a moment, update, hold on, release.
func turn(when, hold time.Duration) simulation.Workload {
	return func(c *simulation.Client) {
		until(c, when)
		if lease := take(c); lease != nil {
			update(c, lease)
			c.Sleep(hold)
			release(c, lease)
		}
	}
}

// keepTrying asks again and again from a moment on, and updates when it gets the
// lock.
func keepTrying(from time.Duration, tries int, step time.Duration) simulation.Workload {
	return func(c *simulation.Client) {
		until(c, from)
		for range tries {
			if lease := take(c); lease != nil {
				update(c, lease)
				release(c, lease)
				return
			}
			c.Sleep(step)
		}
	}
}

// turnUntil takes the lock at a moment, updates, and releases it at another one.
func turnUntil(when, end time.Duration) simulation.Workload {
	return func(c *simulation.Client) {
		until(c, when)
		if lease := take(c); lease != nil {
			update(c, lease)
			until(c, end)
			release(c, lease)
		}
	}
}

// inLine waits for the lock from a moment on, updates and holds on, as turn does.
func inLine(when, hold time.Duration) simulation.Workload {
	return func(c *simulation.Client) {
		until(c, when)
		if lease, err := c.Acquire(key); err == nil {
			update(c, lease)
			c.Sleep(hold)
			release(c, lease)
		}
	}
}
