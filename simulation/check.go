package simulation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/record"
)

// checker checks every event as it happens.
type checker struct {
	w        *world
	holdings []*holding // in the order in which they were acquired
	records  int        // so far
	asked    map[string]bool

	wanted         map[string]*wanted  // by key
	byValue        map[string]*holding // granted leases
	missed         map[string]bool     // values of rounds of which a vote timed out
	pendingDeletes map[failedDelete]bool
}

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
	votesAt  int64 // the earliest true time of its votes
	askedAt  int64 // true times
	gotAt    int64
	asked    int // the numbers of these records: several may be of one moment
	got      int
	void     bool  // it had expired already
	endedAt  int64 // never, until its holder releases it
	validity int64 // what the holder was told, and at what readings of its clocks
	clockReadings
}

// left is the validity that the holder believes in at the true time now. It uses the
// holder's own clocks, because their errors must become visible.
func (h *holding) left(now int64) int64 {
	s := h.p.clock.present()
	return h.validity - max(0, s.mono.at(now)-h.mono, s.wall.at(now)-h.wall)
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

func (h *holding) holds(now int64) bool { return now < h.endedAt && h.left(now) > 0 }

// after reports whether h is the later of two leases on one key: by their tokens, or
// without tokens by the times at which they were granted.
func (h *holding) after(o *holding) bool {
	switch {
	case h == nil:
		return false
	case h.token != 0 && o.token != 0:
		return h.token > o.token
	default:
		return h.number > o.number
	}
}

func (h *holding) String() string {
	return fmt.Sprintf("%s (token %d)", record.Who(h.p.name, h.goroutine), h.token)
}

func (c *checker) violation(kind record.ViolationKind, format string, args ...any) {
	c.found(record.Violation{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// found records a violation at this moment.
func (c *checker) found(v record.Violation) {
	v.At = time.Duration(c.w.now.Load())
	c.w.event(record.Found, "", "").Violation = &v
}

// keys lists the requested locks, sorted.
func (c *checker) keys() []string { return slices.Sorted(maps.Keys(c.asked)) }

// acquired records a new lease.
func (c *checker) acquired(h *holding, r *action) {
	now := c.w.now.Load()
	h.gotAt, h.got, h.endedAt, h.votesAt = now, c.records, never, h.askedAt
	h.told(r.left(r.p))
	// A process that stopped after the last clock reading may get an expired lease. The
	// lease reports that, and the process holds nothing.
	over := r.over(r.p)
	h.void = over
	permits := max(1, c.w.cfg.Permits)
	for _, o := range c.holdings {
		if o.key != h.key {
			continue
		}
		if o.value == h.value {
			h.votesAt = min(h.votesAt, o.votesAt) // a hand-off within the process
		}
		if o.holds(now) && !over {
			permits--
		}
		if o.holds(now) && !over && permits <= 0 {
			c.violation(record.TwoHolders, "%v got %q while %v still had %v of it", h, h.key, o, time.Duration(o.left(now)))
		}
		switch {
		case h.token == 0:
		case o.token == h.token:
			c.violation(record.TokenOrder, "%v and %v have the same token for %q", o, h, h.key)
		case o.got < h.asked && o.token > h.token:
			c.violation(record.TokenOrder, "%v got %q after %v with a smaller token", h, h.key, o)
		}
	}
	c.holdings = append(c.holdings, h)
	c.known(h)
	if l := c.wanted[h.key]; l != nil {
		delete(c.wanted, h.key)
	}
	if h.number = len(c.holdings); !over {
		c.real(h)
	}
}

// real compares a validity with the keys on the servers.
func (c *checker) real(h *holding) {
	needed := max(h.quorum, h.servers)
	if needed == 0 || h.value == "" {
		return // nothing is known
	}
	s := h.p.clock.present()
	// The first true time at which the lease has expired by either clock.
	until := min(s.mono.when(h.mono+h.validity), s.wall.when(h.wall+h.validity))
	longEnough, forgot := 0, 0
	for i, place := range c.w.places {
		c.w.touch(ofKeys(h.p, place.server))
		switch {
		case h.p.serverKeeps(i, place.database, h, until, (*server).keeps):
			longEnough++
		case h.p.serverKeeps(i, place.database, h, until, (*server).forgot):
			forgot++
		}
	}
	if longEnough < needed {
		c.w.count(overvalued)
	}
	if longEnough >= h.quorum {
		return
	}
	v := record.Violation{Kind: record.Overvalued, Text: fmt.Sprintf("%v was told %v of %q, which only %d instances have for so long; a quorum is %d",
		h, time.Duration(h.validity), h.key, longEnough, h.quorum)}
	if longEnough+forgot >= h.quorum {
		v.Assumption = 3
	}
	c.found(v)
}

// effect checks an operation that the resource is about to execute.
func (c *checker) effect(a access, reg *register) {
	h := a.holding
	over := !h.holds(c.w.now.Load())
	// A resource that has seen a later token refuses a late operation.
	late := over && (a.kind == record.Read || c.w.cfg.Guard != GuardAdmits && c.w.cfg.Guard != GuardIdempotent)
	found := func(kind record.ViolationKind, overdue bool, format string, args ...any) {
		v := record.Violation{Kind: kind, Text: fmt.Sprintf(format, args...)}
		if overdue {
			v.Assumption = 1
		}
		c.found(v)
	}
	// At the time of sending: no lock can prevent that a packet arrives after its
	// holder's lease.
	for _, o := range c.holdings[h.number:] {
		if c.w.cfg.Permits > 1 {
			break
		}
		if o.key == h.key && !o.void && o.got <= a.asOf {
			found(record.TwoHolders, over, "%v sent a %v of %q after %v had got it", h, a.kind, h.key, o)
			break
		}
	}
	if a.kind == record.Write {
		c.write(a, reg, late, found)
		if over {
			c.w.count(writeAfterLease)
		}
	}
	if !reg.latest.after(h) {
		reg.latest = h
	}
}

// write checks a write that the resource is about to execute. late means that its holder
// is late and the resource can't know.
func (c *checker) write(a access, reg *register, late bool, found func(kind record.ViolationKind, overdue bool, format string, args ...any)) {
	if c.w.cfg.Permits > 1 {
		return // the holders of a semaphore may write side by side
	}
	h := a.holding
	if reg.latest.after(h) {
		found(record.StaleWrite, late, "%v wrote %q after %v had used it", h, h.key, reg.latest)
	}
	lost, own := a.version != reg.version, reg.writer == h
	if lost {
		// A write that took effect too late also breaks the update that it interrupts.
		found(record.LostUpdate, late || own || reg.overdue, "%v wrote %q as of version %d over version %d", h, h.key, a.version, reg.version)
	}
	reg.writer, reg.overdue = h, late || lost && own
}

// crashed ends the leases of a process.
func (c *checker) crashed(p *process) {
	now := c.w.now.Load()
	for _, h := range c.holdings {
		if h.p == p {
			h.endedAt = min(h.endedAt, now)
		}
	}
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
	w.check.records++
	now, left := w.now.Load(), r.left(r.p)
	h := r.holding
	if r.kind != record.Noted && r.kind != record.Refused {
		w.touch(touchesChecks)
	}
	if r.kind == record.Extended {
		h = w.check.extended(r, now)
	}
	e := w.event(r.kind, r.p.name, "")
	e.Goroutine, e.Validity, e.Words, e.Key, e.Token = r.goroutine, left, r.words, r.key, r.token
	if h != nil {
		e.Key, e.Token, e.Goroutine = h.key, h.token, h.goroutine
	}
	switch r.kind {
	case record.Asked:
		h.askedAt, h.asked, e.Permits = now, w.check.records, w.cfg.Permits
		if w.check.asked == nil {
			w.check.asked = map[string]bool{}
		}
		w.check.asked[h.key] = true
	case record.Acquired:
		if h.resumed {
			w.count(leaseResumed)
		}
		w.check.quarantined(r.p)
		e.Change = &record.Change{Value: h.value, Quorum: h.quorum}
		w.check.acquired(h, r)
	case record.Refused:
		w.check.quarantined(r.p)
		if !h.resumed { // Resume doesn't acquire a free lock
			w.check.inVain(h)
		}
	case record.Looked:
		// From now on, the holder believes what the library says now.
		if h != nil && now < h.endedAt {
			h.told(left)
		}
	case record.Extended:
		if h == nil {
			break
		}
		if h.told(left); !r.over(r.p) {
			w.check.real(h)
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

// extended is the lease that was extended, nil if its holder has released it.
func (c *checker) extended(r *action, now int64) *holding {
	for _, h := range slices.Backward(c.holdings) {
		if h.p == r.p && h.key == r.key && h.token == r.token && now < h.endedAt {
			return h
		}
	}
	return nil
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
