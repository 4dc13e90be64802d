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

	number   int   // from 1, in the order of acquisition
	askedAt  int64 // true times
	endedAt  int64 // never, until its holder releases it
	validity int64 // what the holder was told, and at what readings of its clocks
	kernel.ClockReadings
}

// until is the true time at which the holder stops believing in its lease. It follows from the
// holder's own clocks, because their errors must become visible.
func (h *holding) until() int64 {
	s := h.p.Clock.Present()
	return min(s.Mono.When(h.Mono+h.validity), s.Wall.When(h.Wall+h.validity))
}

func (h *holding) told(validity time.Duration) {
	h.validity, h.ClockReadings = int64(validity), h.p.Clock.ReadingsAt(h.p.w.Now.Load())
}

// acquired records a new lease.
func (w *world) acquired(h *holding) {
	h.endedAt = kernel.Never
	w.holdings = append(w.holdings, h)
	h.number = len(w.holdings)
}

// crashed ends the leases of a process.
func (w *world) crashed(p *process) {
	now := w.Now.Load()
	for _, h := range w.holdings {
		if h.p == p {
			h.endedAt = min(h.endedAt, now)
		}
	}
}

// believes logs how long a process believes in its leases, after a change of its clocks.
func (w *world) believes(p *process) {
	for _, h := range w.holdings {
		if h.p == p && w.Now.Load() < h.endedAt {
			e := w.event(record.Believed, p.Name, "")
			e.Lease, e.Truth = h.number, &record.Truth{Until: time.Duration(h.until())}
		}
	}
}

// extended is the lease that was extended, nil if its holder has released it.
func (w *world) extended(r *action, now int64) *holding {
	for _, h := range slices.Backward(w.holdings) {
		if h.p == r.p && h.key == r.key && h.token == r.token && now < h.endedAt {
			return h
		}
	}
	return nil
}

// action reports to the checks what a workload did or was told.
type action struct {
	p         *process
	goroutine int
	n         uint64
	kind      record.EventKind
	holding   *holding
	key       string // of a lease that was extended, which is known by its key and token
	token     fencing.Token
	words     string
	validity  time.Duration // that its holder was told
}

func (r *action) Order() kernel.OpOrder {
	switch r.kind {
	case record.Extended:
		return kernel.OpOrder{Process: r.p.Index, Kind: kernel.IsRecord, N: uint64(r.token), Key: r.key, Value: "extended"}
	case record.Acquired: // in a hand-off within a step, the predecessor released it first
		return kernel.OpOrder{Process: r.p.Index, Kind: kernel.IsGain, Place: r.goroutine, N: r.n}
	}
	return kernel.OpOrder{Process: r.p.Index, Kind: kernel.IsRecord, Place: r.goroutine, N: r.n}
}

func (r *action) Apply() {
	w := r.p.w
	if r.p.Gone() {
		return
	}
	now := w.Now.Load()
	h := r.holding
	if r.kind == record.Extended {
		h = w.extended(r, now)
	}
	e := w.event(r.kind, r.p.Name, "")
	e.Goroutine, e.Validity, e.Words, e.Key, e.Token = r.goroutine, r.validity, r.words, r.key, r.token
	if h != nil {
		e.Key, e.Token, e.Goroutine = h.key, h.token, h.goroutine
	}
	switch r.kind {
	case record.Asked:
		h.askedAt = now
	case record.Acquired:
		if h.resumed {
			w.count(leaseResumed)
		}
		e.Change = &record.Change{Value: h.value, Quorum: h.quorum}
		w.acquired(h)
		h.told(r.validity)
		e.Truth = h.backing()
	case record.Refused:
		e.Truth = h.inVain()
	case record.Looked:
		// From now on, the holder believes what the library says now.
		if h != nil && now < h.endedAt {
			h.told(r.validity)
			e.Truth = &record.Truth{Until: time.Duration(h.until())}
		}
	case record.Extended:
		if h != nil {
			h.told(r.validity)
			e.Truth = h.backing()
		}
	case record.Released, record.HandedOff:
		if h != nil {
			h.endedAt = min(h.endedAt, now)
		}
	}
	if h != nil {
		e.Lease = h.number
	}
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
	return t
}

// inVain says what hindered a process that didn't get a lock. nil if nobody asks.
func (h *holding) inVain() *record.Truth {
	w := h.p.w
	patience := int64(w.cfg.Progress)
	if patience <= 0 || h.resumed { // Resume doesn't acquire a free lock
		return nil
	}
	w.count(progressChecked)
	return &record.Truth{Also: h.also, Hindered: time.Duration(h.p.hindered(w.Now.Load(), patience, h.quorum))}
}

// hindered is the last moment, of those within patience, at which the process was
// paused or couldn't reach as many servers as a quorum; 0 if there was none.
func (p *process) hindered(now, patience int64, quorum int) int64 {
	last := min(p.PausedUntil, now)
	from := now - patience
	well := 0
	for i := range p.w.servers {
		if p.server(i).well(from, now) && p.reaches(i, from) {
			well++
		}
	}
	quorum = cmp.Or(quorum, len(p.w.servers)/2+1)
	if well < quorum {
		last = now
	}
	return last
}

// well reports whether the server had no fault for some time.
func (s *server) well(from, now int64) bool {
	return s.up && s.trouble < from && s.hungUntil <= now && s.wall.PPM == 0
}

// reaches reports whether messages have arrived in both directions since from.
func (p *process) reaches(server int, from int64) bool {
	for _, f := range p.w.links {
		if fault.Matches(f.Process, p.Name) && fault.Matches(f.Server, p.w.servers[server].name) && (f.For == 0 || int64(f.At+f.For) > from) && int64(f.At) <= p.w.Now.Load() {
			return false
		}
	}
	return true
}

// keeps reports whether the server has the lease's key up to the true time until, as things
// stand now.
func (s *server) keeps(h *holding, until int64) bool {
	hasKey := func(key string) bool {
		value, expires, ok := s.data.Keys.Get(key, s.clock())
		return ok && value == h.value && (expires.IsZero() || s.wall.When(expires.UnixNano()) >= until)
	}
	return hasKey(h.key) && !slices.ContainsFunc(h.also, func(key string) bool { return !hasKey(key) })
}
