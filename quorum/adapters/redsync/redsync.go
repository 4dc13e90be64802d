package redsync

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/adapters/redsync/redis"
)

// defaultExpiry is redsync's.
const defaultExpiry = 8 * time.Second

// Redsync makes mutexes on one set of servers. It is safe for concurrent use.
type Redsync struct {
	locks  *quorum.Coordinator
	broken error // why there is no Coordinator

	set     *set // nil if the Coordinator is another's
	closing sync.Once
}

// New is redsync's New: it makes mutexes on the servers of the pools, with quorum.Config's
// defaults and an expiry of 8 s. It asks no server. On takes what a quorum.Config says.
//
// All that New makes of the same pools, or of pools of the same clients, share a Coordinator and its
// connections, which the last Close closes. So a New for each request costs little, also without Close, as long as
// the clients are the same.
//
// If the pools can't be used, every mutex returns the reason when it is to lock; Err returns it at
// once.
func New(pools ...redis.Pool) *Redsync {
	s, err := share(pools)
	if err != nil {
		return &Redsync{broken: err}
	}
	return &Redsync{locks: s.locks, set: s}
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
func (r *Redsync) Coordinator() *quorum.Coordinator { return r.locks }

// Close closes the Coordinator and the connections of New, as Coordinator.Close does, with the last Redsync
// that shares them. Unlock before. A second call does nothing more.
func (r *Redsync) Close(ctx context.Context) (err error) {
	if r.set != nil {
		r.closing.Do(func() { err = r.set.leave(ctx) })
	}
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
	if m.err != nil {
		return m
	}
	var err error
	m.locks, err = r.locks.WithTerms(func(t *quorum.Terms) {
		t.TTL = m.expiry.Truncate(time.Millisecond) // as Redis does
		t.MaxTries, t.MaxWait = m.bounds()
	})
	if err != nil {
		m.refuse("WithExpiry", fmt.Sprintf("%v: %v; give redsync.On a Coordinator whose quorum.Config allows that", m.expiry, err))
	}
	return m
}

// bounds are the terms of Lock, which waits as long as redsync's tries and the delays between them would take.
// Without any delay only the tries bound it.
func (m *Mutex) bounds() (tries int, wait time.Duration) {
	const sampled, forever = 1000, 365 * 24 * time.Hour
	if m.tries <= 1 {
		return 1, 0
	}
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
