package quorum

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/internal/quarantine"
	"github.com/redquorum/redlock/quorum/wire"
)

// server is the server behind one instance as this client sees it: which run it is in, whether it may vote,
// and what its clock shows. Every request to it but a probe (probe.go) is a call (call.go).
type server struct {
	*env
	siblings  servers   // all of the Coordinator's
	registry  *registry // of the Coordinator
	inst      wire.Instance
	connector wire.Connector // nil if inst is none
	notifier  wire.Notifier  // nil if inst is none
	name      string
	index     int // among the servers
	deletes   *deletes

	silent       atomic.Bool // its last request had no answer, or failed
	cannotNotify atomic.Bool // its server said so when it was probed last
	guess        serverClock

	mu             sync.Mutex
	unanswered     int // requests
	quarantine     quarantine.State
	monitor        drift.Monitor
	jump           drift.Jump    // the last one, by 0 if there was none
	jumped         time.Duration // when it was found, by the monotonic clock
	probed         bool          // a probe has found its present run
	probing        *probe        // that is under way
	unfit          error         // what the last probe found that rules out any vote: a duplicate, a replica
	otherSet       error         // clients of another set use the server; nil again after a probe that succeeds
	hiddenReported bool
	policyReported string // the eviction policy that Hooks.Unprotected was last called for
}

// newServer makes the server of an instance.
func newServer(e *env, index int, inst wire.Instance) *server {
	s := &server{
		env: e, inst: inst, name: inst.Name(), index: index,
		//guard:quarantine-length  a quarantine outlasts every lease that the server may have forgotten
		quarantine: quarantine.New(e.cfg.quarantine(), e.cfg.Lab.Drift),
		// Each clock may drift by half the drift allowance's rate. A clock that drifts
		// faster is as bad as one that jumps.
		monitor: drift.Monitor{MaxRate: max(e.cfg.Lab.Drift.PPM/2, 500), Tolerance: e.cfg.clockTolerance()},
	}
	s.connector, _ = inst.(wire.Connector)
	s.notifier, _ = inst.(wire.Notifier)
	return s
}

func (s *server) watchesRestarts() bool { return s.cfg.Lab.RestartQuarantine == On }

func (s *server) watchesClock() bool { return s.cfg.Lab.ClockMonitor == On }

// connected reports whether a request need not wait for a connection.
func (s *server) connected() bool { return s.connector == nil || s.connector.Connected() }

// connect waits for a connection, if a request would have to.
func (s *server) connect(ctx context.Context) error {
	if s.connected() {
		return nil
	}
	err := s.connector.Connect(ctx)
	if err != nil {
		s.silent.Store(true)
	}
	return err
}

// standing says whether a server may vote.
type standing struct {
	identified bool          // a probe found an independent master
	run        wire.Run      // for Request.Run; empty if it is hidden or not watched
	floor      fencing.Token // for Fence.Floor
	otherSet   bool          // it must be probed before it is asked for a vote
	err        error         // why it may not vote, nil if it may
}

func (s *server) standing(now drift.Instant) standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.standingLocked(now)
}

func (s *server) standingLocked(now drift.Instant) standing {
	if s.watchesRestarts() && (!s.probed || s.unfit != nil) {
		// A server that was unfit is probed again each time: a duplicate may have been
		// replaced meanwhile, a replica promoted.
		return standing{err: s.unfit}
	}
	//guard:floor-is-sent  every acquisition says which counters may be older than tokens that were given before
	st := standing{identified: true, run: s.quarantine.Run(), floor: s.quarantine.Floor(s.cfg.MaxTTL), otherSet: s.otherSet != nil}
	if v := s.quarantine.Check(now); !v.MayVote() {
		st.err = quarantineError(v)
	}
	return st
}

// quarantined is the quarantine of the server, nil if there is none.
func (s *server) quarantined(now drift.Instant) *QuarantineError {
	s.mu.Lock()
	defer s.mu.Unlock()
	return quarantineError(s.quarantine.Check(now))
}

// accepts returns nil if a grant counts that answers a request for that run of the server.
// Otherwise the error says why not.
//
// Invariant: a grant that counts was given in the run that the last probe found. The reply
// showed that the server was in that run when it granted (Request.Run). Here the client checks,
// when the grant arrives, that it has seen no other run since, because of two servers that
// answer under one name only one may have a vote at a time. Runs are never reused: if the
// same run is found before and after the grant, it was current at the grant.
//
// This is also true of an extension. Its key was found in place, but after a promotion or a
// change of address other clients may still reach the server that had the key before, and
// not find it there. And a server whose clock jumped does not keep the TTL.
func (st standing) accepts(run wire.Run) error {
	switch {
	//guard:quarantine-checked  a grant of a server in quarantine doesn't count, extensions included
	case st.err != nil:
		return st.err
	case !st.identified:
		return errUnknownServer
	case st.run != run:
		return &wire.RunError{Asked: st.run, Found: run}
	}
	return nil
}

// acceptGrant takes in a grant that answers a request for that run. The error says why it doesn't
// count.
func (s *server) acceptGrant(run wire.Run, sent, received drift.Instant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.standingLocked(received).accepts(run); err != nil {
		return err
	}
	//guard:no-vote-without-mark  a vote counts only under a mark, where marks are kept
	if s.watchesRestarts() && s.quarantine.Unmarked() {
		s.probed = false
		return errUnmarked
	}
	//guard:grants-are-evidence  a client whose lease rests on another server's vote leaves the mark anew
	s.quarantine.GrantAccepted(sent, received)
	return nil
}

// errUnknownServer is the failure of a grant that arrives after another server answered
// under the instance's name, and before that server was probed.
var errUnknownServer = fmt.Errorf("%w, and has not identified itself yet", ErrOtherRun)

// errUnmarked is the failure of a grant by a server that could keep no mark when it was
// probed. It is probed again.
var errUnmarked = fmt.Errorf("%w, or may have: it took no writes when it was probed, and is probed again", ErrOtherRun)

// saw notes that the server answered in the run that it was asked in.
func (s *server) saw(now drift.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quarantine.Seen(now)
}

// answeredBy notes that another server answered, or another run of it. It must be probed
// before a vote counts again.
func (s *server) answeredBy(other *wire.RunError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quarantine.AnsweredBy(other) {
		s.probed = false
	}
}

// noteOtherSet notes that clients of another set use the server. It isn't asked for a vote until a probe
// succeeds. Leases that have its vote are kept: they were given under this client's set.
func (s *server) noteOtherSet(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.otherSet = err
}

// forget demands a new probe before a vote counts again.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.probed = false
}

// wantsClock reports whether an answer should carry the server's clock for the monitor. A
// release need not: a clock that jumped spoils the votes for the lease, and these carried
// it.
func (s *server) wantsClock(op wire.Op) bool { return s.watchesClock() && op != wire.Release }

// learn takes in what a vote says of the server, and hides the timeout in its error.
func (s *server) learn(vote *wire.Vote, timeout time.Duration, sent, received drift.Instant) {
	// A counter that can't be used is one key's. The order of the other keys' instances is not
	// for it to change.
	s.silent.Store(vote.Outcome == wire.Failed && !errors.Is(vote.Err, ErrCounter))
	if vote.Outcome == wire.Failed {
		vote.Err = s.hideTimeout(vote.Err, timeout)
		return
	}
	s.guess.learn(vote.Clock, sent, received)
	s.observe(vote.Clock, sent, received)
	s.deletes.serverAnswered(received.Mono)
}

// hideTimeout turns the end of the instance's own timeout into ErrTimeout. The instance's
// context is detached from the caller's, so its end is never the caller's doing, and must
// not look like it.
func (s *server) hideTimeout(err error, after time.Duration) error {
	if err == nil {
		return errNoReason
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, os.ErrDeadlineExceeded) {
		// What the Instance says, but for what this says itself.
		if far := s.tooFar(after); far != "" {
			return fmt.Errorf("%w: %s", ErrTimeout, far)
		}
		said := strings.TrimSuffix(": "+strings.TrimPrefix(err.Error(), ErrTimeout.Error()+": "), ": "+context.DeadlineExceeded.Error())
		return fmt.Errorf("%w (%v)%s", ErrTimeout, after, said)
	}
	return err
}

// errNoReason stands in where an Instance broke its contract.
var errNoReason = errors.New("quorum: the instance failed and gave no reason")

// tooFar says that the server is too far away for InstanceTimeout, if that can be why it didn't
// answer in a time that may be longer (of an extension, of Verify): answers come too late, or those of requests
// that take a second exchange. The Instance can't tell: it knows only what is left of a request's time.
func (s *server) tooFar(after time.Duration) string {
	timeout := s.cfg.InstanceTimeout
	if s.connector == nil {
		return ""
	}
	trip := s.connector.RoundTrip()
	if trip <= max(after, timeout)/2 {
		return ""
	}
	enough := (3*trip + 10*time.Millisecond - 1).Truncate(10 * time.Millisecond)
	return fmt.Sprintf("it is too far away: a round trip takes %v; set quorum.Config.InstanceTimeout to %v or more", trip.Round(time.Millisecond), enough)
}

// observe passes a reading of the server's clock to the monitor.
func (s *server) observe(clock time.Time, sent, received drift.Instant) {
	//guard:clock-observed  each reading of a server's clock is shown to the clock monitor
	if !s.watchesClock() || clock.IsZero() {
		return
	}
	s.mu.Lock()
	jump, jumped := s.monitor.Observe(drift.Observation{Sent: sent.Mono, Received: received.Mono, Server: clock})
	var excluded quarantine.Exclusion
	if jumped {
		excluded, s.jump, s.jumped = s.quarantine.Jumped(jump, received), jump, received.Mono
	}
	s.mu.Unlock()
	if !jumped {
		return
	}
	everywhere := s.siblings.jumpedEverywhere(received)
	if s.cfg.Hooks.ClockJumped != nil {
		s.cfg.Hooks.ClockJumped(ClockEvent{Instance: s.name, Jump: jump, Everywhere: everywhere})
	}
	s.reportQuarantine(excluded)
}

func (s *server) reportQuarantine(v quarantine.Exclusion) {
	if err := quarantineError(v); err != nil && s.cfg.Hooks.Quarantined != nil {
		s.cfg.Hooks.Quarantined(QuarantineEvent{Instance: s.name, Err: err})
	}
}
