package quorum_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// now is the token that matches a server's clock.
func now(s *quorumtest.Server) fencing.Token { return fencing.Token(s.Clock().UnixMicro()) }

// micros is a time as a difference of tokens.
func micros(d time.Duration) fencing.Token { return fencing.Token(d / time.Microsecond) }

// Commands that count or raise say how far a counter may be ahead of the clock: half of MaxTTL.
func TestCommandsBoundTheCounter(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		f.counters(10, 30, 20)
		f.lag(ms)
		lease := f.acquire("k")
		time.Sleep(10 * ms)
		f.servers[0].Delete("k")
		require.NoError(f.t, lease.Extend(f.ctx))
		require.NoError(f.t, lease.Extend(f.ctx))
		require.NoError(f.t, lease.Release(f.ctx))
		f.requireNothingLeft()
		seen := map[wire.Op]bool{}
		for i := range f.servers {
			for _, e := range f.log(i) {
				switch op := e.Request.Op; op {
				case wire.Acquire, wire.Raise, wire.Restore:
					seen[op] = true
					assert.Equal(f.t, 10*time.Second, e.Request.Fence.Ahead, "%v", op)
				}
			}
		}
		assert.Len(f.t, seen, 3)
	}, func(cfg *quorum.Config) { cfg.MaxTTL = 20 * time.Second })
}

// However fast tokens are used, they rise across a loss of all data: each try takes one, and the clock
// counts faster.
func TestTokensRiseAtAnyRate(t *testing.T) {
	const maxTTL = 20 * ms
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		f.lag(10 * time.Microsecond)
		other := f.other()
		var group sync.WaitGroup
		var last fencing.Token
		rounds := 0
		for i := range 8 {
			c := []*quorum.Coordinator{f.Coordinator, other}[i%2]
			group.Go(func() {
				for range 100 {
					lease, err := c.Acquire(f.ctx, "k")
					if !assert.NoError(f.t, err) {
						return
					}
					assert.Greater(f.t, lease.Token(), last)
					last = lease.Token()
					rounds++
					assert.NoError(f.t, lease.Release(f.ctx))
				}
			})
		}
		group.Wait()
		require.Equal(f.t, 800, rounds)
		for _, s := range f.servers {
			assert.LessOrEqual(f.t, s.Counter("k"), now(s)+1)
		}
		f.each(func(s *quorumtest.Server) { s.Restart(false) })
		lease, err := f.Acquire(f.ctx, "k")
		require.NoError(f.t, err)
		assert.Greater(f.t, lease.Token(), last)
		require.NoError(f.t, lease.Release(f.ctx))
	}, func(cfg *quorum.Config) { cfg.TTL, cfg.MaxTTL, cfg.Lab.BackoffMin = maxTTL, maxTTL, ms })
}

// If so many counters are poisoned that no quorum is left, Acquire fails at once.
func TestAllCountersPoisoned(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.warm()
		f.each(func(s *quorumtest.Server) { s.PutCounter("k", fencing.MaxToken-1) })
		_, err := f.Acquire(f.ctx, "k")
		require.ErrorIs(f.t, err, quorum.ErrNoQuorum)
		require.ErrorIs(f.t, err, wire.ErrCounter)
		require.ErrorContains(f.t, err, "days ahead of the server's clock")
		assert.Less(f.t, f.elapsed(), time.Second)
		f.requireNothingLeft()
		f.each(func(s *quorumtest.Server) { assert.Equal(f.t, fencing.MaxToken, s.Counter("k"), "each try counts") })
		f.each((*quorumtest.Server).FlushAll)
		f.cycle()
	}, bounded)
}

// bounded limits an Acquire that would otherwise wait forever.
func bounded(cfg *quorum.Config) { cfg.MaxWait = time.Minute }

// A server whose clock is hours ahead takes a lost counter for its clock. It costs only its own vote.
func TestClockHoursAhead(t *testing.T) {
	for name, first := range map[string]int{"it votes first": 1, "it votes last": 0} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				f.servers[1].StepClock(5 * time.Hour)
				f.warm()
				f.lag(2 * ms)
				f.lag(ms, first)
				var last fencing.Token
				for range 3 {
					token := f.cycle()
					assert.Greater(f.t, token, last)
					assert.Less(f.t, token, now(f.servers[0])+100)
					last = token
				}
				assert.Less(f.t, f.servers[2].Counter("k"), now(f.servers[0])+100)
			})
		})
	}
}

// A round that has its grants but no token keeps counting votes while one can still help. If none
// can, it ends.
func TestRoundWaitsForATokenThatSuits(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.each(func(s *quorumtest.Server) { s.StepClock(5 * time.Hour) }, 3)
		f.each(func(s *quorumtest.Server) { s.StepClock(10 * time.Hour) }, 4)
		f.warm()
		f.lag(ms, 0, 3, 4)
		f.lag(5*ms, 1)
		f.lag(9*ms, 2)
		began := time.Now()
		lease := f.acquire("k")
		assert.Equal(f.t, 9*ms, time.Since(began), "three of five agree")
		assert.Equal(f.t, f.servers[0].Counter("k"), lease.Token())
		require.NoError(f.t, lease.Release(f.ctx))
		f.requireNothingLeft()

		f.occupy("l", time.Hour, 1)
		began = time.Now()
		_, err := f.TryAcquire(f.ctx, "l")
		require.ErrorIs(f.t, err, quorum.ErrUnsettled)
		assert.Less(f.t, time.Since(began), 9*ms, "B's refusal decides")
	})
}

func TestCounterErrorText(t *testing.T) {
	clock := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	e := &wire.CounterError{Token: fencing.Token(clock.UnixMicro()) + micros(90*time.Minute), Clock: clock, Most: 15 * time.Second, Repair: "do this"}
	assert.EqualError(t, e, "quorum: the resource's counter can't be used: it would reach "+e.Token.String()+
		", which is 1h30m0s ahead of the server's clock (2026-05-04 03:02:01), and 15s is the most (half of MaxTTL); do this")
	assert.ErrorIs(t, e, wire.ErrCounter)
	e.Token, e.Repair = fencing.MaxToken, ""
	assert.ErrorContains(t, e, ", which is 83673 days ahead of the server's clock (2026-05-04 03:02:01), and 15s is the most (half of MaxTTL)")
	e.Clock = time.UnixMicro(int64(fencing.MaxToken))
	assert.EqualError(t, e, "quorum: the resource's counter can't be used: the server's clock is in the year 2255, and tokens are microseconds that end in June 2255")
	for ahead, permanent := range map[time.Duration]bool{16 * time.Second: false, 45 * time.Second: false, 46 * time.Second: true} {
		e := &wire.CounterError{Token: fencing.Token(clock.UnixMicro()) + micros(ahead), Clock: clock, Most: 15 * time.Second}
		assert.Equal(t, permanent, e.Permanent(), "%v", ahead)
	}
}
