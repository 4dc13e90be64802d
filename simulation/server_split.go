package simulation

import (
	"maps"
	"slices"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
)

// A server in a split brain is two servers: the promoted replica, which keeps the name, and
// the old master, which some processes still reach. At the end the old master is demoted:
// it copies the new master's data.

// split promotes a replica beside the server. The named process, or all processes, still
// reach the old master.
func (s *server) split(f fault.Fault) {
	w, now := s.w, s.w.Now.Load()
	if !s.up || s.old != nil || s.other != nil {
		return
	}
	w.count(serverSplit)
	end := int64(kernel.Never)
	if f.For != 0 {
		end = now + int64(f.For)
	}
	// It continues as it is, except for its replicas, which follow the new master.
	old := &server{
		w: w, index: s.index, name: s.name + "'", wall: s.wall, data: s.data, log: slices.Clone(s.log),
		incarnation: s.incarnation, id: s.id, replID: s.replID, promoted: s.promoted, up: true, started: s.started, trouble: end, hungUntil: s.hungUntil, shown: maps.Clone(s.shown),
		marks: maps.Clone(s.marks),
	}
	s.old, s.oldFor = old, f.Process
	old.connectNotify()
	for _, address := range slices.Sorted(maps.Keys(s.subscriptions)) {
		if e := s.subscriptions[address]; e.p.server(e.place) == old {
			if old.subscriptions == nil {
				old.subscriptions = map[string]*subscription{}
			}
			old.subscriptions[address] = e
			delete(s.subscriptions, address)
		}
	}
	stays := func(r *request) bool { return r.call.p.server(r.call.place) == old }
	for _, r := range s.waiting {
		if stays(r) {
			old.waiting = append(old.waiting, r)
		}
	}
	s.waiting = slices.DeleteFunc(s.waiting, stays)
	if old.hungUntil > now {
		old.recovers(old.hungUntil, old.wake)
	}
	for _, b := range s.blocked {
		if stays(b.r) {
			b.s = old
			old.blocked = append(old.blocked, b)
		}
	}
	s.blocked = slices.DeleteFunc(s.blocked, func(b *withheld) bool { return b.s == old })
	s.kill()
	s.promote(f.Replica, now, now-int64(f.By))
	s.trouble = end
	s.showLost()
	if end != kernel.Never {
		w.Ahead(end, kernel.MomentOf(func() bool { return !old.up }, s.heal))
	}
}

// heal ends a split.
func (s *server) heal() {
	old := s.old
	old.kill() // its connections break, and new ones lead to the new master
	s.old = nil
	s.trouble = max(s.trouble, s.w.Now.Load())
	s.w.event(record.Back, "", s.name)
	old.data = s.w.databases()
	old.showLost()
}
