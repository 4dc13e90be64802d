//go:build unix

package box

import (
	"errors"
	"slices"

	"github.com/redquorum/redlock/simulation/box/driver"
	"github.com/redquorum/redlock/simulation/record"
)

// strikes notes that a fault has struck, if it has.
func (s *stage) strikes(do verb, has bool) { s.play.Struck[do] = s.play.Struck[do] || has }

// breaks carries out a fault, or ends it.
func (s *stage) breaks(step Step, c *client) error {
	s.note(step.Client, record.Noted, "fault", step.String())
	s.untidy = s.untidy || step.Do != await && step.Do != gone
	held := slices.ContainsFunc(s.clients, func(c *client) bool { return c.holds || c.begun > 0 })
	switch step.Do {
	case pause, resume, kill, spawn:
		return s.toClient(step.Do, c)
	case save:
		s.saved = true
	case start:
		s.strikes(start, held)
		s.strikes(save, held && s.saved)
	case flush, fail, move, ahead, behind:
		s.strikes(step.Do, held)
	}
	if err := s.do(s.ctx, step); !errors.Is(err, errUnfit) {
		return err
	}
	return nil
}

// toClient does something to a client's process.
func (s *stage) toClient(do verb, c *client) error {
	s.strikes(do, (do == pause || do == kill) && (c.holds || c.begun > 0) && !c.paused)
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

// meets returns which faults a client meets in a step in which it asks the servers.
func (s *stage) meets(step Step, c *client) (met []verb) {
	if !slices.Contains([]verb{waits, gets, tries, begins, queues, extends, releases}, step.Do) ||
		step.Do == extends && !s.hello.Has(driver.CanExtend) {
		return nil
	}
	for i, server := range s.servers {
		switch {
		case c.links[i].shut():
			met = append(met, cut)
		case server.good():
		case server.state == hung:
			met = append(met, hang)
		default:
			met = append(met, stop)
		}
	}
	return met
}
