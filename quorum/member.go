package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// member is one instance as the Coordinator sees it: it bounds the time and the
// number of commands, decides whether the instance may vote, and watches its
// clock. Everything that is sent to an instance goes through here.
type member struct {
	inst wire.Instance
	name string

	clock   clock.Clock
	reader  *drift.Reader
	timeout time.Duration
	hooks   *Hooks
	servers *registry
	owed    *debts

	silent        atomic.Bool // its last command had no answer
	maxInFlight   int
	watchRestarts bool
	watchClock    bool

	mu         sync.Mutex
	inFlight   int
	quarantine quarantine
	monitor    drift.Monitor
	probed     bool
	probing    bool         // somebody has the turn to probe
	turns      []*probeTurn // of who waits for it, in the order of arrival
	unfit      error        // what the last probe found that rules out any vote: a duplicate, a replica
	toldHidden bool
}

// ask sends one request under the instance's own timeout, and waits for the answer or for
// ctx's end. Nothing is concluded from a grant.
func (m *member) ask(ctx context.Context, req wire.Request) Ballot {
	req.Clock = req.Clock || m.wantsClock(req.Op)
	return m.askBy(ctx, req.Op, func(timeout time.Duration, to wire.Receiver) { m.inst.Send(req, timeout, to) })
}

// askBy is ask by any method of the instance.
func (m *member) askBy(ctx context.Context, op wire.Op, send func(timeout time.Duration, to wire.Receiver)) Ballot {
	if ctx.Err() != nil {
		return Ballot{Instance: m.name, Vote: wire.Vote{Unsent: true, Err: hideTimeout(causeOf(ctx), m.timeout)}}
	}
	sent := m.reader.Now()
	if _, err := m.admit(op, uncounted, sent); err != nil {
		return Ballot{Instance: m.name, Vote: wire.Vote{Unsent: true, Err: err}}
	}
	answer := make(chan Ballot, 1)
	send(m.timeout, wire.ReceiverFunc(func(vote wire.Vote) {
		ballot := m.answered(vote, m.timeout, sent, m.reader.Now())
		m.leave()
		answer <- ballot
	}))
	select {
	case ballot := <-answer:
		return ballot
	case <-ctx.Done():
		m.owed.bg.start(func() { <-answer }) // soon: it is under the timeout
		return Ballot{Instance: m.name, Vote: wire.Vote{Err: hideTimeout(causeOf(ctx), m.timeout)}}
	}
}

// enterLocked counts one command more. A quarter of MaxInFlight is kept for what is held:
// however many acquisitions are unanswered, a lease can be extended and released.
func (m *member) enterLocked(op wire.Op) error {
	most := m.maxInFlight
	//guard:in-flight-for-the-held  acquisitions leave a part of MaxInFlight free for extensions and releases
	if !op.Held() {
		most = forWanted(most)
	}
	if m.inFlight >= most {
		return fmt.Errorf("%w: %d commands to this instance are unanswered; wait for it, or raise Config.MaxInFlight", ErrOverloaded, m.inFlight)
	}
	m.inFlight++
	return nil
}

// forWanted is the part of MaxInFlight that commands may take that are not about a key of
// the client's own.
func forWanted(maxInFlight int) int { return maxInFlight - maxInFlight/4 }

// admit is enter, and gives the standing as well where it matters. An error says why it
// was not entered.
func (m *member) admit(op wire.Op, use use, now drift.Instant) (s standing, err error) {
	// An instance that is owed too many deletes gets nothing new to delete.
	if use == newVote {
		if err := m.owed.full(); err != nil {
			return standing{}, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enterLocked(op); err != nil {
		return standing{}, err
	}
	if use == uncounted {
		return standing{}, nil
	}
	return m.standingLocked(now), nil
}

// use is what the answer to a command is for.
type use uint8

const (
	// uncounted: nothing is concluded from a grant: a delete, a look.
	uncounted use = iota
	// oldVote: the server is asked about a key that it has, also while it may not vote:
	// an extension, a raise, a restore. A grant counts as newVote's does.
	oldVote
	// newVote: the server is asked if it may vote, and a grant counts if it comes from
	// the server that was probed, and that may vote by then, too.
	newVote
)

// standing is whether a server may vote.
type standing struct {
	known bool     // a probe has told who it is, and that it is a master of its own
	run   wire.Run // for Request.Run; empty if it is hidden or not watched
	err   error    // why it may not vote, nil if it may
}

func (m *member) standing(now drift.Instant) standing {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.standingLocked(now)
}

func (m *member) standingLocked(now drift.Instant) standing {
	if m.watchRestarts && (!m.probed || m.unfit != nil) {
		// One that was unfit is probed again each time: a duplicate may have been
		// replaced meanwhile, a replica promoted.
		//guard:promoted-votes-again  a replica that was promoted can vote again
		return standing{err: m.unfit}
	}
	s := standing{known: true, run: m.quarantine.id.Run()}
	if q := m.quarantine.check(now); q != nil {
		s.err = q
	}
	return s
}

// counts is nil if a grant counts that was asked for in a run of the server.
//
// Invariant: a grant that counts was given in the run that the last probe found. The
// server saw to it that it was in that run when it granted (Request.Run); that nobody
// has found another one since is seen to here, when the grant is counted: of two
// servers that answer under one name only one may have a vote at a time. Run IDs are
// never reused, so what is the same before and after was the same in between.
//
// That goes for an extension, too. Its key was found in place, but where a replica was
// promoted or an address moved, others may still reach the server that had the key
// before, without it; and a clock that jumped counts the TTL faster than was promised.
func (s standing) counts(run wire.Run) error {
	switch {
	//guard:quarantine-checked  a grant of a server in quarantine doesn't count, extensions included
	case s.err != nil:
		return s.err
	case !s.known:
		return errUnknownServer
	//guard:same-run-counts  a vote counts only in the run that was found last
	case s.run != run:
		return &wire.RunError{Asked: s.run, Found: run}
	}
	return nil
}

// count takes in a grant that was asked for in a run. An error says why it doesn't count.
func (m *member) count(run wire.Run, sent, received drift.Instant) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.standingLocked(received).counts(run); err != nil {
		return err
	}
	//guard:no-vote-without-mark  a vote counts only under a mark, where marks are kept
	if m.watchRestarts && m.quarantine.noMark {
		m.probed = false
		return errUnmarked
	}
	m.quarantine.confirmed(run, sent)
	//guard:grants-are-evidence  a client whose lease rests on another server's vote leaves the mark anew
	m.quarantine.counted(sent)
	return nil
}

// errUnknownServer is the failure of a grant that came when another server had been
// seen under the instance's name, and not been asked yet who it is.
var errUnknownServer = fmt.Errorf("%w, and hasn't said yet who it is", ErrOtherRun)

// errUnmarked is the failure of a grant by a server that could keep no mark when it was
// probed. It is probed again.
var errUnmarked = fmt.Errorf("%w, or may have: it couldn't be written to when it was asked who it is, and is asked again", ErrOtherRun)

func (m *member) leave() {
	m.mu.Lock()
	m.inFlight--
	m.mu.Unlock()
}

// tick reads the server's clock, and finds out whether it is the one that was probed.
//
// Invariant: no server is asked in no run, or in one without an epoch, for longer than it
// hides that. It may have hidden it for a moment only, as a proxy does that answers for it,
// and a server does that can't be written to.
func (m *member) tick() {
	sent := m.reader.Now()
	s := m.standing(sent)
	//guard:epoch-asked-again  a client that could get no epoch asks for it again
	run, hidden := s.run, m.watchRestarts && s.known && s.run.Epoch() == ""
	ballot := m.ask(context.Background(), wire.Request{Op: wire.Tick, Clock: true, Run: run})
	var other *wire.RunError
	switch {
	case errors.As(ballot.Vote.Err, &other):
		m.answeredBy(other)
	case ballot.Vote.Outcome == wire.Granted:
		m.mu.Lock()
		m.quarantine.confirmed(run, sent)
		m.mu.Unlock()
	case permanent(ballot.Vote.Err):
		m.mistrust()
	default:
		return
	}
	ctx, cancel := m.clock.WithTimeout(context.Background(), m.timeout)
	defer cancel()
	// What they find is kept, and told by hooks.
	//guard:hidden-asked-again  a server that hides its run is asked for it again
	if hidden {
		_, _ = m.identify(ctx)
	} else {
		_, _ = m.judge(ctx)
	}
}

// wantsClock reports whether a command should bring the server's clock for the
// monitor. A release need not: what a clock that jumped could have spoilt is the
// vote on a lease, which had it.
func (m *member) wantsClock(op wire.Op) bool { return m.watchClock && op != wire.Release }

// answered takes in a vote.
func (m *member) answered(vote wire.Vote, timeout time.Duration, sent, received drift.Instant) Ballot {
	ballot := Ballot{Instance: m.name, Vote: vote, Latency: drift.Elapsed(sent, received)}
	m.silent.Store(vote.Outcome == wire.Failed)
	if vote.Outcome == wire.Failed {
		ballot.Vote.Err = hideTimeout(vote.Err, timeout)
		return ballot
	}
	m.observe(vote.Clock, sent, received)
	m.owed.answered(received.Mono)
	return ballot
}

// hideTimeout turns the end of the instance's own time-out into ErrTimeout. The
// context that an instance gets is detached from the caller's, so its end is
// never the caller's doing, and must not look like it.
func hideTimeout(err error, after time.Duration) error {
	if err == nil {
		return errNoReason
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, os.ErrDeadlineExceeded) {
		return &timeoutError{after: after, text: err.Error()}
	}
	return err
}

// errNoReason stands in where an Instance broke its contract.
var errNoReason = errors.New("quorum: the instance failed and gave no reason")

// observe shows the monitor a reading of the server's clock.
func (m *member) observe(server time.Time, sent, received drift.Instant) {
	//guard:clock-observed  each reading of a server's clock is shown to the clock monitor
	if !m.watchClock || server.IsZero() {
		return
	}
	m.mu.Lock()
	jump, jumped := m.monitor.Observe(drift.Observation{Sent: sent.Mono, Received: received.Mono, Server: server})
	var verdict *QuarantineError
	if jumped {
		verdict = m.quarantine.jumped(jump, received)
	}
	m.mu.Unlock()
	if !jumped {
		return
	}
	if m.hooks.ClockJumped != nil {
		m.hooks.ClockJumped(ClockEvent{Instance: m.name, Jump: jump})
	}
	m.tellQuarantine(verdict)
}

func (m *member) tellQuarantine(err *QuarantineError) {
	if err != nil && m.hooks.Quarantined != nil {
		m.hooks.Quarantined(QuarantineEvent{Instance: m.name, Err: err})
	}
}

// judge gives the standing, and probes if who the server is isn't known.
func (m *member) judge(ctx context.Context) (standing, error) {
	for {
		m.mu.Lock()
		if s := m.standingLocked(m.reader.Now()); s.known {
			m.mu.Unlock()
			return s, nil
		}
		t := m.turnLocked(func(now drift.Instant) bool { return m.standingLocked(now).known })
		m.mu.Unlock()
		if mine, err := m.await(ctx, t); err != nil {
			return standing{}, err
		} else if !mine {
			continue
		}
		_, err := m.probe(ctx)
		m.mu.Lock()
		if err == nil {
			err = m.unfit
		}
		m.mu.Unlock()
		if err != nil {
			return standing{}, err
		}
	}
}

// answeredBy takes in that another server answered, or another run of it: who it is
// has to be asked before anything counts again.
func (m *member) answeredBy(other *wire.RunError) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.quarantine.answeredBy(other) {
		m.probed = false
	}
}

// mistrust has the server asked anew who it is before anything counts again.
func (m *member) mistrust() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.probed = false
}

// identify gives the answer to a probe of its own, after those under way.
func (m *member) identify(ctx context.Context) (wire.Identity, error) {
	m.mu.Lock()
	t := m.turnLocked(func(drift.Instant) bool { return false })
	m.mu.Unlock()
	if _, err := m.await(ctx, t); err != nil {
		return wire.Identity{}, fmt.Errorf("it can't be asked who it is: %w", err)
	}
	return m.probe(ctx)
}

// probe asks the server who it is and takes the answer in; it ends the turn that
// its caller has taken.
func (m *member) probe(ctx context.Context) (wire.Identity, error) {
	//guard:probe-keeps-its-turn  a probe's turn ends after its answer was taken in
	defer m.endTurn()
	sent := m.reader.Now()
	m.mu.Lock()
	before := m.quarantine.known(sent)
	m.mu.Unlock()
	id, err := m.inst.Probe(ctx, before)
	received := m.reader.Now()
	if err != nil {
		return id, fmt.Errorf("it can't be asked who it is: %w", err)
	}

	m.mu.Lock()
	var verdict *QuarantineError
	m.unfit = nil
	if m.watchRestarts {
		server := cmp.Or(id.RunID, id.ReplID)
		// The claim comes before probed is set: of two members that are one
		// server only one ever votes, whichever was first.
		if other := m.servers.claim(server, m.name); other != "" {
			m.unfit = &DuplicateError{Instance: m.name, Other: other, RunID: server}
		}
		if err := roleError(id); err != nil {
			//guard:masters-vote  a replica doesn't vote, writable or not
			m.unfit = err
		}
		if was := m.quarantine.id.RunID; was != id.RunID {
			// Another machine's clock isn't this one's after a jump.
			m.monitor = drift.Monitor{MaxRate: m.monitor.MaxRate, Tolerance: m.monitor.Tolerance}
		}
		verdict = m.quarantine.identify(id, sent, received)
	}
	m.probed = true
	//guard:hidden-is-told  the user is told of a server that hides its run
	hidden := m.watchRestarts && m.unfit == nil && !m.toldHidden && id.Run() == ""
	m.toldHidden = m.toldHidden || hidden
	m.mu.Unlock()

	m.tellQuarantine(verdict)
	if hidden && m.hooks.Unprotected != nil {
		m.hooks.Unprotected(UnprotectedEvent{Instance: m.name, Hidden: id.Hidden})
	}
	m.observe(id.Clock, sent, received)
	return id, nil
}
