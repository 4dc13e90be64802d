package simulation

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// lagMin and lagMax bound the time that a change takes to a replica.
const lagMin, lagMax = 500 * time.Microsecond, 5 * time.Millisecond

// change changes the data or the mark without a request.
func (s *server) change(do func(*server)) {
	do(s)
	s.append(do, nil)
}

// append writes a change to the log and sends it to the replicas. The link is the
// connection of the request, nil without a request.
func (s *server) append(change func(*server), of *link) {
	e := entry{at: s.w.Now.Load(), repeat: change, arrived: make([]int64, len(s.reached))}
	for i := range e.arrived {
		// In order, because a replica has one connection.
		s.reached[i] = max(s.reached[i], s.replication(i, uint64(len(s.log))))
		e.arrived[i] = s.reached[i]
	}
	s.log = append(s.log, e)
	if of != nil {
		of.wrote = len(s.log)
	}
}

// replication returns when the n-th change, which is sent now, reaches a replica.
func (s *server) replication(replica int, n uint64) int64 {
	now := s.w.Now.Load()
	drawn := kernel.Draw(s.w.Seed, kernel.TagReplica, uint64(s.index), uint64(replica), s.incarnation, n)
	arrives := now + kernel.Between(drawn, int64(lagMin), int64(lagMax))
	for _, f := range s.w.lags {
		switch {
		case !fault.Matches(f.Server, s.name) || f.Replica != 0 && f.Replica != replica+1 || !f.During(now):
		case f.By != 0:
			arrives += int64(f.By)
		case f.For == 0:
			return kernel.Never
		default:
			arrives = max(arrives, int64(f.At+f.For+lagMin))
		}
	}
	return arrives
}

// acknowledged returns when that many replicas have acknowledged the first length entries of
// the log, or never.
func (s *server) acknowledged(length, replicas int) int64 {
	switch {
	case replicas <= 0:
		return 0
	case replicas > len(s.reached):
		return kernel.Never
	case length == 0:
		return 0
	}
	t := slices.Sorted(slices.Values(s.log[length-1].arrived))[replicas-1]
	if t == kernel.Never {
		return t
	}
	return t + int64(lagMin) // for the way back
}

// have returns how many replicas have acknowledged the first length entries by now.
func (s *server) have(length int) int {
	n := 0
	for n < len(s.reached) && s.acknowledged(length, n+1) <= s.w.Now.Load() {
		n++
	}
	return n
}

// restart starts another incarnation of a server that is down, with the log up to a moment.
func (s *server) restart(until int64) bool {
	if s.up {
		return false
	}
	s.begin()
	s.recall(func(e entry) bool { return e.at <= until })
	s.started = s.wall.At(s.w.Now.Load())
	return true
}

// promote starts the incarnation of a replica in the server's place, with the data that
// had reached it when the server stopped. Its uptime is that of the server.
func (s *server) promote(replica int, ended, until int64) bool {
	if s.up {
		return false
	}
	s.begin()
	replica = max(0, replica-1)
	s.recall(func(e entry) bool { return e.at <= until && (len(e.arrived) == 0 || e.arrived[replica] <= ended) })
	s.promoted = true
	// The others copy what it has.
	now := s.w.Now.Load()
	for _, e := range s.log {
		for j := range e.arrived {
			e.arrived[j] = min(now, e.arrived[j])
		}
	}
	for j := range s.reached {
		s.reached[j] = now
	}
	s.fellBack = false
	return true
}

// recall rebuilds the data from the log.
func (s *server) recall(kept func(entry) bool) {
	s.data, s.lost, s.mark = redismodel.New(s.w.cfg.Scripts), s.w.Now.Load(), memory.Mark{}
	all := s.log
	s.log = s.log[:0]
	for _, e := range all {
		if kept(e) {
			e.repeat(s)
			s.log = append(s.log, e)
		}
	}
	s.connectNotify()
}
