package simulation

import (
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
)

// link is a process's connection to a server, or to the resource.
type link struct {
	incarnation uint64 // of the server at the other end, 0 without a connection
	seq         uint64 // calls sent
	wrote       int    // the length of the server's log after the connection's last change
}

// server returns the server that a process reaches at a place.
func (p *process) server(place int) *server {
	s := p.w.servers[place]
	if s.second != nil && fault.Matches(s.secondFor, p.Name) {
		return s.second
	}
	return s
}

// repeats reports whether a call's request arrives twice, and how much later.
func (w *world) repeats(c *call) (by time.Duration, repeated bool) {
	for _, f := range c.struck {
		if f.Kind == fault.Duplicate {
			return f.By, true
		}
	}
	for _, f := range w.links {
		if f.Kind == fault.Duplicate && w.concerns(f, c, fault.Requests) &&
			(f.PPM == 0 || kernel.Draw(w.Seed, kernel.TagRepeat, uint64(c.p.Index), uint64(c.place+1), c.seq)%kernel.Million < uint64(f.PPM)) {
			return f.By, true
		}
	}
	return 0, false
}

// concerns reports whether a link fault affects a message that is sent now.
func (w *world) concerns(f fault.Fault, c *call, way fault.Way) bool {
	return f.During(w.Now.Load()) && (f.Way == fault.Both || f.Way == way) &&
		fault.Matches(f.Process, c.p.Name) && fault.Matches(f.Server, c.placeName())
}

// latency draws a message's latency.
func (w *world) latency(drawn uint64) time.Duration {
	return time.Duration(kernel.Between(drawn, int64(w.cfg.LatencyMin), int64(w.cfg.LatencyMax)))
}

// passage returns a message's latency, and whether it is lost.
func (w *world) passage(c *call, way fault.Way) (delay time.Duration, lost bool) {
	about := kernel.TagRequest
	if way == fault.Replies {
		about = kernel.TagReply
	}
	of := func(t kernel.Tag, more uint64) uint64 {
		return kernel.Draw(w.Seed, t, uint64(c.p.Index), uint64(c.place+1), c.seq, more)
	}
	delay = w.latency(of(about, 0))
	for _, f := range c.struck {
		switch {
		case f.Kind == fault.Lose:
			lost = lost || f.Way == fault.Both || f.Way == way
		case f.Kind == fault.Delay && way == fault.Requests:
			delay += f.By
		}
	}
	for _, f := range w.links {
		if !w.concerns(f, c, way) {
			continue
		}
		switch f.Kind {
		case fault.Cut:
			lost = true
		case fault.Lose:
			// Drawn by the fault's content, not by its number, which changes when other
			// faults are removed.
			lost = lost || of(kernel.TagLoss, uint64(f.At)^uint64(f.PPM)<<32^uint64(about))%kernel.Million < uint64(f.PPM)
		case fault.Delay:
			delay += f.By
			w.count(messageDelayed)
		case fault.Reorder:
			delay += time.Duration(kernel.Between(of(kernel.TagReorder, uint64(f.At)^uint64(about)), 0, int64(f.By)))
		}
	}
	return delay, lost
}

// request is a call on its way to the server.
type request struct {
	call        *call
	incarnation uint64 // of the server at the other end, 0: it opens the connection

	// again marks the second copy of a request that arrives twice. Its reply is
	// discarded.
	again bool
}

func (r *request) Live() bool { return true } // also if its sender is gone

func (r *request) Happen() {
	w := r.call.p.w
	if r.again {
		w.message(record.RequestDuplicated, r.call)
	}
	if r.call.place == toResource {
		result := w.resource.apply(r.call)
		r.reply(&answer{result: &result})
		return
	}
	r.call.p.server(r.call.place).receive(r)
}

// reply sends the answer.
func (r *request) reply(a *answer) {
	if r.again {
		return
	}
	c := r.call
	w := c.p.w
	delay, lost := w.passage(c, fault.Replies)
	if lost {
		w.message(record.ReplyLost, c)
		return
	}
	c.back.call, c.back.answer = c, a
	w.Push(w.Now.Load()+int64(delay), c.tie(2), &c.p.Process, &c.back)
}

// reply is an answer on its way to the process.
type reply struct {
	call   *call
	answer *answer
}

func (r *reply) Live() bool { return !r.call.answered && !r.call.p.Gone() }

// Missed reports a reply that comes after the call has ended.
func (r *reply) Missed(at int64) {
	if !r.call.p.Gone() {
		r.call.p.w.message(record.Ignored, r.call).At = time.Duration(at)
	}
}

func (r *reply) Happen() {
	c := r.call
	c.p.w.message(record.Received, c)
	c.answer(r.answer)
}

// cutConnection closes the connection to a server. Sent requests still arrive; calls that
// wait for a reply fail.
func (p *process) cutConnection(i int) {
	p.links[i].incarnation = 0
	for _, e := range sorted(p.subscriptions) {
		if e.place == i {
			e.breakNow()
		}
	}
	for c := range p.calls {
		if &p.links[i] == c.link() {
			p.w.Push(p.w.Now.Load(), c.tie(5), &p.Process, kernel.MomentOf(c.over, func() { c.fail(record.CutOff, ErrReset) }))
		}
	}
}
