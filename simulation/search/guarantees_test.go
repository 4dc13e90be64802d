package search

import (
	"cmp"
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

// tidy is the time that a client may take to delete a key on a server that it reaches.
const tidy = 2 * time.Second

// judge checks what package check doesn't: that keys are deleted, that a release says what it did, that tokens are
// settled, and that no extension revives a lease.
type judge struct {
	quorum  int
	servers []string
	found   []record.Violation
	counts  map[string]int

	n        int // of the event
	on       map[keyOn]kept
	rounds   map[string]*roundOf // by value
	open     map[string][]*roundOf
	due      []expectation   // sorted
	asking   map[string]bool // by process: it asks for a lock
	leases   map[int]*leaseOf
	releases map[string]releaseOf // by process, the last one

	disturbs map[link]time.Duration   // until when, by patterns; "" is all
	forgets  map[string]time.Duration // when a server last went on with other data, by pattern
	sent     map[request]int          // the number of the event
	crashed  map[string]int           // by process, likewise
}

// keyOn is a key on a server. A server that an address leads to beside another is one of its own.
type keyOn struct{ server, key string }

// kept is the value that a server keeps, and how long it does. Of a key that came back with older data the value is
// unknown.
type kept struct {
	value string
	until time.Duration
}

const unknown = "?"

// roundOf is a round. Each has a value of its own.
type roundOf struct {
	process, value string
	keys           []string
	began          time.Duration
	stage          stage
	since          time.Duration // when the stage began
	// counters are those of the servers that granted.
	counters map[keyOn]fencing.Token
}

type stage uint8

const (
	trying stage = iota
	holding
	over    // it was lost, or its lease was released: its keys have to go
	crashed // its keys expire
)

// expectation is the moment at which a round's keys must be gone.
type expectation struct {
	at    time.Duration
	round *roundOf
}

// leaseOf is a lease on one key.
type leaseOf struct {
	round *roundOf
	key   string
	got   int // the number of the event
}

// releaseOf is what the servers had when a client released a lease.
type releaseOf struct {
	at    time.Duration
	have  int  // servers that have the key for a while
	maybe bool // some server may have it
}

// link is a process and a server that it asks. request is the n-th request of a process to a server.
type (
	link    struct{ process, server string }
	request struct {
		link
		n uint64
	}
)

// judged is what the judge found in a run, and what it counted.
func judged(cfg simulation.Config, r simulation.Result) ([]record.Violation, map[string]int) {
	j := &judge{
		quorum: cfg.Servers/2 + 1, counts: map[string]int{},
		on: map[keyOn]kept{}, rounds: map[string]*roundOf{}, open: map[string][]*roundOf{}, asking: map[string]bool{},
		leases: map[int]*leaseOf{}, releases: map[string]releaseOf{},
		disturbs: map[link]time.Duration{}, forgets: map[string]time.Duration{}, sent: map[request]int{}, crashed: map[string]int{},
	}
	for i := range cfg.Servers {
		j.servers = append(j.servers, serverName(i))
	}
	for e := range r.Log.All() {
		j.check(e.At)
		j.n++
		j.take(e)
	}
	j.check(r.Ended)
	return j.found, j.counts
}

func (j *judge) take(e *record.Event) {
	switch e.Kind {
	case record.Suffered:
		j.suffered(e)
	case record.RequestLost, record.ReplyLost:
		j.disturb(link{e.Process, e.Place}, e.At)
	case record.Crashed:
		j.crash(e)
	case record.Asked:
		j.asking[e.Process] = true
	case record.Sent:
		j.sent[request{link{e.Process, e.Place}, e.N}] = j.n
	case record.Voted:
		if e.Change != nil {
			j.vote(e)
		}
	case record.KeyChanged:
		j.changed(e)
	case record.Acquired:
		j.asking[e.Process] = false
		j.acquired(e)
	case record.Refused:
		j.asking[e.Process] = false
		j.lose(e.Process, e.At)
	case record.Extended:
		j.extended(e)
	case record.Released:
		j.released(e)
	case record.Noted:
		j.noted(e)
	}
}

func (j *judge) violation(kind record.ViolationKind, at time.Duration, format string, args ...any) {
	j.found = append(j.found, record.Violation{Kind: kind, At: at, Text: fmt.Sprintf(format, args...)})
}

// suffered notes a fault. Rates within the assumptions disturb nothing.
func (j *judge) suffered(e *record.Event) {
	f, until := e.Fault, e.At+e.Fault.For
	switch f.Kind {
	case fault.Rate:
		return
	case fault.Delay, fault.Reorder, fault.Duplicate:
		until += 2*f.By + maxTTL // a message that is late may set a key
	case fault.Restart, fault.Failover, fault.Flush, fault.Evict, fault.Switch:
		j.forgets[f.Server] = max(j.forgets[f.Server], until)
	}
	j.disturb(link{f.Process, f.Server}, until)
}

func (j *judge) disturb(on link, until time.Duration) { j.disturbs[on] = max(j.disturbs[on], until) }

// disturbed is when the last fault between a process and a server ended or will end, or a message was lost. The server ""
// is any of them.
func (j *judge) disturbed(process, server string) time.Duration {
	matches := func(pattern, name string) bool { return pattern == "" || name == "" || fault.Matches(pattern, name) }
	last := -tidy
	for on, until := range j.disturbs {
		if matches(on.process, process) && matches(on.server, server) {
			last = max(last, until)
		}
	}
	return last
}

// forgot is when a server last went on with other data.
func (j *judge) forgot(server string) time.Duration {
	last := time.Duration(-1)
	for pattern, at := range j.forgets {
		if fault.Matches(pattern, server) {
			last = max(last, at)
		}
	}
	return last
}

// address is the name under which clients know a server.
func address(server string) string { return strings.TrimRight(server, "~'") }

func (j *judge) crash(e *record.Event) {
	for _, r := range j.rounds {
		if r.process == e.Process {
			r.stage = crashed
		}
	}
	j.asking[e.Process] = false
	j.crashed[e.Process] = j.n
}

// vote notes what a request changed on a server.
func (j *judge) vote(e *record.Event) {
	for _, l := range e.Change.Locks {
		at := keyOn{e.Place, l.Key}
		k := kept{l.Value, j.on[at].until}
		for _, key := range e.Keys {
			if key.Key == l.Key {
				k.until = key.Until
			}
		}
		if j.on[at] = k; k.value == "" {
			delete(j.on, at)
		}
	}
	if e.Op == "acquire" {
		j.begin(e)
	}
	if r := j.rounds[e.Change.Value]; r != nil {
		for _, l := range e.Change.Locks {
			if l.Value == r.value {
				r.counters[keyOn{e.Place, l.Key}] = l.Counter
			}
		}
	}
}

// begin notes a round at the first vote. The process's round before is over.
func (j *judge) begin(e *record.Event) {
	if j.rounds[e.Change.Value] != nil {
		return
	}
	j.lose(e.Process, e.At)
	r := &roundOf{process: e.Process, value: e.Change.Value, began: e.At, counters: map[keyOn]fencing.Token{}}
	for _, l := range e.Change.Locks {
		r.keys = append(r.keys, l.Key)
	}
	j.rounds[r.value] = r
	switch {
	case j.sent[request{link{e.Process, address(e.Place)}, e.N}] < j.crashed[e.Process]:
		r.stage = crashed
	case !j.asking[e.Process]: // the vote came late
		j.end(r, e.At)
	default:
		j.open[e.Process] = append(j.open[e.Process], r)
	}
}

// lose ends what a process has tried.
func (j *judge) lose(process string, at time.Duration) {
	for _, r := range j.open[process] {
		if r.stage == trying {
			j.end(r, at)
		}
	}
	j.open[process] = nil
}

// end notes that a round's keys have to go.
func (j *judge) end(r *roundOf, at time.Duration) {
	if r.stage < over {
		r.stage, r.since = over, at
		j.expect(at+tidy, r)
	}
}

func (j *judge) expect(at time.Duration, r *roundOf) {
	j.due = append(j.due, expectation{at, r})
	slices.SortStableFunc(j.due, func(a, b expectation) int { return cmp.Compare(a.at, b.at) })
}

// check checks what is due before a moment.
func (j *judge) check(now time.Duration) {
	for len(j.due) > 0 && j.due[0].at < now {
		d := j.due[0]
		j.due = j.due[1:]
		if d.round.stage == over {
			j.gone(d.at, d.round)
		}
	}
}

// gone reports the keys of a round that are still there. If a fault explains that, it looks again later.
func (j *judge) gone(now time.Duration, r *roundOf) {
	later := time.Duration(0)
	for _, server := range j.servers {
		j.counts[checkedKey]++
		for _, key := range r.keys {
			k := j.on[keyOn{server, key}]
			switch end := j.disturbed(r.process, server) + tidy; {
			case k.value != r.value || k.until <= now,
				j.forgot(server) > r.began: // the delete, too, and the key has come back
			case end > now:
				later = max(later, end)
			default:
				j.violation(record.KeyLeft, now, "%s lost a round or released a lease at %v, and its key %q is still on %s", r.process, r.since, key, server)
			}
		}
	}
	if later > 0 {
		j.expect(later, r)
	}
}

// changed notes what a server lost, or what it has again.
func (j *judge) changed(e *record.Event) {
	for _, key := range e.Keys {
		at := keyOn{e.Place, key.Key}
		k, there := j.on[at]
		if !there || j.forgot(e.Place) >= e.At {
			k.value = unknown
		}
		if j.on[at] = (kept{k.value, key.Until}); key.Until == record.Gone {
			delete(j.on, at)
		}
	}
}

// acquired compares the token of a lease with the counters of the servers that granted it.
func (j *judge) acquired(e *record.Event) {
	r := j.rounds[e.Change.Value]
	if r == nil {
		return
	}
	if r.stage < crashed {
		r.stage = holding
	}
	j.leases[e.Lease] = &leaseOf{r, e.Key, j.n}
	have := 0
	for at, counter := range r.counters {
		if at.key == e.Key && (counter >= e.Token || j.forgot(address(at.server)) >= r.began) {
			have++
		}
	}
	if have < j.quorum || e.Token == 0 {
		j.violation(unsettled, e.At, "%s got %q with the token %d, which the counters of %d servers have reached; a quorum is %d", e.Process, e.Key, e.Token, have, j.quorum)
	}
}

func (j *judge) extended(e *record.Event) {
	l := j.leases[e.Lease]
	if l == nil {
		return
	}
	for n := range j.leases {
		if o := j.leases[n]; o.key == l.key && o.got > l.got {
			j.violation(revived, e.At, "%s extended its lease of %q (token %d) after another client had got it", e.Process, e.Key, e.Token)
			return
		}
	}
}

func (j *judge) released(e *record.Event) {
	l := j.leases[e.Lease]
	if l == nil {
		return
	}
	now := releaseOf{at: e.At}
	for at, k := range j.on {
		if at.key != l.key || k.until <= e.At {
			continue
		}
		now.maybe = now.maybe || k.value == l.round.value || k.value == unknown
		if k.value == l.round.value && k.until > e.At+time.Second && slices.Contains(j.servers, at.server) {
			now.have++
		}
	}
	j.releases[e.Process] = now
	j.end(l.round, e.At)
}

// noted compares what a client was told of a release.
func (j *judge) noted(e *record.Event) {
	last, known := j.releases[e.Process]
	switch {
	case !known:
	case e.Words == noteReleased:
		if j.counts[checkedRelease]++; !last.maybe {
			j.violation(dishonest, e.At, "%s released a lease at %v, got no error, and no server had its key", e.Process, last.at)
		}
	case strings.HasPrefix(e.Words, "release: "):
		j.counts[checkedRelease]++
		if last.have >= j.quorum && j.disturbed(e.Process, "")+tidy < last.at {
			j.violation(dishonest, e.At, "%s released a lease at %v, of which %d servers had the key, and was told %q", e.Process, last.at, last.have, e.Words)
		}
	}
}
