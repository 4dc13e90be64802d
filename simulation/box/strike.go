//go:build unix

package box

import (
	"slices"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation/box/driver"
)

// struck reports whether a fault has struck in the play.
func (p Play) struck(fault string) bool {
	return slices.ContainsFunc(faultNamed(fault).own, func(do verb) bool { return p.Struck[do] })
}

func (s *stage) strikes(do verb) { s.play.Struck[do] = true }

// meets returns which faults a client meets in a step in which it asks the servers.
func (s *stage) meets(step Step, c *client) (met []verb) {
	if !slices.Contains([]verb{waits, gets, tries, begins, queues, extends, releases}, step.Do) ||
		step.Do == extends && !s.box.can(driver.CanExtend) {
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

// breaks carries out a fault of servers, and notes whether it met keys of the lock.
func (s *stage) breaks(step Step) error {
	at := func(do func(i int)) {
		for i := range s.servers {
			if strings.ContainsRune(step.Servers, rune(letters[i])) {
				do(i)
			}
		}
	}
	if slices.Contains([]verb{stop, flush, fail, move, ahead, behind}, step.Do) {
		at(func(i int) { s.had[i] = s.keys(i) })
	}
	if err := s.toServers(step); err != nil {
		return err
	}
	at(func(i int) {
		switch step.Do {
		case save:
			s.saved[i] = true
		case ahead, behind:
			if s.had[i] > 0 {
				s.strikes(step.Do)
			}
		case start, flush, fail, move:
			lost := s.keys(i) < s.had[i]
			s.had[i] = 0
			if lost {
				s.strikes(step.Do)
			}
			if lost && step.Do == start && s.saved[i] {
				s.strikes(save)
			}
		}
	})
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
