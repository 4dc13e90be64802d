package quorum_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
)

// workers are goroutines of one process that wait for "k" in turn. Each reports its lease and
// releases it on request.
type workers struct {
	f      *fixture
	group  sync.WaitGroup
	leases chan *quorum.Lease
	let    chan struct{}
	errs   chan error
	last   fencing.Token
	holder *quorum.Lease // the last one, written by the holder
}

// newWorkers makes n workers and then one for each of the others. All are in the queue before the
// first one gets the lock, so that its round reserves tokens for them.
func newWorkers(f *fixture, c *quorum.Coordinator, n int, others ...*quorum.Coordinator) *workers {
	f.t.Helper()
	all := n + len(others)
	w := &workers{f: f, leases: make(chan *quorum.Lease, all), let: make(chan struct{}), errs: make(chan error, all)}
	first, err := c.Acquire(f.ctx, "k")
	require.NoError(f.t, err)
	w.last = first.Token()
	for range n {
		w.join(f.ctx, c)
	}
	for _, other := range others {
		w.join(f.ctx, other)
	}
	time.Sleep(ms) // the servers' clocks tick, so that tokens can be reserved
	require.NoError(f.t, first.Release(f.ctx))
	return w
}

// join adds a waiter to the queue.
func (w *workers) join(ctx context.Context, c *quorum.Coordinator) {
	w.group.Go(func() {
		lease, err := c.Acquire(ctx, "k")
		if err != nil {
			w.errs <- err
			return
		}
		if w.holder != nil {
			assert.Error(w.f.t, w.holder.Err(), "two hold it")
		}
		w.holder = lease
		w.leases <- lease
		<-w.let
		w.errs <- lease.Release(w.f.ctx)
	})
	synctest.Wait()
}

// next returns the current holder's lease.
func (w *workers) next() *quorum.Lease {
	w.f.t.Helper()
	select {
	case lease := <-w.leases:
		synctest.Wait() // the next waiter is ready for the hand-off
		if token := lease.Token(); token != 0 {
			require.Greater(w.f.t, token, w.last)
			w.last = token
		}
		return lease
	case <-time.After(time.Minute):
		require.FailNow(w.f.t, "nobody has the lock")
		return nil
	}
}

// pass lets the holder release, and returns the next holder's lease.
func (w *workers) pass() *quorum.Lease {
	w.f.t.Helper()
	w.release()
	return w.next()
}

func (w *workers) release() {
	w.f.t.Helper()
	w.let <- struct{}{}
	require.NoError(w.f.t, <-w.errs)
}

// The lock passes between goroutines of a process without a request to the servers.
func TestCohortPassesTheLockOn(t *testing.T) {
	for name, fencing := range map[string]quorum.Switch{"with tokens": quorum.On, "without": quorum.Off} {
		t.Run(name, func(t *testing.T) {
			playNotifying(t, 5, func(f *fixture) {
				f.warm()
				f.lag(ms)
				w := newWorkers(f, f.Coordinator, 8)
				first := w.next()
				before, at := f.sent("k"), time.Now()
				value, deadline, last := first.Value(), first.Deadline(), first.Token()
				within := first.Context()
				for range 7 {
					time.Sleep(10 * ms)
					lease := w.pass()
					require.ErrorIs(f.t, context.Cause(within), quorum.ErrReleased, "two hold it")
					require.Equal(f.t, value, lease.Value())
					require.Equal(f.t, deadline, lease.Deadline(), "a hand-off adds no time")
					require.Len(f.t, lease.Votes(), 5)
					if fencing == quorum.On {
						require.Equal(f.t, last+1, lease.Token())
					}
					last, within = lease.Token(), lease.Context()
				}
				assert.Equal(f.t, 70*ms, time.Since(at))
				assert.Equal(f.t, before, f.sent("k"), "no server is asked")
				w.release()
				w.group.Wait()
				f.requireNothingLeft()
				assert.Equal(f.t, before+5, f.sent("k"), "the last holder releases")
				if fencing == quorum.On {
					assert.Greater(f.t, f.acquire("k").Token(), last)
				}
			}, func(cfg *quorum.Config) { cfg.Fencing, cfg.TTL = fencing, 10*time.Minute })
		})
	}
}

// The next holder after a cohort has a larger token than all of the cohort, whatever became of its
// leases. That includes a holder that was refused, or lost its counters, in between.
func TestCohortsTokensAreBelowTheNext(t *testing.T) {
	for name, end := range map[string]func(f *fixture, w *workers){
		"released": func(_ *fixture, w *workers) { w.release() },
		"run out":  func(f *fixture, _ *workers) { time.Sleep(time.Until(f.began.Add(time.Hour))) },
		"two lost": func(f *fixture, w *workers) {
			w.release()
			f.each(func(s *quorumtest.Server) { s.Restart(false) }, 0, 3)
			f.vouch(0)
			f.vouch(3)
		},
		"two behind": func(f *fixture, w *workers) {
			w.release()
			f.each(func(s *quorumtest.Server) { s.PutCounter("k", 1, f.Set().String()) }, 1, 2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			playNotifying(t, 5, func(f *fixture) {
				f.warm()
				f.travel(ms) // otherwise the keys of the next lease could arrive before the first lease's are deleted
				w := newWorkers(f, f.Coordinator, 3)
				w.next()
				time.Sleep(10 * ms) // it is on all servers
				w.pass()
				last := w.pass()
				before := f.sent("k")
				other := f.other()
				end(f, w)
				lease, err := other.Acquire(f.ctx, "k")
				require.NoError(f.t, err)
				assert.Greater(f.t, lease.Token(), last.Token())
				assert.Greater(f.t, f.sent("k"), before)
				require.NoError(f.t, lease.Release(f.ctx))
				if name == "run out" {
					w.let <- struct{}{}
					require.ErrorIs(f.t, <-w.errs, quorum.ErrNotHeld)
				}
				w.group.Wait()
				f.requireNothingLeft()
			}, func(cfg *quorum.Config) { cfg.TTL = 10 * time.Minute })
		})
	}
}

// A lease that isn't handed off ends, and the next waiter has a round and a value of its own.
func TestWhatIsNotPassedOn(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(t *testing.T, f *fixture, lease *quorum.Lease)
		next func(*quorum.Terms)
	}{
		"extended": {do: func(t *testing.T, f *fixture, lease *quorum.Lease) { require.NoError(t, lease.Extend(f.ctx)) }},
		"an extension failed": {do: func(t *testing.T, f *fixture, lease *quorum.Lease) {
			ctx, cancel := context.WithCancel(f.ctx)
			cancel()
			require.Error(t, lease.Extend(ctx))
		}},
		"held for long": {do: func(_ *testing.T, _ *fixture, lease *quorum.Lease) { time.Sleep(lease.Validity()/10 + time.Second) }},
		"another TTL":   {next: func(terms *quorum.Terms) { terms.TTL = 5 * time.Minute }},
		"another note":  {next: func(terms *quorum.Terms) { terms.Note = "another" }},
		"more validity": {do: func(_ *testing.T, _ *fixture, _ *quorum.Lease) { time.Sleep(5 * time.Second) },
			next: func(terms *quorum.Terms) { terms.MinValidity = 590 * time.Second }},
	} {
		t.Run(name, func(t *testing.T) {
			playNotifying(t, 5, func(f *fixture) {
				f.warm()
				next := f.Coordinator
				if c.next != nil {
					var err error
					next, err = f.WithTerms(c.next)
					require.NoError(f.t, err)
				}
				w := newWorkers(f, f.Coordinator, 1, next, next)
				first := w.next()
				value := first.Value()
				if c.do != nil {
					c.do(f.t, f, first)
				}
				lease := w.pass()
				assert.NotEqual(f.t, value, lease.Value())
				assert.Greater(f.t, lease.Token(), first.Token())
				assert.InDelta(f.t, f.Config().Drift.Validity(next.Terms().TTL, 0), lease.Validity(), float64(ms))
				w.release()
				w.next()
				w.release()
				w.group.Wait()
				f.requireNothingLeft()
			}, func(cfg *quorum.Config) { cfg.TTL = 10 * time.Minute })
		})
	}
}

// A lease that was handed off is over for the previous holder. It reveals nothing of the value,
// which is the successor's, and can't affect it.
func TestPassedLeaseIsOver(t *testing.T) {
	playNotifying(t, 5, func(f *fixture) {
		f.warm()
		w := newWorkers(f, f.Coordinator, 2)
		first := w.next()
		second := w.pass()
		require.Equal(f.t, first.Token()+1, second.Token(), "it was handed off")

		assert.Zero(f.t, first.Validity())
		require.ErrorIs(f.t, first.Err(), quorum.ErrReleased)
		require.ErrorIs(f.t, first.Release(f.ctx), quorum.ErrReleased)
		require.ErrorIs(f.t, first.Extend(f.ctx), quorum.ErrReleased)
		assert.Empty(f.t, first.Value())
		_, err := first.HandOff(f.ctx)
		require.ErrorIs(f.t, err, quorum.ErrReleased)

		require.NoError(f.t, second.Extend(f.ctx), "it is still there")
		synctest.Wait() // a quorum was enough to return
		assert.Len(f.t, second.Instances(), 5)
		w.release()
		w.group.Wait()
		f.requireNothingLeft()
	})
}

// Another process waits for at most as many turns as there are waiters here.
func TestCohortsLetOthersIn(t *testing.T) {
	playNotifying(t, 5, func(f *fixture) {
		f.warm()
		f.lag(ms)
		other := f.distant(137 * time.Microsecond)
		// Each of four goroutines wants the lock again and again.
		ctx, cancel := context.WithCancel(f.ctx)
		var group sync.WaitGroup
		var turns atomic.Int64
		for range 4 {
			group.Go(func() {
				for {
					lease, err := f.Acquire(ctx, "k")
					if err != nil {
						return
					}
					turns.Add(1)
					time.Sleep(10 * ms)
					assert.NoError(f.t, lease.Release(f.ctx))
				}
			})
		}
		time.Sleep(500 * ms)
		for range 4 {
			before := turns.Load()
			lease, err := other.Acquire(f.ctx, "k")
			require.NoError(f.t, err)
			assert.LessOrEqual(f.t, turns.Load()-before, int64(4))
			require.NoError(f.t, lease.Release(f.ctx))
		}
		cancel()
		group.Wait()
		f.requireNothingLeft()
	}, func(cfg *quorum.Config) { cfg.TTL = 10 * time.Minute })
}
