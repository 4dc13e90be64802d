package instance

import (
	"fmt"
	"time"

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
		return wire.Vote{Err: fmt.Errorf("%w: some of the keys were set, although others were taken, and could not be deleted again", ErrServer)}
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

// otherRun is nil if the evidence is that of a master in the run. Otherwise it is a *wire.RunError, or a
// *wire.SetMismatchError if only the set is another one.
func (e *evidence) otherRun(run wire.Run) error {
	if run == "" {
		return nil
	}
	id, role := field(e.info, "master_replid"), field(e.info, "role")
	//guard:promotion-is-judged  a grant counts only under the replication ID of the run, which a promotion changes
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
	return inAnother(run, readable(role), readable(id), found)
}
