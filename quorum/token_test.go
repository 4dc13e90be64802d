package quorum_test

import (
	"fmt"
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
			require.NoError(t, lease.Release(f.ctx))
			f.requireNothingLeft()
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
		require.NoError(f.t, lease.Release(f.ctx))
		f.requireNothingLeft()
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
		require.NoError(t, lease.Release(f.ctx))
		f.requireNothingLeft()

		older(f)
		f.each(func(s *quorumtest.Server) { s.SetFate(only(wire.Raise, quorumtest.Fate{Err: errReason})) }, 0, 1)
		_, err := f.TryAcquire(f.ctx, "k")
		require.ErrorIs(t, err, quorum.ErrUnsettled)
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
		require.NoError(t, lease.Release(f.ctx))
		f.requireNothingLeft()
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

// Scenario S22: the largest of the quorum's counters alone isn't unique. A lost round has left A a
// step ahead; {A,B} win, then {B,C}.
func TestTokensOfOverlappingQuorumsDiffer(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		f.counters(1, 0, 0)
		f.servers[1].PutCounter("k", quorumToken(0))
		f.kill(2)
		first := f.acquire("k")
		require.NoError(f.t, first.Release(f.ctx))
		f.requireNothingLeft()
		f.servers[2].Start(true)
		f.vouch(2)
		f.servers[2].PutCounter("k", quorumToken(1))
		f.trust()
		f.kill(0)
		second := f.acquire("k")
		assert.Greater(f.t, second.Token(), first.Token())
		require.NoError(f.t, second.Release(f.ctx))
		f.requireNothingLeft()
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

// A failed raise isn't final while stragglers can make up for it.
func TestStragglerMakesUpForAFailedRaise(t *testing.T) {
	for straggler, want := range map[int]error{5: nil, 30: nil, 29: nil, 90: quorum.ErrUnsettled} {
		t.Run(fmt.Sprint("its counter is ", straggler), func(t *testing.T) {
			play(t, 5, func(f *fixture) {
				f.warm()
				// A, B and C vote 11, 21 and 31: the token is 31. A's raise finds no key. E is
				// down. So all depends on D, which answers during the raises.
				f.counters(10, 20, 30, straggler)
				f.each(func(s *quorumtest.Server) {
					s.Delay(nil, func(cmd wire.Request) time.Duration {
						if cmd.Op == wire.Raise {
							return 10 * ms
						}
						return ms
					})
				}, 0, 1, 2)
				f.lag(5*ms, 3)
				f.kill(4)
				f.servers[0].OnCommand(func(cmd wire.Request) {
					if cmd.Op == wire.Raise {
						f.servers[0].Delete("k")
					}
				})
				lease, err := f.TryAcquire(f.ctx, "k")
				if want != nil {
					// An earlier holder may have had up to 90 on D. This lease's 31 isn't above it,
					// so D can't count for it.
					require.ErrorIs(f.t, err, want)
				} else {
					require.NoError(f.t, err)
					assert.Equal(f.t, quorumToken(31), lease.Token())
					require.NoError(f.t, lease.Release(f.ctx))
				}
				f.requireNothingLeft()
			})
		})
	}
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
		require.NoError(f.t, lease.Release(f.ctx))
		f.requireNothingLeft()
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
			_, err := f.TryAcquire(f.ctx, "k")
			require.ErrorIs(f.t, err, wire.ErrCounter)
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
