package simulation

import (
	"slices"

	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
)

// plan schedules a fault.
func (w *world) plan(f fault.Fault) {
	switch {
	case f.Nth != 0:
		w.byNth = append(w.byNth, &byOperation{Fault: f, seen: make([]int, w.cfg.Processes)})
		return
	case f.OnLinks():
		w.links = append(w.links, f)
	case f.Kind == fault.Lag:
		w.lags = append(w.lags, f)
	}
	// After all processes have ended, a fault only matters to the witness.
	over := func() bool { return len(w.running())+w.reboots == 0 && !w.cfg.Witness }
	w.Ahead(int64(f.At), over, func() { w.strike(f) })
}

// strike applies a fault to all that it names.
func (w *world) strike(f fault.Fault) {
	servers := slices.DeleteFunc(slices.Clone(w.servers), func(s *server) bool { return !fault.Matches(f.Server, s.name) })
	switch {
	case f.OnLinks(): // the messages look for the fault
		w.suffers(f, f.Process, f.Server)
	case f.Kind == fault.Switch:
		w.suffers(f, f.Process, f.Server)
		for _, server := range servers {
			server.leadAway(f)
		}
	case f.Kind != fault.SplitBrain && f.Process != "":
		for _, p := range slices.Clone(w.processes) {
			if fault.Matches(f.Process, p.Name) && p != w.witness && !p.Gone() {
				w.strikeProcess(f, p)
			}
		}
	default:
		for _, server := range servers {
			w.hit(f, server)
		}
	}
}

// strikeProcess applies the fault to a process.
func (w *world) strikeProcess(f fault.Fault, p *process) {
	now := w.Now.Load()
	w.suffers(f, p.Name, "")
	switch f.Kind {
	case fault.Pause:
		p.pause(now + int64(f.For))
	case fault.Suspend:
		p.suspend(now+int64(f.For), f.Frozen)
	case fault.Crash:
		p.crash()
	case fault.Reboot:
		p.reboot(int64(f.For))
	case fault.Step:
		p.StepWall(int64(f.By))
		p.believes()
	case fault.Rate:
		p.SetRate(f.PPM)
		p.believes()
		p.Reset()
	}
}

// hit applies the fault to a server.
func (w *world) hit(f fault.Fault, s *server) {
	now := w.Now.Load()
	w.suffers(f, "", s.name)
	if f.Kind == fault.SplitBrain {
		s.split(f)
		return
	}
	s.trouble = max(s.trouble, now)
	end := now + int64(f.For)
	switch f.Kind {
	case fault.Step:
		s.wall = s.wall.Step(now, int64(f.By))
		s.showAll()
	case fault.Rate:
		s.wall = s.wall.Turn(now, f.PPM)
		s.showAll()
	case fault.Evict:
		s.evict(f)
	case fault.Flush:
		s.lost = now
		s.change(func(s *server) { s.data.Flush() })
		s.change(func(s *server) { s.mark = memory.Mark{} })
		s.showAll()
	case fault.Restart:
		if s.up {
			s.kill()
			s.recovers(end, func() bool { return s.restart(f.Keep.Until(now)) })
		}
	case fault.Failover:
		if s.up {
			s.kill()
			s.recovers(end, func() bool { return s.promote(f.Replica, now, now-int64(f.By)) })
		}
	case fault.Hang:
		if s.up {
			s.hungUntil = max(s.hungUntil, end)
			s.trouble = max(s.trouble, s.hungUntil)
			s.recovers(s.hungUntil, s.wake)
		}
	}
}

// evict drops the named key of the server, or a random one.
func (s *server) evict(f fault.Fault) {
	type thing struct {
		name string // as Fault.Key has it
		drop func(*server)
	}
	var all []thing
	now := s.clock()
	for _, key := range s.data.Keys.List(now) {
		all = append(all, thing{key, func(s *server) { s.data.Keys.Delete(key, now) }})
	}
	for _, key := range s.data.Counters.List(now) {
		all = append(all, thing{"{" + key + "}", func(s *server) { s.data.Counters.Delete(key, now) }})
	}
	if f.Key != "" {
		all = slices.DeleteFunc(all, func(t thing) bool { return t.name != f.Key })
	}
	if len(all) == 0 {
		return
	}
	t := all[kernel.Draw(s.w.Seed, kernel.TagEvict, uint64(s.index), uint64(f.At))%uint64(len(all))]
	s.w.count("a key was evicted")
	s.change(t.drop)
	s.showAll()
}

// byOperation applies the faults that happen at this call.
func (w *world) byOperation(c *call) {
	for _, f := range w.byNth {
		if c.p == w.witness || !fault.Matches(f.Process, c.p.Name) || f.Op != "" && f.Op != c.name || w.Now.Load() < int64(f.At) ||
			f.OnLinks() && !fault.Matches(f.Server, c.placeName()) {
			continue
		}
		f.seen[c.p.Index]++
		if f.seen[c.p.Index] != f.Nth {
			continue
		}
		if f.OnLinks() {
			c.struck = append(c.struck, f.Fault)
		} else {
			w.strikeProcess(f.Fault, c.p)
		}
	}
}
