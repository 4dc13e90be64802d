package simulation

import (
	"maps"
	"slices"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// A server's address can lead some processes to a second server for a while: to the old master, which
// continues beside the replica that has taken over, or to another server, because the address has moved.

// split promotes a replica beside the server. The named process, or all processes, still
// reach the old master.
func (s *server) split(f fault.Fault) {
	w, now := s.w, s.w.Now.Load()
	if !s.up || s.second != nil {
		return
	}
	// It continues as it is, except for its connections, which break, and its replicas, which
	// follow the new master.
	old := &server{
		w: w, index: s.index, name: s.name + "'", wall: s.wall, data: s.data, log: slices.Clone(s.log),
		incarnation: s.incarnation, id: s.id, replID: s.replID, promoted: s.promoted, up: true, started: s.started,
		hungUntil: s.hungUntil, lost: s.lost, shown: maps.Clone(s.shown), mark: s.mark, subscriptions: map[string]*subscription{},
	}
	old.connectNotify()
	if old.hungUntil > now {
		old.recovers(old.hungUntil, old.wake)
	}
	s.kill()
	s.promote(f.Replica, now, now-int64(f.By))
	s.leads(f, old)
	s.showLost()
}

// leadAway points the server's address at a new server that has been up as long, for the named process
// or for all processes.
func (s *server) leadAway(f fault.Fault) {
	w := s.w
	if s.second != nil {
		return
	}
	for _, p := range w.processes {
		if fault.Matches(f.Process, p.Name) && !p.Gone() {
			p.cutConnection(s.index)
		}
	}
	w.spares++
	other := newServer(w, len(w.servers)+w.spares, s.name+"~")
	other.incarnation += 1 << 32 // no incarnation number occurs in both
	s.leads(f, other)
}

// leads lets the server's address lead a process to a second server, until the fault ends.
func (s *server) leads(f fault.Fault, second *server) {
	s.second, s.secondFor = second, f.Process
	end := int64(kernel.Never)
	if f.For != 0 {
		end = s.w.Now.Load() + int64(f.For)
		s.w.Ahead(end, nil, s.leadsBack)
	}
	s.trouble, second.trouble = max(s.trouble, end), end
	second.lost = s.w.Now.Load()
}

// leadsBack ends the second server. Its connections break, and new ones lead to the server itself.
func (s *server) leadsBack() {
	second := s.second
	second.kill()
	s.second, s.lost = nil, s.w.Now.Load()
	s.w.event(record.Back, "", s.name)
	second.data = redismodel.New(s.w.cfg.Scripts)
	second.showLost()
}
