package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/redismodel"
)

const (
	// lagMin and lagMax bound the time that a change takes to a replica.
	lagMin, lagMax = 500 * time.Microsecond, 5 * time.Millisecond
	// waitTimeout is package instance's timeout of WAIT, see Config.WaitReplicas.
	waitTimeout = 20 * time.Millisecond
)

// entry is one change in a server's log, for its disk and its replicas.
type entry struct {
	at      int64                     // true time
	repeat  func(redismodel.Database) // nil for a mark
	mark    *memory.Mark
	arrived []int64 // by replica: when it arrives there, or never
}

// repeat makes an earlier change again.
func (s *server) repeat(e entry) {
	if e.mark != nil {
		s.mark = *e.mark
		return
	}
	e.repeat(s.data)
}

// change changes the data without a request.
func (s *server) change(do func(redismodel.Database)) {
	do(s.data)
	s.append(entry{repeat: do}, nil)
}

// append writes a change to the log and sends it to the replicas. The link is the
// connection of the request, nil without a request.
func (s *server) append(e entry, of *link) {
	w := s.w
	if !w.logs {
		return
	}
	e.at = w.Now.Load()
	if n := len(s.reached); n > 0 {
		e.arrived = make([]int64, n)
		for i := range e.arrived {
			// In order, because a replica has one connection.
			s.reached[i] = max(s.reached[i], w.replication(s, i, e.at, uint64(len(s.log))))
			e.arrived[i] = s.reached[i]
		}
	}
	s.log = append(s.log, e)
	if of != nil {
		of.wrote = len(s.log)
	}
}

// replication returns when a change that is sent now reaches a replica.
func (w *world) replication(s *server, replica int, now int64, n uint64) int64 {
	arrives := now + kernel.Between(kernel.Draw(w.Seed, kernel.TagReplica, uint64(s.index), uint64(replica), s.incarnation, n), int64(lagMin), int64(lagMax))
	for _, f := range w.lags {
		end := int64(f.At + f.For)
		switch {
		case !fault.Matches(f.Server, s.name) || f.Replica != 0 && f.Replica != replica+1 || now < int64(f.At) || f.For != 0 && now >= end:
		case f.By != 0:
			arrives += int64(f.By)
		case f.For == 0:
			return kernel.Never
		default:
			arrives = max(arrives, end+int64(lagMin))
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
	times := slices.Sorted(slices.Values(s.log[length-1].arrived))
	if t := times[replicas-1]; t != kernel.Never {
		return t + int64(lagMin) // for the way back
	}
	return kernel.Never
}

// have returns how many replicas have acknowledged the first length entries by now.
func (s *server) have(length int) int {
	n := 0
	for n < len(s.reached) && s.acknowledged(length, n+1) <= s.w.Now.Load() {
		n++
	}
	return n
}

// replicated reports whether an operation must be replicated to count, see
// Config.WaitReplicas.
func replicated(op wire.Op) bool {
	return op == wire.Acquire || op == wire.Raise || op == wire.Extend || op == wire.Restore || op == wire.Pass
}

// answer sends an answer. After a change, it may have to wait for replicas.
func (s *server) answer(r *request, a *answer, changed bool) {
	cfg, now := &s.w.cfg, s.w.Now.Load()
	wrote := r.call.link().wrote
	switch {
	case !changed || len(s.log) == 0 || len(s.reached) == 0 && cfg.WaitReplicas == 0:
		r.reply(a)
	case r.call.raw == nil && cfg.WaitReplicas > 0 && replicated(r.call.cmd.Op):
		limit := now + int64(waitTimeout)
		s.withhold(r, min(limit, s.acknowledged(wrote, cfg.WaitReplicas)), func(s *server) *answer {
			if n := s.have(wrote); n < cfg.WaitReplicas {
				s.w.count(waitFellShort)
				err := fmt.Errorf("%w: %d of %d within %v", wire.ErrNotReplicated, n, cfg.WaitReplicas, waitTimeout)
				return &answer{vote: wire.Vote{Err: err}}
			}
			return a
		})
	case cfg.SemiSync > 0 && !s.behind(wrote):
		s.withhold(r, min(now+int64(cfg.SemiSync), s.acknowledged(wrote, 1)), func(s *server) *answer {
			if s.have(wrote) < 1 && !s.fellBack {
				s.fellBack = true
				s.w.event(record.FellBack, "", s.name)
			}
			return a
		})
	default:
		r.reply(a)
	}
}

// behind reports whether semi-synchronous replication doesn't wait for now. That ends when a
// replica has everything but the last change.
func (s *server) behind(wrote int) bool {
	if s.fellBack && s.have(wrote-1) >= 1 {
		s.fellBack = false
	}
	return s.fellBack
}

// wait is WAIT: it replies with how many replicas have the connection's earlier changes, when
// enough have them or the time is up.
func (s *server) wait(r *request) {
	c := r.call
	wrote := min(c.link().wrote, len(s.log))
	n, timeout, err := redismodel.Wait(c.raw)
	if err != nil {
		reply := redismodel.Reply{Err: err}
		r.reply(&answer{raw: &reply})
		return
	}
	limit := int64(kernel.Never)
	if timeout > 0 {
		limit = s.w.Now.Load() + int64(timeout)
	}
	s.withhold(r, min(limit, s.acknowledged(wrote, n)), func(s *server) *answer {
		have := s.have(wrote)
		if have < n {
			s.w.count(waitFellShort)
		}
		s.answered(record.Answered, c, "wait", "int").Value = int64(have)
		reply := redismodel.Reply{Int: int64(have)}
		return &answer{raw: &reply}
	})
}

// withheld is an answer that waits for replicas.
type withheld struct {
	s    *server
	r    *request
	over bool
	make func(*server) *answer // from the server at which it waits then
}

// resetBlocked breaks the connections of the clients that wait for replicas.
func (s *server) resetBlocked() {
	blocked := s.blocked
	s.blocked = nil
	for _, b := range blocked {
		b.over = true
		b.r.reply(failed(ErrReset, false))
	}
}

// withhold sends the answer at a moment, or at once if it has passed.
func (s *server) withhold(r *request, until int64, make func(*server) *answer) {
	if until <= s.w.Now.Load() {
		r.reply(make(s))
		return
	}
	b := &withheld{s: s, r: r, make: make}
	s.blocked = append(s.blocked, b)
	s.w.Push(until, r.call.tie(6), nil, b)
}

func (b *withheld) Live() bool { return !b.over }

func (b *withheld) Happen() {
	w := b.s.w
	if b.s.hungUntil > w.Now.Load() {
		w.Push(b.s.hungUntil, b.r.call.tie(6), nil, b)
		return
	}
	b.over = true
	b.s.blocked = slices.DeleteFunc(b.s.blocked, func(o *withheld) bool { return o == b })
	b.r.reply(b.make(b.s))
}
