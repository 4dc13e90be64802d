package redsync

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/adapters/redsync/redis"
	"github.com/redquorum/redlock/quorum/wire"
)

// set is the servers of some pools, and the Coordinator on them. What New makes of the same pools shares one.
type set struct {
	pools  []redis.Pool
	locks  *quorum.Coordinator // nil if the pools can't be used
	closes []func() error
	users  int // guarded by setsMu
}

var (
	setsMu sync.Mutex
	sets   []*set
)

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
	s := &set{pools: slices.Clone(pools), users: 1}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.close(context.Background()))
	}
	sets = append(sets, s)
	return s, nil
}

func samePool(a, b redis.Pool) bool {
	return a != nil && b != nil && reflect.TypeOf(a).Comparable() && a == b
}

func (s *set) open() (err error) {
	var servers []wire.Instance
	for i, pool := range s.pools {
		if pool == nil {
			return fmt.Errorf("%w: redsync: pool #%d is nil; make it with goredis.NewPool", quorum.ErrConfig, i)
		}
		server, closing, err := pool.Open()
		if err != nil {
			return fmt.Errorf("redsync: pool #%d: %w", i, err)
		}
		servers, s.closes = append(servers, server), append(s.closes, closing)
	}
	if s.locks, err = quorum.New(quorum.Config{TTL: defaultExpiry}, servers...); err != nil {
		return fmt.Errorf("redsync: %w", err)
	}
	return nil
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

// close closes the Coordinator, and then the servers.
func (s *set) close(ctx context.Context) error {
	var errs []error
	if s.locks != nil {
		errs = append(errs, s.locks.Close(ctx))
	}
	for _, closing := range s.closes {
		errs = append(errs, closing())
	}
	return errors.Join(errs...)
}
