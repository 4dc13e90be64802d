package simulation

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
