package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/quarantine"
	"github.com/redquorum/redlock/quorum/wire"
)

// This file is about probes, which ask a server who it is, and about which instance has which server. One goroutine at a time probes a server. Of
// two probes at once, the answer that the server gave first could be taken in last, and a run that has
// ended would pass for the present one.

// prober is a goroutine that probes the server, or waits until it may.
type prober struct {
	// enough reports, under the member's lock, whether another goroutine's probe has answered the
	// question.
	enough func(now drift.Instant) bool
	// ready gets true if the goroutine may probe, or false if no probe is needed any more.
	ready chan bool
}

// queueProbeLocked lets the goroutine probe the server, or puts it into the queue.
func (m *member) queueProbeLocked(enough func(now drift.Instant) bool) *prober {
	p := &prober{enough: enough, ready: make(chan bool, 1)}
	if m.probing {
		m.probers = append(m.probers, p)
	} else {
		m.probing = true
		p.ready <- true
	}
	return p
}

// awaitProbe waits until the goroutine may probe; mine is false if no probe is needed any more. A
// caller that may has to call nextProbe.
func (m *member) awaitProbe(ctx context.Context, p *prober) (mine bool, err error) {
	select {
	case mine = <-p.ready:
	case <-ctx.Done():
		if m.withdraw(p) {
			return false, ctx.Err()
		}
		mine = <-p.ready // it came at the same moment
	}
	if mine && ctx.Err() != nil {
		m.nextProbe()
		return false, ctx.Err()
	}
	return mine, nil
}

// withdraw takes a goroutine out of the queue. It reports false if ready was sent already.
func (m *member) withdraw(p *prober) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.probers, p)
	if i >= 0 {
		m.probers = slices.Delete(m.probers, i, i+1)
	}
	return i >= 0
}

// nextProbe lets the next goroutine probe the server. The last in the queue is next, because it has
// the most time left. So a server that hangs is probed about once in each timeout, and not once for
// each vote that is wanted from it.
func (m *member) nextProbe() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.c.reader.Now()
	m.probers = slices.DeleteFunc(m.probers, func(p *prober) bool {
		enough := p.enough(now)
		if enough {
			p.ready <- false
		}
		return enough
	})
	m.probing = len(m.probers) > 0
	if m.probing {
		last := m.probers[len(m.probers)-1]
		m.probers = slices.Delete(m.probers, len(m.probers)-1, len(m.probers))
		last.ready <- true
	}
}

// identifyIfUnknown returns the server's standing, and probes the server first if no probe has
// identified it. shared says that a probe by another goroutine, under way now, also serves if it
// finds that the server is unfit.
func (m *member) identifyIfUnknown(ctx context.Context, shared bool) (standing, error) {
	for {
		m.mu.Lock()
		if s := m.standingLocked(m.c.reader.Now()); s.identified && !s.otherSet {
			m.mu.Unlock()
			return s, nil
		}
		before := m.probes
		p := m.queueProbeLocked(func(now drift.Instant) bool {
			s := m.standingLocked(now)
			return s.identified && !s.otherSet || shared && m.probes != before
		})
		m.mu.Unlock()
		mine, err := m.awaitProbe(ctx, p)
		if mine {
			_, err = m.probe(ctx)
		}
		if err != nil {
			return standing{}, err
		}
		m.mu.Lock()
		unfit := m.unfit
		m.mu.Unlock()
		if unfit != nil && (mine || shared) {
			return standing{}, unfit
		}
	}
}

// answeredBy notes that another server answered, or another run of it. It must be probed
// before a vote counts again.
func (m *member) answeredBy(other *wire.RunError) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.quarantine.AnsweredBy(other) {
		m.probed = false
	}
}

// noteOtherSet notes that clients of another set use the server. It isn't asked for a vote until a probe
// succeeds. Leases that have its vote are kept: they were given under this client's set.
func (m *member) noteOtherSet(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.otherSet = err
}

// forget demands a new probe before a vote counts again.
func (m *member) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.probed = false
}

// identify probes the server in any case, after the probes under way, and returns the answer.
func (m *member) identify(ctx context.Context) (wire.Identity, error) {
	m.mu.Lock()
	p := m.queueProbeLocked(func(drift.Instant) bool { return false })
	m.mu.Unlock()
	if _, err := m.awaitProbe(ctx, p); err != nil {
		return wire.Identity{}, fmt.Errorf("it can't be asked who it is: %w", err)
	}
	return m.probe(ctx)
}

// probe asks the server who it is and takes in the answer. Then the next goroutine may.
func (m *member) probe(ctx context.Context) (wire.Identity, error) {
	//guard:probe-keeps-its-turn  a probe's turn ends after its answer was taken in
	defer m.nextProbe()
	sent := m.c.reader.Now()
	m.mu.Lock()
	known := m.quarantine.Known(sent)
	m.mu.Unlock()
	//guard:set-is-sent  every probe names the set of instances, so that clients that disagree on it get no lock
	known.Set = m.c.cfg.Set
	id, err := m.inst.Probe(ctx, known)
	received := m.c.reader.Now()
	switch {
	case errors.Is(err, ErrSetMismatch):
		m.noteOtherSet(err)
		return id, err
	case err != nil:
		return id, fmt.Errorf("it can't be asked who it is: %w", err)
	}

	m.mu.Lock()
	var verdict quarantine.Verdict
	m.unfit, m.otherSet = nil, nil
	if m.watchesRestarts() {
		server := cmp.Or(id.RunID, id.ReplID)
		// The claim comes before probed is set: of two members that are one server only
		// one ever votes, whichever was first.
		if other := m.c.servers.claim(server, m.name); other != "" {
			m.unfit = &DuplicateError{Instance: m.name, Other: other, RunID: server}
		}
		if err := roleError(id); err != nil {
			//guard:masters-vote  a replica doesn't vote, writable or not
			m.unfit = err
		}
		if m.quarantine.RunID() != id.RunID {
			// The clock of another machine is not this clock after a jump.
			m.monitor = drift.Monitor{MaxRate: m.monitor.MaxRate, Tolerance: m.monitor.Tolerance}
		}
		verdict = m.quarantine.Identify(id, received)
	}
	m.probed = true
	m.probes++
	//guard:hidden-is-told  the user is told of a server that hides its run
	hidden := m.watchesRestarts() && m.unfit == nil && !m.hiddenReported && id.Run() == ""
	m.hiddenReported = m.hiddenReported || hidden
	policy := ""
	if evicts(id) {
		policy = id.Eviction
	}
	//guard:eviction-is-told  the user is told of a server that may drop locks
	evicting := policy != "" && policy != m.policyReported
	m.policyReported = policy
	m.mu.Unlock()

	m.cannotNotify.Store(id.CannotNotify)
	m.reportQuarantine(verdict)
	if hidden && m.c.cfg.Hooks.Unprotected != nil {
		m.c.cfg.Hooks.Unprotected(UnprotectedEvent{Instance: m.name, Hidden: id.Hidden})
	}
	if evicting && m.c.cfg.Hooks.Unprotected != nil {
		m.c.cfg.Hooks.Unprotected(UnprotectedEvent{Instance: m.name, Eviction: policy})
	}
	m.serverClock.learn(id.Clock, sent, received)
	m.observe(id.Clock, sent, received)
	return id, nil
}

// registry gives each server to one instance. Two instances that reach the same server,
// under whatever names, have one vote: a majority that counts a server twice is none
// (scenario S13). The zero registry is empty.
type registry struct {
	mu         sync.Mutex
	instanceAt map[string]string // server -> the instance that reaches it
	serverOf   map[string]string // instance -> the server that it reaches
}

// claim notes that the instance reaches the server now, and no longer the one before. If
// another instance has claimed the server, claim returns that instance's name, and notes only
// that the instance has left its earlier server. An empty server is hidden: it can't be told from
// another.
func (r *registry) claim(server, instance string) (other string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.instanceAt == nil {
		r.instanceAt, r.serverOf = make(map[string]string), make(map[string]string)
	}
	if old := r.serverOf[instance]; old != "" && old != server {
		delete(r.instanceAt, old)
		delete(r.serverOf, instance)
	}
	if server == "" {
		return ""
	}
	//guard:one-server-one-vote  one server under two names votes once
	if other := r.instanceAt[server]; other != "" && other != instance {
		return other
	}
	r.instanceAt[server], r.serverOf[instance] = instance, server
	return ""
}
