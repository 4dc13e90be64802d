package quorum

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
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

	mu     sync.Mutex
	spots  []spot // per instance
	gone   bool   // a release was queued: nothing may be put there any more
	fanned errgroup.Group
}

// spot is the value on one instance.
type spot struct {
	last   chan struct{} // closed when the last command queued has ended
	queued int           // how many have not ended
	mark   mark
	token  bool // the counter there is known to have reached the token
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
func (k mark) absent() bool { return !k.there && k.coming == 0 }

func newHold(c *core, key, value string) *hold {
	return &hold{key: key, value: value, c: c, spots: make([]spot, len(c.members))}
}

// follow has everything about this value sent after what was queued about the
// one that it replaces, instance by instance.
func (h *hold) follow(former *hold) {
	former.mu.Lock()
	defer former.mu.Unlock()
	former.gone = true
	for i := range h.spots {
		h.spots[i].last = former.spots[i].last
	}
}

// queue runs f for instance i on a goroutine of its own, after everything that
// was queued for that instance before. The goroutine belongs to the
// Coordinator's background.
//
// A plain errgroup.Group, never errgroup.WithContext: that one cancels the other
// instances' commands at the first error, and one instance's error must not cost
// another's vote. For the same reason f returns nothing.
func (h *hold) queue(i int, f func(m *member)) {
	h.mu.Lock()
	s := &h.spots[i]
	before, done := s.last, make(chan struct{})
	s.last = done
	s.queued++
	h.mu.Unlock()
	h.c.background.add()
	h.fanned.Go(func() error {
		defer h.c.background.end()
		defer func() {
			h.mu.Lock()
			s.queued--
			h.mu.Unlock()
			close(done)
		}()
		if before != nil {
			// Bounded: what comes before is under its instance's time-out.
			<-before
		}
		f(h.c.members[i])
		return nil
	})
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

// note takes in the answer to a command about the value.
func (h *hold) note(i int, op Op, vote Vote) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spots[i].mark = h.spots[i].mark.after(op, vote)
}

// after is what is known after one more answer.
func (k mark) after(op Op, vote Vote) mark {
	sets := op == Acquire || op == Restore
	switch {
	case vote.Outcome == Failed:
		// Unknown is not "no". But a command that was never sent, or that never
		// sets the key, changes nothing.
		if sets && !vote.Unsent {
			k.coming++
		}
		return k
	case vote.Outcome != Granted:
		// It isn't there now, but a SET may still arrive.
		k.there = false
		return k
	case !sets && !k.there && k.coming > 0:
		// It was there, by one of those that went unanswered; a SET NX is carried
		// out once, so that one isn't left to come.
		k.coming--
	}
	k.there = op != Release
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

// release deletes the value on every instance on which it may be, each after
// that instance's own straggler, and gives what is certain already for the
// others. report gets every instance's ballot once.
//
// The contexts are detached from the caller's: a caller that was cancelled must
// not leave keys behind. What can't be delivered now is owed.
func (h *hold) release(ctx context.Context, report func(i int, b Ballot)) {
	ctx = context.WithoutCancel(ctx)
	h.mu.Lock()
	h.gone = true
	h.mu.Unlock()
	for i := range h.c.members {
		h.queue(i, func(m *member) {
			report(i, h.releaseOne(ctx, i, m))
		})
	}
}

func (h *hold) releaseOne(ctx context.Context, i int, m *member) Ballot {
	if h.mark(i).absent() {
		// A SET that was refused, or never sent, left nothing: no need to ask.
		return Ballot{Instance: m.name, Vote: Vote{Outcome: Refused}}
	}
	ballot := m.ask(ctx, Command{Op: Release, Key: h.key, Value: h.value, Wake: h.c.wakesAt(h.key, i)})
	h.released(i, m, ballot.Vote)
	return ballot
}

// released takes in the answer to a delete; what it left open is owed.
func (h *hold) released(i int, m *member, vote Vote) {
	h.note(i, Release, vote)
	if after := h.mark(i); !after.absent() {
		m.owed.owe(h.key, h.value, after)
	}
}
