package simulation

import (
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

// repeats reports whether a request arrives twice, and how much later.
func (m *message) repeats() (by time.Duration, repeated bool) {
	for _, f := range m.struck {
		if f.Kind == fault.Duplicate {
			return f.By, true
		}
	}
	for _, f := range m.p.w.links {
		if f.Kind == fault.Duplicate && m.meets(f, fault.Requests) && (f.PPM == 0 || m.draw(kernel.TagRepeat)%kernel.Million < uint64(f.PPM)) {
			return f.By, true
		}
	}
	return 0, false
}

// meets reports whether a link fault affects a message that is sent now.
func (m *message) meets(f fault.Fault, way fault.Way) bool {
	return f.During(m.p.w.Now.Load()) && (f.Way == fault.Both || f.Way == way) &&
		fault.Matches(f.Process, m.p.Name) && fault.Matches(f.Server, m.placeName())
}

// passage returns the message's latency on one way, and whether it is lost.
func (m *message) passage(way fault.Way) (delay time.Duration, lost bool) {
	about := kernel.TagRequest
	if way == fault.Replies {
		about = kernel.TagReply
	}
	cfg := &m.p.w.cfg
	delay = time.Duration(kernel.Between(m.draw(about, 0), int64(cfg.LatencyMin), int64(cfg.LatencyMax)))
	for _, f := range m.struck {
		switch {
		case f.Kind == fault.Lose:
			lost = lost || f.Way == fault.Both || f.Way == way
		case f.Kind == fault.Delay && way == fault.Requests:
			delay += f.By
		}
	}
	for _, f := range m.p.w.links {
		if !m.meets(f, way) {
			continue
		}
		switch f.Kind {
		case fault.Cut:
			lost = true
		case fault.Lose:
			// Drawn by the fault's content, not by its number, which changes when other
			// faults are removed.
			lost = lost || m.draw(kernel.TagLoss, uint64(f.At)^uint64(f.PPM)<<32^uint64(about))%kernel.Million < uint64(f.PPM)
		case fault.Delay:
			delay += f.By
			m.p.w.count("a message was delayed")
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
