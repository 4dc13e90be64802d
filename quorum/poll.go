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
// deletion each are one, and have a poll.
type question interface {
	// first is the first request to instance i, and the use of its answer. It is nil if the
	// value certainly isn't there, which counts as a refusal.
	first(i int) (*wire.Request, use)
	// answered takes in the answer to the first or the second request to instance i, before
	// count.
	answered(i int, second bool, ballot Ballot)
	// count takes in instance i's vote. The poll's lock is held.
	count(i int, vote *wire.Vote)
	// second is the second request to instance i, nil if there is none. If it is open, second
	// requests have to wait for the decision. The poll's lock is held.
	second(i int) (cmd *wire.Request, open bool)
}

func (p *poll) init(v *valueState, ctx context.Context, q question, ballots []Ballot, requests []request) {
	p.state, p.ctx, p.question, p.requests = v, ctx, q, requests
	p.ballots = v.c.pending(ballots)
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

// ask asks instance i after everything that was queued for it before.
func (p *poll) ask(i int, now drift.Instant) { p.state.queue(i, &p.requests[i], now) }

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
		// Right before each is sent: a release that was queued meanwhile forbids the others.
		cmd, open := p.question.second(i)
		if open {
			return
		}
		r.waiting, r.second = false, cmd != nil
		p.mu.Unlock()
		if cmd == nil {
			p.state.ended(i)
		} else {
			r.use = oldVote
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
