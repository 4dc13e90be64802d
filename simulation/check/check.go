// Package check looks for violations in a record. Its checks are pure functions of what
// happened: they are the same for simulated runs and for runs on real servers.
package check

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// Rules are what the checks need to know beside the record.
type Rules struct {
	// Admits: the resource refuses every operation after one with a later token.
	Admits bool
	// Patience is how long processes may fail to get a free lock before it is NoProgress.
	// 0: forever.
	Patience time.Duration
	// Requests: the sender of a request to the resource acts as the holder when it sends it. Without this
	// only a client that finds its lease valid does.
	Requests bool
}

// Found is a violation, and the index of the event that shows it. It stands after this event in
// the record.
type Found struct {
	record.Violation
	Event int
}

// Violations returns the violations in a record, in their order.
func Violations(log record.Log, rules Rules) []Found {
	c := &checker{
		log: log, rules: rules, leases: map[int]*lease{}, keys: map[string]*history{},
		asked: map[asker]int{}, sent: map[request]int{},
	}
	for c.at = range log {
		c.take(log[c.at])
	}
	return c.found
}

// Log returns the record with its violations.
func Log(log record.Log, rules Rules) record.Log {
	found := Violations(log, rules)
	var all record.Log
	for i, e := range log {
		all = append(all, e)
		for ; len(found) > 0 && found[0].Event == i; found = found[1:] {
			all.Add(e.At, record.Found, "", "").Violation = &found[0].Violation
		}
	}
	return all
}

// checker takes the events one after the other.
type checker struct {
	log    record.Log
	rules  Rules
	at     int            // the index of the event
	leases map[int]*lease // by their numbers
	keys   map[string]*history
	asked  map[asker]int // indexes of events
	sent   map[request]int
	found  []Found
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
	process   string
	goroutine int
	key       string
	token     fencing.Token

	asked, got int  // indexes of events
	acted      int  // when its holder last began to act, or was known to believe in it; 0 if never
	tardy      bool // that act was late
	clocked    bool // it is known how long its holder believes in it:
	until      time.Duration
	ended      time.Duration // when its holder gave it up
}

func (l *lease) String() string {
	return fmt.Sprintf("%s (token %d)", record.Who(l.process, l.goroutine), l.token)
}

// holds reports whether the holder is known to believe in its lease.
func (l *lease) holds(now time.Duration) bool { return l.clocked && now < min(l.ended, l.until) }

// late reports whether the holder is known to have stopped believing in its lease.
func (l *lease) late(now time.Duration) bool { return l.clocked && !l.holds(now) }

// left is what is left of a lease.
func left(until, now time.Duration) string {
	if until == record.Forever {
		return "it, because its clocks stand still"
	}
	return fmt.Sprintf("%v of it", until-now)
}

// after reports whether l is the later of two leases on one key: by their tokens, or
// without tokens by the times at which they were granted.
func (l *lease) after(o *lease) bool {
	switch {
	case l == nil:
		return false
	case l.token != 0 && o.token != 0:
		return l.token > o.token
	default:
		return l.got > o.got
	}
}

// history is what happened to one key, and to the resource that it protects.
type history struct {
	leases []*lease // in the order in which they were acquired
	wanted *wanted
	latest *lease // the latest lease whose operation took effect
	writer *lease // the lease of the last write
	// overdue: that write took effect too late. Assumption 1 was broken.
	overdue bool
}

func (c *checker) key(name string) *history {
	if c.keys[name] == nil {
		c.keys[name] = &history{}
	}
	return c.keys[name]
}

// finds records a violation that shows itself in the event. assumption is the one that was
// broken, 0 if none is known.
func (c *checker) finds(e *record.Event, assumption int, kind record.ViolationKind, format string, args ...any) {
	v := record.Violation{Kind: kind, At: e.At, Text: fmt.Sprintf(format, args...), Assumption: assumption}
	c.found = append(c.found, Found{v, c.at})
}

// overdue is assumption 1 if that is what was broken.
func overdue(is bool) int {
	if is {
		return 1
	}
	return 0
}

func (c *checker) take(e *record.Event) {
	l := c.leases[e.Lease]
	switch e.Kind {
	case record.Asked:
		c.asked[asker{e.Process, e.Goroutine, e.Key}] = c.at
	case record.Acquired:
		c.acquired(e)
	case record.Refused:
		if e.Truth != nil && c.rules.Patience > 0 {
			c.inVain(e)
		}
	case record.Looked:
		if l != nil && !l.clocked && e.Validity > 0 {
			c.acts(e, l, "found its lease valid")
		}
		c.learns(e, l)
	case record.Extended, record.Believed:
		c.learns(e, l)
		if e.Kind == record.Extended {
			c.backed(e, l)
		}
	case record.Released, record.HandedOff:
		if l != nil {
			l.ended = min(l.ended, e.At)
		}
	case record.Crashed:
		for _, l := range c.leases {
			if l.process == e.Process {
				l.ended = min(l.ended, e.At)
			}
		}
	case record.Sent:
		if e.Place == fault.Resource {
			c.sent[request{e.Process, e.N}] = c.at
		}
	case record.Read, record.Write:
		if l != nil && e.Words == "" {
			c.effect(e, l)
		}
	}
}

// learns takes what the holder's clocks make of its lease. If the holder believes in it again, that is an act.
func (c *checker) learns(e *record.Event, l *lease) {
	if l == nil {
		return
	}
	before := l.holds(e.At)
	if l.told(e); !before && l.holds(e.At) {
		c.acts(e, l, "believed again in its lease")
	}
}

// told records what the holder learned of its lease, or what its clocks make of it.
func (l *lease) told(e *record.Event) {
	if e.Truth != nil {
		l.clocked, l.until = true, e.Truth.Until
	}
}

// acquired checks a new lease against those before it.
func (c *checker) acquired(e *record.Event) {
	k, asked := c.key(e.Key), c.asked[asker{e.Process, e.Goroutine, e.Key}]
	l := &lease{
		process: e.Process, goroutine: e.Goroutine, key: e.Key, token: e.Token,
		asked: asked, got: c.at, ended: record.Forever,
	}
	if l.told(e); l.holds(e.At) {
		l.acted = c.at
	}
	for _, o := range k.leases {
		if o.holds(e.At) {
			o.acted, o.tardy = c.at, false
		}
		if o.harms(l, o.acted) {
			c.finds(e, 0, record.TwoHolders, "%v got %q while %v still had %s", l, l.key, o, left(o.until, e.At))
		}
		switch {
		case l.token == 0:
		case o.token == l.token:
			c.finds(e, 0, record.TokenOrder, "%v and %v have the same token for %q", o, l, l.key)
		case o.got < l.asked && o.token > l.token:
			c.finds(e, 0, record.TokenOrder, "%v got %q after %v with a smaller token", l, l.key, o)
		}
	}
	k.leases, k.wanted = append(k.leases, l), nil
	c.leases[e.Lease] = l
	c.backed(e, l)
}

// backed compares a validity with what the servers had.
func (c *checker) backed(e *record.Event, l *lease) {
	t := e.Truth
	if l == nil || t == nil || t.Have >= t.Quorum {
		return
	}
	forgot := 0
	if t.Have+t.Forgot >= t.Quorum {
		forgot = 3
	}
	c.finds(e, forgot, record.Overvalued, "%v was told that it holds %q for %v, but its key lasts that long on %d of the %d servers that a quorum needs",
		l, l.key, e.Validity, t.Have, t.Quorum)
}

// began is the index of the event at which the holder sent the request of an operation, or began
// to look at its lease.
func (c *checker) began(e *record.Event) int {
	if at, ok := c.sent[request{e.Process, e.N}]; ok {
		return at
	}
	return c.at
}

// acts checks that no other client had got the lock when a holder acted, or believed in its lease.
func (c *checker) acts(e *record.Event, l *lease, how string) {
	began, first, late := c.began(e), l.acted == 0, l.late(e.At)
	if began > l.acted {
		l.acted, l.tardy = began, late
	}
	for _, o := range c.keys[l.key].leases {
		switch {
		case l.harms(o, began):
			c.finds(e, overdue(late), record.TwoHolders, "%v %s of %q after %v had got it", l, how, l.key, o)
		case first && o.harms(l, o.acted):
			c.finds(e, overdue(late || o.tardy), record.TwoHolders, "%v and %v both acted as holders of %q after both had got it", l, o, l.key)
		default:
			continue
		}
		return
	}
}

// harms reports whether an act under l shows that it and the lease o, which was granted later, have two
// holders. If o was asked for before l was granted, the servers may have granted o first, and o may be over
// when the answer arrives. Then it takes an act under o, too.
func (l *lease) harms(o *lease, act int) bool {
	return o.got > l.got && act >= o.got && (o.asked > l.got || o.acted > 0)
}

// effect checks an operation that took effect.
func (c *checker) effect(e *record.Event, l *lease) {
	k := c.keys[l.key]
	// At the time of sending: no lock can prevent that a packet arrives after its
	// holder's lease.
	if c.rules.Requests {
		c.acts(e, l, fmt.Sprintf("sent a %v", e.Kind))
	}
	if e.Kind == record.Write {
		// A resource that has seen a later token refuses a late operation.
		late, own := l.late(e.At) && !c.rules.Admits, k.writer == l
		if k.latest.after(l) {
			c.finds(e, overdue(late), record.StaleWrite, "%v wrote %q after %v had used it", l, l.key, k.latest)
		}
		lost := e.AsOf != e.Version-1
		if lost {
			// A write that took effect too late also breaks the update that it interrupts.
			c.finds(e, overdue(late || own || k.overdue), record.LostUpdate, "%v wrote %q as of version %d over version %d", l, l.key, e.AsOf, e.Version-1)
		}
		k.writer, k.overdue = l, late || lost && own
	}
	if !k.latest.after(l) {
		k.latest = l
	}
}

// wanted is a lock that processes fail to get.
type wanted struct {
	since time.Duration // the first try, of those without a success or a pause between them
	last  time.Duration // the last try's end
}

// inVain checks a failed try: it reports NoProgress if processes have tried for all of
// Patience, no process has held the lock, and no fault explains that.
func (c *checker) inVain(e *record.Event) {
	now, patience := e.At, c.rules.Patience
	k, asked := c.key(e.Key), c.log[c.asked[asker{e.Process, e.Goroutine, e.Key}]].At
	if k.wanted == nil {
		k.wanted = &wanted{since: asked, last: asked}
	}
	w := k.wanted
	// A process that doesn't try isn't waiting.
	if asked-w.last > patience/4 {
		w.since = asked
	}
	w.last = now
	for _, key := range e.Truth.Also {
		w.since = max(w.since, c.key(key).hadUntil(now)) // it may have been in the way
	}
	since := max(w.since, k.hadUntil(now), e.Truth.Hindered)
	if now-since < patience {
		return
	}
	c.finds(e, 0, record.NoProgress, "nobody has got %q for %v, though %s has tried and reached a quorum", e.Key, now-since, e.Process)
	w.since = now
}

// hadUntil is the last moment at which a client believed to hold the key; 0 if there was
// none.
func (k *history) hadUntil(now time.Duration) time.Duration {
	last := time.Duration(0)
	for _, l := range k.leases {
		last = max(last, min(l.until, l.ended, now))
	}
	return last
}
