//go:build unix

package box

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation/box/driver"
	"github.com/redquorum/redlock/simulation/record"
)

// Limits of what is judged by a time. A busy machine is slow; these are far beyond that.
const (
	patience   = 4               // TTLs for which a client waits
	slack      = 2 * time.Second // beyond what an answer may take
	tellWithin = time.Second     // in which a client tells of a lost lease
)

// stage is a play in progress.
type stage struct {
	ctx     context.Context
	options Options
	hello   driver.Hello
	*Fleet
	servers []*server // those of the Fleet that are played with, the first ones
	play    *Play
	clients []*client
	history
	resource
	saved bool // a server has saved its data
	// untidy: a fault may have left keys or a server that is young.
	untidy bool
}

// judges notes a finding if there is one.
func (s *stage) judges(kind Kind, is bool, format string, args ...any) {
	if is {
		s.play.Findings = append(s.play.Findings, Finding{Kind: kind, Seq: int(s.events), Text: fmt.Sprintf(format, args...)})
	}
}

// judgesTime judges how long an answer took.
func (s *stage) judgesTime(c *client, do verb, took, wait time.Duration) {
	if s.works(c) {
		s.judges(Slow, took > wait+s.ttl+slack, "%s %s: the answer came after %v, though a majority of the servers worked", c.name, do, took.Round(100*time.Millisecond))
	}
}

// works reports whether a majority of the servers works for a client.
func (s *stage) works(c *client) bool {
	good := 0
	for i, server := range s.servers {
		if server.good() && !c.links[i].shut() {
			good++
		}
	}
	return good > len(s.servers)/2
}

// free reports whether the lock must become free for a client: a majority of the servers works,
// and whoever has the lock or asks for it can't renew it.
func (s *stage) free(c *client) bool {
	if !s.works(c) {
		return false
	}
	return !slices.ContainsFunc(s.clients, func(o *client) bool {
		return o != c && !o.dead && !o.paused && (o.holds || o.begun > 0)
	})
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

// enter starts a client's process.
func (s *stage) enter(c *client) error {
	d, err := startDriver(c.name, s.options.Command, s.options.startLimit)
	if err != nil {
		return err
	}
	c.driver = d
	if _, err := d.start(s.ctx, driver.Request{Do: driver.DoHello}); err != nil {
		return err
	}
	var addrs []string
	for _, link := range c.links {
		addrs = append(addrs, link.Addr())
	}
	_, err = d.start(s.ctx, driver.Request{Do: driver.DoOpen, Client: c.name, Servers: addrs, TTL: s.ttl.Milliseconds()})
	return err
}

// dies ends a client's process.
func (s *stage) dies(c *client) {
	if !c.dead {
		c.dead, c.holds, c.paused, c.begun, s.untidy = true, false, false, 0, true
		c.driver.kill()
		s.note(c.name, record.Crashed, "is killed", "")
	}
}

// client is a client of a play.
type client struct {
	name   string
	driver *clientProcess
	links  []*link // by a server's number
	paused bool
	dead   bool
	begun  uint64 // the number of the event that asked for an answer that is missing, 0 for none

	lease    int    // its number in the record
	leases   int    // how many it has had
	got      uint64 // the number of the event of the grant
	holds    bool
	left     bool // its lease was over, or not extended, and not given back: its keys may be there
	token    uint64
	read     bool // it has read the resource under this lease
	seen     content
	sent     *record.Event // a write that is on its way
	stopped  bool          // it was paused since its last check, so that it may write without another one
	told     int64         // losses that were told before this lease
	overtook bool          // another client has asked for the lock and got it meanwhile
}

// resource is what the clients' lock protects: a number that each holder reads and writes back,
// plus one. Its guard refuses a token that is smaller than one it has admitted.
type resource struct {
	content
	writesAlone bool // the guard sees no tokens of reads
	highest     uint64
}

// content is what the resource holds, and how often that was written.
type content struct{ value, version int }

// admit reports whether the guard admits the token, 0 for none.
func (r *resource) admit(token uint64) bool {
	if token == 0 {
		return true
	}
	if token < r.highest {
		return false
	}
	r.highest = token
	return true
}
