// Package history converts the log of a simulated run to the history that package judge judges.
package history

import (
	"maps"
	"slices"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search/judge"
)

// Of is a run's history for package judge: locks with the moments at which clients
// requested, got and stopped believing in them; reads and writes with the moments of the
// request and the reply. An executed request without a reply is Unknown, and refused
// requests are omitted. An observer's Read of each resource comes at the end.
//
// Belief in a lease is measured in true time. If nothing is known of a client's clocks (no
// record.Truth), it counts as believing until it last found a validity or sent a request.
func Of(log record.Log, ended time.Duration) []judge.Operation {
	h := &history{ended: ended, calls: map[callID]*call{}, requested: map[requester]time.Duration{}, leases: map[int]*lease{}}
	for e := range log.All() {
		h.prepare(e)
	}
	for e := range log.All() {
		h.add(e)
	}
	return h.operations(ended)
}

// history is what is known of a run from its log.
type history struct {
	ended time.Duration
	calls map[callID]*call

	requested map[requester]time.Duration
	leases    map[int]*lease // by their numbers

	accesses []judge.Operation // reads and writes
	finals   []judge.Operation // of each key, an observer's read after the last effect
}

// callID names one request to the resource.
type callID struct {
	process string
	n       uint64
}

// requester names a goroutine that requests a lock. It requests one at a time.
type requester struct {
	process   string
	goroutine int
	key       string
}

// call is a request to the resource.
type call struct {
	sent, returned time.Duration
	answered       bool
	executed       bool
}

// lease is a lease as its holder sees it.
type lease struct {
	process   string
	goroutine int
	key       string
	token     fencing.Token
	requested time.Duration
	beliefs   []belief // one after the other, with gaps between them
	over      bool     // its holder gave it up
}

// belief is a time in which a holder believed in its lease without a break.
type belief struct{ from, until time.Duration }

// prepare adds what later events depend on: when replies will arrive.
func (h *history) prepare(e *record.Event) {
	id := callID{e.Process, e.N}
	switch {
	case e.Place != fault.Resource:
	case e.Kind == record.Sent:
		h.calls[id] = &call{sent: e.At}
	case e.Kind == record.Received:
		h.calls[id].returned, h.calls[id].answered = e.At, true
	}
}

// add adds what clients did and learned.
func (h *history) add(e *record.Event) {
	switch e.Kind {
	case record.Asked:
		h.requested[requester{e.Process, e.Goroutine, e.Key}] = e.At
	case record.Acquired:
		l := &lease{process: e.Process, goroutine: e.Goroutine, key: e.Key, token: e.Token, requested: h.requested[requester{e.Process, e.Goroutine, e.Key}]}
		h.leases[e.Lease] = l
		h.believe(l, e)
	case record.Extended, record.Looked, record.Believed:
		if l := h.leases[e.Lease]; l != nil && !l.over {
			h.believe(l, e)
		}
	case record.Released, record.HandedOff:
		if l := h.leases[e.Lease]; l != nil {
			l.end(e.At)
		}
	case record.Crashed:
		for _, l := range h.leases {
			if l.process == e.Process {
				l.end(e.At)
			}
		}
	case record.Read, record.Write:
		if e.Words == "" { // it was executed
			h.access(e)
		}
	}
}

// client is the judge's name of the lease's holder, which does one thing at a time.
func (l *lease) client() string { return record.Who(l.process, l.goroutine) }

// believe adds a validity: the holder continues to believe in its lease, or believes again.
func (h *history) believe(l *lease, e *record.Event) {
	until := e.At
	if e.Truth != nil {
		until = max(until, min(e.Truth.Until, h.ended))
	}
	last := len(l.beliefs) - 1
	switch {
	case last < 0:
		l.beliefs = append(l.beliefs, belief{e.At, until})
	case e.At <= l.beliefs[last].until || e.Truth == nil && e.Validity > 0:
		l.beliefs[last].until = until
	case until > e.At:
		l.beliefs = append(l.beliefs, belief{e.At, until})
	}
}

// end is when the holder gives the lease up.
func (l *lease) end(at time.Duration) {
	if last := len(l.beliefs) - 1; !l.over {
		l.over = true
		l.beliefs[last].until = min(l.beliefs[last].until, max(at, l.beliefs[last].from))
	}
}

// access adds a read or a write that the resource executed.
func (h *history) access(e *record.Event) {
	c, l := h.calls[callID{e.Process, e.N}], h.leases[e.Lease]
	if c.sent > l.beliefs[len(l.beliefs)-1].until {
		// It uses the lease, so it counts as having believed in it all the time.
		l.beliefs = []belief{{l.beliefs[0].from, c.sent}}
	}
	h.observe(e)
	if c.executed {
		return // the same request once more, which its client does not know
	}
	c.executed = true
	o := judge.Operation{
		Client: l.client(), Key: e.Key, Kind: judge.Read, Call: c.sent, Return: c.returned, Outcome: judge.Done,
		Token: e.Token, Version: e.Version, Value: e.Value,
	}
	if !c.answered {
		o.Outcome = judge.Unknown
	}
	if e.Kind == record.Write {
		o.Kind, o.Version = judge.Write, e.AsOf
	}
	h.accesses = append(h.accesses, o)
}

// observe notes the state of a resource.
func (h *history) observe(e *record.Event) {
	i := slices.IndexFunc(h.finals, func(o judge.Operation) bool { return o.Key == e.Key })
	if i < 0 {
		i = len(h.finals)
		h.finals = append(h.finals, judge.Operation{Client: "observer", Key: e.Key, Kind: judge.Read, Outcome: judge.Done})
	}
	h.finals[i].Version, h.finals[i].Value = e.Version, e.Value
}

func (h *history) operations(ended time.Duration) []judge.Operation {
	var all []judge.Operation
	for _, n := range slices.Sorted(maps.Keys(h.leases)) {
		l := h.leases[n]
		for i, b := range l.beliefs {
			lock := judge.Operation{Client: l.client(), Key: l.key, Kind: judge.Lock, Call: b.from, Return: b.from, Outcome: judge.Done}
			if i == 0 { // only then it got a token
				lock.Call, lock.Token = l.requested, l.token
			}
			unlock := judge.Operation{Client: l.client(), Key: l.key, Kind: judge.Unlock, Call: b.until, Return: b.until, Outcome: judge.Done}
			all = append(all, lock, unlock)
			ended = max(ended, b.until)
		}
	}
	all = append(all, h.accesses...)
	for _, o := range h.accesses {
		ended = max(ended, o.Call, o.Return)
	}
	for _, o := range h.finals {
		o.Call, o.Return = ended, ended
		all = append(all, o)
	}
	return all
}
