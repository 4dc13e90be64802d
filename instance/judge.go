package instance

import (
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// evidence is what vouches for the grants of a transaction.
type evidence struct {
	mark, info []byte
	clock      time.Time

	// What the last request's run was found to be: nearly always all ask in one.
	asked wire.Run
	other error
}

// judge makes the vote of a request whose transaction was carried out.
//
// The proof of the tokens' order (quorum/internal/settlement) needs of each grant: it was given by the
// server and in the run that the request names; each counter was counted up; the token is above every
// one that the server gave before, and no further ahead of its clock than Fence.Ahead.
func (e *evidence) judge(c *call, prefix string) (vote wire.Vote) {
	req, way, set := &c.req, 0, false
	var failed *slot
	for i, s := range c.slots {
		set = set || s.wasSet
		if !s.wasSet && way == 0 {
			way = 1 + i
		}
		if failed == nil && s.failure != "" {
			failed = s
		}
	}
	// Of several keys none is left unless all were set.
	set = set && (way == 0 || c.left)
	if req.Run != e.asked {
		e.asked, e.other = req.Run, e.otherRun(req.Run)
	}
	//guard:run-is-judged  a grant counts only in the run that the request names
	if e.other != nil {
		//guard:set-before-judged  an acquisition in another run may have set its keys
		return wire.Vote{Unsent: !set, Err: e.other}
	}
	switch {
	case failed != nil && (way == 0 || !failed.ofCounter):
		return wire.Vote{Unsent: !set, Err: failed.why(req, prefix)}
	case way > 0 && set:
		return wire.Vote{Err: fmt.Errorf("%w: of several keys some were free, and could not be deleted again", ErrServer)}
	}
	if req.Clock {
		vote.Clock = e.clock
	}
	if way > 0 {
		//guard:all-keys-free  of several keys all have to be set
		vote.Outcome, c.looks = wire.Refused, true
		if len(c.slots) > 1 {
			vote.InTheWay = uint8(way)
		}
		return vote
	}
	vote.Outcome, vote.Replaced = wire.Granted, c.replaced
	if len(c.slots) > 1 {
		vote.Keys = uint8(len(c.slots))
	}
	if req.Fence.On {
		var err *wire.CounterError
		if vote.Token, vote.Low, err = tokenOf(c.slots, &req.Fence, e.clock); err != nil {
			err.Repair = repair(e.clock, prefix, req)
			return wire.Vote{Err: err}
		}
	}
	return vote
}

// tokenOf is the token of a grant: the largest that a grant of any of its keys alone would get. It is low
// if a counter has yet to be raised to it.
func tokenOf(slots []*slot, f *wire.Fence, clock time.Time) (token fencing.Token, low bool, err *wire.CounterError) {
	now := fencing.Token(clock.UnixMicro())
	most := min(now+fencing.Token(f.Ahead.Microseconds()), fencing.MaxToken)
	for _, s := range slots {
		n := fencing.Token(max(s.n, 0)) // somebody may have written a negative one, which is low
		//guard:older-counter-is-low  a counter that may be from an earlier run is lifted above the clock before it counts
		//guard:new-counter-is-low  a counter that starts again, but not above the clock, is lifted above it before it counts
		if (n <= f.Floor || s.made) && n <= now || s.made && s.expires != "PXAT" {
			n, low = max(n, now+1), true
			//guard:start-bounded  a counter starts no further ahead of the clock than the client allows
			if f.Token > n && f.Token <= most {
				n = f.Token
			}
		}
		//guard:above-each-counter  the token of a lease on several keys is above the counter of each
		token = max(token, n)
	}
	for _, s := range slots {
		//guard:all-counters-at-token  each counter of a lease on several keys is raised to its token
		low = low || s.n < int64(token)
	}
	//guard:all-bounded  a token that is too far ahead of the clock, or beyond all tokens, doesn't count
	if token > most {
		return 0, false, &wire.CounterError{Token: token, Clock: clock, Most: f.Ahead}
	}
	return token, low, nil
}

// otherRun is nil if the evidence is that of a master in the run. Otherwise it is a *wire.RunError, or a
// *wire.SetMismatchError if only the set is another one.
func (e *evidence) otherRun(run wire.Run) error {
	if run == "" {
		return nil
	}
	id, role := field(e.info, "master_replid"), field(e.info, "role")
	//guard:promotion-is-judged  a grant counts only under the replication ID of the run, which a promotion changes
	//guard:role-is-judged  a replica's grant doesn't count, whether or not it can be written to
	same := string(role) == wire.RoleMaster && string(id) == run.ReplID()
	//guard:mark-is-judged  a grant counts only under the mark that the client knows
	if same && (run.Epoch() == "" || string(e.mark) == string(run)) {
		return nil
	}
	found := wire.Run(e.mark)
	if same && found.SameAs(run) {
		mine, _ := wire.ParseSet(run.Set())
		return &wire.SetMismatchError{Mine: mine, Theirs: found.Set()}
	}
	if run.Epoch() == "" || found.ReplID() != string(id) {
		found = wire.Run(readable(id))
	}
	return &wire.RunError{Asked: run, Found: found, Role: readable(role)}
}

// why is the error of a slot's command that failed, in a transaction that was carried out.
func (s *slot) why(req *wire.Request, prefix string) error {
	wrong := func(text string) bool { return strings.Contains(s.failure, text) }
	if s.ofCounter && (strings.HasPrefix(s.failure, "WRONGTYPE") || wrong("not an integer") || wrong("overflow")) {
		return noToken(string(s.counter.b), s.failure, &wire.Request{Fence: req.Fence})
	}
	return moving(serverError(s.failure), prefix)
}
