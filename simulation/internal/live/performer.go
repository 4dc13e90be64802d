//go:build unix

package live

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// performer is a client process that performs a script.
type performer struct {
	scenarios.Performer // nil: the steps of scenarios without a live form
	*clientProcess
	play *play
	free []scenarios.Free

	now       time.Duration // in the scenario
	waitUntil func(time.Duration)
	// atWrite is a fault just before the first write.
	atWrite      fault.Fault
	stoppedUntil time.Duration

	// lease is the end of the client's lease in the scenario, 0 if it has none. asked are
	// the servers that it has asked for it.
	lease time.Duration
	asked []*server
	isCut map[string]bool
	// unsettled: its deletes may be in flight.
	unsettled bool
}

// ended ends a script early.
type ended struct{}

// perform yields the times for which the script waits.
func (p *performer) perform(script scenarios.Script) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		defer func() {
			if e := recover(); e != nil {
				if _, ok := e.(ended); !ok {
					panic(e)
				}
			}
		}()
		p.waitUntil = func(t time.Duration) {
			if p.now = max(p.now, t); !yield(p.now) {
				panic(ended{})
			}
			p.now = max(p.now, p.stoppedUntil)
		}
		script.Perform(p)
	}
}

func (p *performer) Until(t time.Duration) { p.waitUntil(begins + t) }
func (p *performer) Sleep(d time.Duration) { p.waitUntil(p.now + d) }

// Acquire checks the result if it does not depend on another client's lease. If the machine
// was too slow for it, the run is repeated.
func (p *performer) Acquire() bool {
	s := p.env
	expected := p.play.expected[p.who]
	p.play.expected[p.who] = expected[min(1, len(expected)):]
	if f := p.required(); f != nil {
		return p.got(p.acquireWithin(p.play.scaled(f.By+begins-p.now) + p.play.slack))
	}
	held := p.held()
	if !held {
		p.awaitExpiry()
	}
	said := p.begin(request{Do: doTry, Key: key}).await()
	granted := len(expected) > 0 && expected[0]
	switch {
	case granted && s.alone && !said.OK && !strings.Contains(said.Why, quorum.ErrTaken.Error()):
		s.late(p.who + "'s only request failed: " + said.Why) // on a connection from before a restart, for instance
	case held || len(expected) == 0 || said.OK == granted:
	case said.OK:
		s.fail("live: %s has the lock, which the simulation refused", p.who)
	default:
		s.late(p.who + " didn't get the lock: " + said.Why)
	}
	return p.got(said.OK)
}

// Retry waits for the lock: for as long as the scenario allows, or only briefly if it does
// not say that the client gets it.
func (p *performer) Retry(int, time.Duration, int) bool {
	if p.held() && p.try() {
		p.env.late("another client's lease has expired")
	}
	if f := p.required(); f != nil {
		return p.got(p.acquireWithin(p.play.scaled(f.By+begins-p.now) + p.play.slack))
	}
	return p.got(p.wait(p.env.ttl / 20))
}

// required returns when the client must get the lock, nil if it need not.
func (p *performer) required() *scenarios.Free {
	for _, f := range p.free {
		if f.Process == p.who {
			return &f
		}
	}
	return nil
}

func (p *performer) got(lock bool) bool {
	p.unsettled = !lock
	if !lock {
		return false
	}
	p.lease, p.asked = p.now+simulatedTTL, nil
	for _, v := range p.env.servers {
		// A server with an alias may have the key under the alias alone.
		aliased := slices.ContainsFunc(p.env.cfg.Aliases, func(a simulation.Alias) bool { return a.Server == v.name })
		if !p.isCut[v.name] && !aliased {
			p.asked = append(p.asked, v)
		}
	}
	return true
}

// held reports whether another client holds the lock in the scenario.
func (p *performer) held() bool {
	for _, c := range p.play.performers {
		if c != p && c.lease > p.now {
			return true
		}
	}
	return false
}

// awaitExpiry waits until the keys of expired leases are gone, and deletes have arrived.
func (p *performer) awaitExpiry() {
	for _, c := range p.play.performers {
		if c.lease != 0 && c != p {
			p.env.awaitKey(false, p.env.servers...)
			c.lease = 0
		}
		if c.unsettled && c != p {
			_ = c.begin(request{Do: doSettle, Patience: time.Second}).await() // deletes on unreachable servers stay pending
			c.unsettled = false
		}
	}
}

// Valid checks the lease. If it should be valid and is not, the run is repeated.
func (p *performer) Valid() bool {
	valid := p.valid()
	if !valid && p.now < p.lease {
		p.env.late(p.who + "'s lease has expired")
	}
	return valid
}

func (p *performer) Read()  { p.ask(request{Do: doRead}) }
func (p *performer) Write() { _ = p.begin(request{Do: doWrite}).await() } // the history has its error

// Update is interrupted by atWrite between its check and its write.
func (p *performer) Update() {
	f := p.atWrite
	p.atWrite = fault.Fault{}
	switch f.Kind {
	case fault.Crash:
		p.check()
		p.die()
		panic(ended{})
	case fault.Pause:
		write := p.check()
		resume := p.cont
		if p.env.tc.Freeze {
			resume = p.freeze().thaw
		} else {
			p.pause()
		}
		write.proceed() // the client reads this when it is resumed
		p.waitUntil(p.now + f.For)
		resume()
		_ = write.await()
	default:
		p.update()
	}
}

// Release checks the lease first, because the history knows beliefs only from checks.
func (p *performer) Release() {
	p.Valid()
	p.release()
	p.lease, p.unsettled = 0, true
}
