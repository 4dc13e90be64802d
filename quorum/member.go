package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/internal/quarantine"
	"github.com/redquorum/redlock/quorum/wire"
)

// member is one instance as the Coordinator sees it. All requests to the instance pass
// through it. It bounds their time and number, decides whether the server may vote, and
// watches the server's clock.
type member struct {
	c         *core
	inst      wire.Instance
	connector wire.Connector // nil if inst is none
	name      string
	index     int // among the members
	cleanup   *cleanup
	leftovers leftovers

	silent       atomic.Bool // its last request had no answer, or failed
	serverClock  serverClock
	cannotNotify atomic.Bool // its server said so when it was probed last

	mu             sync.Mutex
	inFlight       inFlight
	quarantine     quarantine.State
	monitor        drift.Monitor
	jump           drift.Jump    // the last one, by 0 if there was none
	jumped         time.Duration // when it was found, by the monotonic clock
	probed         bool
	probes         int       // that were answered
	probing        bool      // a goroutine probes the server
	probers        []*prober // the others that want to, in the order of arrival
	unfit          error     // what the last probe found that rules out any vote: a duplicate, a replica
	otherSet       error     // clients of another set use the server; nil again after a probe that succeeds
	hiddenReported bool
	policyReported string // the eviction policy that Hooks.Unprotected was last called for
}

// newMember makes a member. The length is that of a quarantine.
func newMember(c *core, index int, inst wire.Instance, length time.Duration) *member {
	m := &member{
		c: c, inst: inst, name: inst.Name(), index: index,
		inFlight: inFlight{most: c.cfg.MaxInFlight},
		//guard:quarantine-length  a quarantine outlasts every lease that the server may have forgotten
		quarantine: quarantine.New(length, c.cfg.Drift),
		// Each clock may drift by half the drift allowance's rate. A clock that drifts
		// faster is as bad as one that jumps.
		monitor: drift.Monitor{MaxRate: max(c.cfg.Drift.PPM/2, 500), Tolerance: c.cfg.ClockTolerance},
	}
	m.connector, _ = inst.(wire.Connector)
	m.cleanup = &cleanup{m: m, window: length, wake: make(chan struct{}, 1)}
	return m
}

func (m *member) watchesRestarts() bool { return m.c.cfg.RestartQuarantine == On }

func (m *member) watchesClock() bool { return m.c.cfg.ClockMonitor == On }

// ask sends a request under the instance's own timeout and waits for the answer, or for
// ctx's end. A grant has no further effect.
func (m *member) ask(ctx context.Context, req wire.Request) Ballot {
	req.Clock = req.Clock || m.wantsClock(req.Op)
	return m.askBy(ctx, req.Op, func(timeout time.Duration, to wire.Receiver) { m.inst.Send(req, timeout, to) })
}

// askBy is ask by any method of the instance.
func (m *member) askBy(ctx context.Context, op wire.Op, send func(timeout time.Duration, to wire.Receiver)) Ballot {
	if ctx.Err() != nil {
		return Ballot{Instance: m.name, Vote: wire.Vote{Unsent: true, Err: interrupted(ctx)}}
	}
	if err := m.connect(ctx); err != nil {
		if err = m.hideTimeout(err, m.c.cfg.InstanceTimeout); ctx.Err() != nil {
			err = interrupted(ctx)
		}
		return Ballot{Instance: m.name, Vote: wire.Vote{Unsent: true, Err: err}}
	}
	sent := m.c.reader.Now()
	if _, err := m.admit(op, uncounted, sent); err != nil {
		return Ballot{Instance: m.name, Vote: wire.Vote{Unsent: true, Err: err}}
	}
	answer := make(chan Ballot, 1)
	send(m.c.cfg.InstanceTimeout, wire.ReceiverFunc(func(vote wire.Vote) {
		ballot := m.takeVote(vote, m.c.cfg.InstanceTimeout, sent, m.c.reader.Now())
		m.requestEnded()
		answer <- ballot
	}))
	select {
	case ballot := <-answer:
		return ballot
	case <-ctx.Done():
		m.c.background.spawn(func() { <-answer }) // soon: it is under the timeout
		return Ballot{Instance: m.name, Vote: wire.Vote{Err: interrupted(ctx)}}
	}
}

// connected reports whether a request need not wait for a connection.
func (m *member) connected() bool { return m.connector == nil || m.connector.Connected() }

// connect waits for a connection, if a request would have to.
func (m *member) connect(ctx context.Context) error {
	if m.connected() {
		return nil
	}
	err := m.connector.Connect(ctx)
	if err != nil {
		m.silent.Store(true)
	}
	return err
}

// requestEnded takes an admitted request off those in flight.
func (m *member) requestEnded() {
	m.mu.Lock()
	m.inFlight.n--
	m.mu.Unlock()
}

// admit counts a request in flight, and returns the server's standing, unless the request is
// uncounted. The error says why the request is not admitted.
func (m *member) admit(op wire.Op, use use, now drift.Instant) (s standing, err error) {
	if use == sentIfItMayVote {
		if err := m.cleanup.full(); err != nil {
			return standing{}, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.inFlight.enter(op); err != nil {
		return standing{}, err
	}
	if use == uncounted {
		return standing{}, nil
	}
	return m.standingLocked(now), nil
}

// use is what the answer to a request is for. A grant in answer to the last two counts on the same
// conditions (acceptGrant): they differ only in when the request is sent.
type use uint8

const (
	// uncounted: a grant has no further effect. It answers a delete or a look.
	uncounted use = iota
	// sentAnyway: the request is sent although the server may not vote now, because the server has
	// the key: an extension, a raise, a restore.
	sentAnyway
	// sentIfItMayVote: the request would set a new key, so it is sent only if the server may vote
	// and its cleanup has room.
	sentIfItMayVote
)

// standing says whether a server may vote.
type standing struct {
	identified bool          // a probe found an independent master
	run        wire.Run      // for Request.Run; empty if it is hidden or not watched
	floor      fencing.Token // for Fence.Floor
	otherSet   bool          // it must be probed before it is asked for a vote
	err        error         // why it may not vote, nil if it may
}

func (m *member) standing(now drift.Instant) standing {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.standingLocked(now)
}

func (m *member) standingLocked(now drift.Instant) standing {
	if m.watchesRestarts() && (!m.probed || m.unfit != nil) {
		// A server that was unfit is probed again each time: a duplicate may have been
		// replaced meanwhile, a replica promoted.
		//guard:promoted-votes-again  a replica that was promoted can vote again
		return standing{err: m.unfit}
	}
	//guard:floor-is-sent  every acquisition says which counters may be older than tokens that were given before
	s := standing{identified: true, run: m.quarantine.Run(), floor: m.quarantine.Floor(m.c.cfg.MaxTTL), otherSet: m.otherSet != nil}
	if v := m.quarantine.Check(now); !v.MayVote() {
		s.err = quarantineError(v)
	}
	return s
}

// quarantined is the quarantine of the server, nil if there is none.
func (m *member) quarantined(now drift.Instant) *QuarantineError {
	m.mu.Lock()
	defer m.mu.Unlock()
	return quarantineError(m.quarantine.Check(now))
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
func (s standing) accepts(run wire.Run) error {
	switch {
	//guard:quarantine-checked  a grant of a server in quarantine doesn't count, extensions included
	case s.err != nil:
		return s.err
	case !s.identified:
		return errUnknownServer
	//guard:same-run-counts  a vote counts only in the run that was found last
	case s.run != run:
		return &wire.RunError{Asked: s.run, Found: run}
	}
	return nil
}

// acceptGrant takes in a grant that answers a request for that run. The error says why it doesn't
// count.
func (m *member) acceptGrant(run wire.Run, sent, received drift.Instant) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.standingLocked(received).accepts(run); err != nil {
		return err
	}
	//guard:no-vote-without-mark  a vote counts only under a mark, where marks are kept
	if m.watchesRestarts() && m.quarantine.Unmarked() {
		m.probed = false
		return errUnmarked
	}
	//guard:grants-are-evidence  a client whose lease rests on another server's vote leaves the mark anew
	m.quarantine.GrantAccepted(sent, received)
	return nil
}

// saw notes that the server answered in the run that it was asked in.
func (m *member) saw(now drift.Instant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.quarantine.Seen(now)
}

// errUnknownServer is the failure of a grant that arrives after another server answered
// under the instance's name, and before that server was probed.
var errUnknownServer = fmt.Errorf("%w, and hasn't said yet who it is", ErrOtherRun)

// errUnmarked is the failure of a grant by a server that could keep no mark when it was
// probed. It is probed again.
var errUnmarked = fmt.Errorf("%w, or may have: it couldn't be written to when it was asked who it is, and is asked again", ErrOtherRun)

// tick reads the server's clock, and checks that it is the server that was probed.
//
// Invariant: if a server hides its run, or has no epoch, requests to it name none only for
// as long as that lasts. It may last only for a moment: because a proxy answers in its
// place, or because the server can't write.
func (m *member) tick() {
	sent := m.c.reader.Now()
	s := m.standing(sent)
	//guard:epoch-asked-again  a client that could get no epoch asks for it again
	run, hidden := s.run, m.watchesRestarts() && s.identified && s.run.Epoch() == ""
	ballot := m.ask(context.Background(), wire.Request{Op: wire.Tick, Clock: true, Run: run})
	other := otherRun(ballot.Vote.Err)
	switch {
	case other != nil:
		m.answeredBy(other)
	case ballot.Vote.Outcome == wire.Granted:
		m.saw(m.c.reader.Now())
	case permanent(ballot.Vote.Err):
		m.forget()
	default:
		return
	}
	ctx, cancel := m.c.clock.WithTimeout(context.Background(), m.c.cfg.InstanceTimeout)
	defer cancel()
	// Their results are kept in the member, and hooks report them.
	//guard:hidden-asked-again  a server that hides its run is asked for it again
	if hidden {
		_, _ = m.identify(ctx)
	} else {
		_, _ = m.identifyIfUnknown(ctx, false)
	}
}

// wantsClock reports whether an answer should carry the server's clock for the monitor. A
// release need not: a clock that jumped spoils the votes for the lease, and these carried
// it.
func (m *member) wantsClock(op wire.Op) bool { return m.watchesClock() && op != wire.Release }

// takeVote learns from a vote what it says of the server, and makes it a ballot.
func (m *member) takeVote(vote wire.Vote, timeout time.Duration, sent, received drift.Instant) Ballot {
	ballot := Ballot{Instance: m.name, Vote: vote, Latency: drift.Elapsed(sent, received)}
	// A counter that can't be used is one key's. The order of the other keys' instances is not
	// for it to change.
	m.silent.Store(vote.Outcome == wire.Failed && !errors.Is(vote.Err, ErrCounter))
	if vote.Outcome == wire.Failed {
		ballot.Vote.Err = m.hideTimeout(vote.Err, timeout)
		return ballot
	}
	m.serverClock.learn(vote.Clock, sent, received)
	m.observe(vote.Clock, sent, received)
	m.cleanup.instanceAnswered(received.Mono)
	return ballot
}

// hideTimeout turns the end of the instance's own timeout into ErrTimeout. The instance's
// context is detached from the caller's, so its end is never the caller's doing, and must
// not look like it.
func (m *member) hideTimeout(err error, after time.Duration) error {
	if err == nil {
		return errNoReason
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: after %v: %s", ErrTimeout, after, cmp.Or(m.tooFar(after), err.Error()))
	}
	return err
}

// tooFar says that the server is too far away for InstanceTimeout, if that can be why it didn't
// answer in a time that may be longer (of an extension, of Verify): answers come too late, or those of requests
// that take a second exchange. The Instance can't tell: it knows only what is left of a request's time.
func (m *member) tooFar(after time.Duration) string {
	timeout := m.c.cfg.InstanceTimeout
	if m.connector == nil {
		return ""
	}
	trip := m.connector.RoundTrip()
	if trip <= max(after, timeout)/2 {
		return ""
	}
	roundUp := func(d, to time.Duration) time.Duration { return (d + to - 1) / to * to }
	enough := roundUp(3*trip, 10*time.Millisecond)
	return fmt.Sprintf("the server is too far away for an InstanceTimeout of %v: a round trip takes %v; set quorum.Config.InstanceTimeout to %v or more, and TTL to %v or more",
		timeout, trip.Round(time.Millisecond), enough, roundUp(3*enough, 100*time.Millisecond))
}

// errNoReason stands in where an Instance broke its contract.
var errNoReason = errors.New("quorum: the instance failed and gave no reason")

// observe passes a reading of the server's clock to the monitor.
func (m *member) observe(server time.Time, sent, received drift.Instant) {
	//guard:clock-observed  each reading of a server's clock is shown to the clock monitor
	if !m.watchesClock() || server.IsZero() {
		return
	}
	m.mu.Lock()
	jump, jumped := m.monitor.Observe(drift.Observation{Sent: sent.Mono, Received: received.Mono, Server: server})
	var verdict quarantine.Verdict
	if jumped {
		verdict, m.jump, m.jumped = m.quarantine.Jumped(jump, received), jump, received.Mono
	}
	m.mu.Unlock()
	if !jumped {
		return
	}
	everywhere := m.c.jumpedEverywhere(received)
	if m.c.cfg.Hooks.ClockJumped != nil {
		m.c.cfg.Hooks.ClockJumped(ClockEvent{Instance: m.name, Jump: jump, Everywhere: everywhere})
	}
	m.reportQuarantine(verdict)
}

// jumpedEverywhere reports, once, that all servers' clocks went the same way by about the same at
// once, as when this machine was paused. It says so in their quarantines, which stay: the readings
// can't tell a pause of this machine from a step of all servers, as by a time source that they share
// or a host that they run on. After such a step keys have ended early under leases of other clients,
// which may still count on them.
func (c *core) jumpedEverywhere(now drift.Instant) bool {
	if len(c.members) < 2 {
		return false
	}
	var least, most time.Duration
	for i, m := range c.members {
		m.mu.Lock()
		by, at := m.jump.By, m.jumped
		m.mu.Unlock()
		// Each clock is read at least every ClockEvery.
		if by == 0 || now.Mono-at > c.cfg.ClockEvery+2*c.cfg.InstanceTimeout {
			return false
		}
		if i == 0 {
			least, most = by, by
		}
		least, most = min(least, by), max(most, by)
	}
	// A jump is known to within the time that its reading took, and the drift since the last one.
	if least < 0 {
		least, most = -most, -least
	}
	if least <= 0 || most > 2*least {
		return false
	}
	first := false
	for i, m := range c.members {
		m.mu.Lock()
		// Two may be the last at once. The first member decides which of them tells.
		if news := m.quarantine.JumpedEverywhere(); i == 0 {
			first = news
		}
		m.mu.Unlock()
	}
	return first
}

func (m *member) reportQuarantine(v quarantine.Verdict) {
	if err := quarantineError(v); err != nil && m.c.cfg.Hooks.Quarantined != nil {
		m.c.cfg.Hooks.Quarantined(QuarantineEvent{Instance: m.name, Err: err})
	}
}

// serverClock is what is known of one server's clock: from the last reply that carried it. The zero
// serverClock knows nothing.
//
// Coordinators guess what the servers' clocks show, so that the counters of a new resource start at
// the same token on all servers. No safety depends on a guess: servers bound what they do with it
// (wire.Fence.Token). It only saves the second stage of a round.
type serverClock struct {
	ahead   atomic.Int64 // of the local monotonic clock, in microseconds; 0: not known
	latency atomic.Int64 // of replies, an average in microseconds
}

// learn takes in a reply that carried the clock, or the zero Time.
func (c *serverClock) learn(clock time.Time, sent, received drift.Instant) {
	if clock.IsZero() {
		return
	}
	latency := (received.Mono - sent.Mono).Microseconds()
	if before := c.latency.Load(); before > 0 {
		latency = before + (latency-before)/8
	}
	c.latency.Store(max(latency, 1))
	c.ahead.Store(clock.UnixMicro() - received.Mono.Microseconds())
}

// startToken is the token at which the counters of a new resource should start in a round that begins
// now: above the clock that each server will probably show when it is asked, so that all can
// start there. It returns 0 if fewer clocks than the quorum are known, or if the token would be
// further ahead of the slowest clock than a counter should be: if one that is ahead of its clock is lost
// where nobody waits, later tokens may be smaller.
//
// So neither a clock far ahead nor a slow server counts unless a quorum is like it.
func (c *core) startToken(now drift.Instant) fencing.Token {
	var buffers [2][bufferedInstances]int64
	known, latencies := buffers[0][:0], buffers[1][:0]
	for _, m := range c.members {
		if m.silent.Load() {
			continue
		}
		if ahead := m.serverClock.ahead.Load(); ahead != 0 {
			known, latencies = append(known, ahead), append(latencies, m.serverClock.latency.Load())
		}
	}
	quorum, most := c.majority.Q, min(c.cfg.ahead()/2, 4*c.cfg.InstanceTimeout)
	if len(known) < quorum {
		return 0
	}
	slices.Sort(known)
	slices.Sort(latencies)
	// A guess is behind by the way of the last reply, and the request has a way to go. The rest
	// is for requests that are slower than the average.
	lead := 4 * latencies[quorum-1]
	last := known[quorum-1]
	for _, ahead := range known[quorum:] {
		if ahead-known[quorum-1] <= lead {
			last = ahead
		}
	}
	if last-known[0]+lead > most.Microseconds() {
		return 0
	}
	//guard:start-above-the-clocks  new counters start at a token that all servers can start at
	token := fencing.Token(max(0, now.Mono.Microseconds()+last+lead))
	if !token.Valid() {
		return 0
	}
	return token
}
