package simulation

import "github.com/redquorum/redlock/quorum/wire"

// What is between clients and a server: a proxy (see Proxy), and an address that can
// move to another server (see Switch).

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

// apartFrom is the server itself if its address has ever led to another server, so that
// connections to the two must be distinguished. Otherwise it is nil.
func (s *server) apartFrom() *server {
	if s.other != nil || s.home != nil {
		return s
	}
	return nil
}

// moveAddress points the server's address at another server.
func (s *server) moveAddress(f Fault) {
	w, now := s.w, s.w.now.Load()
	if s.old != nil || s.moved {
		return
	}
	w.count(addressMoved)
	if s.other == nil {
		s.other = newServer(w, s.index+len(w.servers), s.name+"~")
		s.other.home = s
		s.other.incarnation += 1 << 32 // no incarnation number occurs in both
		s.pinConnections()
	}
	s.moved, s.movedFor = true, f.Process
	end := int64(never)
	if f.For != 0 {
		end = now + int64(f.For)
		w.ahead(end, moment{func() bool { return !s.moved }, func() { s.moveBack(f) }})
	}
	s.troubled(end)
	s.retireConnections(f)
}

// pinConnections records on each connection to the server that it leads to this one.
func (s *server) pinConnections() {
	for _, p := range s.w.processes {
		for i, place := range s.w.places {
			if place.server == s && p.links[i].incarnation != 0 {
				p.links[i].to = s
			}
		}
	}
	for _, e := range s.subscriptions {
		e.at = s
	}
}

// troubled records that there is a fault behind the address until a moment.
func (s *server) troubled(until int64) {
	s.trouble, s.other.trouble = max(s.trouble, until), max(s.other.trouble, until)
}

// moveBack points the address at its own server again.
func (s *server) moveBack(f Fault) {
	s.moved = false
	s.w.event(Back, "", s.name)
	s.troubled(s.w.now.Load())
	s.retireConnections(f)
}

// retireConnections closes old connections that lead elsewhere than the address. Requests
// that were sent on them are still answered.
func (s *server) retireConnections(f Fault) {
	if f.By == 0 {
		return
	}
	s.w.schedule(s.w.now.Load()+int64(f.By), func() {
		s.troubled(s.w.now.Load())
		for _, p := range s.w.processes {
			for i, place := range s.w.places {
				if place.server == s && p.links[i].to != nil && p.links[i].to != p.address(i) {
					p.links[i].close()
				}
			}
		}
	})
}

// serverKeeps reports whether a server that the process knows by a place's name has, or
// had, the lease's key until a moment. The address need not lead there any more: the
// server has voted.
func (p *process) serverKeeps(place, database int, h *holding, until int64, keeps func(s *server, database int, h *holding, until int64) bool) bool {
	s := p.w.places[place].server
	if s.other == nil {
		return keeps(p.server(place), database, h, until)
	}
	return keeps(s, database, h, until) || keeps(s.other, database, h, until)
}

// demote makes the server the replica of an empty master. It loses all data, and its
// clients aren't told. As in Redis, clients that wait for replicas are disconnected.
func (s *server) demote() {
	s.resetBlocked()
	for _, p := range s.w.processes {
		for i := range s.w.places {
			if p.server(i) == s {
				p.links[i].wrote = 0
			}
		}
	}
	s.recall(func(entry) bool { return false })
	clear(s.marks)
	s.demoted = true
	s.drawReplID() // its master's
	s.showLost()
}

// promoteAgain ends a demotion.
func (s *server) promoteAgain() bool {
	if !s.up || !s.demoted {
		return false
	}
	s.demoted, s.promoted = false, true
	s.drawReplID()
	return true
}

func (s *server) drawReplID() {
	s.demotions++
	s.replID = s.drawID(1 + s.demotions)
}

// role is the role that the server reports.
func (s *server) role() string {
	if s.demoted {
		return "slave"
	}
	return wire.RoleMaster
}
