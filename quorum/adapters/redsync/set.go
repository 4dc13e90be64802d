package redsync

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/adapters/redsync/redis"
	"github.com/redquorum/redlock/quorum/wire"
)

// set is the servers of some pools. What New makes of the same pools shares one.
//
// A server that may have lost votes must be ignored for as long as any lock that it can have forgotten
// lasts: for MaxTTL, which all clients must agree on. redsync takes any expiry. So MaxTTL follows the longest
// expiry that is in use on the servers: each class of expiries has a MaxTTL, and is a version of the quorum.Set.
// A client that wants a longer lock takes the servers over with a higher version. The others are refused then,
// and follow (see follow).
//
// Invariant: all clients whose votes count have one MaxTTL, because a server has one set. Up to the moment at
// which a higher class takes over, the locks of the lower class are shorter than the MaxTTL of both. What isn't
// covered is a server that loses its data, and with it the set, while a process of a lower class runs that
// doesn't know of the higher one: then it ends a quarantine too early. That is so for each change of MaxTTL, see
// docs/running.md.
type set struct {
	pools    []redis.Pool
	servers  []wire.Instance
	closes   []func() error
	connLife time.Duration
	users    int // guarded by setsMu

	mu     sync.Mutex
	class  int // the highest that is known to be in use
	locks  map[kind]*quorum.Coordinator
	closed bool
}

// kind is what the Coordinators differ in.
type kind struct {
	class   int // how often MaxTTL is doubled
	timeout time.Duration
}

// The defaults, of class 0: redsync's expiry, and quorum's MaxTTL and InstanceTimeout for it.
const (
	defaultExpiry  = 8 * time.Second
	defaultMaxTTL  = 30 * time.Second
	defaultTimeout = 80 * time.Millisecond
)

// highest is the highest class: MaxTTL is at most a year.
const highest = 20

// maxTTL is the MaxTTL of a class.
func maxTTL(class int) time.Duration { return defaultMaxTTL << class }

// of is the Coordinator for an expiry. A class doubles MaxTTL so often that the expiry fits, and all expiries in
// use. InstanceTimeout is halved for a brief expiry, because a TTL must be more than twice as long.
func (s *set) of(expiry time.Duration) (*quorum.Coordinator, error) {
	class, timeout := 0, defaultTimeout
	for class < highest && expiry > maxTTL(class)-s.connLife {
		class++
	}
	for expiry > 0 && timeout > max(expiry/4, time.Millisecond) {
		timeout /= 2
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.class = max(s.class, class)
	of := kind{s.class, max(timeout, time.Millisecond)}
	if locks := s.locks[of]; locks != nil {
		return locks, nil
	}
	if s.closed {
		return nil, quorum.ErrClosed
	}
	cfg := quorum.Config{MaxTTL: maxTTL(of.class), InstanceTimeout: of.timeout}
	cfg.TTL, cfg.Set.Version = defaultExpiry, uint64(of.class)
	if timeout < defaultTimeout {
		cfg.TTL = expiry
	}
	locks, err := quorum.New(cfg, s.servers...)
	if err == nil {
		s.locks[of] = locks
	}
	return locks, err
}

// classNow is the highest class that is known to be in use.
func (s *set) classNow() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.class
}

// follow reports whether a lock of that class was refused because a process has taken the servers over with a
// higher class, or this process has one. The mutexes of this process follow.
func (s *set) follow(class int, err error) bool {
	refused, is := errors.AsType[*wire.SetMismatchError](err)
	if !is {
		return false
	}
	theirs, bad := wire.ParseSet(refused.Theirs)
	s.mu.Lock()
	defer s.mu.Unlock()
	if bad == nil && theirs.Version <= highest && int(theirs.Version) > s.class {
		mine := wire.Set{Version: theirs.Version, N: refused.Mine.N, Q: refused.Mine.Q, MaxTTL: maxTTL(int(theirs.Version))}
		if theirs == mine {
			s.class = int(theirs.Version)
		}
	}
	return s.class > class
}

// all are the Coordinators that there are.
func (s *set) all() (all []*quorum.Coordinator) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, locks := range s.locks {
		all = append(all, locks)
	}
	return all
}

// close closes the Coordinators, and then the servers.
func (s *set) close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	var errs []error
	for _, locks := range s.all() {
		errs = append(errs, locks.Close(ctx))
	}
	for _, closing := range s.closes {
		errs = append(errs, closing())
	}
	return errors.Join(errs...)
}

var (
	setsMu sync.Mutex
	sets   []*set
)

// linger is how long a set stays without users. A Coordinator that is made anew doesn't know which
// clocks have jumped: after MaxTTL that has no meaning any more.
var linger = defaultMaxTTL

// share returns the set of the same pools, or a new one.
func share(pools []redis.Pool) (*set, error) {
	setsMu.Lock()
	defer setsMu.Unlock()
	for _, s := range sets {
		if slices.EqualFunc(s.pools, pools, samePool) {
			s.users++
			return s, nil
		}
	}
	s := &set{pools: slices.Clone(pools), users: 1, locks: map[kind]*quorum.Coordinator{}}
	fail := func(err error) (*set, error) { return nil, errors.Join(err, s.close(context.Background())) }
	for i, pool := range pools {
		if pool == nil {
			return fail(fmt.Errorf("%w: redsync: pool #%d is nil; make it with goredis.NewPool", quorum.ErrConfig, i))
		}
		server, closing, err := pool.Open()
		if err != nil {
			return fail(fmt.Errorf("redsync: pool #%d: %w", i, err))
		}
		s.servers, s.closes, s.connLife = append(s.servers, server), append(s.closes, closing), max(s.connLife, server.ConnLife())
	}
	if _, err := s.of(defaultExpiry); err != nil {
		return fail(fmt.Errorf("redsync: %w", err))
	}
	sets = append(sets, s)
	return s, nil
}

func samePool(a, b redis.Pool) bool {
	return a != nil && b != nil && reflect.TypeOf(a).Comparable() && a == b
}

// leave closes the set if nobody else uses it.
func (s *set) leave(ctx context.Context) error {
	setsMu.Lock()
	s.users--
	last := s.users == 0
	if last {
		sets = slices.DeleteFunc(sets, func(other *set) bool { return other == s })
	}
	setsMu.Unlock()
	if !last {
		return nil
	}
	return s.close(ctx)
}

// dropped is leave for a Redsync that nothing refers to. The last one stays a user until the linger is
// over, and no lock is kept alive or has its context in use.
func (s *set) dropped() {
	time.AfterFunc(linger, func() {
		setsMu.Lock()
		last := s.users == 1
		if !last {
			s.users--
		}
		setsMu.Unlock()
		if !last {
			return
		}
		for _, locks := range s.all() {
			_ = locks.Settle(context.Background()) // which doesn't end
		}
		_ = s.leave(context.Background()) // keys that could not be deleted expire
	})
}
