package search

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// The kinds of violations that only this judge finds.
const (
	// keyLeft: a client lost a round or released a lease, and a server that it reaches keeps its key.
	keyLeft record.ViolationKind = "key left behind"
	// dishonest: the result of a release says what didn't happen.
	dishonest record.ViolationKind = "dishonest"
	// unsettled: a lease has a token that the counters of no quorum have reached.
	unsettled record.ViolationKind = "token not settled"
	// revived: a lease was extended although another client had got the lock since.
	revived record.ViolationKind = "lease revived"
)

// What the judge counts. Without them "nothing found" proves little.
const (
	checkedKey     = "a key had to be deleted"
	checkedRelease = "the result of a release was compared"
)

// tidy is the time that a client may take to delete a key on the servers if nothing disturbs it.
const tidy = time.Second

// judge checks what package check doesn't, because it is about the servers. Where a fault may excuse something, it
// looks only at what happens in a calm.
type judge struct {
	quorum int
	found  []record.Violation
	counts map[string]int

	keys   map[keyOn]kept
	rounds map[string]*roundOf // by value
	trying map[string]*roundOf // by process
	over   []*roundOf          // their keys have to go
	leases map[int]*roundOf
	latest map[string]int // by key: the last lease
	// released is what the servers had when a process last released a lease.
	released map[string]releaseOf

	calm    time.Duration // after it, no fault disturbs
	forgets time.Duration // after it, no server goes on with other data
}

type keyOn struct{ server, key string }

// kept is the value that a server keeps, and how long it does.
type kept struct {
	value string
	until time.Duration
}

// unknown is the value of a key that came back with other data.
const unknown = "?"

// roundOf is a round. Each has a value of its own.
type roundOf struct {
	process, value string
	began, ended   time.Duration
	counters       map[keyOn]fencing.Token // of the servers that granted
}

// releaseOf is a release: on how many servers the lease had its key for a while, and whether any server may have had it.
type releaseOf struct {
	at    time.Duration
	have  int
	maybe bool
}

// judged is what the judge found in a run, and what it counted.
func judged(cfg simulation.Config, r simulation.Result) ([]record.Violation, map[string]int) {
	j := &judge{
		quorum: cfg.Servers/2 + 1, counts: map[string]int{}, keys: map[keyOn]kept{}, rounds: map[string]*roundOf{},
		trying: map[string]*roundOf{}, leases: map[int]*roundOf{}, latest: map[string]int{}, released: map[string]releaseOf{},
	}
	for e := range r.Log.All() {
		for len(j.over) > 0 && max(j.over[0].ended, j.calm)+tidy < e.At {
			j.gone(e.At, j.over[0])
			j.over = j.over[1:]
		}
		j.take(e)
	}
	return j.found, j.counts
}

func (j *judge) take(e *record.Event) {
	switch e.Kind {
	case record.Suffered:
		j.suffered(e)
	case record.RequestLost, record.ReplyLost:
		j.calm = max(j.calm, e.At)
	case record.Voted:
		if e.Change != nil {
			j.vote(e)
		}
	case record.KeyChanged:
		for _, key := range e.Keys {
			j.keys[keyOn{e.Place, key.Key}] = kept{unknown, key.Until}
		}
	case record.Acquired:
		j.acquired(e)
	case record.Refused:
		j.end(j.trying[e.Process], e.At)
	case record.Extended:
		if e.Lease < j.latest[e.Key] {
			j.violation(revived, e.At, "%s extended its lease of %q (token %d) after another client had got it", e.Process, e.Key, e.Token)
		}
	case record.Released:
		j.release(e)
	case record.Noted:
		j.noted(e)
	}
}

func (j *judge) violation(kind record.ViolationKind, at time.Duration, format string, args ...any) {
	j.found = append(j.found, record.Violation{Kind: kind, At: at, Text: fmt.Sprintf(format, args...)})
}

// suffered notes a fault. Rates within the assumptions disturb nothing.
func (j *judge) suffered(e *record.Event) {
	until := e.At + e.Fault.For
	switch e.Fault.Kind {
	case fault.Rate:
		return
	case fault.Delay, fault.Reorder, fault.Duplicate:
		until += 2*e.Fault.By + maxTTL // a message that is late may set a key
	case fault.Crash, fault.Reboot:
		until += maxTTL // the keys expire
	case fault.Restart, fault.Failover, fault.Flush, fault.Evict, fault.Switch:
		j.forgets = max(j.forgets, until)
	}
	j.calm = max(j.calm, until)
}

// vote notes what a request changed on a server.
func (j *judge) vote(e *record.Event) {
	r := j.rounds[e.Change.Value]
	if r == nil && e.Op == "acquire" { // the round before it is over
		j.end(j.trying[e.Process], e.At)
		r = &roundOf{process: e.Process, value: e.Change.Value, began: e.At, counters: map[keyOn]fencing.Token{}}
		j.rounds[r.value], j.trying[e.Process] = r, r
	}
	for _, l := range e.Change.Locks {
		at := keyOn{e.Place, l.Key}
		now := kept{l.Value, j.keys[at].until}
		if i := slices.IndexFunc(e.Keys, func(k record.KeyState) bool { return k.Key == l.Key }); i >= 0 {
			now.until = e.Keys[i].Until
		}
		j.keys[at] = now
		if r != nil && l.Value == r.value {
			r.counters[at] = l.Counter
		}
	}
}

// end notes that a round's keys have to go.
func (j *judge) end(r *roundOf, at time.Duration) {
	if r != nil && r.ended == 0 {
		r.ended = at
		j.over = append(j.over, r)
	}
}

// gone reports the keys of a round that are still there, unless a server lost the delete, too.
func (j *judge) gone(now time.Duration, r *roundOf) {
	if r.ended == 0 || j.forgets > r.began {
		return
	}
	j.counts[checkedKey]++
	for at, k := range j.keys {
		if k.value == r.value && k.until > now {
			j.violation(keyLeft, now, "%s lost a round or released a lease at %v, and its key %q is still on %s", r.process, r.ended, at.key, at.server)
		}
	}
}

// acquired compares the token of a lease with the counters of the servers that granted it.
func (j *judge) acquired(e *record.Event) {
	j.latest[e.Key] = e.Lease
	r := j.rounds[e.Change.Value]
	if r == nil {
		return
	}
	r.ended = 0 // another round's late vote may have ended it
	j.leases[e.Lease] = r
	if j.trying[e.Process] == r {
		j.trying[e.Process] = nil
	}
	have := 0
	for at, counter := range r.counters {
		if at.key == e.Key && counter >= e.Token {
			have++
		}
	}
	if (have < j.quorum || e.Token == 0) && j.forgets < r.began {
		j.violation(unsettled, e.At, "%s got %q with the token %d, which the counters of %d servers have reached; a quorum is %d", e.Process, e.Key, e.Token, have, j.quorum)
	}
}

func (j *judge) release(e *record.Event) {
	r := j.leases[e.Lease]
	if r == nil {
		return
	}
	now := releaseOf{at: e.At}
	for at, k := range j.keys {
		if at.key != e.Key || k.until <= e.At {
			continue
		}
		now.maybe = now.maybe || k.value == r.value || k.value == unknown
		if k.value == r.value && k.until > e.At+time.Second && j.forgets < r.began {
			now.have++
		}
	}
	j.released[e.Process] = now
	j.end(r, e.At)
}

// noted compares what a client was told of a release.
func (j *judge) noted(e *record.Event) {
	last, known := j.released[e.Process]
	switch {
	case !known:
	case e.Words == noteReleased:
		if j.counts[checkedRelease]++; !last.maybe {
			j.violation(dishonest, e.At, "%s released a lease at %v, got no error, and no server had its key", e.Process, last.at)
		}
	case strings.HasPrefix(e.Words, "release: "):
		j.counts[checkedRelease]++
		if last.have >= j.quorum && j.calm+tidy < last.at {
			j.violation(dishonest, e.At, "%s released a lease at %v, of which %d servers had the key, and was told %q", e.Process, last.at, last.have, e.Words)
		}
	}
}
