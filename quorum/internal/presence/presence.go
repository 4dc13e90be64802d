// Package presence tracks whether a value may be on an instance.
package presence

import "github.com/redquorum/redlock/quorum/wire"

// State is what is known of one value on one instance. The zero State: it isn't there.
type State struct {
	// There: the instance said that it has the value.
	There bool
	// Unanswered counts the SETs without an answer. Each of them may have set the value, or
	// may still set it.
	//
	// Invariant: it is never less than the number of SETs that can still arrive. Where an
	// answer leaves open which SET it is about, none is taken off: one delete too many does
	// no harm.
	Unanswered int32
	// Some: of a value that several keys have, some keys may have it and others don't. An
	// instance that has only some of them doesn't count, but they have to be deleted.
	Some bool
}

// Absent reports whether the value isn't there, and nothing under way can set it.
//
//guard:absent-for-good  a key counts as absent only if no SET can still arrive
func (s State) Absent() bool { return !s.There && s.Unanswered == 0 && !s.Some }

// After is what is known after the answer to one more request about the value.
func (s State) After(op wire.Op, vote wire.Vote) State {
	sets := op == wire.Acquire || op == wire.Restore
	switch {
	case vote.Outcome == wire.Failed:
		// Unknown is not "no". But a request that was never sent, or that never sets the
		// key, changes nothing.
		//guard:unknown-may-be-set  a SET with an unknown outcome may have set the key, or may still set it
		if sets && !vote.Unsent {
			s.Unanswered++
		}
		return s
	case vote.Outcome != wire.Granted:
		// It isn't there now, but a SET may still arrive.
		s.There = false
		s.Some = s.Some && op != wire.Release
		return s
	case !sets && !s.There && s.Unanswered > 0:
		// One of the unanswered SETs had set it. A SET NX is carried out once, so that one
		// can't arrive any more.
		s.Unanswered--
	}
	s.There = op != wire.Release
	s.Some = false
	return s
}

// AfterSeveral is After for a value that several keys have. If the instance refused because one
// of them was gone, the others may be there. An Acquire sets all or none.
func (s State) AfterSeveral(op wire.Op, vote wire.Vote) State {
	s = s.After(op, vote)
	//guard:rest-is-deleted  of several keys the rest is deleted where one of them is lost
	s.Some = s.Some || vote.Outcome == wire.Refused && (op == wire.Raise || op == wire.Extend || op == wire.Restore)
	return s
}
