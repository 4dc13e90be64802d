package quorum

import (
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/internal/presence"
	"github.com/redquorum/redlock/quorum/wire"
)

// value is one value under one key, or several, on all servers: what is known of it on each, and the order of the
// requests about it.
//
// Order: requests to one server about one value are sent one after the other, in the order in which they were
// queued. So a delete can't overtake the SET that it undoes, and an extension can't follow the release
// (scenario S9). Each is under a timeout, so none waits for long. Whoever decides something need not wait for
// late answers, either: what has to follow from them (follow) is looked at when they have come. What has turned
// out to be pointless by its turn isn't sent.
type value struct {
	values *values // of the Coordinator
	keys   keys
	text   string

	mu        sync.Mutex
	places    []place       // per server
	underWay  int           // requests that have not ended, on all servers
	token     fencing.Token // of the lease that has it, once there is one
	won       bool          // a lease has it, or had it
	released  bool          // its deletion has begun: nothing may be set any more
	abandoned bool          // another process has the lease now
}

// place is the value on one server.
type place struct {
	presence presence.State
	counter  fencing.Token // the counters there are known to have reached this
	raised   fencing.Token // they were to be raised to this
	mayCome  time.Duration // the shortest TTL of the extensions that may still arrive, 0 if there is none

	queued  int           // requests that have not ended
	skipped bool          // the SET came too late to be sent
	later   []*call       // those that wait for their turn
	waiting []*call       // acquisitions under other values that wait until these have ended
	after   wire.Op       // what follows then, if it isn't pointless: a Raise or a Restore
	ttl     time.Duration // of the Restore

	deletion deletion // how far it has come
}

// note takes in an answer to a request about the value, which several keys may have.
func (p *place) note(several bool, op wire.Op, vote wire.Vote) {
	if several {
		p.presence = p.presence.AfterSeveral(op, vote)
	} else {
		p.presence = p.presence.After(op, vote)
	}
}

func newValue(values *values, keys keys, text string) *value {
	return &value{values: values, keys: keys, text: text, places: make([]place, len(values.servers))}
}

// request is a request about all keys of the value.
func (v *value) request(op wire.Op) *wire.Request {
	//guard:all-keys-in-one  each request about a lease on several keys is about all of them
	req := &wire.Request{Op: op, Keys: v.keys, Value: v.text}
	if op != wire.Extend && op != wire.Release {
		cfg := &v.values.cfg
		req.Fence = wire.Fence{On: cfg.Lab.Fencing == On, TTL: cfg.counterTTL(), Ahead: cfg.ahead()}
	}
	return req
}

// calls are calls with the request, one to each server.
func (v *value) calls(req *wire.Request, to taker) []call {
	calls := make([]call, len(v.places))
	for i, s := range v.values.servers {
		calls[i] = call{s: s, req: req, about: v, to: to}
	}
	return calls
}

// send begins a call when all earlier ones to that server about the value have ended. now is as in call.start: to
// read the clocks once for all servers saves a good part of the cost of a round.
func (v *value) send(c *call, now drift.Instant) { v.sendAfter(nil, c, now) }

// sendAfter is send, and has the value's first request to the server wait for those about earlier values.
func (v *value) sendAfter(earlier []*value, c *call, now drift.Instant) {
	v.values.background.add()
	v.mu.Lock()
	p := &v.places[c.s.index]
	p.queued++
	v.underWay++
	//guard:only-deletions-are-awaited  goroutines that try at once don't wait for each other's rounds
	first := v.underWay == 1 && v.released
	//guard:delete-after-set  a delete isn't sent before the SET that it undoes has ended
	later := p.queued > 1
	if later {
		p.later = append(p.later, c)
	}
	v.mu.Unlock()
	if first {
		v.values.deletionBegins(v)
	}
	if later {
		return
	}
	c.waits.Store(1)
	for _, e := range earlier {
		e.precedes(c)
	}
	if c.waits.Add(-1) == 0 {
		v.begin(c, now)
	}
}

// precedes has a call under another value wait until the requests to its server about this one have ended. It doesn't wait
// for a server that is silent.
func (v *value) precedes(c *call) {
	v.mu.Lock()
	defer v.mu.Unlock()
	//guard:own-key-is-awaited  an acquisition waits until the client's earlier requests under its keys have ended
	if p := &v.places[c.s.index]; p.queued > 0 && !c.s.silent.Load() {
		c.waits.Add(1)
		p.waiting = append(p.waiting, c)
	}
}

// begin begins a call at its turn, unless it is pointless by now. Then the vote is a refusal, which says nothing
// of the server.
func (v *value) begin(c *call, now drift.Instant) {
	v.mu.Lock()
	pointless := v.pointlessLocked(c.s.index, c.req)
	switch c.req.Op {
	case wire.Acquire:
		v.places[c.s.index].skipped = pointless
	case wire.Raise:
		v.places[c.s.index].raised = c.req.Fence.Token
	}
	v.mu.Unlock()
	if pointless {
		c.ballot.Vote.Outcome = wire.Refused
		c.skipped = true
		c.ended()
		return
	}
	c.start(now)
}

// pointlessLocked reports whether a request can't do anything.
func (v *value) pointlessLocked(i int, req *wire.Request) bool {
	switch p := &v.places[i]; req.Op {
	case wire.Extend:
		return p.presence.Absent()
	case wire.Release:
		//guard:abandoned-is-not-deleted  the value of a lease that was handed off isn't deleted where it is
		if v.abandoned {
			return true
		}
		// A SET that was refused or never sent has set nothing. But a waiter in the queue there may
		// have been notified, and have become the holder: then the next one waits for this release.
		notifies := v.won
		if p.skipped {
			// This process's turn came too late here, and goes to another process, unless a later acquisition of this
			// one waits for this. Otherwise requests would pile up here, if the server is slower than the turns.
			//guard:turns-dont-pile-up  a turn that came too late at a slow server costs no round trip there
			notifies = !v.awaitedLocked(p)
		}
		return p.presence.Absent() && !(req.Notify && notifies)
	case wire.Acquire, wire.Raise, wire.Restore, wire.Pass:
		// A round that ends while its requests are sent is rolled back at once: what it has yet to send comes too late.
		//guard:nothing-after-release  nothing is put back once a release was queued
		return v.released
	}
	return false
}

// awaitedLocked reports whether acquisitions of all of the value's keys wait until its requests have ended at a place.
func (v *value) awaitedLocked(p *place) bool {
	for _, key := range v.keys {
		if !slices.ContainsFunc(p.waiting, func(c *call) bool { return slices.Contains(c.req.Keys, key) }) {
			return false
		}
	}
	return true
}

// answered takes in the answer to a request.
func (v *value) answered(c *call) {
	i, op, vote := c.s.index, c.req.Op, c.ballot.Vote
	v.mu.Lock()
	p := &v.places[i]
	if !c.skipped {
		p.note(len(v.keys) > 1, op, vote)
	}
	granted := vote.Outcome == wire.Granted
	switch {
	case op == wire.Acquire:
		if granted && !vote.Low {
			p.counter = vote.Token
		}
	// A pass without an answer may still arrive and shorten the keys' time.
	case op == wire.Extend || op == wire.Pass && !granted:
		if vote.Outcome == wire.Failed && !vote.Unsent && !c.carriedOut && (p.mayCome == 0 || c.req.TTL < p.mayCome) {
			p.mayCome = c.req.TTL
		}
	case op == wire.Release:
		v.deletedLocked(i)
	case granted: // a Raise, a Restore or a Pass
		p.counter = max(p.counter, c.req.Fence.Token)
	}
	v.mu.Unlock()
}

// next begins the next call to server i, when one has ended.
func (v *value) next(i int) {
	v.mu.Lock()
	p := &v.places[i]
	p.queued--
	v.underWay--
	last := v.underWay == 0
	var c *call
	var waited []*call
	if len(p.later) > 0 {
		c, p.later = p.later[0], p.later[1:]
	}
	//guard:silence-is-not-awaited  an acquisition doesn't wait until a server that hangs has answered every earlier request
	if p.queued == 0 || v.values.servers[i].silent.Load() {
		waited, p.waiting = p.waiting, nil
	}
	v.mu.Unlock()
	if last {
		v.values.requestsEnd(v)
	}
	if c != nil {
		v.begin(c, drift.Instant{})
	} else {
		v.followAt(i)
	}
	for _, w := range waited {
		if w.waits.Add(-1) == 0 {
			w.about.begin(w, drift.Instant{})
		}
	}
}

// follow has a Raise or a Restore follow on every server, when all earlier requests there have ended, unless it
// turns out to be pointless. A late vote of a round that was won is raised, too: its counter then helps the next holder's
// proof. A restored key lives for ttl.
func (v *value) follow(op wire.Op, ttl time.Duration) {
	for i := range v.places {
		v.mu.Lock()
		v.places[i].after, v.places[i].ttl = op, ttl
		v.mu.Unlock()
		v.followAt(i)
	}
}

// followAt sends what follows on server i, if it is due.
func (v *value) followAt(i int) {
	v.mu.Lock()
	p := &v.places[i]
	op := p.after
	if op == 0 || p.queued > 0 {
		v.mu.Unlock()
		return
	}
	p.after = 0
	due, ttl, token := false, p.ttl, v.token
	switch op {
	case wire.Raise:
		due = p.presence.There && p.counter < token && p.raised < token
	case wire.Restore:
		due = !p.presence.There || p.counter < token
	}
	v.mu.Unlock()
	if !due {
		return
	}
	req := v.request(op)
	req.TTL, req.Fence.Token = ttl, token
	v.send(&call{s: v.values.servers[i], req: req, about: v}, drift.Instant{})
}

// wins notes that a lease has the value, with that token.
func (v *value) wins(token fencing.Token) {
	v.mu.Lock()
	v.won, v.token = true, token
	v.mu.Unlock()
	if token > 0 {
		v.follow(wire.Raise, 0)
	}
}

// crowded reports whether so many requests to server i are unfinished that only the release
// should be added: a holder may extend more often than a hung server times out.
func (v *value) crowded(i int) bool {
	const most = 4
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.places[i].queued >= most
}

// shorter is the TTL of an extension that may still arrive at server i, if it is less than ttl;
// otherwise 0.
func (v *value) shorter(i int, ttl time.Duration) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	if p := &v.places[i]; p.mayCome < ttl {
		return p.mayCome
	}
	return 0
}

// absent reports whether the value isn't on server i, and nothing under way can set it there.
func (v *value) absent(i int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.places[i].presence.Absent()
}

// instances names the instances that are known to have the value.
func (v *value) instances() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var names []string
	for i := range v.places {
		if v.places[i].presence.There {
			names = append(names, v.values.servers[i].name)
		}
	}
	return names
}

// delete begins the deletion of the value on every server where it may be, after all earlier requests there. A
// delete that fails stays pending. notify says which servers are to notify waiters.
//
// No context ends it: every answer is under a timeout, and a caller that was cancelled must
// leave no keys behind and must still learn whether it held the lock.
func (v *value) delete(notify []bool, to taker) {
	quiet := v.request(wire.Release)
	notifying := quiet
	if notify != nil {
		notifying = v.request(wire.Release)
		notifying.Notify = true
	}
	v.mu.Lock()
	v.released = true
	busy := v.underWay > 0
	v.mu.Unlock()
	if busy {
		v.values.deletionBegins(v)
	}
	now := v.values.reader.Now()
	calls := v.calls(quiet, to)
	//guard:delete-everywhere  a release deletes on all instances
	for i := range calls {
		if notify != nil && notify[i] {
			calls[i].req = notifying
		}
		v.send(&calls[i], now)
	}
}

// abandon leaves the value to another process, which replaces it by a value of its own. This
// process sets nothing any more. A SET without an answer may still arrive after the other
// process has released the lock, and would then block all clients for a TTL: there the
// delete becomes pending. A server that is known to have the value isn't touched. It returns when all
// work about the value has ended, which is soon, or when done is closed.
func (v *value) abandon(done <-chan struct{}) {
	v.mu.Lock()
	v.abandoned = true
	v.mu.Unlock()
	answers := make(inbox, len(v.places))
	v.delete(nil, answers) // which is pointless, but has to wait for its turn
	for range v.places {
		select {
		case <-answers:
		case <-done:
			return
		}
	}
}

// leave forbids to put the value back, because its keys are left to expire.
func (v *value) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.released = true
}

// deleteEarly has later acquisitions delete the value from each server where it may be, until its deletion there
// is over. The value of a lease is deleted so only when its release is decided: until then the release must find the
// keys itself, because the holder learns from it whether it held the lock.
func (v *value) deleteEarly() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, s := range v.values.servers {
		p := &v.places[i]
		// A request that hasn't ended may set it, or be the delete.
		if p.deletion == notDeleted && (p.queued > 0 || !p.presence.Absent()) {
			p.deletion = early
			s.deletes.addEarly(v.keys, v.text)
		}
	}
}

// deletedLocked takes in the end of a request to delete the value from server i.
func (v *value) deletedLocked(i int) {
	p, d := &v.places[i], v.values.servers[i].deletes
	// The sender deletes a key of its own that arrives after the hand-off.
	pending := !v.abandoned || p.presence.Unanswered > 0 && !p.presence.There
	switch {
	case p.presence.Absent():
		v.deletionEndsLocked(i)
	//guard:delete-stays-pending  a delete that couldn't be delivered stays pending
	case pending:
		d.add(v, i, v.request(wire.Release))
	}
}

func (v *value) deletionEndsLocked(i int) {
	p := &v.places[i]
	if p.deletion == early {
		v.values.servers[i].deletes.forget(v.keys, v.text)
	}
	p.deletion = over
}

func (v *value) deletionEnds(i int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.deletionEndsLocked(i)
}

// deletedAgain takes in the answer to a pending delete on server i. It reports whether nothing is there nor can arrive.
func (v *value) deletedAgain(i int, vote wire.Vote) (absent bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := &v.places[i]
	p.note(len(v.keys) > 1, wire.Release, vote)
	return p.presence.Absent()
}

// deletion is how far the deletion of a value from a server has come.
type deletion uint8

const (
	notDeleted deletion = iota
	// early: acquisitions delete it first.
	early
	// over: it isn't there any more, or the delete was given up.
	over
)
