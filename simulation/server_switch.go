package simulation

import (
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
)

// What is between clients and a server: a proxy (see Proxy), and an address that can
// move to another server (see Switch).

// moveAddress points the server's address at another server.
func (s *server) moveAddress(f fault.Fault) {
	w, now := s.w, s.w.Now.Load()
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
	end := int64(kernel.Never)
	if f.For != 0 {
		end = now + int64(f.For)
		w.Ahead(end, kernel.MomentOf(func() bool { return !s.moved }, func() { s.moveBack(f) }))
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
func (s *server) moveBack(f fault.Fault) {
	s.moved = false
	s.w.event(record.Back, "", s.name)
	s.troubled(s.w.Now.Load())
	s.retireConnections(f)
}

// retireConnections closes old connections that lead elsewhere than the address. Requests
// that were sent on them are still answered.
func (s *server) retireConnections(f fault.Fault) {
	if f.By == 0 {
		return
	}
	s.w.Schedule(s.w.Now.Load()+int64(f.By), func() {
		s.troubled(s.w.Now.Load())
		for _, p := range s.w.processes {
			for i, place := range s.w.places {
				if place.server == s && p.links[i].to != nil && p.links[i].to != p.address(i) {
					p.links[i].close()
				}
			}
		}
	})
}
