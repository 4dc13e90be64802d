package quorum_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// dice is a Config.Lab.Random whose pauses all come from one number and whose values differ.
type dice struct {
	number uint64
	values uint64
}

func (d *dice) Read(p []byte) (int, error) {
	if len(p) == 8 {
		binary.BigEndian.PutUint64(p, d.number)
		return 8, nil
	}
	d.values++
	clear(p)
	binary.BigEndian.PutUint64(p, d.values)
	return len(p), nil
}

// rounds lists the rounds tried for a key, in order of time, each with the servers that got its
// SET.
type triedRound struct {
	at      time.Duration
	value   string
	servers string
}

func (f *fixture) rounds(key string) []triedRound {
	var rounds []triedRound
	for i := range f.servers {
		for _, e := range f.log(i) {
			if e.Request.Op != wire.Acquire || e.Request.Keys[0] != key {
				continue
			}
			at := 0
			for at < len(rounds) && rounds[at].value != e.Request.Value {
				at++
			}
			if at == len(rounds) {
				rounds = append(rounds, triedRound{at: math.MaxInt64, value: e.Request.Value})
			}
			rounds[at].servers += f.servers[i].Name()
			rounds[at].at = min(rounds[at].at, e.At.Sub(f.began))
		}
	}
	for i := range rounds { // few: sort by insertion
		for j := i; j > 0 && rounds[j].at < rounds[j-1].at; j-- {
			rounds[j], rounds[j-1] = rounds[j-1], rounds[j]
		}
	}
	return rounds
}

func requireWaitError(t *testing.T, err error, verdict error) *quorum.WaitError {
	t.Helper()
	var wait *quorum.WaitError
	require.ErrorAs(t, err, &wait)
	for _, v := range []error{quorum.ErrExhausted, quorum.ErrInterrupted, quorum.ErrClosed} {
		if v == verdict {
			require.ErrorIs(t, err, v)
		} else {
			require.NotErrorIs(t, err, v)
		}
	}
	if verdict != quorum.ErrInterrupted {
		require.NotErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
	}
	assert.Equal(t, "k", wait.Key)
	return wait
}

// requireWaitErrorIn can be called from goroutines other than the test's own.
func requireWaitErrorIn(t *testing.T, err error) *quorum.WaitError {
	var wait *quorum.WaitError
	if !assert.ErrorAs(t, err, &wait) {
		return &quorum.WaitError{}
	}
	return wait
}

// Pauses are uniform between zero and a bound that doubles from BackoffMin to BackoffMax.
func TestPausesHaveFullJitter(t *testing.T) {
	for name, test := range map[string]struct{ least, most time.Duration }{
		"the defaults": {},
		"others":       {time.Millisecond, 20 * ms},
		"no doubling":  {50 * ms, 50 * ms},
		"no overflow":  {1<<40 + 1, 2 * time.Hour}, // 24 doublings leave 16 ms of it
	} {
		t.Run(name, func(t *testing.T) {
			const tries = 40
			random := &dice{number: 0x9e3779b97f4a7c15}
			play(t, 3, func(f *fixture) {
				f.warm()
				f.occupy("k", wire.NoExpiry)
				began := time.Now()
				_, err := f.Acquire(f.ctx, "k")
				require.ErrorIs(f.t, err, quorum.ErrExhausted)
				least, most := test.least, test.most
				if least == 0 {
					least, most = 10*ms, 500*ms
				}
				bound, at := least, began.Sub(f.began)
				for i, round := range f.rounds("k") {
					require.Equal(f.t, at, round.at, "try %d", i+1)
					at += time.Duration(random.number % uint64(bound+1))
					if bound > most/2 {
						bound = most
					} else {
						bound *= 2
					}
				}
			}, func(cfg *quorum.Config) {
				cfg.Lab.Random, cfg.MaxTries, cfg.Lab.BackoffMin, cfg.Lab.BackoffMax = random, tries, test.least, test.most
				cfg.Lab.ClockMonitor = quorum.Off
			})
		})
	}
}

// A refusal says when the key expires, so the waiter tries then and not after a random pause.
func TestExpiryOfTheHolderIsAwaited(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.warm()
		f.occupy("k", 700*ms, 0, 1, 2)
		f.occupy("k", time.Hour, 3, 4)
		f.lag(ms, 3, 4) // the first three refusals decide
		lease := f.await("k")
		assert.LessOrEqual(f.t, f.elapsed(), 702*ms)
		assert.GreaterOrEqual(f.t, f.elapsed(), 700*ms)
		f.giveBack(lease)
	}, func(cfg *quorum.Config) {
		cfg.Lab.BackoffMin, cfg.Lab.BackoffMax, cfg.Lab.Random = time.Hour, time.Hour, &dice{number: uint64(50 * time.Minute)}
	})
}

// While a lease of this process is held, its waiters send nothing. If it expires without a release,
// the next waiter tries at once.
func TestLocalWaitersAskNobodyWhileTheLeaseIsHeld(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		held := f.acquire("k")
		lease := f.await("k")
		assert.InDelta(f.t, 10*time.Second, f.elapsed(), float64(2*ms))
		require.ErrorIs(f.t, held.Err(), quorum.ErrExpired)
		synctest.Wait()
		rounds := f.rounds("k")
		require.LessOrEqual(f.t, len(rounds), 12)
		assert.GreaterOrEqual(f.t, rounds[1].at, 9898*ms, "not before the holder had lost it")
		f.giveBack(lease)
	})
}

// A client that never gets a lock, on ever new keys, doesn't keep a queue for each of them.
func TestQueuesOfLostRoundsAreDropped(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		for i := range 5000 {
			key := fmt.Sprint("k", i)
			f.occupy(key, time.Hour)
			_, err := f.Acquire(f.ctx, key)
			require.ErrorIs(t, err, quorum.ErrTaken)
			time.Sleep(10 * ms)
		}
		assert.Less(t, quorum.KeptQueues(f.Coordinator), 2500)
	}, func(cfg *quorum.Config) { cfg.MaxTries = 1 })
}

func TestCloseWhileWaiting(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		f.occupy("k", time.Hour)
		lease := f.acquire("held")
		var group sync.WaitGroup
		for range 5 {
			for _, key := range []string{"k", "held"} {
				group.Go(func() {
					_, err := f.Acquire(f.ctx, key)
					requireWaitErrorIn(f.t, err)
					assert.ErrorIs(f.t, err, quorum.ErrClosed)
					assert.NotErrorIs(f.t, err, quorum.ErrInterrupted)
					assert.NotErrorIs(f.t, err, quorum.ErrExhausted)
				})
			}
		}
		time.Sleep(time.Second)
		at := time.Now()
		require.NoError(f.t, f.Close(f.ctx))
		group.Wait()
		assert.Equal(f.t, at, time.Now())
		_, err := f.Acquire(f.ctx, "k")
		require.ErrorIs(f.t, err, quorum.ErrClosed)
		f.tryFails("k", quorum.ErrClosed)
		require.NoError(f.t, lease.Release(f.ctx), "a held lease can still be released")
		f.requireNothingLeft()
	})
}

// permanentError reports that waiting doesn't help.
type permanentError struct{ permanent bool }

func (permanentError) Error() string     { return "NOPERM this user may not set keys" }
func (e permanentError) Permanent() bool { return e.permanent }

// Acquire doesn't wait for instances that can never grant.
func TestHopelessFailuresReturnAtOnce(t *testing.T) {
	for _, test := range []struct {
		name     string
		strike   func(f *fixture)
		hopeless bool
		err      error
	}{
		{"no right on a blocking set", func(f *fixture) {
			f.each(func(s *quorumtest.Server) { s.FailWith(permanentError{true}) }, 0, 1, 2)
		}, true, permanentError{true}},
		{"no right on a minority", func(f *fixture) {
			f.each(func(s *quorumtest.Server) { s.FailWith(permanentError{true}) }, 0, 1)
			f.occupy("k", time.Hour, 2, 3, 4)
		}, false, quorum.ErrTaken},
		{"says that it passes", func(f *fixture) {
			f.each(func(s *quorumtest.Server) { s.FailWith(permanentError{false}) })
		}, false, quorum.ErrNoQuorum},
		{"another set of instances", func(f *fixture) {
			f.each(func(s *quorumtest.Server) { s.PutSet(wire.Set{Name: "theirs", Version: 3, N: 3, Q: 2}) })
		}, true, wire.ErrSetMismatch},
		{"one server under all names", func(f *fixture) {
			f.each(func(s *quorumtest.Server) {
				s.SetIdentity(func(id *wire.Identity) { id.RunID, id.Vouched = "same", true })
			})
		}, true, quorum.ErrDuplicate},
	} {
		t.Run(test.name, func(t *testing.T) {
			play(t, 5, func(f *fixture) {
				test.strike(f)
				_, err := f.Acquire(f.ctx, "k")
				require.ErrorIs(f.t, err, test.err)
				if test.hopeless {
					assert.Zero(f.t, f.elapsed())
					assert.NotErrorIs(f.t, err, quorum.ErrExhausted)
				} else {
					assert.ErrorIs(f.t, err, quorum.ErrExhausted)
					assert.Equal(f.t, time.Minute, f.elapsed())
				}
				f.requireNothingLeft()
			}, func(cfg *quorum.Config) { cfg.MaxWait = time.Minute })
		})
	}
}

func TestDo(t *testing.T) {
	failed := errors.New("the work failed")
	for _, test := range []struct {
		name  string
		work  func(f *fixture, ctx context.Context, lease *quorum.Lease) error
		wants []error
		nots  []error
	}{
		{"succeeds", func(*fixture, context.Context, *quorum.Lease) error { return nil }, nil, nil},
		{"fails", func(*fixture, context.Context, *quorum.Lease) error { return failed }, []error{failed}, []error{quorum.ErrLost}},
		{"takes longer than the TTL", func(f *fixture, ctx context.Context, lease *quorum.Lease) error {
			time.Sleep(time.Minute)
			assert.NoError(f.t, ctx.Err())
			assert.Positive(f.t, lease.Validity())
			return nil
		}, nil, nil},
		{"loses the lease", func(f *fixture, ctx context.Context, lease *quorum.Lease) error {
			f.each(func(s *quorumtest.Server) { s.Put("k", strangers, time.Hour) })
			began := time.Now()
			<-ctx.Done()
			assert.Less(f.t, time.Since(began), 10*time.Second)
			assert.ErrorIs(f.t, context.Cause(ctx), quorum.ErrLost)
			return failed
		}, []error{failed, quorum.ErrLost}, []error{context.Canceled}},
		{"loses the lease without noticing", func(f *fixture, _ context.Context, _ *quorum.Lease) error {
			f.hang(0, 1)
			time.Sleep(30 * time.Second)
			f.resume()
			return nil
		}, []error{quorum.ErrLost}, nil},
		{"loses the keys just before the end", func(f *fixture, _ context.Context, _ *quorum.Lease) error {
			f.each(func(s *quorumtest.Server) { s.Delete("k") })
			return nil
		}, []error{quorum.ErrNotHeld}, nil},
		{"releases on its own", func(f *fixture, ctx context.Context, lease *quorum.Lease) error {
			assert.NoError(f.t, lease.Release(ctx))
			return nil
		}, nil, nil},
		{"can't be released at once", func(f *fixture, _ context.Context, _ *quorum.Lease) error {
			f.hang(0, 1)
			return nil
		}, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			playNotifying(t, 3, func(f *fixture) {
				type named struct{}
				ctx := context.WithValue(f.ctx, named{}, "caller")
				runs := 0
				var inner context.Context
				err := f.Do(ctx, "k", func(ctx context.Context, lease *quorum.Lease) error {
					runs++
					inner = ctx
					assert.Equal(f.t, "caller", ctx.Value(named{}))
					assert.Equal(f.t, "k", lease.Key())
					assert.NoError(f.t, ctx.Err())
					return test.work(f, ctx, lease)
				})
				assert.Equal(f.t, 1, runs)
				assert.Error(f.t, inner.Err(), "the work's context ends with the work")
				if len(test.wants) == 0 {
					require.NoError(f.t, err)
				}
				for _, want := range test.wants {
					require.ErrorIs(f.t, err, want)
				}
				for _, not := range test.nots {
					require.NotErrorIs(f.t, err, not)
				}
				f.resume()
				f.requireNothingLeft()
				assert.Zero(f.t, quorum.QueuesOf(f.Coordinator))
			})
		})
	}
}

// The context passed to the function ends with the caller's context, and the lock is released
// anyway.
func TestDoUnderAContextThatEnds(t *testing.T) {
	play(t, 3, func(f *fixture) {
		ctx, cancel := context.WithTimeout(f.ctx, time.Second)
		defer cancel()
		err := f.Do(ctx, "k", func(inner context.Context, lease *quorum.Lease) error {
			<-inner.Done()
			assert.ErrorIs(f.t, inner.Err(), context.DeadlineExceeded)
			assert.NoError(f.t, lease.Err(), "the lease isn't over")
			return inner.Err()
		})
		require.ErrorIs(f.t, err, context.DeadlineExceeded)
		require.NotErrorIs(f.t, err, quorum.ErrLost)
		assert.Equal(f.t, time.Second, f.elapsed())
		f.requireNothingLeftWithin(ms)
	})
}

// A panic or a Goexit propagates, after the lock is released.
func TestDoReleasesWhenWorkPanics(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		assert.PanicsWithValue(f.t, "broken", func() {
			_ = f.Do(f.ctx, "k", func(context.Context, *quorum.Lease) error { panic("broken") })
		})
		f.requireNothingLeftWithin(ms)
		var group sync.WaitGroup
		group.Go(func() {
			_ = f.Do(f.ctx, "k", func(context.Context, *quorum.Lease) error { runtime.Goexit(); return nil })
		})
		group.Wait()
		f.requireNothingLeftWithin(ms)
		assert.LessOrEqual(f.t, f.elapsed(), 2*ms)
	})
}
