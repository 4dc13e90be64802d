package quorum

import (
	"context"
	"slices"
	"sync"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/majority"
	"github.com/redquorum/redlock/quorum/wire"
)

// poll asks all instances about one value, for a round, an extension or a deletion, and is
// decided as soon as the votes allow it. Each instance may get a second request, which follows
// from its vote and the decision (a raise, a restore), even if it votes after the decision.
//
// All at once: asking one instance first was tried and gained nothing. After a split round it was
// the same instance for all clients, and the others were asked if it granted. Ten clients that
// start at one moment need 2.0 rounds until one has the lock, with that and without, and 1.95 with
// random delays alone.
//
// Four places depend on it that all are asked at once:
//
//   - A round takes two InstanceTimeouts at most, one for the votes and one for the raises, which
//     Terms.validate in config.go counts on.
//   - Each round of a split has asked the instance that decides it (contend.go).
//   - When a round is won its requests to all instances have begun or are in turn. So its ballots
//     are final as soon as none is unfinished (valuestate.go).
//   - A round that replaces a value does so on every instance (Resume in handle.go). Where it didn't
//     ask, the sender's key would stay for a TTL, because no release names its value any more.
type poll struct {
	state    *valueState
	ctx      context.Context // detached: the votes outlive the caller
	question question
	requests []request     // per instance
	decided  chan struct{} // closed at the decision; nil for an extension

	mu      sync.Mutex
	ballots []Ballot // per instance
	tally   majority.Tally
}

// question is what a poll asks, and what it concludes from the votes. A round, an extension and a
// deletion are questions, each with a poll of its own.
type question interface {
	// firstRequest is the first request to instance i, and the use of its answer. It is nil if the
	// value certainly isn't there. Then the vote is a refusal.
	firstRequest(i int) (*wire.Request, use)
	// answered takes in the answer to the first or the second request to instance i, before
	// count.
	answered(i int, second bool, ballot Ballot)
	// count takes in instance i's vote. The poll's lock is held.
	count(i int, vote *wire.Vote)
	// secondRequest is the second request to instance i, nil if there is none. While that is open,
	// second requests have to wait for the decision. The poll's lock is held.
	secondRequest(i int) (cmd *wire.Request, open bool)
}

func (p *poll) init(v *valueState, ctx context.Context, q question, ballots []Ballot, requests []request) {
	p.state, p.ctx, p.question, p.requests = v, ctx, q, requests
	p.ballots = v.c.pendingBallots(ballots)
	p.tally = majority.Tally{Majority: v.c.majority}
	for i, m := range v.c.members {
		requests[i].poll, requests[i].i, requests[i].m = p, i, m
	}
}

// askAll asks all instances. now is as in request.begin.
func (p *poll) askAll(now drift.Instant) {
	for i := range p.requests {
		p.ask(i, now)
	}
}

// ask asks instance i after all earlier requests to it about the value.
func (p *poll) ask(i int, now drift.Instant) { p.state.inTurn(i, &p.requests[i], now) }

func (p *poll) countLocked(i int, ballot Ballot) {
	p.ballots[i] = ballot
	p.question.count(i, &p.ballots[i].Vote)
}

// moveOn is called after everything that may have decided the poll: it sends the second
// requests to those instances that have voted, and ends the work at the others.
func (p *poll) moveOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.requests {
		r := &p.requests[i]
		if !r.waiting {
			continue
		}
		// Computed right before it is sent, because a release that has begun meanwhile forbids it.
		cmd, open := p.question.secondRequest(i)
		if open {
			return
		}
		r.waiting, r.second = false, cmd != nil
		p.mu.Unlock()
		if cmd == nil {
			p.state.doneAt(i)
		} else {
			r.use = sentAnyway
			r.send(cmd, drift.Instant{})
		}
		p.mu.Lock()
	}
}

func (p *poll) isDecided() bool {
	select {
	case <-p.decided:
		return true
	default:
		return false
	}
}

func (p *poll) snapshot() []Ballot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ballots)
}
