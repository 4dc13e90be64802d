package simulation

import (
	"iter"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
)

// message is what a process and a place exchange under one number: a call and its reply, or a
// notification. Latency and loss are drawn by the number.
type message struct {
	p      *process
	place  int // the index among world.servers, or toResource
	seq    uint64
	struck []fault.Fault // that hit this message alone
}

func (m *message) placeName() string {
	if m.place == toResource {
		return fault.Resource
	}
	return m.p.w.names[m.place]
}

// event logs a step of a message.
func (m *message) event(kind record.EventKind) *record.Event {
	e := m.p.w.event(kind, m.p.Name, m.placeName())
	e.N = m.seq
	return e
}

func (m *message) draw(about kernel.Tag, more ...uint64) uint64 {
	return kernel.Draw(m.p.w.Seed, about, append([]uint64{uint64(m.p.Index), uint64(m.place + 1), m.seq}, more...)...)
}

// tie orders the message's events among others of the same moment.
func (m *message) tie(leg uint64) uint64 { return m.draw(kernel.TagTie, leg) }

// faults are the faults that affect the message if it is sent now: those of its operation, and those of its way.
func (m *message) faults(way fault.Way) iter.Seq[fault.Fault] {
	return func(yield func(fault.Fault) bool) {
		for _, f := range m.struck {
			if (f.Way == fault.Both || f.Way == way) && !yield(f) {
				return
			}
		}
		for _, f := range m.p.w.links {
			if f.During(m.p.w.Now.Load()) && (f.Way == fault.Both || f.Way == way) &&
				fault.Matches(f.Process, m.p.Name) && fault.Matches(f.Server, m.placeName()) && !yield(f) {
				return
			}
		}
	}
}

// repeats reports whether a request arrives twice, and how much later.
func (m *message) repeats() (by time.Duration, repeated bool) {
	for f := range m.faults(fault.Requests) {
		if f.Kind == fault.Duplicate && (f.Nth != 0 || f.PPM == 0 || m.draw(kernel.TagRepeat)%kernel.Million < uint64(f.PPM)) {
			return f.By, true
		}
	}
	return 0, false
}

// passage returns the message's latency on one way, and whether it is lost.
func (m *message) passage(way fault.Way) (delay time.Duration, lost bool) {
	about := kernel.TagRequest
	if way == fault.Replies {
		about = kernel.TagReply
	}
	cfg := &m.p.w.cfg
	delay = time.Duration(kernel.Between(m.draw(about, 0), int64(cfg.LatencyMin), int64(cfg.LatencyMax)))
	for f := range m.faults(way) {
		switch f.Kind {
		case fault.Cut:
			lost = true
		case fault.Lose:
			// Drawn by the fault's content, not by its number, which changes when other
			// faults are removed.
			lost = lost || f.Nth != 0 || m.draw(kernel.TagLoss, uint64(f.At)^uint64(f.PPM)<<32^uint64(about))%kernel.Million < uint64(f.PPM)
		case fault.Delay:
			if f.Nth == 0 || way == fault.Requests || f.Way == fault.Replies { // with Nth and without a Way, the request
				delay += f.By
				m.p.w.count("a message was delayed")
			}
		case fault.Reorder:
			delay += time.Duration(kernel.Between(m.draw(kernel.TagReorder, uint64(f.At)^uint64(about)), 0, int64(f.By)))
		}
	}
	return delay, lost
}

// arrive lets the message arrive at the process. It returns the event, nil if the message is lost.
func (m *message) arrive(tie uint64, over func() bool, do func()) *kernel.Event {
	delay, lost := m.passage(fault.Replies)
	if lost {
		return nil
	}
	return m.p.Push(m.p.w.Now.Load()+int64(delay), tie, over, do)
}
