package quorumtest

import "github.com/redquorum/redlock/quorum/wire"

// Servers are several servers of one set.
type Servers []*Server

// NewServers starts n servers, A, B, C and so on, on the virtual clock in a testing/synctest bubble, or on
// the real one. Each is vouched for until it is restarted (wire.Identity.Vouched), so the first lock waits for
// nothing.
func NewServers(n int) Servers {
	all := make(Servers, n)
	for i := range all {
		s := NewServer(string(rune('A'+i)), nil)
		run := s.RunID()
		s.SetIdentity(func(id *wire.Identity) { id.Vouched = id.RunID == run })
		all[i] = s
	}
	return all
}

// Instances are the servers, which notify waiters, for one Coordinator or several.
func (all Servers) Instances() []wire.Instance {
	instances := make([]wire.Instance, len(all))
	for i, s := range all {
		instances[i] = NotifyingServer{s}
	}
	return instances
}
