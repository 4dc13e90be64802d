package simulation

import "cmp"

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
	case s.old != nil && matches(s.oldFor, p.name):
		return s.old
	case s.moved && matches(s.movedFor, p.name):
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
	if c.place == toResource {
		return false
	}
	now := w.now.Load()
	for _, f := range w.switches {
		if now >= int64(f.At) && (f.For == 0 || now < int64(f.At+f.For)) && matches(f.Process, c.p.name) && matches(f.Server, w.places[c.place].server.name) &&
			draw(w.seed, tagApart, uint64(c.p.index), uint64(c.place+1), c.seq)%million < uint64(f.PPM) {
			return true
		}
	}
	return false
}

// proxied reports whether there is a proxy between a process and a place now.
func (w *world) proxied(p *process, place string) bool {
	now := w.now.Load()
	for _, f := range w.proxies {
		if now >= int64(f.At) && (f.For == 0 || now < int64(f.At+f.For)) && matches(f.Process, p.name) && matches(f.Server, place) {
			return true
		}
	}
	return false
}

// second is the other server behind the server's address: the old master in a split brain,
// or the server that the address leads to at times. nil if there is none.
func (s *server) second() *server { return cmp.Or(s.old, s.other) }
