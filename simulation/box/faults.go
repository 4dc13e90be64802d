//go:build unix

package box

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation/box/driver"
	"github.com/redquorum/redlock/simulation/record"
)

// breaks carries out a fault, or ends it.
func (s *stage) breaks(step Step, c *client) error {
	s.note(step.Client, record.Noted, "fault", step.String())
	s.untidy = s.untidy || step.Do != await && step.Do != gone
	switch forms[step.Do] {
	case clientLast:
		return s.toClient(step.Do, c)
	case linkLast:
		return s.do(s.ctx, step)
	}
	return s.toServers(step)
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
		step.Do == extends && !s.can(driver.CanExtend) {
		return nil
	}
	for i, server := range s.servers {
		switch {
		case c.links[i].shut:
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

// toServers does something to servers, and notes whether that met keys of the lock.
func (s *stage) toServers(step Step) error {
	named := func(i int) bool { return strings.ContainsRune(step.Servers, rune(letters[i])) }
	for i := range s.servers {
		if named(i) && slices.Contains([]verb{stop, flush, fail, move, ahead, behind}, step.Do) {
			s.had[i] = s.keys(i)
		}
	}
	if err := s.do(s.ctx, step); err != nil && !errors.Is(err, errUnfit) {
		return err
	}
	for i := range s.servers {
		if !named(i) {
			continue
		}
		switch step.Do {
		case save:
			s.saved[i] = true
		case ahead, behind:
			s.strikes(step.Do, s.had[i] > 0)
		case start, flush, fail, move:
			lost := s.keys(i) < s.had[i]
			s.had[i] = 0
			s.strikes(step.Do, lost)
			s.strikes(save, lost && step.Do == start && s.saved[i])
		}
	}
	return nil
}

// keys is how many keys a server has whose names contain the lock's, 0 if it doesn't answer.
func (s *stage) keys(i int) int {
	if !s.servers[i].good() {
		return 0
	}
	reply, err := redisproc.AskAt(s.servers[i].Addr(), "KEYS", "*"+s.key+"*")
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimPrefix(reply, "*"))
	return n
}
