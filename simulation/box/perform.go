//go:build unix

package box

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation/box/driver"
	"github.com/redquorum/redlock/simulation/record"
)

// perform plays the stage's schedule. Its replicas come first, because a client may need them.
func (s *stage) perform() (Play, error) {
	p := s.play
	s.played++
	s.key, s.ttl, s.began, s.log = fmt.Sprintf("box-%d-lock", s.played), p.TTL, time.Now(), &p.Record
	defer s.close()
	first := slices.IndexFunc(p.Schedule, func(step Step) bool { return step.Do != follow })
	for i, step := range p.Schedule {
		if i == first {
			if err := s.open(); err != nil {
				return *p, err
			}
		}
		if err := s.take(step); err != nil {
			return *p, err
		}
		if err := s.listen(); err != nil {
			return *p, err
		}
	}
	p.Findings = append(findingsIn(p.Record), p.Findings...)
	return *p, nil
}

// open starts the schedule's clients, and has each of them lock and unlock another key, so that
// their connections are there, and so that a client that doesn't trust young servers does
// afterwards.
func (s *stage) open() error {
	for _, name := range s.play.Schedule.clients() {
		c := &client{name: name}
		s.clients = append(s.clients, c)
		for _, server := range s.servers {
			l, err := server.link(name)
			if err != nil {
				return err
			}
			c.links = append(c.links, l)
		}
		if err := s.enter(c); err != nil {
			return err
		}
		if err := s.warmUp(c); err != nil {
			return err
		}
	}
	return nil
}

// skippedError is why a play was skipped: a client did not get its first lock, so nothing can be concluded.
type skippedError struct{ error }

func (e skippedError) Unwrap() error { return e.error }

func (s *stage) warmUp(c *client) error {
	key := fmt.Sprintf("box-%d-%s", s.played, c.name)
	most := max(10*s.ttl, s.options.firstLimit)
	until := time.Now().Add(most)
	var a driver.Answer
	var err error
	for err == nil && !a.Held { // again, because where a server is slow the client may miss that the lock is free
		if a, err = s.wait(c, key, s.ttl); err == nil && !a.Held && time.Now().After(until) {
			return skippedError{c.driver.did("didn't get a free lock from healthy servers within %v: %s", most, a.Why)}
		}
	}
	if err == nil {
		_, err = c.driver.ask(s.ctx, driver.Request{Do: driver.DoRelease, Key: key}, answerLimit)
	}
	if errors.Is(err, errNoAnswer) {
		return skippedError{c.driver.did("hasn't answered within %v though all servers work", answerLimit)}
	}
	return err
}

func (s *stage) close() {
	for _, c := range s.clients {
		for _, link := range c.links {
			link.Reopen()
		}
		if c.driver != nil && !c.dead {
			c.driver.end()
		}
	}
	for _, server := range s.servers {
		server.unlink()
	}
}

// take carries out a step.
func (s *stage) take(step Step) error {
	if err := s.ctx.Err(); err != nil {
		return context.Cause(s.ctx)
	}
	var c *client
	if i := slices.IndexFunc(s.clients, func(c *client) bool { return c.name == step.Client }); i >= 0 {
		c = s.clients[i]
	}
	if forms[step.Do] != clientFirst {
		return s.breaks(step, c)
	}
	did, err := s.act(step.Do, c)
	if did {
		s.meets(c)
	}
	if errors.Is(err, errNoAnswer) {
		s.hangs(c, step.Do)
		return nil
	}
	return err
}

// meets notes which faults a client met in a step.
func (s *stage) meets(c *client) {
	for i, server := range s.servers {
		switch {
		case c.links[i].shut():
			s.play.Struck[cut] = true
		case server.good():
		case server.state == hung:
			s.play.Struck[hang] = true
		default:
			s.play.Struck[stop] = true
		}
	}
}

// breaks carries out a fault, or ends it. A fault of one client strikes if that client holds the lock or asks for it,
// and any other fault if some client does.
func (s *stage) breaks(step Step, c *client) error {
	s.note(step.Client, record.Noted, "fault", step.String())
	s.untidy = s.untidy || step.Do != await && step.Do != gone
	s.saved = s.saved || step.Do == save
	strikes := slices.ContainsFunc(s.clients, func(o *client) bool { return (c == nil || o == c) && (o.holds || o.begun > 0) })
	switch {
	case !strikes || step.Do == save: // it strikes when the server starts with what it saved
	case step.Do == start:
		s.play.Struck[start], s.play.Struck[save] = true, s.play.Struck[save] || s.saved
	default:
		s.play.Struck[step.faultVerb()] = true
	}
	if forms[step.Do] == clientLast {
		return s.toClient(step.Do, c)
	}
	if err := s.do(s.ctx, step); !errors.Is(err, errUnfit) {
		return err
	}
	return nil
}

// toClient does something to a client's process.
func (s *stage) toClient(do verb, c *client) error {
	switch {
	case do == pause && !c.paused && !c.dead:
		c.paused, c.stopped = true, true
		return c.driver.pause()
	case do == resume && c.paused && !c.dead:
		c.paused = false
		return c.driver.resume()
	case do == kill:
		s.dies(c)
	case do == spawn && c.dead:
		c.dead = false
		return s.enter(c)
	}
	return nil
}

// listen notes which clients tell that their leases are lost, and waits for those that must.
func (s *stage) listen() error {
	for _, c := range s.clients {
		if !c.holds || c.paused || c.dead {
			continue
		}
		if s.hello.Has(driver.CanTell) && c.overtook {
			if err := s.awaitLoss(c); err != nil {
				return err
			}
		}
		if c.driver.losses.Load() > c.told {
			s.says(c, driver.Answer{Why: "the client told that its lease is lost"})
		}
	}
	return nil
}

func (s *stage) awaitLoss(c *client) error {
	c.overtook = false
	ctx, cancel := context.WithTimeout(s.ctx, tellWithin)
	defer cancel()
	err := until(ctx, func() bool { return c.driver.losses.Load() > c.told || c.driver.failure() != nil })
	s.judges(LossUntold, err != nil && s.ctx.Err() == nil, "%s hasn't told of its lost lease %v after another client had got the lock", c.name, tellWithin)
	if err := c.driver.failure(); err != nil {
		return err
	}
	return context.Cause(s.ctx)
}
