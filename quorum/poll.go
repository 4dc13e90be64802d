package quorum

import (
	"context"
	"slices"
	"sync"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/majority"
	"github.com/redquorum/redlock/quorum/wire"
)

// poll asks all instances about one value, for a round, an extension or a release, and is
// decided as soon as the votes allow it. Each instance may get a second request, which follows
// from its vote and the decision (a raise, a restore), even if it votes after the decision.
type poll struct {
	state    *valueState
	ctx      context.Context // detached: the votes outlive the caller
	question question
	parts    []part        // per instance
	decided  chan struct{} // closed at the decision; nil for an extension

	mu      sync.Mutex
	ballots []Ballot // per instance
	tally   majority.Tally
}

// question is what a poll asks, and what it concludes from the votes.
type question interface {
	// firstRequest is the first request to instance i, and the use of its answer. It is nil if
	// the value certainly isn't there, which counts as a refusal.
	firstRequest(i int) (*wire.Request, use)
	// answered takes in the answer to the first or the second request to instance i, before
	// count.
	answered(i int, second bool, ballot Ballot)
	// count takes in instance i's vote. The poll's lock is held.
	count(i int, vote *wire.Vote)
	// open reports whether second requests have to wait for the decision. The poll's lock
	// is held.
	open() bool
	// secondRequest is the second request to instance i, nil if there is none. The poll's lock
	// is held.
	secondRequest(i int) *wire.Request
}

// part is one instance's part in a poll. It is work about the value: requests to one
// instance are sent one after the other.
type part struct {
	poll    *poll
	i       int
	request request
	asked   bool          // written and read by the goroutine that runs the poll
	second  bool          // the second request was sent
	voted   chan struct{} // if not nil, it is closed when the vote was counted

	waiting bool // guarded by the poll's lock: the vote is in, and the poll is open
}

func (p *poll) init(h *valueState, ctx context.Context, q question, ballots []Ballot, parts []part) {
	p.state, p.ctx, p.question, p.parts = h, ctx, q, parts
	p.ballots = h.c.pending(ballots)
	p.tally = majority.Tally{Majority: h.c.majority}
}

// askAll asks all instances that were not asked yet. now is as in work.begin.
func (p *poll) askAll(now drift.Instant) {
	for i := range p.parts {
		if !p.parts[i].asked {
			p.ask(i, now)
		}
	}
}

// ask asks instance i after everything that was queued for it before.
func (p *poll) ask(i int, now drift.Instant) { p.state.queue(i, p.part(i), now) }

func (p *poll) part(i int) *part {
	t := &p.parts[i]
	t.poll, t.i, t.asked = p, i, true
	// Each request has a timeout of its own under this context, and nothing else ends it: an
	// error of one instance must not cost the vote of another.
	t.request.m, t.request.ctx, t.request.handler = p.state.c.members[i], p.ctx, t
	return t
}

func (t *part) begin(now drift.Instant) {
	p := t.poll
	cmd, use := p.question.firstRequest(t.i)
	if cmd == nil {
		t.vote(Ballot{Instance: t.request.m.name, Vote: wire.Vote{Outcome: wire.Refused}})
		return
	}
	t.request.use = use
	t.request.send(cmd, now)
}

func (t *part) replied(ballot Ballot) {
	t.poll.question.answered(t.i, t.second, ballot)
	if t.second {
		t.poll.state.ended(t.i)
		return
	}
	t.vote(ballot)
}

// vote counts the instance's vote.
func (t *part) vote(ballot Ballot) {
	p := t.poll
	p.mu.Lock()
	t.waiting = true
	p.countLocked(t.i, ballot)
	p.mu.Unlock()
	if t.voted != nil {
		close(t.voted)
	}
	p.moveOn()
}

func (p *poll) countLocked(i int, ballot Ballot) {
	p.ballots[i] = ballot
	p.question.count(i, &p.ballots[i].Vote)
}

// moveOn is called after everything that may have decided the poll: it sends the second
// requests to those instances that have voted, and ends the parts of the others.
func (p *poll) moveOn() {
	var few [usual]*part
	p.mu.Lock()
	if p.question.open() {
		p.mu.Unlock()
		return
	}
	ready := few[:0]
	for i := range p.parts {
		if t := &p.parts[i]; t.waiting {
			t.waiting = false
			ready = append(ready, t)
		}
	}
	p.mu.Unlock()
	for _, t := range ready {
		// One by one, right before each is sent: a release that was queued meanwhile forbids
		// the others.
		p.mu.Lock()
		cmd := p.question.secondRequest(t.i)
		t.second = cmd != nil
		p.mu.Unlock()
		if cmd == nil {
			p.state.ended(t.i)
			continue
		}
		t.request.use = oldVote
		t.request.send(cmd, drift.Instant{})
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

func (p *poll) ballot(i int) Ballot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ballots[i]
}

func (p *poll) snapshot() []Ballot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ballots)
}
