package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

var errOOM = errors.New("OOM command not allowed when used memory > 'maxmemory'")

// fault is one way in which an instance doesn't grant.
type fault struct {
	name    string
	strike  func(s *quorumtest.Server)
	heal    func(s *quorumtest.Server)
	verdict error // of a round that only this fault loses
	err     error // of the instance; nil if it answers
}

var faults = []fault{
	{
		name:    "occupied",
		strike:  func(s *quorumtest.Server) { s.Put("k", strangers, time.Hour) },
		heal:    func(*quorumtest.Server) {},
		verdict: quorum.ErrTaken,
	}, {
		name:    "down",
		strike:  (*quorumtest.Server).Kill,
		heal:    func(s *quorumtest.Server) { s.Start(true) },
		verdict: quorum.ErrNoQuorum, err: quorumtest.ErrConnRefused,
	}, {
		name:    "hung",
		strike:  (*quorumtest.Server).Hang,
		heal:    (*quorumtest.Server).Resume,
		verdict: quorum.ErrNoQuorum, err: wire.ErrTimeout,
	}, {
		name: "reply lost",
		strike: func(s *quorumtest.Server) {
			s.SetFate(func(cmd wire.Request) quorumtest.Fate {
				if cmd.Op == wire.Acquire {
					return quorumtest.Fate{End: quorumtest.LoseReply}
				}
				return quorumtest.Fate{}
			})
		},
		heal:    func(s *quorumtest.Server) { s.SetFate(nil) },
		verdict: quorum.ErrNoQuorum, err: wire.ErrTimeout,
	}, {
		name: "connection reset after the SET",
		strike: func(s *quorumtest.Server) {
			s.SetFate(func(cmd wire.Request) quorumtest.Fate {
				if cmd.Op == wire.Acquire {
					return quorumtest.Fate{End: quorumtest.ResetAfter}
				}
				return quorumtest.Fate{}
			})
		},
		heal:    func(s *quorumtest.Server) { s.SetFate(nil) },
		verdict: quorum.ErrNoQuorum, err: quorumtest.ErrConnReset,
	}, {
		name:    "out of memory",
		strike:  func(s *quorumtest.Server) { s.FailWith(errOOM) },
		heal:    func(s *quorumtest.Server) { s.FailWith(nil) },
		verdict: quorum.ErrNoQuorum, err: errOOM,
	},
}

// Every set of instances that are occupied, down, hung, ...: the right error, and no key left
// behind.
func TestEveryMask(t *testing.T) {
	for _, a := range faults {
		t.Run(a.name, func(t *testing.T) {
			for mask := uint(0); mask < 1<<5; mask++ {
				t.Run(fmt.Sprintf("%05b", mask), func(t *testing.T) {
					play(t, 5, func(f *fixture) { playMask(f, a, mask) })
				})
			}
		})
	}
}

func playMask(f *fixture, a fault, mask uint) {
	faulty := func(i int) bool { return mask>>i&1 == 1 }
	require.NoError(f.t, f.acquire("warm-up").Release(f.ctx)) // the servers are identified
	f.requireNothingLeft()
	for i, s := range f.servers {
		if faulty(i) {
			a.strike(s)
		}
	}
	lease, err := f.TryAcquire(f.ctx, "k")
	if 5-bits.OnesCount(mask) >= 3 {
		require.NoError(f.t, err)
		require.Positive(f.t, lease.Validity())
		require.NoError(f.t, lease.Release(f.ctx))
	} else {
		require.Nil(f.t, lease)
		requireRoundError(f.t, err, a, faulty)
	}
	for i, s := range f.servers {
		if faulty(i) {
			a.heal(s)
		}
	}
	f.requireNothingLeft()
	for i, s := range f.servers {
		value, _, _ := s.Get("k")
		require.Equal(f.t, a.name == "occupied" && faulty(i), value == strangers, "another client's key was touched")
	}
}

// requireRoundError checks the error of a round lost to one fault.
func requireRoundError(t *testing.T, err error, a fault, faulty func(int) bool) {
	t.Helper()
	require.ErrorIs(t, err, a.verdict)
	for _, other := range []error{quorum.ErrTaken, quorum.ErrNoQuorum, quorum.ErrTooSlow, quorum.ErrUnsettled, quorum.ErrInterrupted, quorum.ErrConfig, context.Canceled, context.DeadlineExceeded} {
		if !errors.Is(a.verdict, other) {
			require.NotErrorIs(t, err, other)
		}
	}
	var round *quorum.RoundError
	require.ErrorAs(t, err, &round)
	require.Equal(t, wire.Acquire, round.Op)
	require.Equal(t, "k", round.Key)
	require.Equal(t, 3, round.Quorum)
	require.Len(t, round.Votes, 5)

	byName := make(map[string]*quorum.InstanceError)
	for _, part := range round.Unwrap() {
		var one *quorum.InstanceError
		if errors.As(part, &one) {
			byName[one.Instance] = one
		}
	}
	blamed := 0
	for i, ballot := range round.Votes {
		require.Equal(t, string(rune('A'+i)), ballot.Instance)
		one := byName[ballot.Instance]
		pending := errors.Is(ballot.Vote.Err, quorum.ErrPending)
		switch {
		case pending:
			require.ErrorIs(t, one, quorum.ErrPending)
		case faulty(i) && a.err != nil:
			blamed++
			require.NotNil(t, one, "%s failed and isn't named", ballot.Instance)
			require.ErrorIs(t, one, a.err)
			require.Equal(t, wire.Acquire, one.Op)
			require.Regexp(t, ballot.Instance+"(, [A-E])*: ", err.Error())
		case faulty(i):
			blamed++
			require.Nil(t, one)
			require.Equal(t, wire.Refused, ballot.Vote.Outcome)
			require.Positive(t, ballot.Vote.Remaining, "a refusal says how long the key lives")
		default:
			require.Nil(t, one)
			require.Equal(t, wire.Granted, ballot.Vote.Outcome)
		}
	}
	require.GreaterOrEqual(t, blamed, 3, "it takes three to lose a round of five")
	if a.err != nil {
		require.ErrorIs(t, err, a.err)
	}
}

// Every mixture of granting, occupied and failing instances that answer one after the other. The
// result is that of a plain count, and comes at the moment it is certain.
func TestEveryMixtureIsDecidedAtTheFirstMoment(t *testing.T) {
	for code := range 243 {
		for _, backwards := range []bool{false, true} {
			outcomes := make([]wire.Outcome, 5)
			for i, rest := 0, code; i < 5; i, rest = i+1, rest/3 {
				outcomes[i] = wire.Outcome(rest % 3)
			}
			name := ""
			for _, o := range outcomes {
				name += o.String()[:1] // failed, refused or granted
			}
			if backwards {
				name += ", E first"
			}
			t.Run(name, func(t *testing.T) { playMixture(t, outcomes, backwards) })
		}
	}
}

func playMixture(t *testing.T, outcomes []wire.Outcome, backwards bool) {
	latency := func(i int) time.Duration {
		if backwards {
			i = len(outcomes) - 1 - i
		}
		return time.Duration(i+1) * 10 * ms
	}
	inOrder := make([]wire.Outcome, len(outcomes))
	for i, outcome := range outcomes {
		inOrder[latency(i)/(10*ms)-1] = outcome
	}
	granted, failed, at := 0, 0, 0
	for granted < 3 && at-granted < 3 {
		switch inOrder[at] {
		case wire.Granted:
			granted++
		case wire.Failed:
			failed++
		}
		at++
	}

	var decided quorum.RoundEnd
	play(t, 5, func(f *fixture) {
		require.NoError(f.t, f.acquire("warm-up").Release(f.ctx))
		f.requireNothingLeft()
		for i, s := range f.servers {
			if outcomes[i] == wire.Refused {
				s.Put("k", strangers, time.Hour)
			}
			s.SetFate(func(cmd wire.Request) quorumtest.Fate {
				fate := quorumtest.Fate{}
				if cmd.Op == wire.Acquire {
					fate.After = latency(i)
					if outcomes[i] == wire.Failed {
						fate.Err = errOOM
					}
				}
				return fate
			})
		}
		lease, err := f.TryAcquire(f.ctx, "k")
		assert.Equal(f.t, time.Duration(at)*10*ms, decided.Took, "decided when it was certain")
		switch {
		case granted == 3:
			require.NoError(f.t, err)
			require.NoError(f.t, lease.Release(f.ctx))
		case failed >= 3:
			require.ErrorIs(f.t, err, quorum.ErrNoQuorum)
		default:
			require.ErrorIs(f.t, decided.Err, quorum.ErrTaken)
			// Other grants show that the lock isn't held, and no client gets it.
			require.True(f.t, errors.Is(err, quorum.ErrTaken) || errors.Is(err, quorum.ErrSplit) && granted > 0, "%v", err)
		}
		f.requireNothingLeft()
	}, func(cfg *quorum.Config) {
		cfg.Hooks.RoundDecided = func(_ context.Context, e quorum.RoundEnd) {
			if e.Key == "k" && decided.Op == 0 { // the first; others follow if the votes were split
				decided = e
			}
		}
	})
}

// A round waits for a quorum above the majority.
func TestHigherQuorum(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.warm()
		for i := range f.servers {
			f.lag(time.Duration(i+1)*ms, i)
		}
		lease := f.acquire("k")
		assert.Equal(f.t, 4*ms, f.elapsed())
		f.giveBack(lease)
		f.kill(0, 1)
		f.tryFails("k", quorum.ErrNoQuorum)
		f.requireNothingLeft()
	}, func(cfg *quorum.Config) { cfg.Quorum = 4 })
}

// clocksDuringRound steps the client's clocks while a round's SETs are in flight.
func clocksDuringRound(f *fixture, c *skewedClock, wall, mono time.Duration) (*quorum.Lease, error) {
	f.warm()
	f.lag(2 * ms)
	time.AfterFunc(ms, func() { c.stepWall(wall); c.stepMono(mono) })
	return f.TryAcquire(f.ctx, "k")
}

// A client paused after its SETs were carried out reads a quorum of grants when it wakes up, and
// must not rely on them.
func TestTimeThatPassedDuringTheRoundCounts(t *testing.T) {
	for _, test := range []struct {
		name       string
		wall, mono time.Duration
		least      time.Duration // MinValidity
		validity   time.Duration // 0: too slow
	}{
		{name: "suspended: the monotonic clock stood still", wall: 12 * time.Second},
		{name: "the wall clock was stepped back beyond the start", wall: -time.Hour, mono: 12 * time.Second},
		{name: "a step back doesn't lengthen it", wall: -time.Hour, validity: 9896 * ms},
		{name: "less than MinValidity", wall: time.Second, mono: time.Second, least: 9 * time.Second},
		{name: "just MinValidity", wall: 896 * ms, mono: 896 * ms, least: 9 * time.Second, validity: 9 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctestClock(t, func(t *testing.T, c *skewedClock) {
				f := newFixture(t, 5, withSkew(c), func(cfg *quorum.Config) { cfg.MinValidity = test.least })
				lease, err := clocksDuringRound(f, c, test.wall, test.mono)
				if test.validity == 0 {
					require.ErrorIs(t, err, quorum.ErrTooSlow)
					require.NotErrorIs(t, err, quorum.ErrTaken)
					require.Nil(t, lease)
				} else {
					require.NoError(t, err)
					assert.Equal(t, test.validity, lease.Validity())
					require.NoError(t, lease.Release(f.ctx))
				}
				f.requireNothingLeft()
			})
		})
	}
}
