//go:build unix

package box

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation/record"
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
			return c.driver.resume()
		}
	case kill:
		s.dies(c)
	case spawn:
		if c.dead {
			c.dead = false
			return s.enter(c)
		}
	default:
		for i, link := range c.links {
			if strings.ContainsRune(step.Servers, rune(letters[i])) {
				if err := s.disturb(link, step.Do); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *stage) dies(c *client) {
	if !c.dead {
		c.dead, c.holds, c.paused, c.begun, s.untidy = true, false, false, 0, true
		c.driver.kill()
		s.note(c.name, record.Crashed, "is killed", "")
	}
}

// disturb does something to a link.
func (s *stage) disturb(l *link, do verb) (err error) {
	switch do {
	case cut:
		l.Cut()
	case delay:
		l.Hold(redisproc.Requests)
	case hold:
		l.Hold(redisproc.Replies)
	case lose:
		l.Drop(redisproc.Replies)
	case miss:
		l.Miss(redisproc.Replies)
	case snare:
		l.trap = l.Trap(s.nth(1))
	case trap:
		l.trap = l.Trap(s.nth(2))
	case free:
		err = s.frees(l)
		l.trap = nil
	case heal:
		l.Reopen()
	}
	l.holdsBack = do == delay || do == hold || do == trap || do == snare
	l.shut = do != heal && do != free || l.trap != nil
	return err
}

// frees lets go of what a trap has caught, and waits until it is on its way to the server.
func (s *stage) frees(l *link) error {
	sent := l.Passed(redisproc.Requests)
	l.Free()
	select {
	case <-l.trap:
		return until(s.ctx, func() bool { return l.Passed(redisproc.Requests) > sent })
	default:
		return nil
	}
}

// nth returns a function that reports whether a piece is the n-th with the lock's key.
func (s *stage) nth(n int) func(piece []byte) bool {
	seen := 0
	return func(piece []byte) bool {
		if bytes.Contains(piece, []byte(s.key)) {
			seen++
		}
		return seen == n
	}
}

// toServers carries out a fault of servers, or ends it.
func (s *stage) toServers(step Step) error {
	s.untidy = s.untidy || step.Do != await && step.Do != gone
	var errs []error
	for i, server := range s.servers {
		if strings.ContainsRune(step.Servers, rune(letters[i])) {
			errs = append(errs, s.toServer(step.Do, i, server))
		}
	}
	return errors.Join(errs...)
}

func (s *stage) toServer(do verb, i int, server *serverState) (err error) {
	switch do {
	case hang, wake, stop, start:
		return server.does(s.ctx, do)
	case save:
		return server.command("SAVE")
	case flush:
		return server.command("FLUSHALL")
	case drop:
		return server.command("DEL", s.key)
	case await:
		return s.awaits(server, ":1")
	case gone:
		return s.awaits(server, ":0")
	case home:
		s.leads(i, server, "")
		return nil
	}
	real, err := server.real()
	if err != nil {
		return err
	}
	switch do {
	case evict:
		return real.fill(s.key)
	case move:
		addr, err := real.other(s.ctx)
		s.leads(i, server, addr)
		return err
	case follow:
		return real.follow(s.ctx)
	case lag:
		real.lag()
		return nil
	case fail:
		_ = server.does(s.ctx, stop)
		addr, err := real.failOver(s.ctx)
		s.leads(i, server, addr)
		return err
	}
	// Clocks. "right" is none of these.
	if real.machine == nil {
		return ErrNoClocks
	}
	real.machine.set(map[verb]time.Duration{ahead: 2 * s.ttl, behind: -10 * s.ttl}[do])
	return nil
}

// leads has new connections to a server lead to an address, or back to the server if it is "".
func (s *stage) leads(i int, server *serverState, addr string) {
	server.moved = addr
	for _, c := range s.clients {
		c.links[i].Switch(server.Addr())
	}
}

// awaits waits until so many of the lock's keys are on a server and on its replicas, but not for
// longer than a TTL: a client may use other keys.
func (s *stage) awaits(server *serverState, keys string) error {
	ctx, cancel := context.WithTimeout(s.ctx, s.ttl)
	defer cancel()
	for _, addr := range server.addrs() {
		_ = until(ctx, func() bool {
			reply, err := redisproc.AskAt(addr, "EXISTS", s.key)
			return err == nil && reply == keys
		})
	}
	return context.Cause(s.ctx)
}
