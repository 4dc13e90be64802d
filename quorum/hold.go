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
type hold struct {
	key, value string
	c          *core

	mu    sync.Mutex
	spots []spot // per instance
	gone  bool   // a release was queued: nothing may be put there any more
	spare int    // tokens above the lease's that are the value's, too
}

// spot is the value on one instance.
type spot struct {
	busy   bool   // something that was queued has begun and not ended
	line   []work // what is queued behind it
	queued int    // how many have not ended
	mark   mark
	token  bool // the counter there is known to have reached the token
}

// work is something to be done about the value on one instance. It may take
// several commands, one after the other, and calls hold.ended at its end.
type work interface {
	// begin is called when its turn has come. It doesn't block. now is this moment, or
	// the zero Instant where it has yet to be read.
	begin(now drift.Instant)
}

// mark is what is known of the value on one instance.
type mark struct {
	// there: the instance said that it has it.
	there bool
	// coming counts the SETs that went unanswered: each may have put it there,
	// or still may.
	//
	// Invariant: never less than those that can still arrive. Where an answer
	// leaves open which of them it speaks of, none is taken off: a delete too
	// many does no harm.
	coming int
}

// absent: it isn't there, and nothing under way can put it there.
//
//guard:absent-for-good  a key counts as absent only if no SET can still arrive
func (k mark) absent() bool { return !k.there && k.coming == 0 }

func newHold(c *core, key, value string) *hold {
	h := &hold{}
	h.init(c, key, value, make([]spot, len(c.members)))
	return h
}

func (h *hold) init(c *core, key, value string, spots []spot) {
	h.c, h.key, h.value, h.spots = c, key, value, spots
}

// queue has work begin for instance i after everything that was queued for that
// instance before has ended: soon, for each command is under the instance's
// time-out. The Coordinator's background counts it until it has ended. now is as
// in work.begin: reading the clocks once for all instances saves a good part of what
// a fan-out costs.
func (h *hold) queue(i int, w work, now drift.Instant) {
	h.c.background.add()
	h.mu.Lock()
	s := &h.spots[i]
	s.queued++
	//guard:delete-after-set  a delete isn't sent before the SET that it undoes has ended
	if s.busy {
		s.line = append(s.line, w)
		h.mu.Unlock()
		return
	}
	s.busy = true
	h.mu.Unlock()
	w.begin(now)
}

// ended is called when the work that had begun for instance i has ended.
func (h *hold) ended(i int) {
	h.mu.Lock()
	s := &h.spots[i]
	s.queued--
	var next work
	if len(s.line) > 0 {
		next, s.line = s.line[0], s.line[1:]
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
func (h *hold) mayBeLeft() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.spots, func(s spot) bool { return s.queued > 0 || !s.mark.absent() })
}

// crowded reports whether instance i is so far behind that nothing more should
// be queued for it but the release: a holder may extend more often than a hung
// instance times out.
func (h *hold) crowded(i int) bool {
	const most = 4
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.spots[i].queued >= most
}

// note takes in the answer to a command about the value, and gives what is known
// then.
func (h *hold) note(i int, op wire.Op, vote wire.Vote) mark {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spots[i].mark = h.spots[i].mark.after(op, vote)
	return h.spots[i].mark
}

// after is what is known after one more answer.
func (k mark) after(op wire.Op, vote wire.Vote) mark {
	sets := op == wire.Acquire || op == wire.Restore
	switch {
	case vote.Outcome == wire.Failed:
		// Unknown is not "no". But a command that was never sent, or that never
		// sets the key, changes nothing.
		//guard:unknown-may-be-set  a SET with an unknown outcome may have set the key, or may still set it
		if sets && !vote.Unsent {
			k.coming++
		}
		return k
	case vote.Outcome != wire.Granted:
		// It isn't there now, but a SET may still arrive.
		k.there = false
		return k
	case !sets && !k.there && k.coming > 0:
		// It was there, by one of those that went unanswered; a SET NX is carried
		// out once, so that one isn't left to come.
		k.coming--
	}
	k.there = op != wire.Release
	return k
}

func (h *hold) mark(i int) mark {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.spots[i].mark
}

// settle notes that instance i's counter is at least the lease's token.
func (h *hold) settle(i int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spots[i].token = true
}

// needsRestore reports whether instance i lacks the value or the token, and may
// still be given them.
func (h *hold) needsRestore(i int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	//guard:nothing-after-release  nothing is put back once a release was queued
	return !h.gone && (!h.spots[i].mark.there || !h.spots[i].token)
}

// on lists the instances that are known to have the value.
func (h *hold) on() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for i := range h.spots {
		if h.spots[i].mark.there {
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
func (h *hold) abandon() (done <-chan struct{}) {
	h.mu.Lock()
	h.gone = true
	h.mu.Unlock()
	ended := make(chan struct{})
	left := new(atomic.Int32)
	left.Store(int32(len(h.spots)))
	for i := range h.spots {
		h.queue(i, &abandonment{hold: h, i: i, left: left, ended: ended}, drift.Instant{})
	}
	return ended
}

// abandonment is what comes after all commands about an abandoned value to one instance.
type abandonment struct {
	hold  *hold
	i     int
	left  *atomic.Int32 // instances that have yet to come to it
	ended chan struct{} // closed by the last
}

func (a *abandonment) begin(drift.Instant) {
	h := a.hold
	//guard:sender-cleans-up  the sender deletes a key of its own that arrives after the hand-off
	if left := h.mark(a.i); left.coming > 0 && !left.there {
		h.c.members[a.i].owed.owe(h.key, h.value, left)
	}
	if a.left.Add(-1) == 0 {
		close(a.ended)
	}
	h.ended(a.i)
}
