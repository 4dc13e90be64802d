package quorum

import (
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/internal/majority"
	"github.com/redquorum/redlock/quorum/wire"
)

// Holder is one value found on instances.
type Holder struct {
	// Owner is the holder's Config.Owner, empty if it has none.
	Owner string
	// Key is the key that it has, in a RoundError of AcquireAll and TryAcquireAll: the first
	// in the way.
	Key string
	// Note is the lease's Terms.Note, empty if it has none.
	Note string
	// Here says that it is a lease of this Coordinator (in a RoundError of Acquire).
	Here bool
	// Value is the lock's value.
	Value string
	// Instances names the instances that have the value.
	Instances []string
	// Remaining is how long the holder keeps its quorum. Without a quorum, it is how long the
	// last of the holder's keys lives. It is NoExpiry if that is forever. The holder's own
	// validity is shorter by the drift allowance.
	Remaining time.Duration
	// Held says that it is on a quorum of instances.
	Held bool
}

// text says who has the lock, for an error.
func (h *Holder) text() string {
	var text string
	if h.Key != "" {
		text = fmt.Sprintf("%q is ", h.Key)
	}
	client := "another client"
	if h.Owner != "" {
		client = fmt.Sprintf("client %q", h.Owner)
	}
	switch {
	case h.Here && !h.Held:
		return "other goroutines of this process wait for it before this one"
	case h.Here:
		text += "held by this process"
	case h.Held:
		text += "held by " + client
	default:
		text += "wanted or held by " + client
	}
	if h.Note != "" {
		text += fmt.Sprintf(" (%q)", h.Note)
	}
	switch {
	case h.Remaining == wire.NoExpiry:
		text += ", and its key never expires"
	case h.Remaining > 0:
		text += fmt.Sprintf(", whose lease ends in %v", h.Remaining.Round(10*time.Millisecond))
	}
	return text
}

// holderIn is the holder of the lock, as far as refused votes show it; nil if none does.
func holderIn(votes []Ballot, keys keys, m majority.Majority) *Holder {
	at := inTheWay(votes)
	refused := slices.DeleteFunc(slices.Clone(votes), func(b Ballot) bool { return !refusedFor(b.Vote, at) })
	found := holdersIn(refused, m)
	if len(found) == 0 {
		return nil
	}
	h := &found[0]
	h.Key, h.Value = keys.at(at), ""
	return h
}

// holdersIn are the values that refused votes show, the one on most instances first.
func holdersIn(votes []Ballot, m majority.Majority) (found []Holder) {
	times := make(map[string][]time.Duration)
	for _, ballot := range votes {
		vote := ballot.Vote
		if vote.Outcome != wire.Refused {
			continue
		}
		i := slices.IndexFunc(found, func(h Holder) bool { return h.Value == vote.Holder })
		if i < 0 {
			_, owner, note := readValue(vote.Holder)
			found = append(found, Holder{Owner: owner, Note: note, Value: vote.Holder})
			i = len(found) - 1
		}
		found[i].Instances = append(found[i].Instances, ballot.Instance)
		times[vote.Holder] = append(times[vote.Holder], vote.Remaining)
	}
	for i := range found {
		h := &found[i]
		h.Held, h.Remaining = len(h.Instances) >= m.Q, m.Lasts(times[h.Value])
	}
	slices.SortStableFunc(found, func(a, b Holder) int { return len(b.Instances) - len(a.Instances) })
	return found
}
