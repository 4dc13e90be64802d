package simulation

import (
	"cmp"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// wanted is a lock that processes fail to get.
type wanted struct {
	since int64 // the first try, of those without a success or a pause between them
	last  int64 // the last try's end
}

// inVain checks a failed try: it reports NoProgress if processes have tried for all of
// Config.Progress, no process has held the lock, and no fault explains that.
func (c *checker) inVain(h *holding) {
	now, patience := c.w.now.Load(), int64(c.w.cfg.Progress)
	if patience <= 0 || h.p == c.w.witness {
		return
	}
	if c.wanted == nil {
		c.wanted = map[string]*wanted{}
	}
	l := c.wanted[h.key]
	if l == nil {
		l = &wanted{since: h.askedAt, last: h.askedAt}
		c.wanted[h.key] = l
	}
	// A process that doesn't try isn't waiting.
	if h.askedAt-l.last > patience/4 {
		l.since = h.askedAt
	}
	l.last = now
	for _, key := range h.also {
		l.since = max(l.since, c.hadUntil(key)) // it may have been in the way
	}
	since := max(l.since, c.hadUntil(h.key), h.p.hindered(now, patience, h.quorum))
	c.w.count(progressChecked)
	if now-since < patience {
		return
	}
	c.violation(record.NoProgress, "nobody has got %q for %v, though %s has tried and reached a quorum", h.key, time.Duration(now-since), h.p.name)
	l.since = now
}

// hadUntil is the last moment at which a client believed to hold the key; 0 if there was
// none.
func (c *checker) hadUntil(key string) int64 {
	now, last := c.w.now.Load(), int64(0)
	for _, h := range c.holdings {
		switch {
		case h.key != key:
		case h.holds(now):
			return now
		default:
			s := h.p.clock.present()
			over := min(s.mono.when(h.mono+h.validity), s.wall.when(h.wall+h.validity), h.endedAt, now)
			last = max(last, over)
		}
	}
	return last
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
