package oracle

import (
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// history turns a record into the operations on each key.
type history struct {
	requests bool // to the resource are acts
	keys     map[string][]porcupine.Operation
	places   map[string]int // how many leases each key has had
	leases   []*lease       // by their numbers, from 1
	asked    map[asker]int64
	sent     map[request]int64
	now      int64 // counts moments: no two beginnings or ends have the same
}

// asker is a goroutine that asks for a lock. It asks for it once at a time.
type asker struct {
	process   string
	goroutine int
	key       string
}

// request is a request to the resource.
type request struct {
	process string
	n       uint64
}

// lease is a lease as its holder sees it.
type lease struct {
	process, key string
	grant        *operation
	believes     bool          // its holder does, by clocks that the record knows,
	until        time.Duration // up to this true time
	clocked      bool          // the record knows these
	ended        bool          // its holder gave it up
}

func histories(log record.Log, requests bool) map[string][]porcupine.Operation {
	h := &history{
		requests: requests, keys: map[string][]porcupine.Operation{}, places: map[string]int{},
		asked: map[asker]int64{}, sent: map[request]int64{},
	}
	for e := range log.All() {
		for _, l := range h.leases {
			h.believes(l, l.believes && e.At < l.until)
		}
		h.take(e)
	}
	for _, l := range h.leases {
		h.believes(l, false)
	}
	return h.keys
}

// moment returns the next moment.
func (h *history) moment() int64 {
	h.now++
	return h.now
}

// add adds an operation that ends now.
func (h *history) add(key string, o *operation, began int64) {
	h.keys[key] = append(h.keys[key], porcupine.Operation{Input: o, Call: began, Return: h.moment()})
}

// holds adds an act under a lease.
func (h *history) holds(l *lease, began int64) {
	l.grant.acts++
	h.add(l.key, &operation{what: held, lease: l.grant.lease}, began)
}

// believes notes whether the holder believes in its lease. The first and the last moment at which it does
// are acts.
func (h *history) believes(l *lease, does bool) {
	if does != l.believes {
		l.believes = does
		h.holds(l, h.moment())
	}
}

// told takes what the holder's clocks make of its lease.
func (h *history) told(l *lease, e *record.Event) {
	if e.Truth != nil {
		l.clocked, l.until = true, e.Truth.Until
		h.believes(l, !l.ended && e.At < l.until)
	}
}

func (h *history) ends(l *lease) {
	h.believes(l, false)
	l.ended = true
}

func (h *history) take(e *record.Event) {
	switch e.Kind {
	case record.Asked:
		h.asked[asker{e.Process, e.Goroutine, e.Key}] = h.moment()
	case record.Acquired:
		h.granted(e)
	case record.Crashed:
		for _, l := range h.leases {
			if l.process == e.Process {
				h.ends(l)
			}
		}
	case record.Sent:
		if e.Place == fault.Resource {
			h.sent[request{e.Process, e.N}] = h.moment()
		}
	default:
		if e.Lease > 0 {
			h.under(h.leases[e.Lease-1], e)
		}
	}
}

// under takes what is done under a lease.
func (h *history) under(l *lease, e *record.Event) {
	switch e.Kind {
	case record.Looked:
		if e.Validity > 0 && !l.clocked {
			h.holds(l, h.moment())
		}
		h.told(l, e)
	case record.Extended, record.Believed:
		h.told(l, e)
	case record.Released, record.HandedOff:
		h.ends(l)
	case record.Read:
		h.uses(l, e, read)
	case record.Write:
		h.uses(l, e, write)
	}
}

func (h *history) granted(e *record.Event) {
	h.places[e.Key]++
	l := &lease{process: e.Process, key: e.Key, grant: &operation{what: granted, lease: e.Lease, token: e.Token, place: h.places[e.Key]}}
	h.leases = append(h.leases, l)
	h.add(e.Key, l.grant, h.asked[asker{e.Process, e.Goroutine, e.Key}])
	h.told(l, e)
}

// uses adds what the resource executed.
func (h *history) uses(l *lease, e *record.Event, how what) {
	if e.Words != "" {
		return // it was refused, or executed before
	}
	began, known := h.sent[request{e.Process, e.N}]
	if !known {
		began = h.moment()
	}
	o := *l.grant
	o.what, o.version, o.asOf = how, e.Version, e.AsOf
	h.add(l.key, &o, began)
	if h.requests {
		h.holds(l, began)
	}
}
