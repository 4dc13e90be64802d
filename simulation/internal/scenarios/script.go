package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

const (
	ms  = time.Millisecond
	key = "k"
	// lead is the time before the scenario begins, in which the clients verify the
	// servers.
	lead = time.Second
)

// at returns the true time of a moment of the scenario.
func at(d time.Duration) time.Duration { return lead + d }

// Script is what one client does, step by step. It ends early if a step fails: if the client
// does not get the lock, for instance.
type Script []step

// step performs a step and reports whether the script continues.
type step func(*performer) bool

// perform performs the script.
func (s Script) perform(p *performer) {
	for _, step := range s {
		if !step(p) {
			return
		}
	}
}

// always makes a step that does not fail.
func always(do func(*performer)) step {
	return func(p *performer) bool {
		do(p)
		return true
	}
}

var (
	acquire step = func(p *performer) bool { return p.has(p.TryAcquire(key)) }
	await   step = func(p *performer) bool { return p.has(p.Acquire(key)) }
	check   step = func(p *performer) bool { return p.Valid(p.lease) }

	read step = func(p *performer) (ok bool) {
		var err error
		p.value, p.version, err = p.Read(p.lease)
		return err == nil
	}
	write     = always(func(p *performer) { _ = p.Write(p.lease, p.value+1, p.version) })
	keepAlive = always(func(p *performer) { p.KeepAlive(p.lease) })
	release   = always(func(p *performer) { _ = p.Release(p.lease) })

	// update reads and writes the resource, with a check before the write.
	update = attempt(read, check, write)

	extend           = attempt(extendOrEnd)
	extendOrEnd step = func(p *performer) bool {
		err := p.Extend(p.lease)
		if err != nil {
			p.Note("not extended")
		}
		return err == nil
	}
)

func until(t time.Duration) step { return always(func(p *performer) { p.SleepUntil(at(t)) }) }
func sleep(d time.Duration) step { return always(func(p *performer) { p.Sleep(d) }) }
func attempt(parts ...step) step { return always(Script(parts).perform) } // continues in any case
func ifValid(s step) step        { return attempt(check, s) }

// retry asks up to so many times, with pauses.
func retry(tries int, pause time.Duration) step {
	return func(p *performer) bool {
		for range tries {
			if acquire(p) {
				return true
			}
			p.Sleep(pause)
		}
		return false
	}
}

// turn acquires the lock, updates, and keeps the lock for a while.
func turn(from, hold time.Duration) Script {
	return Script{until(from), acquire, update, sleep(hold), release}
}

// twoUpdates acquires the lock, updates, and updates again later if the lease is valid.
func twoUpdates(from, again time.Duration) Script {
	return Script{until(from), acquire, update, until(again), ifValid(update), release}
}

// keepTrying asks again and again, and updates once it has the lock.
func keepTrying(from time.Duration, tries int, pause time.Duration) Script {
	return Script{until(from), retry(tries, pause), update, release}
}

// clients are the scripts of c1, c2, ...
func clients(scripts ...Script) []Script { return scripts }

// workload has the clients verify the servers and perform their scripts.
func workload(scripts []Script) simulation.Workload {
	return func(c *simulation.Client) {
		verify(c)
		p := &performer{Client: c}
		if c.Index < len(scripts) {
			scripts[c.Index].perform(p)
		}
	}
}

// performer is a client that performs scripts. Errors are in the log.
type performer struct {
	*simulation.Client
	lease   simulation.Lease
	value   int64 // as last read
	version uint64
}

func (p *performer) has(lease simulation.Lease, err error) bool {
	p.lease = lease
	return err == nil
}

// verify lets the monitors see the servers before any fault. The second time uses open
// connections, so that no vote needs another request.
func verify(c *simulation.Client) {
	if c.Coordinator == nil {
		return
	}
	for range 2 {
		if _, err := c.Coordinator.Verify(c.Context()); err != nil {
			c.Note("verify failed")
		}
	}
}
