package election

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
)

// The errors, for errors.Is.
var (
	// ErrNotLeader: this candidate doesn't lead.
	ErrNotLeader = errors.New("election: this candidate does not lead")

	// ErrNoLeader: nobody leads, as far as the servers show.
	ErrNoLeader = errors.New("election: there is no leader")

	// ErrResigned is the cause of a leader's context that ended because of Resign.
	ErrResigned = errors.New("election: leader resigned")

	// ErrTermOver is the cause of a leader's context that ended a margin before its lease.
	ErrTermOver = errors.New("election: term is over")

	// ErrRunning: Run was called while a Run of the same Election goes on.
	ErrRunning = errors.New("election: already running")
)

// Config sets up an Election. The zero Config is ready to use.
type Config struct {
	// Margin is how long before the end of its lease a leader's context ends: 1 ms to half of
	// the Coordinator's TTL. The leader has that long to stop what it has begun, before another
	// candidate can lead. A longer margin leaves less of the TTL for servers that can't be
	// reached for a while. Default: a tenth of TTL, at least 1 ms.
	Margin time.Duration
}

// Election is one candidate, or a process that only asks for the leader. It is safe for concurrent use, and has no
// goroutine outside of Run.
type Election struct {
	locks *quorum.Coordinator
	name  string
	cfg   Config

	mu      sync.Mutex
	running bool
	term    *term // while this candidate leads
}

// none reports whether New didn't make the Election.
func (e *Election) none() bool { return e == nil || e.locks == nil }

var errNoElection = fmt.Errorf("%w: the Election is nil, or was not made by New; look at the error that came instead of it", quorum.ErrConfig)

// New makes an Election on a Coordinator, with a view of its terms. Elections of the same name
// on the same servers are one election. The name is the lock's key, so no lock for another
// purpose may use it. The leader is known to others by the Coordinator's Config.Owner: an address
// at which it can be reached, for example. New asks no server.
//
// Terms.MaxTries and Terms.MaxWait don't apply, because a candidate waits until its context
// ends. Terms.MaxLife bounds a term. Use one Election of a name in each process.
//
// All errors are quorum.ErrConfig.
func New(locks *quorum.Coordinator, name string, cfg Config) (*Election, error) {
	if locks == nil {
		return nil, fmt.Errorf("%w: election: the Coordinator is nil; make one with quorum.New", quorum.ErrConfig)
	}
	of := locks.Config()
	if of.Lab.Fencing == quorum.Off {
		return nil, fmt.Errorf("%w: election: the Coordinator has Fencing Off, but a term's number is a fencing token: turn Fencing on in all clients", quorum.ErrConfig)
	}
	if err := quorum.ValidateKey(name); err != nil {
		return nil, fmt.Errorf("election: the name: %w", err)
	}
	if cfg.Margin == 0 {
		cfg.Margin = max(of.TTL/10, time.Millisecond)
	}
	if cfg.Margin < time.Millisecond || cfg.Margin > of.TTL/2 {
		return nil, fmt.Errorf("%w: election: Margin is %v, want 1ms to %v, half of TTL: the first extensions come when a third of a lease is used up", quorum.ErrConfig, cfg.Margin, of.TTL/2)
	}
	view, err := locks.WithTerms(func(t *quorum.Terms) {
		// A term must not be over when it begins.
		t.MaxTries, t.MaxWait, t.MinValidity = 0, 0, max(t.MinValidity, cfg.Margin)
	})
	if err != nil {
		return nil, fmt.Errorf("election: Margin is %v, and MinValidity at least that: %w", cfg.Margin, err)
	}
	return &Election{locks: view, name: name, cfg: cfg}, nil
}

// Run campaigns, and calls lead when this candidate leads. The context of lead ends with ctx or
// with the term: a margin before its lease, when the lease is lost, or by Resign.
// context.Cause says which: ErrTermOver, ErrResigned, or an error of quorum (ErrExpired, ErrLost,
// ErrClosed). lead must return when its context has ended: nobody leads before that, unless the
// lease expires.
//
// If the term was over when lead returned, Run campaigns again, whatever lead returned, after a
// pause in which every waiting candidate tries at least once (twice the Coordinator's BackoffMax,
// and InstanceTimeout). Otherwise lead has resigned by returning: Run releases the lease, which
// notifies the next candidate, and returns lead's error. That Is also quorum.ErrNotHeld if the
// keys were gone: then lead may have worked beside another leader.
//
// Run also returns when ctx ends, whether this candidate leads or not, with an error that Is
// quorum.ErrInterrupted and ctx's error, and also lead's error if that isn't nil. While servers can't be
// reached it waits, as Acquire does. It returns errors that waiting can't cure (see Coordinator.Acquire),
// quorum.ErrClosed when the Coordinator is closed, and ErrRunning.
//
// A panic in lead, or in a hook, passes on after the release.
func (e *Election) Run(ctx context.Context, lead func(ctx context.Context, term fencing.Token) error) error {
	if e.none() {
		return errNoElection
	}
	if lead == nil {
		return fmt.Errorf("%w: election %q: the function is nil; give Run what the leader does", quorum.ErrConfig, e.name)
	}
	e.mu.Lock()
	again := e.running
	e.running = true
	e.mu.Unlock()
	if again {
		return fmt.Errorf("%w (%q): use one Run for each Election", ErrRunning, e.name)
	}
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.running = false
	}()
	for of := e.locks.Config(); ; {
		over, err := e.campaign(ctx, lead)
		if !over {
			return err
		}
		select {
		case <-of.Lab.Clock.After(2*of.Lab.BackoffMax + of.InstanceTimeout):
		case <-ctx.Done():
		}
	}
}

// campaign waits for a term and leads. It reports whether the term was over when lead returned,
// for another reason than ctx.
func (e *Election) campaign(ctx context.Context, lead func(context.Context, fencing.Token) error) (over bool, err error) {
	// Ends the leader's context, but not the lease: the lease is released when lead has
	// returned.
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	err = e.locks.Do(inner, e.name, func(held context.Context, lease *quorum.Lease) error {
		t := &term{Context: held, lease: lease, margin: e.cfg.Margin, end: end}
		defer t.watch(e.locks.Config().Lab.Clock)()
		e.lead(t)
		defer e.lead(nil)
		err := lead(t, lease.Token())
		over = t.Err() != nil && ctx.Err() == nil
		if why := ctx.Err(); why != nil { // as for a candidate that doesn't lead
			if cause := context.Cause(ctx); cause != why {
				why = fmt.Errorf("%w: %w", why, cause)
			}
			err = errors.Join(fmt.Errorf("%w: %w", quorum.ErrInterrupted, why), err)
		}
		return err
	})
	return over, err
}

// lead notes that this candidate leads, or that it doesn't.
func (e *Election) lead(t *term) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = t
}

// leading is this candidate's term, nil if it doesn't lead.
func (e *Election) leading() *term {
	if e.none() {
		return nil
	}
	e.mu.Lock()
	t := e.term
	e.mu.Unlock()
	//guard:leader-looks-at-clock  a candidate whose term is over doesn't say that it leads
	if t == nil || t.Err() != nil {
		return nil
	}
	return t
}

// IsLeader returns nil if this candidate leads now, by its own clock, and asks no server. The
// error Is ErrNotLeader, or ctx's if that has ended. It is what gocron calls an Elector.
//
// The process may be paused right after it. A job that starts because of it should pass Term to
// what it changes.
func (e *Election) IsLeader(ctx context.Context) error {
	if e.none() {
		return errNoElection
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w (%q): %w", ErrNotLeader, e.name, err)
	}
	if e.leading() == nil {
		return fmt.Errorf("%w (%q)", ErrNotLeader, e.name)
	}
	return nil
}

// Term is the number of this candidate's term. It is 0, which no guard accepts, if this
// candidate doesn't lead.
func (e *Election) Term() fencing.Token {
	if t := e.leading(); t != nil {
		return t.lease.Token()
	}
	return 0
}

// Resign ends this candidate's term: the leader's context ends with ErrResigned, and when its
// function has returned, the lease is released, which notifies the next candidate. Run then
// campaigns again. To resign for good, end the context of Run.
//
// Resign doesn't wait, so the leader may call it. The error is ErrNotLeader if there is no term
// to end.
func (e *Election) Resign() error {
	if e.none() {
		return errNoElection
	}
	t := e.leading()
	if t == nil {
		return fmt.Errorf("%w (%q): it has no term to resign from", ErrNotLeader, e.name)
	}
	t.end(ErrResigned)
	return nil
}

// Leader is who led when the servers were asked. It is for people, dashboards and clients that
// look for the leader. A leader that is paused or cut off doesn't know that its term is over, so
// only the term that it shows to a resource decides.
type Leader struct {
	// ID is the leader's Config.Owner, empty if it has none.
	ID string
	// Remaining is how long the leader's keys keep a quorum unless it extends its lease. The
	// leader's own term is shorter.
	Remaining time.Duration
}

// Leader asks the servers who leads. The error Is ErrNoLeader if no candidate has a quorum of
// them; otherwise it is Coordinator.Inspect's (quorum.ErrNoQuorum, ErrInterrupted, ErrClosed).
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	if e.none() {
		return Leader{}, errNoElection
	}
	found, err := e.locks.Inspect(ctx, e.name)
	if err != nil {
		return Leader{}, fmt.Errorf("election %q: %w", e.name, err)
	}
	held := found.Held()
	if held == nil {
		return Leader{}, fmt.Errorf("%w (%q)", ErrNoLeader, e.name)
	}
	return Leader{ID: held.Owner, Remaining: held.Remaining}, nil
}
