package simulation

import "github.com/redquorum/redlock/quorum"

// What stands between clients and a server: a proxy, see Proxy, and an address that can
// lead to another server, see Switch.

// proxied reports whether a proxy stands between a process and a place now.
func (w *world) proxied(p *process, place string) bool {
	now := w.now.Load()
	for _, f := range w.proxies {
		if now >= int64(f.At) && (f.For == 0 || now < int64(f.At+f.For)) && matches(f.Process, p.name) && matches(f.Server, place) {
			return true
		}
	}
	return false
}

// server gives the server that the request arrives at.
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

// connectsApart reports whether a request goes over a connection of its own because its
// process has several, and the address has moved.
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

// apartFrom is the server itself if a connection to it has to be told from one to another
// server of the same address, and nil otherwise.
func (s *server) apartFrom() *server {
	if s.other != nil || s.home != nil {
		return s
	}
	return nil
}

// moveAddress lets the server's address lead to another server.
func (s *server) moveAddress(f Fault) {
	w, now := s.w, s.w.now.Load()
	if s.old != nil || s.moved {
		return
	}
	w.count(addressMoved)
	if s.other == nil {
		s.other = newServer(w, s.index+len(w.servers), s.name+"~")
		s.other.home = s
		s.other.life += 1 << 32 // no life of the one is a life of the other
		s.pinConnections()
	}
	s.moved, s.movedFor = true, f.Process
	end := int64(never)
	if f.For != 0 {
		end = now + int64(f.For)
		w.ahead(end, &movedBack{s: s, by: f})
	}
	s.troubled(end)
	s.retireConnections(f)
}

// pinConnections notes of each connection to the server that it is to this one.
func (s *server) pinConnections() {
	for _, p := range s.w.processes {
		for i, place := range s.w.places {
			if place.server == s && p.links[i].life != 0 {
				p.links[i].to = s
			}
		}
	}
	for _, e := range s.ears {
		e.at = s
	}
}

// troubled says that something is wrong with what the address leads to, until a moment.
func (s *server) troubled(until int64) {
	s.trouble, s.other.trouble = max(s.trouble, until), max(s.other.trouble, until)
}

// movedBack is when the address leads to its own server again.
type movedBack struct {
	s  *server
	by Fault
}

func (m *movedBack) live() bool { return m.s.moved }

func (m *movedBack) happen(w *world) {
	m.s.moved = false
	w.event(Back, "", m.s.name)
	m.s.troubled(w.now.Load())
	m.s.retireConnections(m.by)
}

// retireConnections ends the connections that lead elsewhere than the address, when they
// have become old. What was sent on them is still answered.
func (s *server) retireConnections(f Fault) {
	if f.By != 0 {
		s.w.ahead(s.w.now.Load()+int64(f.By), &retired{s})
	}
}

type retired struct{ s *server }

func (r *retired) live() bool { return true }

func (r *retired) happen(w *world) {
	r.s.troubled(w.now.Load())
	for _, p := range w.processes {
		for i, place := range w.places {
			if place.server == r.s && p.links[i].to != nil && p.links[i].to != p.address(i) {
				p.links[i].close()
			}
		}
	}
}

// serverKeeps asks of a server that the process knows by the name of a place whether it
// has, or had, the lease's key until a moment. Whether the address still leads there is not what is
// asked: its vote was given.
func (p *process) serverKeeps(place, database int, h *holding, until int64, keeps func(s *server, database int, h *holding, until int64) bool) bool {
	s := p.w.places[place].server
	if s.other == nil {
		return keeps(p.server(place), database, h, until)
	}
	return keeps(s, database, h, until) || keeps(s.other, database, h, until)
}

// demote makes the server the replica of an empty master: nothing of what it had is left,
// and its clients aren't told. Who waits for replicas is disconnected, as in Redis.
func (s *server) demote() {
	blocked := s.blocked
	s.blocked = nil
	for _, b := range blocked {
		b.over = true
		b.r.reply(&answer{vote: quorum.Vote{Err: ErrReset}})
	}
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
	if s.showAll() > 0 {
		s.w.count(writesLost)
	}
}

// promoteAgain ends a demotion.
func (s *server) promoteAgain() {
	s.demoted, s.promoted = false, true
	s.drawReplID()
}

func (s *server) drawReplID() {
	s.demotions++
	s.replID = s.drawID(1 + s.demotions)
}

// role is what the server says that it is.
func (s *server) role() string {
	if s.demoted {
		return "slave"
	}
	return quorum.RoleMaster
}
