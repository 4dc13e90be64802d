package designs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// readTimeout bounds the wait of a lock on one server for a reply: go-redis's default. (Only
// the library uses quorum.Config.InstanceTimeout.)
const readTimeout = 3 * time.Second

// forever is the validity of a lock without an expiry.
const forever = 365 * 24 * time.Hour

// Recipe is a lock on one server as in an article: its commands. Without commands an operation
// always succeeds.
type Recipe struct {
	Acquire, Extend, Release []Command
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
	// Replicas, if not 0, is how many replicas must have acknowledged a grant or an extension
	// within WaitAtMost, 0 for forever: by WAIT. Otherwise the key is released.
	Replicas   int
	WaitAtMost time.Duration
	// Token, if set, fetches a fencing token at every use of the resource, or with TokenOnce at
	// the first.
	Token     Command
	TokenOnce bool
}

// with returns a changed recipe.
func with(r Recipe, change func(*Recipe)) Recipe {
	change(&r)
	return r
}

// Command is a command with its arguments. These words stand for what the lock has:
//
//	KEY      its key
//	VALUE    its value
//	MS       its TTL in milliseconds
//	SECONDS  its TTL in seconds, rounded up
//	UNTIL    the end of a TTL from now, in milliseconds by the client's wall clock
//	COUNTER  the key of the resource's counter
type Command []string

// Commands are commands that are sent one after the other, each if the one before it has
// succeeded: with the reply OK, with a positive number, or with the lock's value. A semicolon
// separates them.
func Commands(text string) []Command {
	var all []Command
	for one := range strings.SplitSeq(text, ";") {
		all = append(all, strings.Fields(one))
	}
	return all
}

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
	return LockBy(func(p simulation.Process) (simulation.Locker, error) {
		if len(p.Redis) == 0 {
			return nil, fmt.Errorf("%w: there is no server to lock on", quorum.ErrConfig)
		}
		s := &single{
			recipe: r, server: p.Redis[0], clock: p.Config.Lab.Clock, reader: drift.NewReader(p.Config.Lab.Clock),
			random: p.Config.Lab.Random, patience: PatienceOf(p),
		}
		if r.Waits != nil {
			r.Waits(&s.patience)
		}
		return s, nil
	})
}

func (l *single) TryAcquire(ctx context.Context, key string) (simulation.Lease, error) {
	value := l.recipe.Value
	if value == "" {
		var err error
		if value, err = NewValue(l.random); err != nil {
			return nil, err
		}
	}
	lease := &singleLease{lock: l, key: key, value: value}
	sent := l.reader.Now()
	had, err := lease.send(ctx, l.recipe.Acquire)
	if had {
		if err = lease.replicated(ctx); err != nil {
			_, _ = lease.send(ctx, l.recipe.Release) // if this fails it expires
		}
	}
	switch {
	case err != nil:
		// It may have been executed. The articles' code ignores that: the caller gets
		// the error, and the key stays for a TTL.
		return nil, fmt.Errorf("%w: %w", quorum.ErrNoQuorum, err)
	case !had:
		return nil, quorum.ErrTaken
	}
	if lease.begin(sent); l.recipe.Early && lease.Validity() <= 0 {
		_, _ = lease.send(ctx, l.recipe.Release) // if this fails it expires
		return nil, quorum.ErrTooSlow
	}
	return lease, nil
}

func (l *single) Acquire(ctx context.Context, key string) (simulation.Lease, error) {
	return l.patience.Acquire(ctx, func(int) (simulation.Lease, error) { return l.TryAcquire(ctx, key) })
}

// Close does nothing: nothing runs in the background.
func (l *single) Close(context.Context) error { return nil }

// singleLease is a lease on one server.
type singleLease struct {
	lock       *single
	key, value string

	mu       sync.Mutex
	start    drift.Instant // the validity counts from here
	token    fencing.Token // fetched at the first use
	released bool
}

// do sends one command and waits for its reply.
func (l *singleLease) do(ctx context.Context, command Command) (redismodel.Reply, error) {
	ttl := l.lock.patience.TTL
	args := slices.Clone(command)
	for i, arg := range args {
		switch arg {
		case "KEY":
			args[i] = l.key
		case "VALUE":
			args[i] = l.value
		case "MS":
			args[i] = Milliseconds(ttl)
		case "SECONDS":
			args[i] = strconv.FormatInt(int64((ttl+time.Second-1)/time.Second), 10)
		case "UNTIL":
			args[i] = strconv.FormatInt(l.lock.clock.Now().Add(ttl).UnixMilli(), 10)
		case "COUNTER":
			args[i] = l.key + ":token"
		}
	}
	ctx, cancel := l.lock.clock.WithTimeout(ctx, readTimeout)
	defer cancel()
	reply, err := l.lock.server.Do(ctx, args...)
	if err == nil {
		err = reply.Err
	}
	return reply, err
}

// send reports whether all commands have succeeded. With an error the result is unknown.
func (l *singleLease) send(ctx context.Context, commands []Command) (bool, error) {
	for _, command := range commands {
		reply, err := l.do(ctx, command)
		if err != nil || reply.Text != "OK" && reply.Int < 1 && reply.Text != l.value {
			return false, err
		}
	}
	return true, nil
}

// replicated waits until enough replicas have the key.
func (l *singleLease) replicated(ctx context.Context) error {
	n := l.lock.recipe.Replicas
	if n == 0 {
		return nil
	}
	reply, err := l.do(ctx, Command{"WAIT", strconv.Itoa(n), Milliseconds(l.lock.recipe.WaitAtMost)})
	if err == nil && reply.Int < int64(n) {
		err = wire.ErrNotReplicated
	}
	return err
}

// Milliseconds returns a duration for PX.
func Milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// begin starts the validity. The articles' code counts from the reply, and ignores how long it
// took.
func (l *singleLease) begin(sent drift.Instant) {
	start := sent
	if !l.lock.recipe.Early {
		start = l.lock.reader.Now()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.start = start
}

func (l *singleLease) Key() string   { return l.key }
func (l *singleLease) Value() string { return l.value }

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
	l.mu.Lock()
	token := l.token
	l.mu.Unlock()
	if l.lock.recipe.Token == nil || token != 0 {
		return token
	}
	reply, err := l.do(ctx, l.lock.recipe.Token)
	if err != nil {
		return 0
	}
	token = fencing.Token(max(0, reply.Int))
	if reply.Text != "" {
		if token, err = fencing.ParseToken(reply.Text); err != nil {
			return 0
		}
	}
	if l.lock.recipe.TokenOnce {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.token = token
	}
	return token
}

// Validity is the TTL minus the time since the start, by the monotonic clock.
func (l *singleLease) Validity() time.Duration {
	now := l.lock.reader.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.released:
		return 0
	case l.lock.recipe.Lasts:
		return forever
	}
	return l.lock.patience.TTL - (now.Mono - l.start.Mono)
}

func (l *singleLease) Extend(ctx context.Context) error {
	sent := l.lock.reader.Now()
	extended, err := l.send(ctx, l.lock.recipe.Extend)
	if extended {
		err = l.replicated(ctx)
	}
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
	released, err := l.send(ctx, l.lock.recipe.Release)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", quorum.ErrUnreachable, err)
	case !released:
		return quorum.ErrNotHeld
	}
	return nil
}
