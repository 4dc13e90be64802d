package simulation

import (
	"cmp"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// What the log says of a lease beside what its holder was told, see record.Truth.

// backing counts the servers that have the lease's key for as long as its holder was told.
func (h *holding) backing(void bool) *record.Truth {
	w, until := h.p.w, h.until()
	t := &record.Truth{Until: time.Duration(until), Void: void}
	if void || max(h.quorum, h.servers) == 0 || h.value == "" {
		return t // nothing is known
	}
	t.Quorum, t.Servers = h.quorum, h.servers
	for i, place := range w.places {
		w.touch(ofKeys(h.p, place.server))
		switch {
		case h.p.serverKeeps(i, place.database, h, until, (*server).keeps):
			t.Have++
		case h.p.serverKeeps(i, place.database, h, until, (*server).forgot):
			t.Forgot++
		}
	}
	return t
}

// serverKeeps reports whether a server that the process knows by a place's name has, or
// had, the lease's key until a moment. The address need not lead there any more: the
// server has voted.
func (p *process) serverKeeps(place, database int, h *holding, until int64, keeps func(s *server, database int, h *holding, until int64) bool) bool {
	s := p.w.places[place].server
	if s.other == nil {
		return keeps(p.server(place), database, h, until)
	}
	return keeps(s, database, h, until) || keeps(s.other, database, h, until)
}

// inVain says what hindered a process that didn't get a lock. nil if nobody asks.
func (h *holding) inVain() *record.Truth {
	w := h.p.w
	patience := int64(w.cfg.Progress)
	if patience <= 0 || h.resumed { // Resume doesn't acquire a free lock
		return nil
	}
	w.count(progressChecked)
	return &record.Truth{Also: h.also, Hindered: time.Duration(h.p.hindered(w.now.Load(), patience, h.quorum))}
}

// hindered is the last moment, of those within patience, at which the process was
// paused or couldn't reach as many servers as a quorum; 0 if there was none.
func (p *process) hindered(now, patience int64, quorum int) int64 {
	last := min(p.pausedUntil, now)
	from := now - patience
	well := 0
	for i := range p.w.places {
		if p.server(i).well(from, now) && p.reaches(i, from) {
			well++
		}
	}
	quorum = cmp.Or(quorum, len(p.w.places)/2+1)
	if well < quorum {
		last = now
	}
	return last
}

// well reports whether the server had no fault for some time.
func (s *server) well(from, now int64) bool {
	return s.up && s.trouble < from && s.hungUntil <= now && s.wall.ppm == 0
}

// reaches reports whether messages have arrived in both directions since from.
func (p *process) reaches(place int, from int64) bool {
	for _, f := range p.w.links {
		if fault.Matches(f.Process, p.name) && fault.Matches(f.Server, p.w.places[place].name) && (f.For == 0 || int64(f.At+f.For) > from) && int64(f.At) <= p.w.now.Load() {
			return false
		}
	}
	return true
}
