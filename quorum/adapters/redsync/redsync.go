package redsync

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/adapters/redsync/redis"
)

// Redsync makes mutexes on one set of servers. It is safe for concurrent use.
type Redsync struct {
	locks  *quorum.Coordinator // of the expiry that a mutex has without WithExpiry
	set    *set                // nil if the Coordinator is another's
	broken error               // why there is no Coordinator

	closing sync.Once
	dropped runtime.Cleanup // leaves the set
}

// New is redsync's New: it makes mutexes on the servers of the pools, with quorum.Config's
// defaults and an expiry of 8 s. It asks no server.
//
// All that New makes of the same pools, or of pools of the same clients, share their Coordinators and
// connections. They are closed with the last of them: by Close, or some time after nothing in the
// program refers to them any more, and no lock is held. So a New for each request costs little. Keep a
// Mutex for as long as you use its Lease.
//
// If the pools can't be used, every mutex returns the reason when it is to lock; Err returns it at
// once. On takes what a quorum.Config says.
func New(pools ...redis.Pool) *Redsync {
	s, err := share(pools)
	if err != nil {
		return &Redsync{broken: err}
	}
	locks, err := s.of(defaultExpiry)
	r := &Redsync{locks: locks, set: s, broken: err}
	r.dropped = runtime.AddCleanup(r, (*set).dropped, s)
	return r
}

// On makes mutexes on a Coordinator that the program has. The expiry is the Coordinator's TTL
// unless WithExpiry sets it, and its MaxTTL bounds that. Close doesn't close the Coordinator.
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
func (r *Redsync) Coordinator() *quorum.Coordinator {
	if r.set != nil && r.broken == nil {
		if now, err := r.set.of(defaultExpiry); err == nil {
			return now // its MaxTTL follows the longest expiry in use
		}
	}
	return r.locks
}

// Close closes the Coordinators and connections of New, as Coordinator.Close does, with the last Redsync
// that shares them. Unlock before. A second call does nothing more.
func (r *Redsync) Close(ctx context.Context) error {
	if r.set == nil {
		return nil
	}
	var err error
	r.closing.Do(func() {
		r.dropped.Stop()
		err = r.set.leave(ctx)
	})
	return err
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
		m.views, m.err = m.newViews()
	}
	return m
}

// views are a Coordinator's for TryLock and for Lock, which waits as long as redsync's tries and the delays
// between them would take.
type views struct {
	once, locks *quorum.Coordinator
	class       int
}

func (m *Mutex) newViews() (v views, err error) {
	expiry := m.expiry.Truncate(time.Millisecond) // as Redis does
	of := m.rs.locks
	if m.rs.set != nil {
		if of, err = m.rs.set.of(expiry); err != nil {
			return v, &OptionError{"WithExpiry", fmt.Sprintf("%v: %v", m.expiry, err)}
		}
		v.class = int(of.Set().Version)
	}
	for view, wait := range map[**quorum.Coordinator]bool{&v.once: false, &v.locks: true} {
		*view, err = of.WithTerms(func(t *quorum.Terms) {
			t.TTL = expiry
			t.MaxTries, t.MaxWait = 1, 0
			if wait && m.tries > 1 {
				t.MaxTries, t.MaxWait = m.bounds()
			}
		})
		if err != nil {
			return v, &OptionError{"WithExpiry", fmt.Sprintf("%v: %v (redsync.On takes a Coordinator with the quorum.Config of all mutexes)", m.expiry, err)}
		}
	}
	return v, nil
}

// now are the views of the class that is in use now.
func (m *Mutex) now() (v views, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rs.set == nil || m.views.class == m.rs.set.classNow() {
		return m.views, nil
	}
	if v, err = m.newViews(); err == nil {
		m.views = v
	}
	return v, err
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
