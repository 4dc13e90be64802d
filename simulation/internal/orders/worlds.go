package orders

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/readwrite"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/search"
)

// from is the moment from which the order of events is chosen. It isn't a whole second, so that a disk
// that is synced every second can lose what was written since.
const from = 1500 * time.Millisecond

// quiet is how long a client waits until all messages have arrived. A request that has no answer times out
// later, when the client's coordinator is being closed.
const quiet = 60 * time.Millisecond

// expired is longer than a lease, and as long as the longer pauses (see singles).
const expired = 15 * time.Second

// Worlds returns the worlds whose orders can be walked through, as workloads, the default first. In
// each of them, every client knows the servers before the choices begin.
func Worlds() []search.Workload {
	return []search.Workload{
		world("try", "each client tries once to acquire the same lock", func(c *simulation.Client) {
			warm(c, "warm")
			try(c)
		}),
		world("turns", "each client tries once to acquire the same lock, one after the other", func(c *simulation.Client) {
			warm(c, "warm")
			c.SleepUntil(from + time.Duration(c.Index)*time.Millisecond)
			_, _ = c.TryAcquire("k") // the log has its outcome
			// After a pause, deletes are repeated, and each repetition multiplies the orders. So
			// the client ends before the first one.
			c.Sleep(10 * time.Millisecond)
		}),
		world("release", "each client tries once to acquire the same lock, and releases it at once", func(c *simulation.Client) {
			warm(c, "warm")
			if lease, err := c.TryAcquire("k"); err == nil {
				_ = c.Release(lease) // a delete that fails is repeated
			}
			c.Sleep(quiet)
		}),
		world("stages", "each client tries once, and one server's counter is behind, so that tokens are settled in a second stage", func(c *simulation.Client) {
			if c.Index == 0 {
				c.SleepUntil(behindFrom + 100*time.Millisecond)
			}
			warm(c, "k")
			try(c)
		}),
		world("extend", "one client extends its lease, and the others try once", func(c *simulation.Client) {
			if c.Index > 0 {
				warm(c, "warm")
				try(c)
				return
			}
			lease, err := c.TryAcquire("k")
			c.SleepUntil(from)
			if err == nil {
				_ = c.Extend(lease) // the log has its outcome
			}
			c.Sleep(quiet)
		}),
		world("late", "one client extends its lease after it has expired, and the others try once", func(c *simulation.Client) {
			if c.Index > 0 {
				warm(c, "warm")
				c.SleepUntil(from + expired)
				try(c)
				return
			}
			warm(c, "warm")
			lease, err := c.TryAcquire("k")
			c.SleepUntil(from + expired)
			if err == nil {
				_ = c.Extend(lease) // the log has its outcome
			}
			c.Sleep(quiet)
		}),
		world("hand-off", "one client hands its lease off to another, which has tried before, and resumes it", func(c *simulation.Client) {
			if c.Index > 0 {
				warm(c, "warm")
				try(c)
				if text, ok := c.Letter(); ok {
					resume(c, text)
				}
				c.Sleep(quiet)
				return
			}
			lease, err := c.TryAcquire("k")
			c.SleepUntil(from)
			if err == nil {
				handOff(c, lease, "c2")
			}
			_, _ = c.TryAcquire("k")
			c.Sleep(3 * quiet)
		}),
		world("keys", "each client tries once to acquire the same two locks in one lease", func(c *simulation.Client) {
			warm(c, "warm")
			_, _ = c.TryAcquireAll(locks("keys")...)
			c.Sleep(quiet)
		}),
		world("book", "the first client tries to write, and the others to read, under one read/write lock", func(c *simulation.Client) {
			warm(c, "warm")
			book, err := readwrite.New(c.Coordinator, "book", readwrite.Config{Readers: len(locks("book"))})
			if err != nil {
				panic(err)
			}
			enter := book.TryRead
			if c.Index == 0 {
				enter = book.TryWrite
			}
			_, _ = c.Gain(enter, locks("book")...)
			c.Sleep(quiet)
		}),
	}
}

// locks returns the keys of the locks that the clients of a world want.
func locks(world string) []string {
	switch world {
	case "keys":
		return []string{"k", "l"}
	case "book": // the places that readers use
		return []string{"book#1", "book#2"}
	}
	return []string{"k"}
}

// world is a small world. The coordinators don't read the servers' clocks
// while no lock is taken: after a pause these readings would be due with everything else, in a hundred times
// as many orders. Every vote still has its server's clock.
func world(name, title string, work simulation.Workload) search.Workload {
	return search.Workload{
		Name: name, Title: title,
		Base: simulation.Config{
			Progress: -1,
			Quorum:   quorum.Config{Lab: quorum.Lab{ClockEvery: time.Minute}},
		},
		Work: func(simulation.Config) simulation.Workload { return work },
	}
}

// try asks once for the lock, and waits until all messages have arrived.
func try(c *simulation.Client) {
	_, _ = c.TryAcquire("k") // the log has its outcome
	c.Sleep(quiet)
}

// warm makes a client known to the servers, one client after the other. It returns at the moment
// from which the order of events is chosen.
func warm(c *simulation.Client, key string) {
	c.SleepUntil(time.Duration(c.Index) * 20 * time.Millisecond)
	if lease, err := c.TryAcquire(key); err == nil {
		_ = c.Release(lease)
	}
	c.SleepUntil(from)
}

// behindFrom and behindFor say when the clients don't reach server A in the world "stages".
const (
	behindFrom = 400 * time.Millisecond
	behindFor  = 500 * time.Millisecond
)

// given returns the faults that belong to a world.
func given(world string) simulation.Schedule {
	if world != "stages" {
		return nil
	}
	return simulation.Schedule{{Kind: fault.Cut, Process: fault.Any, Server: "A", At: behindFrom, For: behindFor}}
}

// handOff sends a lease to another client.
func handOff(c *simulation.Client, lease simulation.Lease, to string) {
	handle, err := c.HandOff(lease)
	if err != nil {
		return // the log has the error
	}
	text, err := handle.Text()
	if err != nil {
		c.Note("a handle that can't be written")
		return
	}
	c.Send(to, text, 0)
}

// resume resumes a lease that was handed off.
func resume(c *simulation.Client, text string) {
	handle, err := quorum.ParseHandle(text)
	if err != nil {
		c.Note("a letter that is no handle")
		return
	}
	_, _ = c.Resume(handle) // the log has its outcome
}
