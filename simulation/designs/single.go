package designs

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// ReadTimeout is how long a lock on one server waits for an answer: go-redis's
// default. (quorum.Config.InstanceTimeout is the library's own affair.)
const ReadTimeout = 3 * time.Second

// forever is the validity of a lock without an expiry.
const forever = 365 * 24 * time.Hour

// recipe is a lock on one server as an article writes it down: the commands, in
// their order, and what is made of the answers. Each part reports whether the lock
// is had, was extended, was released; an error means that nobody knows.
type recipe struct {
	acquire func(s session) (bool, error)
	extend  func(s session) (bool, error)
	release func(s session) (bool, error)
	// lasts says that the lock has no expiry.
	lasts bool
	// early says that the validity counts from before the first command was sent, as
	// the Redis document has it, and not from the last answer. Then a lock that is over
	// when the answer comes isn't had.
	early bool
	// value, if not "", is what all locks' keys are set to.
	value string
	// waits, if set, changes how Acquire waits.
	waits func(*patience)
	// first, if not nil, fetches a fencing token when the resource is first used,
	// and current each time that it is.
	first, current func(s session) (fencing.Token, error)
}

// with is a recipe with a change.
func with(r recipe, change func(*recipe)) recipe {
	change(&r)
	return r
}

// session is one client's talk with the server about one lock.
type session struct {
	ctx        context.Context
	lock       *single
	key, value string
}

// do sends one command and waits for its answer for as long as clients do.
func (s session) do(args ...string) (simulation.Reply, error) {
	return s.doWithin(ReadTimeout, args...)
}

func (s session) doWithin(timeout time.Duration, args ...string) (simulation.Reply, error) {
	ctx, cancel := s.lock.clock.WithTimeout(s.ctx, timeout)
	defer cancel()
	reply, err := s.lock.server.Do(ctx, args...)
	if err == nil {
		err = reply.Err
	}
	return reply, err
}

// is sends a command whose answer is OK or 1 for yes.
func (s session) is(args ...string) (bool, error) {
	reply, err := s.do(args...)
	return err == nil && (reply.Text == "OK" || reply.Int == 1), err
}

// ms is the TTL as PX takes it.
func (s session) ms() string { return strconv.FormatInt(s.lock.patience.terms.TTL.Milliseconds(), 10) }

// seconds is the TTL as EXPIRE takes it, rounded up.
func (s session) seconds() string {
	return strconv.FormatInt(int64((s.lock.patience.terms.TTL+time.Second-1)/time.Second), 10)
}

// deadline is the end of a TTL from now on the client's wall clock, as PXAT takes it.
func (s session) deadline() string {
	return strconv.FormatInt(s.lock.clock.Now().Add(s.lock.patience.terms.TTL).UnixMilli(), 10)
}

// counter is the key of the resource's counter, where a recipe has one.
func (s session) counter() string { return s.key + ":token" }

// single is a lock on one server: the first that there is.
type single struct {
	recipe   recipe
	server   simulation.Redis
	clock    clock.Clock
	reader   *drift.Reader
	random   io.Reader
	patience patience
}

var _ simulation.Locker = (*single)(nil)

// onOne makes a Config's processes lock by the recipe.
func onOne(r recipe) func(*simulation.Config) {
	return func(cfg *simulation.Config) {
		cfg.Guard = simulation.Unguarded
		cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
			if len(p.Redis) == 0 {
				return nil, fmt.Errorf("%w: there is no server to lock on", quorum.ErrConfig)
			}
			s := &single{recipe: r, server: p.Redis[0], clock: p.Config.Clock, reader: drift.NewReader(p.Config.Clock), random: p.Config.Random}
			s.patience = patience{clock: p.Config.Clock, random: p.Config.Random, terms: p.Config.Terms}
			if r.waits != nil {
				r.waits(&s.patience)
			}
			return s, nil
		}
	}
}

func (l *single) TryAcquire(ctx context.Context, key string) (simulation.Lease, error) {
	value, err := l.newValue()
	if err != nil {
		return nil, err
	}
	lease := &singleLease{session: session{ctx: ctx, lock: l, key: key, value: value}}
	sent := l.reader.Now()
	had, err := l.recipe.acquire(lease.session)
	switch {
	case err != nil:
		// It may have been carried out. The articles' code doesn't ask: the error
		// goes up, and the key stays for a TTL.
		return nil, fmt.Errorf("%w: %w", quorum.ErrNoQuorum, err)
	case !had:
		return nil, quorum.ErrTaken
	}
	if lease.begin(sent); l.recipe.early && lease.Validity() <= 0 {
		_, _ = l.recipe.release(lease.session) // if this fails it expires
		return nil, quorum.ErrTooSlow
	}
	return lease, nil
}

func (l *single) newValue() (string, error) {
	if l.recipe.value != "" {
		return l.recipe.value, nil
	}
	return newValue(l.random)
}

func (l *single) Acquire(ctx context.Context, key string) (simulation.Lease, error) {
	return l.patience.acquire(ctx, func(int) (simulation.Lease, error) { return l.TryAcquire(ctx, key) })
}

// Close has nothing to close: there is nothing in the background.
func (l *single) Close(context.Context) error { return nil }

// singleLease is a lock that was had on one server.
type singleLease struct {
	session session

	mu       sync.Mutex
	start    drift.Instant // from which the validity counts
	token    fencing.Token // that was fetched at the first use
	released bool
}

// begin starts the validity. The articles' code counts from here, where the answer
// has come: it doesn't know how long that took.
func (l *singleLease) begin(sent drift.Instant) {
	start := sent
	if !l.session.lock.recipe.early {
		start = l.session.lock.reader.Now()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.start = start
}

func (l *singleLease) Key() string   { return l.session.key }
func (l *singleLease) Value() string { return l.session.value }

// Quorum is 0: what such a lock believes of its validity is more than what is true
// by design, on every run, and isn't worth a remark.
func (l *singleLease) Quorum() int { return 0 }

// Servers is 1: how often it is more is counted.
func (l *singleLease) Servers() int { return 1 }

// Token is 0: none comes with the lock.
func (l *singleLease) Token() fencing.Token { return 0 }

// Show is the token that the resource is shown, 0 if there is none or it can't be
// fetched: no guard takes that for a token.
func (l *singleLease) Show(ctx context.Context) fencing.Token {
	session := l.session
	session.ctx = ctx
	recipe := session.lock.recipe
	switch {
	case recipe.current != nil:
		token, err := recipe.current(session)
		if err != nil {
			return 0
		}
		return token
	case recipe.first == nil:
		return 0
	}
	l.mu.Lock()
	token := l.token
	l.mu.Unlock()
	if token != 0 {
		return token
	}
	token, err := recipe.first(session)
	if err != nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.token = token
	return token
}

// Validity is the TTL less what has passed since the start, by the monotonic clock.
func (l *singleLease) Validity() time.Duration {
	now := l.session.lock.reader.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.released:
		return 0
	case l.session.lock.recipe.lasts:
		return forever
	}
	return l.session.lock.patience.terms.TTL - (now.Mono - l.start.Mono)
}

func (l *singleLease) Extend(ctx context.Context) error {
	session := l.session
	session.ctx = ctx
	sent := session.lock.reader.Now()
	extended, err := session.lock.recipe.extend(session)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", quorum.ErrNotExtended, err)
	case !extended:
		return quorum.ErrLost
	}
	l.begin(sent)
	return nil
}

func (l *singleLease) Release(ctx context.Context) error {
	l.mu.Lock()
	again := l.released
	l.released = true
	l.mu.Unlock()
	if again {
		return quorum.ErrReleased
	}
	session := l.session
	session.ctx = ctx
	released, err := session.lock.recipe.release(session)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", quorum.ErrUnreachable, err)
	case !released:
		return quorum.ErrNotHeld
	}
	return nil
}
