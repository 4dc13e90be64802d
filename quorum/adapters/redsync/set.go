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

// set is the servers of some pools, with a Coordinator for each class of expiries.
//
// A server that may have lost votes must be ignored for as long as any lock that it can have forgotten
// lasts: for MaxTTL, which all clients must agree on. redsync takes any expiry, and one MaxTTL for all
// would have a program whose locks last for 8 s wait for the longest lock that anybody may want.
//
// Invariant: all clients of a name have the MaxTTL of its class, if all give it expiries of one class.
// Otherwise the servers refuse those of the lower class, because a class is a version of the quorum.Set,
// and a set belongs to a key: the higher version takes over. Up to that moment the locks of the lower
// class are shorter than the MaxTTL of both. What isn't covered is a server that loses its data, and with
// it the set, while processes of two classes run: then the lower class ends a quarantine too early. That
// is so for each change of MaxTTL, see docs/running.md.
type set struct {
	cfg     quorum.Config
	fixed   bool // the program has set MaxTTL: it is the only class
	servers []wire.Instance
	closes  []func() error

	mu     sync.Mutex
	locks  map[class]*quorum.Coordinator // that of the default expiry is at class{}
	closed bool
}

// class is what mutexes need to have in common to use one Coordinator.
type class struct {
	doublings int // of MaxTTL, which is 30 s for the default expiry
	halvings  int // of InstanceTimeout, of which a TTL must be more than twice as long
}

// open makes the Coordinator of the default expiry.
func open(cfg quorum.Config, pools []redis.Pool) (*set, error) {
	s := &set{cfg: cfg, fixed: cfg.MaxTTL != 0, locks: make(map[class]*quorum.Coordinator)}
	fail := func(err error) (*set, error) { return nil, errors.Join(err, s.closeServers()) }
	for i, pool := range pools {
		if pool == nil {
			return fail(fmt.Errorf("%w: redsync: pool #%d is nil; make it with goredis.NewPool", quorum.ErrConfig, i))
		}
		server, closing, err := pool.Open()
		if err != nil {
			return fail(fmt.Errorf("redsync: pool #%d: %w", i, err))
		}
		s.servers, s.closes = append(s.servers, server), append(s.closes, closing)
	}
	if s.cfg.TTL == 0 {
		s.cfg.TTL = 8 * time.Second
	}
	locks, err := quorum.New(s.cfg, s.servers...)
	if err != nil {
		return fail(fmt.Errorf("redsync: %w", err))
	}
	s.cfg.MaxTTL, s.cfg.InstanceTimeout = locks.Config().MaxTTL, locks.Config().InstanceTimeout
	s.locks[class{}] = locks
	return s, nil
}

// classOf is the lowest class for an expiry, class{} for one that no class suits.
func (s *set) classOf(expiry time.Duration) (c class) {
	const most = 365 * 24 * time.Hour // quorum.Config.MaxTTL
	var connLife time.Duration
	for _, server := range s.servers {
		connLife = max(connLife, server.ConnLife())
	}
	if !s.fixed && expiry <= most {
		for s.cfg.MaxTTL<<c.doublings < most/2 && expiry > s.cfg.MaxTTL<<c.doublings-connLife {
			c.doublings++
		}
	}
	for expiry > 0 && s.cfg.InstanceTimeout>>c.halvings > max(expiry/4, time.Millisecond) {
		c.halvings++
	}
	return c
}

// of is the Coordinator for an expiry.
func (s *set) of(expiry time.Duration) (*quorum.Coordinator, error) {
	c := s.classOf(expiry)
	s.mu.Lock()
	defer s.mu.Unlock()
	if locks := s.locks[c]; locks != nil || s.closed {
		return locks, nil
	}
	cfg := s.cfg
	cfg.MaxTTL <<= c.doublings
	cfg.Set.Version += uint64(c.doublings)
	if c.halvings > 0 {
		cfg.TTL, cfg.InstanceTimeout = expiry, max(cfg.InstanceTimeout>>c.halvings, time.Millisecond)
	}
	locks, err := quorum.New(cfg, s.servers...)
	if err == nil {
		s.locks[c] = locks
	}
	return locks, err
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
	return errors.Join(errors.Join(errs...), s.closeServers())
}

func (s *set) closeServers() error {
	var errs []error
	for _, closing := range s.closes {
		errs = append(errs, closing())
	}
	return errors.Join(errs...)
}

// shared is a set that several Redsyncs use.
type shared struct {
	*set
	pools  []redis.Pool
	users  int
	ending bool // a goroutine waits for its end
}

var (
	sharedMu   sync.Mutex
	sharedSets []*shared
)

// linger is how long a set stays without users. A Coordinator that is made anew doesn't know which
// clocks have jumped: after MaxTTL that has no meaning any more.
var linger = func(s *shared) time.Duration { return s.cfg.MaxTTL }

// share returns the set of the same pools, or a new one.
func share(pools []redis.Pool) (*shared, error) {
	sharedMu.Lock()
	defer sharedMu.Unlock()
	for _, s := range sharedSets {
		if slices.EqualFunc(s.pools, pools, samePool) {
			s.users++
			return s, nil
		}
	}
	opened, err := open(quorum.Config{}, pools)
	if err != nil {
		return nil, err
	}
	s := &shared{set: opened, pools: slices.Clone(pools), users: 1}
	sharedSets = append(sharedSets, s)
	return s, nil
}

func samePool(a, b redis.Pool) bool {
	return a != nil && b != nil && reflect.TypeOf(a).Comparable() && a == b
}

// leave closes the set if nobody else uses it.
func (s *shared) leave(ctx context.Context) error {
	sharedMu.Lock()
	s.users--
	last := s.users == 0
	if last {
		s.forget()
	}
	sharedMu.Unlock()
	if !last {
		return nil
	}
	return s.close(ctx)
}

// forget takes the set from the list. sharedMu is held.
func (s *shared) forget() {
	sharedSets = slices.DeleteFunc(sharedSets, func(other *shared) bool { return other == s })
}

// dropped is leave for a Redsync that nothing refers to. It closes the set later, unless somebody uses it
// again: when the linger is over, and no lock is kept alive or has its context in use.
func (s *shared) dropped() {
	sharedMu.Lock()
	defer sharedMu.Unlock()
	if s.users--; s.users > 0 || s.ending {
		return
	}
	s.ending = true
	go func() { // it ends when the set is in use again, or closed
		time.Sleep(linger(s))
		for _, locks := range s.all() {
			_ = locks.Settle(context.Background()) // which doesn't end
		}
		sharedMu.Lock()
		if s.ending = false; s.users > 0 {
			sharedMu.Unlock()
			return
		}
		s.forget()
		sharedMu.Unlock()
		_ = s.close(context.Background()) // keys that could not be deleted expire
	}()
}
