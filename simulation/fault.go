package simulation

import (
	"cmp"
	"slices"
)

// plan schedules a fault.
func (w *world) plan(f Fault) {
	switch {
	case f.Op == clockOp:
		w.watchReadings(f)
		return
	case f.Nth != 0:
		w.byNth = append(w.byNth, &byOperation{Fault: f, seen: make([]int, w.cfg.Processes)})
		return
	case f.onLinks():
		w.links = append(w.links, f)
	case f.Kind == Lag:
		w.lags = append(w.lags, f)
	case f.Kind == Proxy:
		w.proxies = append(w.proxies, f)
	case f.Kind == Switch && f.PPM > 0:
		w.switches = append(w.switches, f)
	case (f.Kind == Step || f.Kind == Rate) && f.Process != "":
		w.ofClocks = append(w.ofClocks, f)
		slices.SortStableFunc(w.ofClocks, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	}
	w.ahead(int64(f.At), &strike{w: w, fault: f})
}

// onLinks reports whether the fault affects messages for a while.
func (f Fault) onLinks() bool {
	switch f.Kind {
	case Cut, Lose, Delay, Reorder, Duplicate:
		return true
	}
	return false
}

// strike is a fault's moment.
type strike struct {
	w     *world
	fault Fault
	alone *process // nil: all that the fault names
}

// live: after all processes have ended, a fault only matters to the witness.
func (s *strike) live() bool { return s.w.running()+s.w.reboots > 0 || s.w.cfg.Witness }

func (s *strike) happen(w *world) {
	f := s.fault
	switch {
	case f.onLinks():
		w.suffers(f, f.Process, f.Server) // the messages see to themselves
		w.silence(f)
	case f.Kind == Reconnect:
		w.suffers(f, f.Process, f.Server)
		w.reconnect(f)
	case f.Kind == Proxy:
		w.suffers(f, f.Process, f.Server) // the requests see to themselves
	case f.Kind == Switch:
		w.suffers(f, f.Process, f.Server)
		for _, server := range w.servers {
			if matches(f.Server, server.name) {
				server.moveAddress(f)
			}
		}
	case f.Kind == SplitBrain:
		for _, server := range w.servers {
			if matches(f.Server, server.name) {
				w.suffers(f, "", server.name)
				server.split(f)
			}
		}
	case f.Process != "":
		for _, p := range slices.Clone(w.processes) {
			if matches(f.Process, p.name) && p != w.witness && !p.gone() && (s.alone == nil || s.alone == p) {
				f.strike(w, p)
			}
		}
	default:
		for _, server := range w.servers {
			if matches(f.Server, server.name) {
				f.hit(w, server)
			}
		}
	}
}

// suffers logs a fault.
func (w *world) suffers(f Fault, process, place string) *Event {
	e := w.event(Suffered, process, place)
	e.Fault = &f
	return e
}

// strike applies the fault to a process.
func (f Fault) strike(w *world, p *process) {
	now := w.now.Load()
	if p.ahead() && f.Kind == Suspend {
		// It has read its clocks up to then as they are without it.
		w.ahead(p.resumes.Load(), &strike{w: w, fault: f, alone: p})
		return
	}
	w.suffers(f, p.name, "")
	switch f.Kind {
	case Pause:
		p.pause(now+int64(f.For), f.Shuffled)
	case Suspend:
		p.suspend(now+int64(f.For), f.Frozen, f.Shuffled)
	case Crash:
		p.crash()
	case Reboot:
		p.reboot(int64(f.For))
	case Step:
		w.count(clockStepped)
		p.clock.stepWall(now, int64(f.By))
	case Rate:
		p.clock.setRate(now, f.PPM)
		p.reset()
	}
}

// hit applies the fault to a server.
func (f Fault) hit(w *world, s *server) {
	now := w.now.Load()
	w.suffers(f, "", s.name)
	s.trouble = max(s.trouble, now)
	switch f.Kind {
	case Step:
		w.count(clockStepped)
		s.wall = s.wall.step(now, int64(f.By))
		s.showAll()
	case Rate:
		s.wall = s.wall.turn(now, f.PPM)
		s.showAll()
	case Evict:
		s.evict(f)
	case Flush:
		w.count(serverFlushed)
		s.remember()
		for db := range s.data {
			e := entry{wall: s.clock(), database: db, raw: &rawCommand{args: []string{"FLUSHALL"}}}
			s.data[db].repeat(e)
			s.append(e, nil)
		}
		clear(s.marks)
		s.showAll()
	case Restart:
		if s.up {
			w.count(serverRestarted)
			s.kill()
			w.ahead(now+int64(f.For), &restored{s: s, by: f, until: f.Keep.until(now)})
		}
	case Failover:
		if s.up {
			w.count(serverFailedOver)
			s.kill()
			w.ahead(now+int64(f.For), &restored{s: s, by: f, until: now - int64(f.By), ended: now})
		}
	case Demote:
		if s.up && !s.demoted && s.hungUntil <= now {
			w.count(serverDemoted)
			s.demote()
			w.ahead(now+int64(f.For), &restored{s: s, by: f})
		}
	case Hang:
		if s.up {
			w.count(serverHung)
			s.hungUntil = max(s.hungUntil, now+int64(f.For))
			s.trouble = max(s.trouble, s.hungUntil)
			w.silence(Fault{Kind: f.Kind, For: f.For, Server: s.name})
			w.ahead(s.hungUntil, &restored{s: s, by: f})
		}
	}
}

// evict drops the named key of the server, or a random one.
func (s *server) evict(f Fault) {
	type thing struct {
		name  string // as Fault.Key has it
		entry entry
	}
	var all []thing
	now := s.clock()
	for db, data := range s.data {
		for _, key := range data.Keys(now) {
			all = append(all, thing{key, entry{wall: now, database: db, raw: &rawCommand{args: []string{"DEL", key}}}})
		}
		for _, key := range data.Counters(now) {
			all = append(all, thing{"{" + key + "}", entry{wall: now, database: db, forget: key}})
		}
		for _, key := range data.Records(now) {
			all = append(all, thing{"{" + key + "}:set", entry{wall: now, database: db, unset: key}})
		}
	}
	if f.Key != "" {
		all = slices.DeleteFunc(all, func(t thing) bool { return t.name != f.Key })
	}
	if len(all) == 0 {
		return
	}
	e := all[draw(s.w.seed, tagEvict, uint64(s.index), uint64(f.At))%uint64(len(all))].entry
	s.w.count(keyEvicted)
	s.data[e.database].repeat(e)
	s.append(e, nil)
	s.showAll()
}

// reconnect cuts the connections between processes and places.
func (w *world) reconnect(f Fault) {
	w.count(connectionsCut)
	for _, p := range w.processes {
		if !matches(f.Process, p.name) || p.gone() {
			continue
		}
		for i, place := range w.places {
			if matches(f.Server, place.name) {
				p.cutConnection(i)
			}
		}
		if f.Server == Resource {
			p.cutConnection(len(p.links) - 1)
		}
	}
}

// restored is the end of a server's fault.
type restored struct {
	s     *server
	by    Fault
	until int64 // the last moment of which it knows
	ended int64 // when the server that failed over did
}

func (r *restored) live() bool { return true }

func (r *restored) happen(w *world) {
	switch {
	case r.by.Kind == Restart && !r.s.up:
		r.s.restart(r.until)
	case r.by.Kind == Failover && !r.s.up:
		r.s.promote(max(0, r.by.Replica-1), r.ended, r.until)
	case r.by.Kind == Demote && r.s.up && r.s.demoted:
		r.s.promoteAgain()
	case r.by.Kind == Hang && r.s.up && r.s.hungUntil <= w.now.Load():
		r.s.wake()
	default:
		return
	}
	r.s.trouble = max(r.s.trouble, w.now.Load())
	w.event(Back, "", r.s.name)
	if r.by.Kind != Hang && r.s.showAll() > 0 {
		w.count(writesLost)
	}
}

// byOperation is a fault that happens at a process's n-th operation.
type byOperation struct {
	Fault
	seen []int // by process, over all its incarnations
}

// byOperation applies the faults that happen at this call.
func (w *world) byOperation(c *call) {
	for _, f := range w.byNth {
		if !matches(f.Process, c.p.name) || f.Op != "" && f.Op != c.name || w.now.Load() < int64(f.At) ||
			(f.Kind == Delay || f.Kind == Duplicate) && !matches(f.Server, c.placeName()) {
			continue
		}
		if c.p == w.witness {
			continue
		}
		f.seen[c.p.index]++
		if f.seen[c.p.index] != f.Nth {
			continue
		}
		switch f.Kind {
		case Delay:
			c.delay += f.By
			w.count(messageDelayed)
			continue
		case Duplicate:
			c.repeat, c.repeatBy = true, f.By
			continue
		}
		f.strike(w, c.p)
	}
}
