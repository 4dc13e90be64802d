package simulation

import (
	"cmp"
	"slices"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
)

// holding is one lease, as its holder sees it.
type holding struct {
	p *process
	// goroutine is the number of the holder's goroutine in its process.
	goroutine int
	key       string
	also      []string // the other keys, of a lease on several
	token     fencing.Token
	value     string
	quorum    int
	// servers is how many servers should have the key, if no quorum is demanded.
	servers int
	// resumed: it was handed off to this process.
	resumed bool

	// Only the workload's goroutine uses these: its last write and the number of
	// writes. A retried write keeps its number.
	writes     uint64
	wroteValue int64
	wroteAsOf  uint64

	number     int   // from 1, in the order of acquisition
	askedAt    int64 // true times
	endedAt    int64 // never, until its holder releases it
	validity   int64 // what the holder was told, and at what readings of its clocks
	mono, wall int64
}

// until is the true time at which the holder stops believing in its lease. It follows from the
// holder's own clocks, because their errors must become visible.
func (h *holding) until() int64 {
	s := h.p.Present()
	return min(s.Mono.When(h.mono+h.validity), s.Wall.When(h.wall+h.validity))
}

func (h *holding) told(validity time.Duration) {
	h.validity, h.mono, h.wall = int64(validity), h.p.Mono(), h.p.Wall()
}

func (h *holding) ended() bool { return h.p.w.Now.Load() >= h.endedAt }

func (h *holding) end() { h.endedAt = min(h.endedAt, h.p.w.Now.Load()) }

// believes logs how long a process believes in its leases, after a change of its clocks.
func (p *process) believes() {
	for _, h := range p.holdings {
		if !h.ended() {
			e := p.w.event(record.Believed, p.Name, "")
			e.Lease, e.Truth = h.number, &record.Truth{Until: time.Duration(h.until())}
		}
	}
}

// extended records that a lease was extended. It is known by its key and token; its holder may have
// released it.
func (p *process) extended(key string, token fencing.Token, validity time.Duration) {
	order := kernel.OpOrder{Kind: kernel.IsRecord, N: uint64(token), Key: key, Value: "extended"}
	p.Tell(order, func() {
		e := p.w.event(record.Extended, p.Name, "")
		e.Key, e.Token, e.Validity = key, token, validity
		for _, h := range slices.Backward(p.holdings) {
			if h.key == key && h.token == token && !h.ended() {
				h.told(validity)
				e.Goroutine, e.Lease, e.Truth = h.goroutine, h.number, h.backing()
				break
			}
		}
	})
}

// happened completes the event of what the holder did or was told.
func (h *holding) happened(e *record.Event) {
	w := h.p.w
	e.Key, e.Token, e.Goroutine = h.key, h.token, h.goroutine
	switch e.Kind {
	case record.Asked:
		h.askedAt = w.Now.Load()
	case record.Acquired:
		if h.resumed {
			w.count("a lease was resumed")
		}
		w.leases++
		h.number, h.endedAt = w.leases, kernel.Never
		h.p.holdings = append(h.p.holdings, h)
		e.Change = &record.Change{Value: h.value}
		h.told(e.Validity)
		e.Truth = h.backing()
	case record.Refused:
		e.Truth = h.inVain()
	case record.Looked:
		// From now on, the holder believes what the library says now.
		if !h.ended() {
			h.told(e.Validity)
			e.Truth = &record.Truth{Until: time.Duration(h.until())}
		}
	case record.Released, record.HandedOff:
		h.end()
	}
	e.Lease = h.number
}

// What the log says of a lease beside what its holder was told, see record.Truth.

// backing counts the servers that have the lease's key for as long as its holder was told.
func (h *holding) backing() *record.Truth {
	w, until := h.p.w, h.until()
	t := &record.Truth{Until: time.Duration(until)}
	if max(h.quorum, h.servers) == 0 || h.value == "" {
		return t // nothing is known
	}
	t.Quorum, t.Servers = h.quorum, h.servers
	for i := range w.servers {
		switch s := h.p.server(i); {
		case s.keeps(h, until):
			t.Have++
		case s.lost >= h.askedAt:
			t.Forgot++
		}
	}
	if t.Have < max(t.Quorum, t.Servers) {
		w.count(record.LongerThanKept)
	}
	return t
}

// keeps reports whether the server has the lease's keys up to the true time until, as things
// stand now.
func (s *server) keeps(h *holding, until int64) bool {
	for _, key := range append([]string{h.key}, h.also...) {
		value, expires, ok := s.data.Keys.Get(key, s.clock())
		if !ok || value != h.value || !expires.IsZero() && s.wall.When(expires.UnixNano()) < until {
			return false
		}
	}
	return true
}

// inVain says what hindered a process that didn't get a lock. nil if nobody asks.
func (h *holding) inVain() *record.Truth {
	w := h.p.w
	patience := int64(w.cfg.Progress)
	if patience <= 0 || h.resumed { // Resume doesn't acquire a free lock
		return nil
	}
	w.count("a failed attempt was checked for progress")
	return &record.Truth{Also: h.also, Hindered: time.Duration(h.p.hindered(w.Now.Load(), patience, h.quorum))}
}

// hindered is the last moment, of those within patience, at which the process was
// paused or couldn't reach as many servers as a quorum; 0 if there was none.
func (p *process) hindered(now, patience int64, quorum int) int64 {
	from, well := now-patience, 0
	for i := range p.w.servers {
		if p.server(i).well(from, now) && p.reaches(i, from) {
			well++
		}
	}
	if well < cmp.Or(quorum, len(p.w.servers)/2+1) {
		return now
	}
	return min(p.PausedUntil, now)
}

// well reports whether the server had no fault for some time.
func (s *server) well(from, now int64) bool {
	return s.up && s.trouble < from && s.hungUntil <= now && s.wall.PPM == 0
}

// reaches reports whether messages have arrived in both directions since from.
func (p *process) reaches(server int, from int64) bool {
	for _, f := range p.w.links {
		if fault.Matches(f.Process, p.Name) && fault.Matches(f.Server, p.w.names[server]) && (f.For == 0 || int64(f.At+f.For) > from) && int64(f.At) <= p.w.Now.Load() {
			return false
		}
	}
	return true
}
