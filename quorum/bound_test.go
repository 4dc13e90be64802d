package quorum_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
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

// However fast tokens are used, they rise across a loss of all data. Here each round reserves more
// than a hundred, and its lease is released microseconds later. A lease isn't handed to a waiter
// that wants another TTL.
func TestTokensRiseAtAnyRate(t *testing.T) {
	const maxTTL = 20 * ms
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		f.lag(10 * time.Microsecond)
		other, err := f.WithTerms(func(terms *quorum.Terms) { terms.TTL = maxTTL - ms })
		require.NoError(f.t, err)
		var group sync.WaitGroup
		var last fencing.Token
		began, rounds, reserved := time.Now(), 0, 0
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
					for _, vote := range lease.Votes() {
						reserved += vote.Vote.Reserved
					}
					rounds++
					assert.NoError(f.t, lease.Release(f.ctx))
				}
			})
		}
		group.Wait()
		require.Equal(f.t, 800, rounds)
		require.Less(f.t, time.Since(began), 128*800*time.Microsecond, "the tokens asked for would be more than the clock ticks")
		assert.Positive(f.t, reserved)
		for _, s := range f.servers {
			assert.LessOrEqual(f.t, s.Counter("k"), now(s)+1)
		}
		f.each(func(s *quorumtest.Server) { s.Restart(false) })
		lease, err := f.Acquire(f.ctx, "k")
		require.NoError(f.t, err)
		assert.Greater(f.t, lease.Token(), last)
		require.NoError(f.t, lease.Release(f.ctx))
	}, func(cfg *quorum.Config) { cfg.TTL, cfg.MaxTTL, cfg.BackoffMin = maxTTL, maxTTL, ms })
}

// If so many counters are poisoned that no quorum is left, Acquire fails at once.
func TestAllCountersPoisoned(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.warm()
		f.each(func(s *quorumtest.Server) { s.PutCounter("k", fencing.MaxToken-1, f.Set().String()) })
		_, err := f.Acquire(f.ctx, "k")
		require.ErrorIs(f.t, err, quorum.ErrNoQuorum)
		require.ErrorIs(f.t, err, wire.ErrCounter)
		require.ErrorContains(f.t, err, "days ahead of the server's clock")
		assert.Less(f.t, f.elapsed(), time.Second)
		f.requireNothingLeft()
		f.each(func(s *quorumtest.Server) { assert.Equal(f.t, fencing.MaxToken-1, s.Counter("k")) })
		f.each((*quorumtest.Server).FlushAll)
		f.cycle()
	}, bounded)
}

// bounded limits an Acquire that would otherwise wait forever.
func bounded(cfg *quorum.Config) { cfg.MaxWait = time.Minute }

// A server whose clock is hours ahead starts a lost counter there. It costs only its own vote.
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
				assert.Greater(f.t, f.servers[1].Counter("k"), now(f.servers[1])-micros(time.Minute))
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
		require.ErrorIs(f.t, err, quorum.ErrTokenRace)
		assert.Less(f.t, time.Since(began), 9*ms, "B's refusal decides")
	})
}

// Servers gave the tokens of a round that partly overlap. Only tokens new on all of them belong to
// the round; others may belong to another holder.
func TestReservedTokensAreNewOnAQuorum(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		f.lag(ms)
		var mark atomic.Uint64 // their clocks, which are the same
		for i, s := range f.servers {
			var done bool
			s.OnCommand(func(cmd wire.Request) {
				if cmd.Op != wire.Acquire || cmd.Fence.Reserve == 0 || done {
					return
				}
				// B may have given one to a round unknown to the others.
				done = true
				mark.Store(uint64(now(s)))
				s.PutCounter("k", now(s)-[]fencing.Token{5, 3, 5}[i], f.Set().String())
			})
		}
		f.lag(2*ms, 2)
		w := newWorkers(f, f.Coordinator, 8)
		lease := w.next()
		top := fencing.Token(mark.Load())
		require.Equal(f.t, top-2, lease.Token(), "B's first token")
		value := lease.Value()
		for i := fencing.Token(1); i <= 2; i++ {
			lease = w.pass()
			require.Equal(f.t, value, lease.Value())
			require.Equal(f.t, top-2+i, lease.Token())
		}
		lease = w.pass()
		require.NotEqual(f.t, value, lease.Value(), "there are no more")
		for range 4 {
			w.pass()
		}
		w.release()
		w.group.Wait()
		f.requireNothingLeft()
	})
}

// A straggler that reserved fewer tokens than the round has doesn't count for them.
func TestStragglerThatReservedFewer(t *testing.T) {
	var raises []quorum.Ballot
	playNotifying(t, 5, func(f *fixture) {
		f.warm()
		for i, s := range f.servers {
			var done bool
			s.Delay(nil, func(cmd wire.Request) time.Duration {
				switch {
				case cmd.Op == wire.Raise:
					return 10 * ms
				case i == 3 && cmd.Fence.Reserve > 0:
					return 5 * ms
				}
				return ms
			})
			s.OnCommand(func(cmd wire.Request) {
				switch {
				case cmd.Op == wire.Raise && i == 0:
					s.Delete("k")
				case cmd.Op == wire.Acquire && cmd.Fence.Reserve > 0 && !done:
					// A, B and C settle on the tokens up to the clock. A has to be raised, which
					// fails. D reserved fewer, and E is down.
					done = true
					s.PutCounter("k", now(s)-[]fencing.Token{6, 5, 5, 3, 5}[i], f.Set().String())
					if i == 0 {
						s.StepClock(-time.Microsecond)
					}
				}
			})
		}
		f.kill(4)
		w := newWorkers(f, f.Coordinator, 8)
		for range 7 {
			w.next()
			w.release()
		}
		w.next()
		w.release()
		w.group.Wait()
		require.Len(f.t, raises, 2, "D's vote did not help")
		assert.Equal(f.t, "D", raises[0].Instance)
		assert.ErrorContains(f.t, raises[0].Vote.Err, "it granted the tokens")
		assert.Equal(f.t, "A", raises[1].Instance)
		f.requireNothingLeft()
	}, func(cfg *quorum.Config) {
		cfg.Hooks.RoundDecided = func(_ context.Context, e quorum.RoundEnd) {
			var round *quorum.RoundError
			if errors.As(e.Err, &round) && errors.Is(e.Err, quorum.ErrTokenRace) && raises == nil {
				raises = round.Raises
			}
		}
	})
}

// A grant with more reserved tokens than were asked for is a failed vote.
func TestGrantWithTooManyReservedTokensIsAFailedVote(t *testing.T) {
	for _, reserved := range []int{-1, 1, 1 << 40} {
		play(t, 3, func(f *fixture) {
			c, err := quorum.New(quorum.Config{}, generous{f.servers[0], reserved}, generous{f.servers[1], reserved}, f.servers[2])
			require.NoError(f.t, err)
			_, err = c.TryAcquire(f.ctx, "k")
			require.ErrorIs(f.t, err, quorum.ErrNoQuorum)
			assert.ErrorContains(f.t, err, "of 0 that it was asked for")
			f.requireNothingLeft()
			require.NoError(f.t, c.Close(f.ctx))
		})
	}
}

// generous is an instance that reports so many reserved tokens.
type generous struct {
	*quorumtest.Server
	reserved int
}

func (s generous) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	s.Server.Send(cmd, timeout, wire.ReceiverFunc(func(vote wire.Vote) {
		if vote.Outcome == wire.Granted && cmd.Op == wire.Acquire {
			vote.Reserved = s.reserved
		}
		to.Receive(vote)
	}))
}

func TestCounterErrorText(t *testing.T) {
	clock := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	e := &wire.CounterError{Token: fencing.Token(clock.UnixMicro()) + micros(90*time.Minute), Clock: clock, Most: 15 * time.Second, Repair: "do this"}
	assert.EqualError(t, e, "quorum: the resource's counter can't be used: it would come to "+e.Token.String()+
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
