package quorum

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/presence"
	"github.com/redquorum/redlock/quorum/wire"
)

// valueState is one value under one key, or several, on all instances: what is known of it on each, and
// the order of the requests about it.
//
// Order: requests to one instance about one value are sent one after the other, in the order
// in which they were queued. So a delete can't overtake the SET that it undoes, and an
// extension can't follow the release (scenarios S9, S11d).
//
// A held lease keeps only this of its round, and the ballots. So it has what later requests and
// deletes need, and not what only the decision needed.
type valueState struct {
	keys
	value string
	c     *core

	mu       sync.Mutex
	slots    []slot   // per instance
	released bool     // a release was queued: nothing may be set any more
	reserved int      // tokens above the lease's that belong to the value, too
	round    *round   // the round that was won with the value, until all its votes are in
	votes    []Ballot // then, its ballots
}

// slot is the value on one instance.
type slot struct {
	queue      []work // the work behind the one that has begun
	unfinished int32  // how much work has not ended: that which has begun, and the queue
	token      bool   // the counter there is known to have reached the token
	presence   presence.State
	mayCome    time.Duration // the shortest TTL of an extension without an answer, 0 if there is none
}

// work is something to be done about the value on one instance. It may take several
// requests, one after the other, and calls valueState.ended at its end.
type work interface {
	// begin is called when all earlier work has ended. It doesn't block. now is the present,
	// or the zero Instant if the clocks have yet to be read.
	begin(now drift.Instant)
}

// stateBuffer is a valueState and its slots in one piece of memory.
type stateBuffer struct {
	valueState
	slotBuffer [usual]slot
}

func newValueState(c *core, keys keys, value string) *valueState {
	h := &stateBuffer{valueState: valueState{keys: keys, value: value, c: c}}
	h.slots = buffer(h.slotBuffer[:], len(c.members))
	return &h.valueState
}

// queue begins the work for instance i when all earlier work for that instance has ended.
// That is soon, because each request is under the instance's timeout. The Coordinator's
// background group counts the work until it has ended. now is as in work.begin: reading the
// clocks once for all instances saves a good part of the cost of a poll.
func (h *valueState) queue(i int, w work, now drift.Instant) {
	h.c.background.add()
	h.mu.Lock()
	s := &h.slots[i]
	s.unfinished++
	//guard:delete-after-set  a delete isn't sent before the SET that it undoes has ended
	if s.unfinished > 1 {
		s.queue = append(s.queue, w)
		h.mu.Unlock()
		return
	}
	h.mu.Unlock()
	w.begin(now)
}

// ended ends the work that had begun for instance i.
func (h *valueState) ended(i int) {
	h.mu.Lock()
	s := &h.slots[i]
	s.unfinished--
	var next work
	if len(s.queue) > 0 {
		next, s.queue = s.queue[0], s.queue[1:]
	} else {
		s.queue = nil
		h.dropRoundLocked()
	}
	h.mu.Unlock()
	if next != nil {
		next.begin(drift.Instant{})
	}
	h.c.background.finish()
}

// won keeps the round with which the value was won, until all its votes are in: the last of
// them may come long after the decision.
func (h *valueState) won(r *round) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.round, h.reserved = r, r.tokens.Reserved
	h.dropRoundLocked()
}

// dropRoundLocked keeps only the ballots of a round that has ended at all instances.
func (h *valueState) dropRoundLocked() {
	if h.round != nil && !slices.ContainsFunc(h.slots, func(s slot) bool { return s.unfinished > 0 }) {
		// Without the poll's lock: every part has ended, so nothing writes the ballots any more.
		h.round, h.votes = nil, h.round.ballots
	}
}

// ballots are those of the round with which the value was won.
func (h *valueState) ballots() []Ballot {
	h.mu.Lock()
	r, votes := h.round, h.votes
	h.mu.Unlock()
	if r != nil {
		return r.snapshot()
	}
	return slices.Clone(votes)
}

// mayRemain reports whether the value may still be on an instance.
func (h *valueState) mayRemain() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.slots, func(s slot) bool { return s.unfinished > 0 || !s.presence.Absent() })
}

// crowded reports whether so much work is unfinished for instance i that only the release
// should be added: a holder may extend more often than a hung instance times out.
func (h *valueState) crowded(i int) bool {
	const most = 4
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.slots[i].unfinished >= most
}

// note takes in the answer to a request about the value, and returns what is known then.
func (h *valueState) note(i int, op wire.Op, vote wire.Vote) presence.State {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.slots[i].presence
	if h.several() {
		h.slots[i].presence = before.AfterSeveral(op, vote)
	} else {
		h.slots[i].presence = before.After(op, vote)
	}
	return h.slots[i].presence
}

func (h *valueState) presence(i int) presence.State {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.slots[i].presence
}

// noteLate notes that an extension to instance i may still arrive there, at any time.
func (h *valueState) noteLate(i int, ttl time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := &h.slots[i]; s.mayCome == 0 || ttl < s.mayCome {
		s.mayCome = ttl
	}
}

// shorter is the TTL of an extension that may still arrive at instance i and would shorten one to
// ttl; 0 if there is none.
func (h *valueState) shorter(i int, ttl time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := &h.slots[i]; s.mayCome < ttl {
		return s.mayCome
	}
	return 0
}

// noteToken notes that instance i's counter is at least the lease's token.
func (h *valueState) noteToken(i int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slots[i].token = true
}

// needsRestore reports whether instance i lacks the value or the token, and may still be
// given them.
func (h *valueState) needsRestore(i int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	//guard:nothing-after-release  nothing is put back once a release was queued
	return !h.released && (!h.slots[i].presence.There || !h.slots[i].token)
}

// deleteRequest is the request to delete the value.
func (h *valueState) deleteRequest() wire.Request {
	//guard:delete-all-keys  a release deletes all keys of a lease
	return wire.Request{Op: wire.Release, Key: h.key, Also: h.also, Value: h.value}
}

// release notes that a release is queued.
func (h *valueState) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = true
}

// instances names the instances that are known to have the value.
func (h *valueState) instances() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for i := range h.slots {
		if h.slots[i].presence.There {
			names = append(names, h.c.members[i].name)
		}
	}
	return names
}

// abandon leaves the value to another process, which replaces it by a value of its own. This
// process sets nothing any more. A SET without an answer may still arrive after the other
// process has released the lock, and would then block all clients for a TTL: there the
// delete becomes pending. An instance that is known to have the value isn't touched. done is
// closed when all work about the value has ended. That is soon, because each request is
// under the instance's timeout.
func (h *valueState) abandon() (done <-chan struct{}) {
	h.release()
	ended := make(chan struct{})
	missing := new(atomic.Int32)
	missing.Store(int32(len(h.slots)))
	for i := range h.slots {
		h.queue(i, &abandonment{state: h, i: i, missing: missing, ended: ended}, drift.Instant{})
	}
	return ended
}

// abandonment is the last work about an abandoned value on one instance.
type abandonment struct {
	state   *valueState
	i       int
	missing *atomic.Int32 // instances that have not come to it yet
	ended   chan struct{} // closed by the last
}

func (a *abandonment) begin(drift.Instant) {
	h := a.state
	//guard:sender-cleans-up  the sender deletes a key of its own that arrives after the hand-off
	if known := h.presence(a.i); known.Unanswered > 0 && !known.There {
		h.c.members[a.i].cleanup.add(h)
	}
	if a.missing.Add(-1) == 0 {
		close(a.ended)
	}
	h.ended(a.i)
}
