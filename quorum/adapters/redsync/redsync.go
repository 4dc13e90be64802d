package redsync

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/adapters/redsync/redis"
	"github.com/redquorum/redlock/quorum/wire"
)

// Redsync makes mutexes on one set of servers. It is safe for concurrent use. Make one, keep it,
// and Close it: it watches the servers' clocks and restarts, and has connections of its own.
type Redsync struct {
	locks        *quorum.Coordinator
	closeServers func() error // nil if the Coordinator is another's
	broken       error        // why there is no Coordinator
}

// New is redsync's New: it makes mutexes on the servers of the pools, with quorum.Config's
// defaults and an expiry of 8 s. It asks no server.
//
// If the pools can't be used, every mutex returns the reason when it is to lock; Err returns it at
// once. Open returns it, and takes a quorum.Config.
func New(pools ...redis.Pool) *Redsync {
	r, err := Open(quorum.Config{}, pools...)
	if err != nil {
		return &Redsync{broken: err}
	}
	return r
}

// Open is New with a configuration and an error. A TTL of 0 means 8 s, which is redsync's default.
func Open(cfg quorum.Config, pools ...redis.Pool) (*Redsync, error) {
	var servers []wire.Instance
	var closes []func() error
	closeServers := sync.OnceValue(func() error {
		var errs []error
		for _, closing := range closes {
			errs = append(errs, closing())
		}
		return errors.Join(errs...)
	})
	fail := func(err error) (*Redsync, error) { return nil, errors.Join(err, closeServers()) }
	for i, pool := range pools {
		if pool == nil {
			return fail(fmt.Errorf("%w: redsync: pool #%d is nil; make it with goredis.NewPool", quorum.ErrConfig, i))
		}
		server, closing, err := pool.Open()
		if err != nil {
			return fail(fmt.Errorf("redsync: pool #%d: %w", i, err))
		}
		servers, closes = append(servers, server), append(closes, closing)
	}
	if cfg.TTL == 0 {
		cfg.TTL = 8 * time.Second
	}
	locks, err := quorum.New(cfg, servers...)
	if err != nil {
		return fail(fmt.Errorf("redsync: %w", err))
	}
	return &Redsync{locks: locks, closeServers: closeServers}, nil
}

// On makes mutexes on a Coordinator that the program has. The expiry is the Coordinator's TTL
// unless WithExpiry sets it. Close doesn't close the Coordinator.
func On(locks *quorum.Coordinator) *Redsync {
	if locks == nil {
		return &Redsync{broken: fmt.Errorf("%w: redsync: the Coordinator is nil; make one with quorum.New", quorum.ErrConfig)}
	}
	return &Redsync{locks: locks}
}

// Err says why no mutex of r can lock, nil if there is no such reason.
func (r *Redsync) Err() error { return r.broken }

// Coordinator is what the mutexes lock with, nil if Err isn't: for Verify at the start, and for
// all that redsync's API doesn't have.
func (r *Redsync) Coordinator() *quorum.Coordinator { return r.locks }

// Close closes what New or Open has made: the Coordinator, as its Close does, and the clients.
// Unlock before. A second call does nothing more.
func (r *Redsync) Close(ctx context.Context) error {
	if r.closeServers == nil {
		return nil
	}
	return errors.Join(r.locks.Close(ctx), r.closeServers())
}

// NewMutex makes a mutex. The name is the lock's key: redsync and package quorum lock the same
// keys. An option that can't be honoured is an *OptionError of every call that would lock.
func (r *Redsync) NewMutex(name string, options ...Option) *Mutex {
	m := &Mutex{rs: r, name: name, tries: 32, delay: redsyncDelay, err: r.broken}
	if m.err != nil {
		return m
	}
	m.expiry = r.locks.Terms().TTL
	for _, option := range options {
		if option == nil {
			m.refuse("Option", "it is nil; leave it out")
			continue
		}
		option.Apply(m)
	}
	if m.err == nil {
		m.once, m.locks, m.err = m.views()
	}
	return m
}

// views are the Coordinator's for TryLock and for Lock, which waits as long as redsync's tries
// and the delays between them would take.
func (m *Mutex) views() (once, locks *quorum.Coordinator, err error) {
	expiry := m.expiry.Truncate(time.Millisecond) // as Redis does
	for view, wait := range map[**quorum.Coordinator]bool{&once: false, &locks: true} {
		*view, err = m.rs.locks.WithTerms(func(t *quorum.Terms) {
			t.TTL = expiry
			t.MaxTries, t.MaxWait = 1, 0
			if wait && m.tries > 1 {
				t.MaxTries, t.MaxWait = m.bounds()
			}
		})
		if err != nil {
			return nil, nil, &OptionError{"WithExpiry", fmt.Sprintf("%v: %v (redsync.Open takes the quorum.Config of all mutexes)", m.expiry, err)}
		}
	}
	return once, locks, nil
}

// bounds are the terms of Lock. Without any delay only the tries bound it.
func (m *Mutex) bounds() (tries int, wait time.Duration) {
	const sampled, forever = 1000, 365 * 24 * time.Hour
	delays := min(m.tries-1, sampled)
	var sum float64
	for i := range delays {
		sum += float64(max(0, m.delay(i+1)))
	}
	sum *= float64(m.tries-1) / float64(delays)
	switch {
	case sum >= float64(forever):
		return 0, 0 // the context's end
	case sum < float64(time.Millisecond):
		return m.tries, 0
	}
	return 0, time.Duration(sum)
}
