package simulation

import (
	"cmp"
	"slices"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
)

// server returns the server that a process reaches at a place, over its connection or by
// opening one.
func (p *process) server(place int) *server {
	if to := p.links[place].to; to != nil {
		return to
	}
	return p.address(place)
}

// address returns the server that a new connection leads to.
func (p *process) address(place int) *server {
	s := p.w.places[place].server
	switch {
	case s.old != nil && fault.Matches(s.oldFor, p.Name):
		return s.old
	case s.moved && fault.Matches(s.movedFor, p.Name):
		return s.other
	}
	return s
}

// server returns the server at which the request arrives.
func (r *request) server() *server {
	p, place := r.call.p, r.call.place
	switch {
	case r.to != nil:
		return r.to
	case r.apart:
		return p.address(place)
	}
	return p.server(place)
}

// connectsApart reports whether a request uses a separate connection, because its process
// has a pool and the address has moved.
func (w *world) connectsApart(c *call) bool {
	return c.place != toResource && slices.ContainsFunc(w.switches, func(f fault.Fault) bool {
		return f.During(w.Now.Load()) && fault.Matches(f.Process, c.p.Name) && fault.Matches(f.Server, w.places[c.place].server.name) &&
			kernel.Draw(w.Seed, kernel.TagApart, uint64(c.p.Index), uint64(c.place+1), c.seq)%kernel.Million < uint64(f.PPM)
	})
}

// proxied reports whether there is a proxy between a process and a place now.
func (w *world) proxied(p *process, place string) bool {
	return slices.ContainsFunc(w.proxies, func(f fault.Fault) bool {
		return f.During(w.Now.Load()) && fault.Matches(f.Process, p.Name) && fault.Matches(f.Server, place)
	})
}

// second is the other server behind the server's address: the old master in a split brain,
// or the server that the address leads to at times. nil if there is none.
func (s *server) second() *server { return cmp.Or(s.old, s.other) }
