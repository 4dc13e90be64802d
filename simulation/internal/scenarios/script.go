package scenarios

import (
	"time"

	"github.com/redquorum/redlock/quorum"
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

// script is what one client does, step by step. It ends early if the client does not get
// the lock.
type script []step

// step is one step of a script.
type step struct {
	do    action
	time  time.Duration // until: the time in the scenario; sleep, retry: a duration
	tries int           // retry
	extra int           // retry: up to so many milliseconds more, at random
	to    []string      // handOff: the receivers
	count int           // parallel: goroutines
	parts script        // attempt, ifValid, parallel
}

type action int

const (
	doUntil action = iota
	doSleep
	doVerify
	doAcquire
	doAwait
	doRetry
	doResume
	doRead
	doCheck
	doWrite
	doUpdate
	doExtend
	doExtendOrEnd
	doKeepAlive
	doHandOff
	doRelease
	doAttempt
	doIfValid
	doParallel
)

var (
	verify    = step{do: doVerify}    // the servers
	acquire   = step{do: doAcquire}   // asks once; the script ends if it is refused
	await     = step{do: doAwait}     // waits for the lock; the script ends if that fails
	resume    = step{do: doResume}    // waits for a handle and resumes its lease; otherwise the script ends
	read      = step{do: doRead}      // the resource
	check     = step{do: doCheck}     // the lease; the script ends if it has expired
	write     = step{do: doWrite}     // what follows from the last read, without a check
	update    = step{do: doUpdate}    // read, check, write
	extend    = step{do: doExtend}    // a failure is noted
	keepAlive = step{do: doKeepAlive} // from now on
	// extendOrEnd is extend; the script ends if it fails.
	extendOrEnd = step{do: doExtendOrEnd}
	release     = step{do: doRelease}
)

// until waits for a moment of the scenario, by the client's own clock.
func until(t time.Duration) step { return step{do: doUntil, time: t} }

func sleep(d time.Duration) step { return step{do: doSleep, time: d} }

// retry asks up to so many times. The script ends if each is refused.
func retry(tries int, pause time.Duration) step {
	return step{do: doRetry, tries: tries, time: pause}
}

// handOff hands the lease off and sends the handle to other clients.
func handOff(to ...string) step { return step{do: doHandOff, to: to} }

// attempt performs steps. The script continues after it even if they end early.
func attempt(parts ...step) step { return step{do: doAttempt, parts: parts} }

// ifValid performs a step if the lease is valid.
func ifValid(s step) step { return step{do: doIfValid, parts: script{s}} }

// parallel has several goroutines of the client perform steps.
func parallel(goroutines int, parts ...step) step {
	return step{do: doParallel, count: goroutines, parts: parts}
}

// turn acquires the lock, updates, and keeps the lock for a while.
func turn(from, hold time.Duration) script {
	return script{until(from), acquire, update, sleep(hold), release}
}

// turnUntil is turn with a moment of the release.
func turnUntil(from, end time.Duration) script {
	return script{until(from), acquire, update, until(end), release}
}

// waitingTurn is turn by a client that waits for the lock.
func waitingTurn(from, hold time.Duration) script {
	return script{until(from), await, update, sleep(hold), release}
}

// twoUpdates acquires the lock, updates, and updates again later if the lease is valid.
func twoUpdates(from, again time.Duration) script {
	return script{until(from), acquire, update, until(again), ifValid(update)}
}

func twoUpdatesAndRelease(from, again time.Duration) script {
	return append(twoUpdates(from, again), release)
}

// keepTrying asks again and again, and updates once it has the lock.
func keepTrying(from time.Duration, tries int, pause time.Duration) script {
	return script{until(from), retry(tries, pause), update, release}
}

// extending extends the lease and later updates again if the lease is valid.
func extending(when, again time.Duration) script {
	return script{until(0), acquire, update, until(when), extend, until(again), ifValid(update), release}
}

// clients returns the workload in which c1, c2, ... perform the scripts. Each client first
// verifies the servers.
func clients(scripts ...script) simulation.Workload {
	return func(c *simulation.Client) {
		verifyServers(c)
		if c.Index < len(scripts) {
			perform(c, scripts[c.Index])
		}
	}
}

// everyClient returns the workload in which each client performs the script.
func everyClient(s script) simulation.Workload {
	return func(c *simulation.Client) {
		verifyServers(c)
		perform(c, s)
	}
}

func perform(c *simulation.Client, s script) { (&performer{Client: c}).perform(s) }

// performer performs a script.
type performer struct {
	*simulation.Client
	lease   simulation.Lease
	value   int64 // as last read
	version uint64
}

func (p *performer) perform(s script) {
	for _, step := range s {
		if !p.step(step) {
			return
		}
	}
}

// step performs a step and reports whether the script continues. Errors are in the log.
func (p *performer) step(s step) bool {
	switch s.do {
	case doUntil:
		p.SleepUntil(at(s.time))
	case doSleep:
		p.Sleep(s.time)
	case doVerify:
		verifyServers(p.Client)
	case doAcquire:
		return p.has(p.TryAcquire(key))
	case doAwait:
		return p.has(p.Acquire(key))
	case doRetry:
		for try := range uint64(s.tries) {
			if p.has(p.TryAcquire(key)) {
				return true
			}
			pause := s.time
			if s.extra > 0 {
				pause += time.Duration(p.Pick(try, s.extra)) * ms
			}
			p.Sleep(pause)
		}
		return false
	case doResume:
		return p.resume()
	case doRead:
		p.value, p.version, _ = p.Read(p.lease)
	case doCheck:
		return p.Valid(p.lease)
	case doWrite:
		_ = p.Write(p.lease, p.value+1, p.version)
	case doUpdate:
		value, version, err := p.Read(p.lease)
		if err == nil && p.Valid(p.lease) {
			_ = p.Write(p.lease, value+1, version)
		}
	case doExtend, doExtendOrEnd:
		if p.Extend(p.lease) != nil {
			p.Note("not extended")
			return s.do == doExtend
		}
	case doKeepAlive:
		p.KeepAlive(p.lease)
	case doHandOff:
		p.handOff(s.to)
	case doRelease:
		_ = p.Release(p.lease)
	case doAttempt:
		p.perform(s.parts)
	case doIfValid:
		if p.Valid(p.lease) {
			p.perform(s.parts)
		}
	case doParallel:
		for range s.count - 1 {
			p.Go(func(c *simulation.Client) { perform(c, s.parts) })
		}
		p.perform(s.parts)
	}
	return true
}

func (p *performer) has(lease simulation.Lease, err error) bool {
	p.lease = lease
	return err == nil
}

func (p *performer) handOff(to []string) {
	handle, err := p.HandOff(p.lease)
	if err != nil {
		return
	}
	text, err := handle.Text()
	if err != nil {
		p.Note("no handle")
		return
	}
	for _, name := range to {
		p.Send(name, text, 0)
	}
}

// resume polls for a handle.
func (p *performer) resume() bool {
	for range 100 {
		if text, ok := p.Letter(); ok {
			handle, err := quorum.ParseHandle(text)
			if err != nil {
				p.Note("no handle")
				return false
			}
			return p.has(p.Resume(handle))
		}
		p.Sleep(50 * ms)
	}
	return false
}

// verifyServers lets the monitors see the servers before any fault. The second time uses
// open connections, so that no vote needs another request.
func verifyServers(c *simulation.Client) {
	if c.Coordinator == nil {
		return
	}
	for range 2 {
		if _, err := c.Coordinator.Verify(c.Context()); err != nil {
			c.Note("verify failed")
		}
	}
}
