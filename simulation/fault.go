package simulation

// plan enters a fault into the run.
func (w *world) plan(i int, f Fault) {
	switch {
	case f.Nth != 0:
		w.byNth = append(w.byNth, &byOperation{Fault: f, seen: map[*process]int{}})
	case f.Kind == Cut || f.Kind == Lose || f.Kind == Delay:
		w.links = append(w.links, f)
	default:
		w.ahead(int64(f.At), &strike{w: w, fault: f})
	}
}

// strike is a fault's moment.
type strike struct {
	w     *world
	fault Fault
}

// live: when all processes have ended, a fault can only matter to the witness.
func (s *strike) live() bool { return s.w.running() > 0 || s.w.cfg.Witness }

func (s *strike) happen(w *world) {
	f := s.fault
	if f.Process != "" {
		for _, p := range w.processes {
			if matches(f.Process, p.name) && p != w.witness && !p.gone() {
				f.strike(w, p)
			}
		}
		return
	}
	for _, server := range w.servers {
		if matches(f.Server, server.name) {
			f.hit(w, server)
		}
	}
}

// strike lets the fault happen to a process.
func (f Fault) strike(w *world, p *process) {
	now := w.now.Load()
	w.trace.at(now, p.name).s("suffers", string(f.Kind)).end()
	switch f.Kind {
	case Pause:
		p.pause(now+int64(f.For), f.Shuffled)
	case Suspend:
		p.suspend(now+int64(f.For), f.Frozen, f.Shuffled)
	case Crash:
		p.crash("")
	case Step:
		p.clock.stepWall(now, int64(f.By))
	case Rate:
		p.clock.setRate(now, f.PPM)
		p.reset()
	}
}

// hit lets the fault happen to a server.
func (f Fault) hit(w *world, s *server) {
	now := w.now.Load()
	w.trace.at(now, s.name).s("suffers", string(f.Kind)).end()
	switch f.Kind {
	case Step:
		s.wall = s.wall.step(now, int64(f.By))
	case Rate:
		s.wall = s.wall.turn(now, f.PPM)
	case Restart:
		if s.up {
			s.kill()
			w.ahead(now+int64(f.For), &restored{s: s, until: f.Keep.until(now)})
		}
	case Failover:
		if s.up {
			s.failOver(now - int64(f.By))
		}
	case Hang:
		if s.up {
			s.hungUntil = max(s.hungUntil, now+int64(f.For))
			w.ahead(s.hungUntil, &restored{s: s, hang: true})
		}
	}
}

// restored is the end of a server's trouble.
type restored struct {
	s     *server
	hang  bool
	until int64 // the last moment of which it knows
}

func (r *restored) live() bool { return true }

func (r *restored) happen(w *world) {
	switch {
	case !r.hang:
		r.s.revive(r.until)
	case r.s.up && r.s.hungUntil <= w.now.Load():
		r.s.wake()
	default:
		return
	}
	w.trace.at(w.now.Load(), r.s.name).s("is back").end()
}
