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
	"github.com/redquorum/redlock/simulation/redismodel"
)

// readTimeout bounds the wait of a lock on one server for a reply: go-redis's default. (Only
// the library uses quorum.Config.InstanceTimeout.)
const readTimeout = 3 * time.Second

// forever is the validity of a lock without an expiry.
const forever = 365 * 24 * time.Hour

// Recipe is a lock on one server as in an article: the commands, and how their replies are
// used. Acquire, Extend and Release report success. With an error the result is unknown.
type Recipe struct {
	Acquire func(s Session) (bool, error)
	Extend  func(s Session) (bool, error)
	Release func(s Session) (bool, error)
	// Lasts says that the lock has no expiry.
	Lasts bool
	// Early says that the validity counts from before the first command was sent, as
	// in the Redis document, and not from the last reply. Then a lock that has expired
	// by the reply does not count as acquired.
	Early bool
	// Value is the value of all locks. Default: a random one for each.
	Value string
	// Waits, if set, changes how Acquire of a Locker waits.
	Waits func(*Patience)
	// First, if not nil, fetches a fencing token at the first use of the resource, and
	// Current at every use.
	First, Current func(s Session) (fencing.Token, error)
}

// with returns a changed recipe.
func with(r Recipe, change func(*Recipe)) Recipe {
	change(&r)
	return r
}

// Session is one client's use of one lock: it sets Key to Value.
type Session struct {
	Key, Value string

	ctx  context.Context
	lock *single
}

// Do sends one command and waits for its reply, for at most 3 s, go-redis's default.
func (s Session) Do(args ...string) (redismodel.Reply, error) {
	return s.DoWithin(readTimeout, args...)
}

// DoWithin is Do with a timeout of its own.
func (s Session) DoWithin(timeout time.Duration, args ...string) (redismodel.Reply, error) {
	ctx, cancel := s.lock.clock.WithTimeout(s.ctx, timeout)
	defer cancel()
	reply, err := s.lock.server.Do(ctx, args...)
	if err == nil {
		err = reply.Err
	}
	return reply, err
}

// Is sends a command that replies OK or 1 if it succeeds.
func (s Session) Is(args ...string) (bool, error) {
	reply, err := s.Do(args...)
	return err == nil && (reply.Text == "OK" || reply.Int == 1), err
}

// Milliseconds returns the TTL for PX.
func (s Session) Milliseconds() string { return Milliseconds(s.lock.patience.Terms.TTL) }

// Milliseconds returns a duration for PX.
func Milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Seconds returns the TTL for EXPIRE, rounded up.
func (s Session) Seconds() string {
	return strconv.FormatInt(int64((s.lock.patience.Terms.TTL+time.Second-1)/time.Second), 10)
}

// Deadline returns the end of a TTL from now, by the client's wall clock, for PXAT.
func (s Session) Deadline() string {
	return strconv.FormatInt(s.lock.clock.Now().Add(s.lock.patience.Terms.TTL).UnixMilli(), 10)
}

// Counter returns the key of the resource's counter.
func (s Session) Counter() string { return s.Key + ":token" }

// single is a lock on the first server.
type single struct {
	recipe   Recipe
	server   simulation.Redis
	clock    clock.Clock
	reader   *drift.Reader
	random   io.Reader
	patience Patience
}

var _ simulation.Locker = (*single)(nil)

// OnOneServer configures processes to use the recipe.
func OnOneServer(r Recipe) func(*simulation.Config) {
	return func(cfg *simulation.Config) {
		cfg.Guard = simulation.Unguarded
		cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
			if len(p.Redis) == 0 {
				return nil, fmt.Errorf("%w: there is no server to lock on", quorum.ErrConfig)
			}
			s := &single{recipe: r, server: p.Redis[0], clock: p.Config.Clock, reader: drift.NewReader(p.Config.Clock), random: p.Config.Random}
			s.patience = PatienceOf(p)
			if r.Waits != nil {
				r.Waits(&s.patience)
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
	lease := &singleLease{session: Session{ctx: ctx, lock: l, Key: key, Value: value}}
	sent := l.reader.Now()
	had, err := l.recipe.Acquire(lease.session)
	switch {
	case err != nil:
		// It may have been executed. The articles' code ignores that: the caller gets
		// the error, and the key stays for a TTL.
		return nil, fmt.Errorf("%w: %w", quorum.ErrNoQuorum, err)
	case !had:
		return nil, quorum.ErrTaken
	}
	if lease.begin(sent); l.recipe.Early && lease.Validity() <= 0 {
		_, _ = l.recipe.Release(lease.session) // if this fails it expires
		return nil, quorum.ErrTooSlow
	}
	return lease, nil
}

func (l *single) newValue() (string, error) {
	if l.recipe.Value != "" {
		return l.recipe.Value, nil
	}
	return NewValue(l.random)
}

func (l *single) Acquire(ctx context.Context, key string) (simulation.Lease, error) {
	return l.patience.Acquire(ctx, func(int) (simulation.Lease, error) { return l.TryAcquire(ctx, key) })
}

// Close does nothing: nothing runs in the background.
func (l *single) Close(context.Context) error { return nil }

// singleLease is a lease on one server.
type singleLease struct {
	session Session

	mu       sync.Mutex
	start    drift.Instant // the validity counts from here
	token    fencing.Token // fetched at the first use
	released bool
}

// begin starts the validity. The articles' code counts from the reply, and ignores how long it
// took.
func (l *singleLease) begin(sent drift.Instant) {
	start := sent
	if !l.session.lock.recipe.Early {
		start = l.session.lock.reader.Now()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.start = start
}

func (l *singleLease) Key() string   { return l.session.Key }
func (l *singleLease) Value() string { return l.session.Value }

// Quorum is 0: such a lock overestimates its validity by design, in every run, which is not
// reported.
func (l *singleLease) Quorum() int { return 0 }

// Servers is 1: the simulation counts how often a key is on more.
func (l *singleLease) Servers() int { return 1 }

// Token is 0: the lock has none.
func (l *singleLease) Token() fencing.Token { return 0 }

// Show returns the token for the resource, 0 if there is none or it can't be fetched: no guard
// accepts 0.
func (l *singleLease) Show(ctx context.Context) fencing.Token {
	session := l.session
	session.ctx = ctx
	recipe := session.lock.recipe
	switch {
	case recipe.Current != nil:
		token, err := recipe.Current(session)
		if err != nil {
			return 0
		}
		return token
	case recipe.First == nil:
		return 0
	}
	l.mu.Lock()
	token := l.token
	l.mu.Unlock()
	if token != 0 {
		return token
	}
	token, err := recipe.First(session)
	if err != nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.token = token
	return token
}

// Validity is the TTL minus the time since the start, by the monotonic clock.
func (l *singleLease) Validity() time.Duration {
	now := l.session.lock.reader.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.released:
		return 0
	case l.session.lock.recipe.Lasts:
		return forever
	}
	return l.session.lock.patience.Terms.TTL - (now.Mono - l.start.Mono)
}

func (l *singleLease) Extend(ctx context.Context) error {
	session := l.session
	session.ctx = ctx
	sent := session.lock.reader.Now()
	extended, err := session.lock.recipe.Extend(session)
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
	released, err := session.lock.recipe.Release(session)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", quorum.ErrUnreachable, err)
	case !released:
		return quorum.ErrNotHeld
	}
	return nil
}
