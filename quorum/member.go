package quorum

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/drift"
)

// member is one instance as the Coordinator sees it: it bounds the time and the
// number of commands, decides whether the instance may vote, and watches its
// clock. Everything that is sent to an instance goes through here.
type member struct {
	inst    Instance
	starter Starter // inst, if it is one
	name    string

	clock   clock.Clock
	reader  *drift.Reader
	timeout time.Duration
	hooks   *Hooks
	lives   *lives
	owed    *debts

	silent        atomic.Bool // its last command had no answer
	maxInFlight   int
	watchRestarts bool
	watchClock    bool

	mu          sync.Mutex
	inFlight    int
	quarantine  quarantine
	monitor     drift.Monitor
	probed      bool
	probedEpoch uint64
	probing     bool         // somebody has the turn to probe
	turns       []*probeTurn // of who waits for it, in the order of arrival
	duplicate   *DuplicateError
	toldHidden  bool
}

// ask sends one command under the instance's own time-out. It counts nothing
// and judges nothing but the time.
func (m *member) ask(ctx context.Context, cmd Command) Ballot {
	ballot := Ballot{Instance: m.name}
	if !m.enter() {
		ballot.Vote = Vote{Unsent: true, Err: ErrOverloaded}
		return ballot
	}
	defer m.leave()
	ctx, cancel := m.clock.WithTimeout(ctx, m.timeout)
	defer cancel()
	return m.exchange(ctx, cmd)
}

// vote asks for a vote on a new lease. Only a member that may vote is asked,
// and only a vote that was given by a server that may vote is counted.
func (m *member) vote(ctx context.Context, cmd Command) Ballot {
	ballot := Ballot{Instance: m.name}
	// An instance that is owed too many deletes gets nothing new to delete.
	if m.owed.full() || !m.enter() {
		ballot.Vote = Vote{Unsent: true, Err: ErrOverloaded}
		return ballot
	}
	defer m.leave()
	ctx, cancel := m.clock.WithTimeout(ctx, m.timeout)
	defer cancel()

	began := m.reader.Now()
	life, err := m.mayVote(ctx, 0)
	if err != nil {
		ballot.Vote = Vote{Unsent: true, Err: m.hideTimeout(err)}
		ballot.Latency = drift.Elapsed(began, m.reader.Now())
		return ballot
	}
	cmd.Life = life
	ballot = m.exchange(ctx, cmd)
	if ballot.Vote.Outcome == Granted {
		ballot = m.plausible(ballot, cmd.Fence)
	}
	if ballot.Vote.Outcome != Granted {
		return ballot
	}
	// The command may have travelled on a connection that was opened after the
	// last probe, to a server that was restarted since; or its clock may have
	// been seen to jump with this very answer. Invariant: a vote is counted
	// only if a probe that began after its connection was opened found a server
	// that may vote, in the life that the command was sent for.
	if err := m.mayCount(ctx, ballot.Vote.Epoch, cmd.Life); err != nil {
		return m.unproven(ballot, err)
	}
	return ballot
}

func (m *member) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.enterLocked()
}

func (m *member) enterLocked() bool {
	if m.inFlight >= m.maxInFlight {
		return false
	}
	m.inFlight++
	return true
}

// admit is enter, and for a vote says as well whether the member may give one, as
// far as that is known.
func (m *member) admit(voting bool, now drift.Instant) (entered bool, s standing) {
	// An instance that is owed too many deletes gets nothing new to delete.
	if voting && m.owed.full() {
		return false, standing{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.enterLocked() {
		return false, standing{}
	}
	if !voting {
		return true, standing{judged: true}
	}
	return true, m.standingLocked(0, now)
}

// standing is whether a server may vote.
type standing struct {
	judged bool   // by a probe that covers all connections that matter
	life   string // the run id that this probe found; empty if hidden or not watched
	err    error  // nil: it may
}

// standing judges by what is known, for all connections opened up to epoch.
func (m *member) standing(epoch uint64, now drift.Instant) standing {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.standingLocked(epoch, now)
}

func (m *member) standingLocked(epoch uint64, now drift.Instant) standing {
	// A duplicate is asked again each time: one of the two may have been replaced
	// meanwhile.
	if m.watchRestarts && (!m.probed || m.probedEpoch < epoch || m.duplicate != nil) {
		return standing{}
	}
	s := standing{judged: true, life: m.quarantine.runID}
	if q := m.quarantine.check(now); q != nil {
		s.err = q
	}
	return s
}

// counts is nil if a grant counts that was asked for in a life of the server.
//
// Invariant: a grant with fencing that counts came from a server in the life that
// the command named, so that its counter was lifted to the clock unless it was
// granted from in this very life before (see Command.Life). Without this a server
// that was restarted under the command, and that somebody vouches for, would go on
// from the counter that it came back with: the record beside it has the old life, as
// the command has. Lives are never led twice, so one that is found both before and
// after the grant was led in between.
func (s standing) counts(life string) error {
	if s.err == nil && s.life != life {
		return fmt.Errorf("it granted in another life than it was asked in: its run id was %.8s, and is %.8s", orHidden(life), orHidden(s.life))
	}
	return s.err
}

func orHidden(runID string) string {
	if runID == "" {
		return "hidden"
	}
	return runID
}

func (m *member) leave() {
	m.mu.Lock()
	m.inFlight--
	m.mu.Unlock()
}

// exchange sends the command, measures, and shows the monitor what came back.
func (m *member) exchange(ctx context.Context, cmd Command) Ballot {
	cmd.Clock = cmd.Clock || m.wantsClock(cmd.Op)
	sent := m.reader.Now()
	vote := m.inst.Do(ctx, cmd)
	return m.answered(vote, sent, m.reader.Now())
}

// wantsClock reports whether a command should bring the server's clock for the
// monitor. A release need not: what a clock that jumped could have spoilt is the
// vote on a lease, which had it.
func (m *member) wantsClock(op Op) bool { return m.watchClock && op != Release }

// answered takes in a vote.
func (m *member) answered(vote Vote, sent, received drift.Instant) Ballot {
	ballot := Ballot{Instance: m.name, Vote: vote, Latency: drift.Elapsed(sent, received)}
	m.silent.Store(vote.Outcome == Failed)
	if vote.Outcome == Failed {
		ballot.Vote.Err = m.hideTimeout(vote.Err)
		return ballot
	}
	m.observe(vote.Clock, sent, received)
	m.owed.answered()
	return ballot
}

// hideTimeout turns the end of the instance's own time-out into ErrTimeout. The
// context that an instance gets is detached from the caller's, so its end is
// never the caller's doing, and must not look like it.
func (m *member) hideTimeout(err error) error { return hideTimeout(err, m.timeout) }

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

// mayVote gives the life in which the server may vote, judged by a probe that
// covers all connections opened up to epoch.
func (m *member) mayVote(ctx context.Context, epoch uint64) (life string, err error) {
	s, err := m.judge(ctx, epoch)
	if err != nil {
		return "", err
	}
	return s.life, s.err
}

// mayCount is nil if a grant counts that came on a connection opened up to epoch, to
// a command for that life.
func (m *member) mayCount(ctx context.Context, epoch uint64, life string) error {
	s, err := m.judge(ctx, epoch)
	if err != nil {
		return err
	}
	return s.counts(life)
}

// judge gives the standing by a probe that covers all connections opened up to
// epoch, and probes if there was none yet.
func (m *member) judge(ctx context.Context, epoch uint64) (standing, error) {
	for {
		m.mu.Lock()
		if s := m.standingLocked(epoch, m.reader.Now()); s.judged {
			m.mu.Unlock()
			return s, nil
		}
		t := m.turnLocked(func(now drift.Instant) bool { return m.standingLocked(epoch, now).judged })
		m.mu.Unlock()
		if mine, err := m.await(ctx, t); err != nil {
			return standing{}, err
		} else if !mine {
			continue
		}
		_, err := m.probe(ctx)
		m.mu.Lock()
		if err == nil && m.duplicate != nil {
			err = m.duplicate
		}
		m.mu.Unlock()
		if err != nil {
			return standing{}, err
		}
	}
}

// identify gives the answer to a probe of its own, after those under way.
func (m *member) identify(ctx context.Context) (Identity, error) {
	m.mu.Lock()
	t := m.turnLocked(func(drift.Instant) bool { return false })
	m.mu.Unlock()
	if _, err := m.await(ctx, t); err != nil {
		return Identity{}, fmt.Errorf("it can't be asked who it is: %w", err)
	}
	return m.probe(ctx)
}

// inTime turns an extension's grant into a failed vote while the server's clock is
// in quarantine: it has been extended there, but a clock that runs away counts the
// TTL faster than the drift allowance covers. That the server may have been
// restarted doesn't matter here, for the key was found in place.
func (m *member) inTime(vote Vote) Vote {
	if vote.Outcome != Granted {
		return vote
	}
	m.mu.Lock()
	q := m.quarantine.jump.err(ClockJumped, m.reader.Now())
	m.mu.Unlock()
	if q == nil {
		return vote
	}
	return Vote{Err: q, Epoch: vote.Epoch}
}

// stale reports whether a connection was opened since the last probe, or there
// was none yet, and probes matter.
func (m *member) stale(epoch uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.watchRestarts && (!m.probed || m.probedEpoch < epoch)
}

// probe asks the server who it is and takes the answer in; it ends the turn that
// its caller has taken.
func (m *member) probe(ctx context.Context) (Identity, error) {
	defer m.endTurn()
	sent := m.reader.Now()
	id, err := m.inst.Probe(ctx)
	received := m.reader.Now()
	if err != nil {
		return id, fmt.Errorf("it can't be asked who it is: %w", err)
	}

	m.mu.Lock()
	var duplicate *DuplicateError
	var verdict *QuarantineError
	if m.watchRestarts {
		// The claim comes before probed is set: of two members that are one
		// server only one ever votes, whichever was first.
		if other := m.lives.claim(id.RunID, m.name); other != "" {
			duplicate = &DuplicateError{Instance: m.name, Other: other, RunID: id.RunID}
		}
		verdict = m.quarantine.identify(id, received)
	}
	m.duplicate = duplicate
	m.probed = true
	m.probedEpoch = max(m.probedEpoch, id.Epoch)
	hidden := m.watchRestarts && !m.toldHidden && id.RunID == ""
	m.toldHidden = m.toldHidden || hidden
	m.mu.Unlock()

	m.tellQuarantine(verdict)
	if hidden && m.hooks.Unprotected != nil {
		m.hooks.Unprotected(UnprotectedEvent{Instance: m.name, Hidden: id.Hidden})
	}
	m.observe(id.Clock, sent, received)
	return id, nil
}
