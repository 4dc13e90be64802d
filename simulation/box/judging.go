//go:build unix

package box

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation/box/driver"
)

// judges notes a finding if there is one.
func (s *stage) judges(kind Kind, is bool, format string, args ...any) {
	if is {
		s.play.Findings = append(s.play.Findings, Finding{Kind: kind, Seq: int(s.events), Text: fmt.Sprintf(format, args...)})
	}
}

// slow judges how long an answer took.
func (s *stage) slow(c *client, do verb, took, wait time.Duration) {
	if s.works(c) {
		s.judges(Slow, took > wait+s.ttl+slack, "%s %s: the answer came after %v, though a majority of the servers works", c.name, do, took.Round(100*time.Millisecond))
	}
}

// reach is how many servers work for a client.
func (s *stage) reach(c *client) (good int) {
	for i, server := range s.servers {
		if server.good() && !c.links[i].shut {
			good++
		}
	}
	return good
}

// works reports whether a majority of the servers works for a client.
func (s *stage) works(c *client) bool { return s.reach(c) > len(s.servers)/2 }

// free reports whether the lock must become free for a client: a majority of the servers works,
// and whoever has the lock or asks for it can't renew it.
func (s *stage) free(c *client) bool {
	if !s.works(c) {
		return false
	}
	for _, o := range s.clients {
		if o != c && !o.dead && !o.paused && (o.holds || o.begun > 0) {
			return false
		}
	}
	return true
}

// everlasting reports whether so many servers have the lock's key without an expiry that nobody
// will ever get it.
func (s *stage) everlasting() bool {
	n := 0
	for _, server := range s.servers {
		if server.good() {
			if reply, err := redisproc.AskAt(server.Addr(), "PTTL", s.key); err == nil && reply == ":-1" {
				n++
			}
		}
	}
	return 2*n >= len(s.servers)
}

// nobody reports whether no client has the lock, or may have it, or has left its keys.
func (s *stage) nobody() bool {
	return !slices.ContainsFunc(s.clients, func(o *client) bool { return o.holds || o.left || o.dead || o.begun > 0 })
}

// tidy reports whether nothing can stand in the way of a request: there was no fault, and nobody
// has the lock.
func (s *stage) tidy() bool { return !s.untidy && s.nobody() }

// listen notes which clients tell that their leases are lost, and waits for those that must.
func (s *stage) listen() error {
	for _, c := range s.clients {
		if !c.holds || c.paused || c.dead {
			continue
		}
		if s.box.can(driver.CanTell) && c.overtook {
			if err := s.awaitLoss(c); err != nil {
				return err
			}
		}
		if c.driver.losses() > c.told {
			s.says(c, driver.Answer{Why: "the client told that its lease is lost"})
		}
	}
	return nil
}

func (s *stage) awaitLoss(c *client) error {
	c.overtook = false
	ctx, cancel := context.WithTimeout(s.ctx, tellWithin)
	defer cancel()
	err := until(ctx, func() bool { return c.driver.losses() > c.told || c.driver.failure() != nil })
	s.judges(LossUntold, err != nil && s.ctx.Err() == nil, "%s hasn't told of its lost lease %v after another client had got the lock", c.name, tellWithin)
	if err := c.driver.failure(); err != nil {
		return err
	}
	return context.Cause(s.ctx)
}
