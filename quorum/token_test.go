package quorum_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// quorumToken is a token above all floors, and above the servers' clocks in the first second of a bubble.
func quorumToken(n int) fencing.Token {
	return fencing.Token(time.Date(2000, 1, 1, 0, 0, 1, 0, time.UTC).UnixMicro() + int64(n))
}

// counters gives each instance a counter for "k".
func (f *fixture) counters(tokens ...int) {
	for i, n := range tokens {
		f.servers[i].PutCounter("k", quorumToken(n))
	}
}

// The counters of a new resource start at the same token although the servers' clocks differ, so
// none has to be raised.
func TestNewCountersStartTogether(t *testing.T) {
	play(t, 5, func(f *fixture) {
		for i, s := range f.servers {
			s.StepClock(time.Duration(i) * ms)
		}
		f.lag(ms)
		f.warm()
		for n := range 3 {
			before := make([]int, len(f.servers))
			for i := range f.servers {
				before[i] = len(f.log(i))
			}
			key := fmt.Sprint("new", n)
			lease := f.acquire(key)
			time.Sleep(ms)
			last := f.servers[len(f.servers)-1].Clock()
			assert.Greater(t, lease.Token(), fencing.Token(last.Add(-2*ms).UnixMicro()), "above the clock of each server")
			assert.Less(t, lease.Token(), fencing.Token(last.Add(10*ms).UnixMicro()))
			for i, s := range f.servers {
				assert.Equal(t, []wire.Op{wire.Acquire}, f.ops(i)[before[i]:], "none is raised")
				assert.Equal(t, lease.Token(), s.Counter(key))
			}
			f.giveBack(lease)
		}
	})
}

// Unequal counters are raised to the largest of the quorum before the lock is granted. A later
// answer is raised as well, or stays above.
func TestUnequalCountersAreRaised(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.warm()
		f.counters(10, 30, 20, 5, 90)
		f.lag(ms, 0, 1, 2)
		f.lag(50*ms, 3, 4)
		before := make([]int, 5)
		for i := range before {
			before[i] = len(f.log(i))
		}
		lease := f.acquire("k")
		assert.Equal(f.t, 2*ms, f.elapsed())
		assert.Equal(f.t, quorumToken(31), lease.Token())
		time.Sleep(200 * ms)
		for i, want := range [][]wire.Op{
			{wire.Acquire, wire.Raise}, {wire.Acquire}, {wire.Acquire, wire.Raise}, {wire.Acquire, wire.Raise}, {wire.Acquire},
		} {
			assert.Equal(f.t, want, f.ops(i)[before[i]:], f.servers[i].Name())
		}
		for i, want := range []int{31, 31, 31, 31, 91} {
			assert.Equal(f.t, quorumToken(want), f.servers[i].Counter("k"), f.servers[i].Name())
		}
		assert.Equal(f.t, quorumToken(31), lease.Token(), "late answers change nothing")
		f.giveBack(lease)
	})
}

// A vote whose counter isn't at its token yet, because it may be an older copy, counts only after a raise,
// although all votes are equal.
func TestLowVotesAreRaised(t *testing.T) {
	older := func(f *fixture) { f.each(func(s *quorumtest.Server) { s.PutCounter("k", 1_000) }) }
	play(t, 3, func(f *fixture) {
		f.warm()
		older(f)
		lease := f.acquire("k")
		synctest.Wait()
		for _, s := range f.servers {
			assert.Equal(t, lease.Token(), s.Counter("k"), "it is raised")
		}
		f.giveBack(lease)

		older(f)
		f.each(func(s *quorumtest.Server) { s.SetFate(only(wire.Raise, quorumtest.Fate{Err: errReason})) }, 0, 1)
		f.tryFails("k", quorum.ErrUnsettled)
		f.requireNothingLeft()
	})
}

// A vote that comes after the round was won, of a counter that may be an older copy, is raised as an early one is. An
// extension need not do it.
func TestALateLowVoteIsRaised(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		f.servers[2].PutCounter("k", 1_000)
		f.lag(5*ms, 2)
		lease := f.acquire("k")
		require.NoError(t, f.Settle(f.ctx))
		assert.Equal(t, lease.Token(), f.servers[2].Counter("k"))
		assert.Equal(t, 1, f.count(2, wire.Raise))
		f.giveBack(lease)
	})
}

// A request says which counters may be older than tokens that were given before: in a run that the operator
// vouches for those from before it, in another one those that an earlier run may have come to, and where the run
// is hidden those that were lost.
func TestFloorOfARequest(t *testing.T) {
	const lost = 100_000_000_000_000
	play(t, 3, func(f *fixture) {
		floor := func(i int) fencing.Token {
			t.Helper()
			_, _ = f.TryAcquire(f.ctx, "k")
			synctest.Wait()
			require.NoError(t, f.Settle(f.ctx))
			return f.lastAcquired(i).Fence.Floor
		}
		began := fencing.Token(f.began.UnixMicro())
		f.servers[1].SetIdentity(func(id *wire.Identity) { id.Uptime = 100 * time.Hour; id.Served = 100 * time.Hour })
		f.servers[2].SetIdentity(func(id *wire.Identity) { id.RunID, id.ReplID, id.Uptime = "", "", 100*time.Hour })
		assert.Equal(t, began, floor(0))
		assert.Equal(t, began+micros(10*time.Second), floor(1))
		assert.EqualValues(t, lost, floor(2))
	})
}

// A raise counts only where the key is still this round's. Here two of the three that granted have
// lost the key, and the others are taken.
func TestRaiseThatFindsTheKeyGoneIsNoSuccess(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.warm()
		f.counters(10, 20, 30)
		f.occupy("k", time.Hour, 3, 4)
		f.lag(ms)
		for _, s := range f.servers[:2] {
			s.OnCommand(func(cmd wire.Request) {
				if cmd.Op == wire.Raise {
					s.Delete("k")
				}
			})
		}
		_, err := f.TryAcquire(f.ctx, "k")
		require.ErrorIs(f.t, err, quorum.ErrUnsettled)
		require.NotErrorIs(f.t, err, quorum.ErrTaken)
		assert.Equal(f.t, quorumToken(11), f.servers[0].Counter("k"), "a counter is not raised for a round that lost the key")
		f.requireNothingLeft()
	})
}

// A late vote below the token doesn't show that the instance has the token. Where the raise is lost,
// an extension puts the token back.
func TestStragglerBelowTheTokenIsGivenIt(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.warm()
		f.counters(30, 30, 30, 5, 30)
		f.lag(5*ms, 3)
		f.servers[3].SetFate(func(cmd wire.Request) quorumtest.Fate {
			switch cmd.Op {
			case wire.Acquire:
				return quorumtest.Fate{After: 5 * ms}
			case wire.Raise:
				return quorumtest.Fate{End: quorumtest.LoseRequest}
			}
			return quorumtest.Fate{}
		})
		lease := f.acquire("k")
		require.NoError(t, f.Settle(f.ctx))
		require.Equal(t, 1, f.count(3, wire.Acquire)-1, "which answered late")
		require.Less(t, f.servers[3].Counter("k"), lease.Token())
		require.NoError(t, lease.Extend(f.ctx))
		require.NoError(t, f.Settle(f.ctx))
		assert.Equal(t, 1, f.count(3, wire.Restore))
		assert.Equal(t, lease.Token(), f.servers[3].Counter("k"))
	})
}

func TestFencingOff(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		f.counters(10, 20, 30)
		lease := f.acquire("k")
		assert.Zero(f.t, lease.Token())
		require.NoError(f.t, lease.Extend(f.ctx))
		f.giveBack(lease)
		for i, s := range f.servers {
			assert.Equal(f.t, quorumToken(10*(i+1)), s.Counter("k"))
			for _, e := range f.log(i) {
				assert.False(f.t, e.Request.Fence.On)
				assert.NotEqual(f.t, wire.Raise, e.Request.Op)
			}
		}
	}, func(cfg *quorum.Config) { cfg.Lab.Fencing = quorum.Off })
}

// tokenless is an instance that grants without a usable token.
type tokenless struct {
	*quorumtest.Server
	token fencing.Token
}

func (s tokenless) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	s.Server.Send(cmd, timeout, wire.ReceiverFunc(func(vote wire.Vote) {
		if vote.Outcome == wire.Granted && cmd.Op == wire.Acquire {
			vote.Token = s.token
		}
		to.Receive(vote)
	}))
}

// A grant without a token that can be its own is a failed vote, and is rolled back like one.
func TestGrantWithoutATokenIsAFailedVote(t *testing.T) {
	clock := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for token, says := range map[fencing.Token]string{
		0:                    "it granted with the token 0, which is no token",
		fencing.MaxToken + 1: "it granted with the token 9007199254740992, which is no token",
		fencing.Token(clock.Add(15*time.Second).UnixMicro()) + 1: "is 15.000001s ahead of the server's clock",
		fencing.Token(clock.UnixMicro()):                         "but tokens that it gave before may have reached 946684800000000",
		7:                                                        "bad configuration: it granted with the token 7, but tokens that it gave before",
	} {
		play(t, 3, func(f *fixture) {
			c, err := quorum.New(quorum.Config{}, tokenless{f.servers[0], token}, tokenless{f.servers[1], token}, f.servers[2])
			require.NoError(f.t, err)
			_, err = c.TryAcquire(f.ctx, "k")
			require.ErrorIs(f.t, err, quorum.ErrNoQuorum)
			assert.ErrorContains(f.t, err, says)
			f.requireNothingLeft()
			require.NoError(f.t, c.Close(f.ctx))
		})
	}
}

// A counter is repaired by deleting it when nobody has held the lock for MaxTTL, on one server or
// on all. Clocks may differ by half of MaxTTL.
func TestTokensRiseAfterARepair(t *testing.T) {
	for name, repair := range map[string]func(f *fixture){
		"on all servers": func(f *fixture) { f.each(func(s *quorumtest.Server) { s.DeleteCounter("k") }) },
		"on one server": func(f *fixture) {
			f.servers[1].PutCounter("k", fencing.MaxToken)
			f.tryFails("k", wire.ErrCounter)
			require.NoError(f.t, f.Settle(f.ctx)) // C may have voted after the decision
			f.servers[1].DeleteCounter("k")
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				f.servers[0].StepClock(5*time.Second - 10*ms)
				f.servers[2].EndWith(quorumtest.Refuse)
				lease := f.acquire("k") // its token comes from A's clock, and B is raised to it
				before := lease.Token()
				require.NoError(t, lease.Release(f.ctx))
				time.Sleep(10 * time.Second)
				f.servers[2].SetFate(nil)
				f.servers[0].EndWith(quorumtest.Refuse)
				repair(f)
				assert.Greater(t, f.acquire("k").Token(), before)
			})
		})
	}
}

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
		f.giveBack(lease)
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
		lease := f.await("k")
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
		f.giveBack(lease)

		f.occupy("l", time.Hour, 1)
		began = time.Now()
		f.tryFails("l", quorum.ErrUnsettled)
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
