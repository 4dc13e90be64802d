package scenarios

import (
	"slices"
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
	acquire step = (*performer).Acquire
	await   step = (*performer).Await
	check   step = (*performer).Valid

	read        = always((*performer).Read)
	write       = always((*performer).Write)
	update      = always((*performer).Update)
	keepAlive   = always((*performer).KeepAlive)
	release     = always((*performer).Release)
	extend      = always(func(p *performer) { p.Extend() })
	extendOrEnd = step((*performer).Extend)
)

func until(t time.Duration) step { return always(func(p *performer) { p.Until(t) }) }
func sleep(d time.Duration) step { return always(func(p *performer) { p.Sleep(d) }) }
func attempt(parts ...step) step { return always(Script(parts).perform) } // continues in any case
func ifValid(s step) step        { return attempt(check, s) }
func retry(tries int, pause time.Duration) step {
	return func(p *performer) bool { return p.Retry(tries, pause) }
}

// turn acquires the lock, updates, and keeps the lock for a while.
func turn(from, hold time.Duration) Script {
	return Script{until(from), acquire, update, sleep(hold), release}
}

// turnUntil is turn with a moment of the release.
func turnUntil(from, end time.Duration) Script {
	return Script{until(from), acquire, update, until(end), release}
}

// waitingTurn is turn by a client that waits for the lock.
func waitingTurn(from, hold time.Duration) Script {
	return Script{until(from), await, update, sleep(hold), release}
}

// twoUpdates acquires the lock, updates, and updates again later if the lease is valid.
func twoUpdates(from, again time.Duration) Script {
	return Script{until(from), acquire, update, until(again), ifValid(update)}
}

func twoUpdatesAndRelease(from, again time.Duration) Script {
	return append(twoUpdates(from, again), release)
}

// keepTrying asks again and again, and updates once it has the lock.
func keepTrying(from time.Duration, tries int, pause time.Duration) Script {
	return Script{until(from), retry(tries, pause), update, release}
}

// extending extends the lease and later updates again if the lease is valid.
func extending(when, again time.Duration) Script {
	return Script{until(0), acquire, update, until(when), extend, until(again), ifValid(update), release}
}

// clients are the scripts of c1, c2, ...
func clients(scripts ...Script) []Script { return scripts }

// everyClient has all clients perform the same script.
func everyClient(s Script) []Script { return slices.Repeat([]Script{s}, 5) }

// workload has the clients verify the servers and perform their scripts.
func workload(scripts []Script) simulation.Workload {
	return func(c *simulation.Client) {
		p := &performer{Client: c}
		p.Verify()
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

func (p *performer) Until(t time.Duration) { p.SleepUntil(at(t)) }
func (p *performer) Acquire() bool         { return p.has(p.TryAcquire(key)) }
func (p *performer) Await() bool           { return p.has(p.Client.Acquire(key)) }
func (p *performer) Valid() bool           { return p.Client.Valid(p.lease) }
func (p *performer) Read()                 { p.value, p.version, _ = p.Client.Read(p.lease) }
func (p *performer) Write()                { _ = p.Client.Write(p.lease, p.value+1, p.version) }
func (p *performer) KeepAlive()            { p.Client.KeepAlive(p.lease) }
func (p *performer) Release()              { _ = p.Client.Release(p.lease) }

func (p *performer) has(lease simulation.Lease, err error) bool {
	p.lease = lease
	return err == nil
}

// Verify lets the monitors see the servers before any fault. The second time uses open
// connections, so that no vote needs another request.
func (p *performer) Verify() {
	if p.Coordinator == nil {
		return
	}
	for range 2 {
		if _, err := p.Coordinator.Verify(p.Context()); err != nil {
			p.Note("verify failed")
		}
	}
}

// Retry asks up to so many times, with pauses.
func (p *performer) Retry(tries int, pause time.Duration) bool {
	for range tries {
		if p.Acquire() {
			return true
		}
		p.Sleep(pause)
	}
	return false
}

// Update reads and writes the resource, with a check before the write.
func (p *performer) Update() {
	value, version, err := p.Client.Read(p.lease)
	if err == nil && p.Valid() {
		_ = p.Client.Write(p.lease, value+1, version)
	}
}

func (p *performer) Extend() bool {
	if p.Client.Extend(p.lease) != nil {
		p.Note("not extended")
		return false
	}
	return true
}
