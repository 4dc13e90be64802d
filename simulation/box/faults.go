//go:build unix

package box

import (
	"bytes"
	"errors"
	"strings"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// toClient carries out a fault of a client or its links, or ends it.
func (s *stage) toClient(step Step, c *client) error {
	s.untidy = true
	switch step.Do {
	case pause:
		if !c.paused && !c.dead {
			c.paused, c.stopped = true, true
			return c.driver.pause()
		}
	case resume:
		if c.paused && !c.dead {
			c.paused = false
			return errors.Join(c.driver.resume(), s.listen())
		}
	case kill:
		s.dies(c)
	default:
		for i := range c.links {
			if strings.ContainsRune(step.Servers, rune(letters[i])) {
				s.disturb(c, i, step.Do)
			}
		}
	}
	return nil
}

func (s *stage) dies(c *client) {
	if !c.dead {
		c.dead, c.holds, c.paused, c.begun, s.untidy = true, false, false, 0, true
		c.driver.kill()
	}
}

// disturb does something to a link.
func (s *stage) disturb(c *client, i int, do verb) {
	link := c.links[i]
	c.holdsBack[i] = do == delay || do == hold || do == trap
	switch do {
	case cut:
		link.Cut()
	case delay:
		link.Hold(redisproc.Requests)
	case hold:
		link.Hold(redisproc.Replies)
	case lose:
		link.Drop(redisproc.Replies)
	case trap:
		c.traps[i] = link.Trap(s.second())
	case free:
		link.Free(true)
		c.traps[i] = nil
	case heal:
		link.Reopen()
	}
	c.shut[i] = do != heal && do != free || c.traps[i] != nil
}

// second returns a function that reports whether a piece is the second with the lock's key.
func (s *stage) second() func(piece []byte) bool {
	seen := 0
	return func(piece []byte) bool {
		if bytes.Contains(piece, []byte(s.key)) {
			seen++
		}
		return seen == 2
	}
}

// toServers carries out a fault of servers, or ends it.
func (s *stage) toServers(step Step) error {
	s.untidy = true
	var errs []error
	for i, server := range s.servers {
		if !strings.ContainsRune(step.Servers, rune(letters[i])) {
			continue
		}
		switch step.Do {
		case hang:
			errs = append(errs, server.hangs())
		case wake:
			errs = append(errs, server.wakes())
		case stop:
			server.stops()
		case start:
			errs = append(errs, server.starts(s.ctx))
		case save:
			errs = append(errs, server.saves())
		case flush:
			errs = append(errs, server.flushes())
		}
	}
	return errors.Join(errs...)
}
