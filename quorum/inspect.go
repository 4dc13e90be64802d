package quorum

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/internal/majority"
	"github.com/redquorum/redlock/quorum/wire"
)

// Inspection is what the instances say about a key at one time. It may be out of date when it
// is read. It is for people and dashboards. A holder must not base decisions on it.
type Inspection struct {
	Key string
	// Holders are the values found, the one on most instances first.
	Holders []Holder
	// Free names the instances on which the key is free. Failed has the instances that don't
	// count, with their errors: they didn't answer, are replicas, or are the same server as
	// another instance.
	Free   []string
	Failed []Ballot
	// Votes has every instance's answer, in the Coordinator's order. Vote.Token is its counter,
	// and Vote.Holder the value that it has.
	Votes []Ballot
	// Runs has the runs of the servers, as the last probe of each found it, in the same order. Empty for
	// a server that failed or hides it.
	Runs []wire.Run
	// Token is the largest counter found: the token of the last lease, if its instances
	// answered, or a larger one, because tries that were refused count, too. 0 if there is none.
	Token fencing.Token
	// Quorum is how many instances make a lease.
	Quorum int
}

// Held is the holder with a quorum, nil if there is none.
func (i Inspection) Held() *Holder {
	if len(i.Holders) > 0 && i.Holders[0].Held {
		return &i.Holders[0]
	}
	return nil
}

// Inspect reports on a lock without taking it: who holds it, on which instances, for how long.
// It waits for all instances, for at most one InstanceTimeout. If a connection has to be made
// (wire.Connector), it waits for that connection and for at most two InstanceTimeouts. With
// RestartQuarantine on, a server under two names counts once, and a replica doesn't count.
//
// The error is ErrConfig for the key, ErrNoQuorum as *RoundError if fewer than a quorum
// count (the Inspection has what was found), ErrInterrupted, or ErrClosed.
func (c *Coordinator) Inspect(ctx context.Context, key string) (Inspection, error) {
	all := keys{key}
	if err := c.ready(ctx, wire.Look, all); err != nil {
		return Inspection{}, err
	}
	cmd := wire.Request{Op: wire.Look, Keys: all, Fence: wire.Fence{On: c.cfg.Lab.Fencing == On}}
	ballots, runs := c.lookAtAll(ctx, cmd, func([]Ballot) bool { return false })
	found := inspection(key, c.majority, ballots)
	found.Runs = runs
	err := c.roundError(wire.Look, all, ErrNoQuorum)
	err.Votes = ballots
	switch {
	case ctx.Err() != nil:
		err.Verdict, err.Cause = ErrInterrupted, causeOf(ctx)
	case len(c.servers)-len(found.Failed) >= c.majority.Q:
		return found, nil
	}
	return found, err
}

// Free checks whether the lock on key is free, and returns nil if a quorum of instances says so.
// While a client has a lease on the key, no quorum can say so, unless instances have lost the
// lease. Free takes nothing, so another client may have the lock right afterwards. It returns as
// soon as the answer is certain, and so, unlike Inspect, doesn't wait for an instance that hangs.
//
// Errors: ErrConfig for the key, ErrClosed, and as *RoundError ErrTaken with the holder, ErrNoQuorum if too
// few instances answer to tell, and ErrInterrupted.
func (c *Coordinator) Free(ctx context.Context, key string) error {
	all := keys{key}
	if err := c.ready(ctx, wire.Look, all); err != nil {
		return err
	}
	if err := c.takenHere(all); err != nil {
		return err
	}
	votes, _ := c.lookAtAll(ctx, wire.Request{Op: wire.Look, Keys: all}, func(votes []Ballot) bool {
		t := outcomesOf(votes)
		return t.granted >= c.majority.Q || t.refused >= c.majority.Blocking()
	})
	t := outcomesOf(votes)
	if t.granted >= c.majority.Q {
		return nil
	}
	err := c.roundError(wire.Look, all, ErrNoQuorum)
	err.Votes, err.Holder = votes, holderIn(votes, all, c.majority)
	switch {
	case t.refused >= c.majority.Blocking():
		err.Verdict = ErrTaken
	case ctx.Err() != nil:
		err.Verdict, err.Cause = ErrInterrupted, causeOf(ctx)
	}
	return err
}

// lookAtAll asks all instances, and returns when the answers are enough, all of them are there, or ctx has ended.
func (c *core) lookAtAll(ctx context.Context, req wire.Request, enough func([]Ballot) bool) ([]Ballot, []wire.Run) {
	answers, now := make(inbox, len(c.servers)), c.reader.Now()
	for _, s := range c.servers {
		c.background.add()
		(&call{s: s, req: &req, to: answers}).start(now)
	}
	ballots, runs := c.pending.copies(), make([]wire.Run, len(c.servers))
	for range c.servers {
		select {
		case a := <-answers:
			i := a.s.index
			if ballots[i] = a.ballot; a.ballot.Vote.Outcome != wire.Failed {
				runs[i] = a.run
			}
			if enough(ballots) {
				return ballots, runs
			}
		case <-ctx.Done():
			for i := range ballots {
				if ballots[i].Vote.Err == ErrPending {
					ballots[i].Vote.Err = interrupted(ctx)
				}
			}
			return ballots, runs
		}
	}
	return ballots, runs
}

func inspection(key string, m majority.Majority, ballots []Ballot) Inspection {
	found := Inspection{Key: key, Quorum: m.Q, Votes: ballots, Holders: holdersIn(ballots, m)}
	for _, ballot := range ballots {
		switch ballot.Vote.Outcome {
		case wire.Granted:
			found.Free = append(found.Free, ballot.Instance)
		case wire.Refused:
		default:
			found.Failed = append(found.Failed, ballot)
			continue
		}
		found.Token = max(found.Token, ballot.Vote.Token)
	}
	return found
}

// String is the Inspection in one line, without the holders' values, which are enough to
// release the lock.
func (i Inspection) String() string {
	var parts []string
	for _, h := range i.Holders {
		kind, left := "partly held", "for "+h.Remaining.String()
		if h.Held {
			kind = "held"
		}
		if h.Remaining == wire.NoExpiry {
			left = "forever"
		}
		holder := strconv.Quote(h.Owner)
		if h.Note != "" {
			holder += fmt.Sprintf(" (%q)", h.Note)
		}
		parts = append(parts, fmt.Sprintf("%s by %s on %s %s", kind, holder, strings.Join(h.Instances, ", "), left))
	}
	if len(i.Free) > 0 {
		parts = append(parts, "free on "+strings.Join(i.Free, ", "))
	}
	for _, f := range i.Failed {
		parts = append(parts, fmt.Sprintf("unknown on %s: %v", f.Instance, f.Vote.Err))
	}
	parts = append(parts, fmt.Sprintf("tokens up to %d", i.Token))
	return fmt.Sprintf("%q: %s", i.Key, strings.Join(parts, "; "))
}
