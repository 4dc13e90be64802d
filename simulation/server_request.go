package simulation

import (
	"errors"
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// receive handles a request that has arrived.
func (s *server) receive(r *request) {
	switch {
	case !s.up && r.incarnation == 0:
		r.reply(failed(ErrRefused, true))
	case !s.up || r.incarnation != 0 && r.incarnation != s.incarnation:
		// It came on a connection to an earlier incarnation, which this one doesn't know.
		r.reply(failed(ErrReset, false))
	case s.hungUntil > s.w.Now.Load():
		s.waiting = append(s.waiting, r)
	default:
		link := r.link()
		if r.call.opens == nil && r.incarnation == 0 && link.incarnation != s.incarnation && !r.again {
			link.incarnation, link.wrote = s.incarnation, 0
		}
		r.call.execute(s, r)
	}
}

// wake ends a hang: the waiting requests are executed.
func (s *server) wake() bool {
	if !s.up || s.hungUntil > s.w.Now.Load() {
		return false
	}
	waiting := s.waiting
	s.waiting = nil
	for _, r := range waiting {
		s.receive(r)
	}
	return true
}

// accept registers a process's subscription.
func (s *server) accept(r *request) {
	e := r.call.opens
	if r.again || e.closed {
		return
	}
	s.subscriptions[e.address] = e
	s.answered(record.Answered, r, wire.Granted.String())
	r.reply(&answer{})
}

// probe is a Probe. The mark that it sets is part of the data.
func (s *server) probe(r *request, known wire.Known) {
	id := s.identity()
	id.Served = -1
	if !s.w.cfg.HideRunID {
		mark := s.mark
		if err := mark.Probe(id, known, s.clock()); err != nil {
			r.reply(failed(err, false))
			return
		}
		if mark != s.mark {
			s.change(func(s *server) { s.mark = mark })
		}
	}
	r.reply(&answer{value: *id})
}

// command executes one of Redis's own commands.
func (s *server) command(r *request, args []string) {
	now := s.clock()
	reply := s.data.Do(args, now)
	e := s.answered(record.Answered, r, reply.Outcome())
	e.Value = reply.Int
	for _, key := range redismodel.Keys(args) {
		s.show(e, key)
	}
	a := &answer{value: reply}
	if reply.Err != nil || !redismodel.Writes(args) {
		r.reply(a)
		return
	}
	s.append(func(s *server) { s.data.Do(args, now) }, r.link())
	s.answer(r, a)
}

// vote executes one of the library's commands.
func (s *server) vote(r *request, cmd wire.Request) {
	w, now := s.w, s.clock()
	id := s.identity()
	id.Mark = s.mark.Of(*id)
	vote := s.data.RunIn(*id, cmd, now)
	words := vote.Outcome.String()
	if errors.Is(vote.Err, wire.ErrOtherRun) {
		w.count("a server was asked in another run than its own")
		words = "failed other-run"
		if cmd.Op != wire.Acquire {
			s.answered(record.Answered, r, words)
			r.reply(&answer{vote: vote})
			return
		}
	}
	e := s.answered(record.Voted, r, words)
	e.Token, e.Change = vote.Token, s.changeOf(cmd)
	granted := vote.Outcome == wire.Granted && cmd.Op != wire.Look && cmd.Op != wire.Tick
	if granted || partly(cmd) {
		switch cmd.Op {
		case wire.Acquire, wire.Extend, wire.Restore, wire.Pass, wire.Release:
			for _, key := range cmd.Keys {
				s.show(e, key)
			}
		}
		s.append(func(s *server) { s.data.Run(cmd, now) }, r.link())
	}
	for _, send := range s.notifications {
		send()
	}
	s.notifications = nil
	if vote.Low {
		w.count("a vote was low")
	}
	if vote.Replaced {
		w.count("a value was replaced by the next one")
	}
	if !granted {
		r.reply(&answer{vote: vote})
		return
	}
	s.answer(r, &answer{vote: vote})
}

// partly reports whether an operation changes data even if it isn't granted: an acquisition counts, and of
// several keys some may be set, extended or released although the others aren't.
func partly(cmd wire.Request) bool {
	return cmd.Op == wire.Acquire || len(cmd.Keys) > 1 && (cmd.Op == wire.Extend || cmd.Op == wire.Release)
}

// changeOf is what a request has left, nil if it is about no lock.
func (s *server) changeOf(cmd wire.Request) *record.Change {
	if cmd.Op > wire.Release {
		return nil
	}
	change, now := &record.Change{Value: cmd.Value, Locks: make([]record.LockState, len(cmd.Keys))}, s.clock()
	for i, key := range cmd.Keys {
		state := &change.Locks[i]
		state.Key = key
		state.Value, _, _ = s.data.Keys.Get(key, now)
		state.Counter, _, _ = s.data.Counters.Get(key, now)
	}
	return change
}

// answered logs a server's reply to a call.
func (s *server) answered(kind record.EventKind, r *request, outcome string) *record.Event {
	e := s.w.event(kind, r.call.p.Name, s.name)
	e.N, e.Op, e.Words = r.call.seq, r.call.name, outcome
	return e
}

// answer sends the answer to a change, which waits for a replica if replication is semi-synchronous.
func (s *server) answer(r *request, a *answer) {
	patience, wrote := s.w.cfg.SemiSync, r.link().wrote
	if patience == 0 || s.behind(wrote) {
		r.reply(a)
		return
	}
	s.withhold(r, patience, wrote, 1, func() *answer {
		if s.have(wrote) < 1 && !s.fellBack {
			s.fellBack = true
			s.w.event(record.FellBack, "", s.name)
		}
		return a
	})
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
func (s *server) wait(r *request, args []string) {
	wrote := min(r.link().wrote, len(s.log))
	n, timeout, err := redismodel.Wait(args)
	if err != nil {
		r.reply(&answer{value: redismodel.Reply{Err: err}})
		return
	}
	s.withhold(r, timeout, wrote, n, func() *answer {
		have := s.have(wrote)
		if have < n {
			s.w.count("a WAIT fell short")
		}
		s.answered(record.Answered, r, "int").Value = int64(have)
		return &answer{value: redismodel.Reply{Int: int64(have)}}
	})
}

// withhold sends an answer once that many replicas have acknowledged the first entries of the log, or the
// time is up; 0 is no limit.
func (s *server) withhold(r *request, atMost time.Duration, wrote, replicas int, answer func() *answer) {
	now := s.w.Now.Load()
	until := s.acknowledged(wrote, replicas)
	if atMost > 0 {
		until = min(until, now+int64(atMost))
	}
	if until <= now {
		r.reply(answer())
		return
	}
	b := &withheld{r: r, answer: answer}
	s.blocked = append(s.blocked, b)
	s.sendAt(until, b)
}

// sendAt sends a withheld answer at a moment, or when the server no longer hangs.
func (s *server) sendAt(at int64, b *withheld) {
	s.w.Push(at, b.r.call.tie(6), func() bool { return b.over }, func() {
		if s.hungUntil > s.w.Now.Load() {
			s.sendAt(s.hungUntil, b)
			return
		}
		b.over = true
		s.blocked = slices.DeleteFunc(s.blocked, func(o *withheld) bool { return o == b })
		b.r.reply(b.answer())
	})
}
