package quorum

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// hold is one value under one key on all instances: what is known of it
// instance by instance, and the order in which commands about it are sent.
//
// Order: commands to one instance about one value go out one after the other,
// in the order in which they were queued, each after the one before has ended.
// So a delete can't overtake the SET that it is to undo, nor a renewal come after
// the release (scenarios S9, S11d).
type valueState struct {
	key, value string
	c          *core

	mu       sync.Mutex
	slots    []slot // per instance
	released bool   // a release was queued: nothing may be put there any more
	reserved int    // tokens above the lease's that are the value's, too
}

// spot is the value on one instance.
type slot struct {
	busy       bool   // something that was queued has begun and not ended
	queue      []work // what is queued behind it
	unfinished int    // how many have not ended
	known      knownState
	token      bool // the counter there is known to have reached the token
}

// work is something to be done about the value on one instance. It may take
// several commands, one after the other, and calls hold.ended at its end.
type work interface {
	// begin is called when its turn has come. It doesn't block. now is this moment, or
	// the zero Instant where it has yet to be read.
	begin(now drift.Instant)
}

// mark is what is known of the value on one instance.
type knownState struct {
	// there: the instance said that it has it.
	there bool
	// coming counts the SETs that went unanswered: each may have put it there,
	// or still may.
	//
	// Invariant: never less than those that can still arrive. Where an answer
	// leaves open which of them it speaks of, none is taken off: a delete too
	// many does no harm.
	unanswered int
}

// absent: it isn't there, and nothing under way can put it there.
//
//guard:absent-for-good  a key counts as absent only if no SET can still arrive
func (k knownState) absent() bool { return !k.there && k.unanswered == 0 }

func newValueState(c *core, key, value string) *valueState {
	h := &valueState{}
	h.init(c, key, value, make([]slot, len(c.members)))
	return h
}

func (h *valueState) init(c *core, key, value string, spots []slot) {
	h.c, h.key, h.value, h.slots = c, key, value, spots
}

// queue has work begin for instance i after everything that was queued for that
// instance before has ended: soon, for each command is under the instance's
// time-out. The Coordinator's background counts it until it has ended. now is as
// in work.begin: reading the clocks once for all instances saves a good part of what
// a fan-out costs.
func (h *valueState) queue(i int, w work, now drift.Instant) {
	h.c.background.add()
	h.mu.Lock()
	s := &h.slots[i]
	s.unfinished++
	//guard:delete-after-set  a delete isn't sent before the SET that it undoes has ended
	if s.busy {
		s.queue = append(s.queue, w)
		h.mu.Unlock()
		return
	}
	s.busy = true
	h.mu.Unlock()
	w.begin(now)
}

// ended is called when the work that had begun for instance i has ended.
func (h *valueState) ended(i int) {
	h.mu.Lock()
	s := &h.slots[i]
	s.unfinished--
	var next work
	if len(s.queue) > 0 {
		next, s.queue = s.queue[0], s.queue[1:]
	} else {
		s.busy = false
	}
	h.mu.Unlock()
	if next != nil {
		next.begin(drift.Instant{})
	}
	h.c.background.end()
}

// mayBeLeft reports whether the value may still be on an instance.
func (h *valueState) mayBeLeft() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.slots, func(s slot) bool { return s.unfinished > 0 || !s.known.absent() })
}

// crowded reports whether instance i is so far behind that nothing more should
// be queued for it but the release: a holder may extend more often than a hung
// instance times out.
func (h *valueState) crowded(i int) bool {
	const most = 4
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.slots[i].unfinished >= most
}

// note takes in the answer to a command about the value, and gives what is known
// then.
func (h *valueState) note(i int, op wire.Op, vote wire.Vote) knownState {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slots[i].known = h.slots[i].known.after(op, vote)
	return h.slots[i].known
}

// after is what is known after one more answer.
func (k knownState) after(op wire.Op, vote wire.Vote) knownState {
	sets := op == wire.Acquire || op == wire.Restore
	switch {
	case vote.Outcome == wire.Failed:
		// Unknown is not "no". But a command that was never sent, or that never
		// sets the key, changes nothing.
		//guard:unknown-may-be-set  a SET with an unknown outcome may have set the key, or may still set it
		if sets && !vote.Unsent {
			k.unanswered++
		}
		return k
	case vote.Outcome != wire.Granted:
		// It isn't there now, but a SET may still arrive.
		k.there = false
		return k
	case !sets && !k.there && k.unanswered > 0:
		// It was there, by one of those that went unanswered; a SET NX is carried
		// out once, so that one isn't left to come.
		k.unanswered--
	}
	k.there = op != wire.Release
	return k
}

func (h *valueState) known(i int) knownState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.slots[i].known
}

// settle notes that instance i's counter is at least the lease's token.
func (h *valueState) settle(i int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slots[i].token = true
}

// needsRestore reports whether instance i lacks the value or the token, and may
// still be given them.
func (h *valueState) needsRestore(i int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	//guard:nothing-after-release  nothing is put back once a release was queued
	return !h.released && (!h.slots[i].known.there || !h.slots[i].token)
}

// on lists the instances that are known to have the value.
func (h *valueState) on() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for i := range h.slots {
		if h.slots[i].known.there {
			names = append(names, h.c.members[i].name)
		}
	}
	return names
}

// abandon leaves the value to another process, which takes it over under a value of its
// own. Nothing more is put there from here. Where a SET went unanswered it may still
// arrive, after the other process has released the lock, and would then block everybody
// for a TTL: there the delete is owed. An instance that is known to have the value isn't
// touched. done is closed when all commands about the value have ended, soon, for each is
// under the instance's time-out.
func (h *valueState) abandon() (done <-chan struct{}) {
	h.mu.Lock()
	h.released = true
	h.mu.Unlock()
	ended := make(chan struct{})
	left := new(atomic.Int32)
	left.Store(int32(len(h.slots)))
	for i := range h.slots {
		h.queue(i, &abandonment{state: h, i: i, left: left, ended: ended}, drift.Instant{})
	}
	return ended
}

// abandonment is what comes after all commands about an abandoned value to one instance.
type abandonment struct {
	state *valueState
	i     int
	left  *atomic.Int32 // instances that have yet to come to it
	ended chan struct{} // closed by the last
}

func (a *abandonment) begin(drift.Instant) {
	h := a.state
	//guard:sender-cleans-up  the sender deletes a key of its own that arrives after the hand-off
	if left := h.known(a.i); left.unanswered > 0 && !left.there {
		h.c.members[a.i].owed.owe(h.key, h.value, left)
	}
	if a.left.Add(-1) == 0 {
		close(a.ended)
	}
	h.ended(a.i)
}
