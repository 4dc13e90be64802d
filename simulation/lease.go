package simulation

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/fencing"
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
	votesAt  int64 // the earliest of its votes
	endedAt  int64 // never, until its holder releases it
	validity int64 // what the holder was told, and at what readings of its clocks
	clockReadings
}

// until is the true time at which the holder stops believing in its lease. It follows from the
// holder's own clocks, because their errors must become visible.
func (h *holding) until() int64 {
	s := h.p.clock.present()
	return min(s.mono.when(h.mono+h.validity), s.wall.when(h.wall+h.validity))
}

func (h *holding) told(validity time.Duration) {
	h.validity, h.clockReadings = int64(validity), h.p.clock.readingsAt(h.p.w.now.Load())
}

// belief is a validity that a holder was told. If the process stopped at a clock reading in
// the same step, the holder was told before the pause, and the validity has decreased since.
type belief struct {
	validity time.Duration
	before   *clockReadings // what its clocks showed; nil if there was no pause
}

func (b *belief) stoppedAfter(r clockReadings) { b.before = &r }

// left is the validity now.
func (b *belief) left(p *process) time.Duration {
	if b.before == nil {
		return b.validity
	}
	now := p.clock.readingsAt(p.w.now.Load())
	return max(0, b.validity-time.Duration(max(0, now.mono-b.before.mono, now.wall-b.before.wall)))
}

// over reports whether it expired during the pause.
func (b *belief) over(p *process) bool { return b.before != nil && b.left(p) == 0 }

// acquired records a new lease.
func (w *world) acquired(h *holding) {
	h.endedAt, h.votesAt = never, h.askedAt
	for _, o := range w.holdings {
		if o.key == h.key && o.value == h.value {
			h.votesAt = min(h.votesAt, o.votesAt) // a hand-off within the process
		}
	}
	w.holdings = append(w.holdings, h)
	h.number = len(w.holdings)
}

// crashed ends the leases of a process.
func (w *world) crashed(p *process) {
	now := w.now.Load()
	for _, h := range w.holdings {
		if h.p == p {
			h.endedAt = min(h.endedAt, now)
		}
	}
}

// believes logs how long a process believes in its leases, after a change of its clocks.
func (w *world) believes(p *process) {
	for _, h := range w.holdings {
		if h.p == p && w.now.Load() < h.endedAt {
			e := w.event(record.Believed, p.name, "")
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
	belief
}

func (r *action) order() opOrder {
	switch r.kind {
	case record.Extended:
		return opOrder{process: r.p.index, kind: isRecord, n: uint64(r.token), key: r.key, value: "extended"}
	case record.Acquired: // in a hand-off within a step, the predecessor released it first
		return opOrder{process: r.p.index, kind: isGain, place: r.goroutine, n: r.n}
	}
	return opOrder{process: r.p.index, kind: isRecord, place: r.goroutine, n: r.n}
}

func (r *action) apply(w *world) {
	if r.p.gone() {
		return
	}
	now, left := w.now.Load(), r.left(r.p)
	h := r.holding
	if r.kind != record.Noted && r.kind != record.Refused {
		w.touch(touchesChecks)
	}
	if r.kind == record.Extended {
		h = w.extended(r, now)
	}
	e := w.event(r.kind, r.p.name, "")
	e.Goroutine, e.Validity, e.Words, e.Key, e.Token = r.goroutine, left, r.words, r.key, r.token
	if h != nil {
		e.Key, e.Token, e.Goroutine = h.key, h.token, h.goroutine
	}
	switch r.kind {
	case record.Asked:
		h.askedAt, e.Permits = now, w.cfg.Permits
	case record.Acquired:
		if h.resumed {
			w.count(leaseResumed)
		}
		e.Change = &record.Change{Value: h.value, Quorum: h.quorum}
		w.acquired(h)
		h.told(left)
		e.Truth = h.backing(r.over(r.p))
	case record.Refused:
		e.Truth = h.inVain()
	case record.Looked:
		// From now on, the holder believes what the library says now.
		if h != nil && now < h.endedAt {
			h.told(left)
			e.Truth = &record.Truth{Until: time.Duration(h.until())}
		}
	case record.Extended:
		if h != nil {
			h.told(left)
			e.Truth = h.backing(r.over(r.p))
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
