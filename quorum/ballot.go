package quorum

import (
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// Ballot is one instance's part in a round.
type Ballot struct {
	// Instance is its name.
	Instance string
	// Vote is its answer. If the round was decided before it answered, its outcome is Failed
	// and its error ErrPending.
	Vote wire.Vote
	// Latency is the time from sending to the answer, 0 while it is pending.
	Latency time.Duration
}

// outcomes are the ballots of a round by outcome.
type outcomes struct{ granted, refused, failed, pending int }

func outcomesOf(votes []Ballot) (t outcomes) {
	for _, ballot := range votes {
		switch {
		case ballot.Vote.Outcome == wire.Granted:
			t.granted++
		case ballot.Vote.Outcome == wire.Refused:
			t.refused++
		case ballot.Vote.Err == ErrPending:
			t.pending++
		default:
			t.failed++
		}
	}
	return t
}

// ballots are those of a round, one of each server. A ballot doesn't change any more: what changes is whose it is.
type ballots []*Ballot

// copies are for errors and hooks.
func (b ballots) copies() []Ballot {
	all := make([]Ballot, len(b))
	for i := range b {
		all[i] = *b[i]
	}
	return all
}

// rivals are the other clients that the votes of a round show.
type rivals struct {
	granted   int // the votes that this client has
	different int // the values that are known to be in the way
	most      int // on how many servers the most frequent of them is
}

func rivalsIn(votes []Ballot) (r rivals) {
	for i := range votes {
		switch vote := &votes[i].Vote; {
		case vote.Outcome == wire.Granted:
			r.granted++
		case vote.Outcome == wire.Refused && vote.Holder != "":
			n := 0
			for j := range votes {
				if other := &votes[j].Vote; other.Outcome == wire.Refused && other.Holder == vote.Holder {
					if n++; j < i {
						n = -len(votes) // it was counted before
					}
				}
			}
			if n > 0 {
				r.different++
				r.most = max(r.most, n)
			}
		}
	}
	return r
}

// refusedFor reports whether a vote was refused because of the key with a number of
// Vote.InTheWay.
func refusedFor(vote wire.Vote, n uint8) bool {
	return vote.Outcome == wire.Refused && vote.InTheWay == n
}

// inTheWay is the first key in the way of a round for several, by its number: the one because of
// which most instances refused, of several the first. So clients that meet at a key wait for the
// same one. It is 0 for a round for one key, and if none refused.
func inTheWay(votes []Ballot) (key uint8) {
	most := 0
	for _, ballot := range votes {
		at, n := ballot.Vote.InTheWay, 0
		if at == 0 || at == key {
			continue
		}
		for _, other := range votes {
			if refusedFor(other.Vote, at) {
				n++
			}
		}
		if n > most || n == most && n > 0 && at < key {
			key, most = at, n
		}
	}
	return key
}
