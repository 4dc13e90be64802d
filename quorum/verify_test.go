package quorum_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

func TestVerifyOfASoundSet(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.servers[1].StepClock(3 * time.Second)
		f.slow(10*ms, 10*ms)
		report, err := f.Verify(f.ctx)
		require.NoError(t, err)
		assert.Empty(t, report.Notes)
		require.Len(t, report.Instances, 5)
		for i, inst := range report.Instances {
			assert.Equal(t, f.servers[i].Name(), inst.Name)
			assert.Equal(t, f.servers[i].RunID(), inst.Identity.RunID)
			assert.Equal(t, 20*ms, inst.Latency)
			assert.Nil(t, inst.Quarantine)
			require.NoError(t, inst.Err)
			require.Len(t, inst.Notes, 1)
			assert.Contains(t, inst.Notes[0], "persistence is none")
			offset := time.Duration(0)
			if i == 1 {
				offset = 3 * time.Second
			}
			assert.LessOrEqual(t, (inst.ClockOffset - offset).Abs(), inst.ClockUncertainty+time.Microsecond)
			assert.LessOrEqual(t, inst.ClockUncertainty, 21*ms)
			assert.Positive(t, inst.ClockUncertainty)
		}
		for i := range f.servers {
			assert.Empty(t, f.ops(i), "it asks, and locks nothing")
		}
	})
}

func TestVerifyBoundsTheRates(t *testing.T) {
	play(t, 3, func(f *fixture) {
		_, err := f.Verify(f.ctx)
		require.NoError(t, err)
		for range 60 {
			time.Sleep(time.Second)
			f.servers[1].StepClock(100 * time.Microsecond)
		}
		report, err := f.Verify(f.ctx)
		require.NoError(t, err)
		for i, ppm := range []int64{0, 100, 0} {
			inst := report.Instances[i]
			assert.LessOrEqual(t, inst.RateLow, ppm+2)
			assert.GreaterOrEqual(t, inst.RateHigh, ppm-2)
			assert.False(t, inst.RateLow == 0 && inst.RateHigh == 0)
		}
	})
}

// Each possible fault, on one instance of three: found by its error, named by its instance, and the
// rest of the report is complete.
func TestVerifyFindsWhatIsWrong(t *testing.T) {
	vouched := func(edit func(*wire.Identity)) func(f *fixture) {
		return func(f *fixture) {
			f.identify(func(id *wire.Identity) { id.Vouched = true; edit(id) }, 1)
		}
	}
	for name, c := range map[string]struct {
		spoil func(f *fixture)
		want  error
		text  []string
	}{
		"replica":    {vouched(func(id *wire.Identity) { id.Role = "slave" }), wire.ErrNotMaster, []string{"slave", "list masters only"}},
		"sentinel":   {vouched(func(id *wire.Identity) { id.Role = wire.RoleSentinel }), wire.ErrNotMaster, []string{"Sentinel", "list independent masters"}},
		"cluster":    {vouched(func(id *wire.Identity) { id.Role = wire.RoleCluster }), wire.ErrNotMaster, []string{"node of a cluster", "list independent servers"}},
		"eviction":   {vouched(func(id *wire.Identity) { id.Eviction = "allkeys-lru" }), quorum.ErrEviction, []string{"allkeys-lru", "set noeviction"}},
		"quarantine": {func(f *fixture) { f.identify(truth, 1) }, quorum.ErrQuarantined, []string{"came up 0s ago"}},
		"hidden": {vouched(func(id *wire.Identity) {
			id.RunID, id.ReplID, id.Uptime, id.Hidden = "", "", -1, []string{"INFO: NOPERM"}
		}), quorum.ErrHidden, []string{"INFO: NOPERM", "allow its user INFO"}},
		"hung":        {func(f *fixture) { f.hang(1) }, wire.ErrTimeout, []string{"(2s)"}},
		"unreachable": {func(f *fixture) { f.kill(1) }, quorumtest.ErrConnRefused, nil},
		"duplicate": {func(f *fixture) {
			life := f.servers[0].RunID()
			f.identify(func(id *wire.Identity) { id.RunID, id.Vouched = life, true }, 1)
			f.servers[1].Delay(func(wire.Request) time.Duration { return ms }, nil)
		}, quorum.ErrDuplicate, []string{`"A"`, `"B"`, "list each server once"}},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				c.spoil(f)
				report, err := f.Verify(f.ctx)
				require.ErrorIs(t, err, c.want)
				assert.LessOrEqual(t, f.elapsed(), 2*time.Second)
				for _, other := range []error{wire.ErrNotMaster, quorum.ErrEviction, quorum.ErrQuarantined, quorum.ErrHidden, wire.ErrTimeout, quorum.ErrDuplicate} {
					assert.Equal(t, other == c.want, errors.Is(err, other), "%v", other)
				}
				assert.NotErrorIs(t, err, context.DeadlineExceeded, "that would be the caller's")
				var inst *quorum.InstanceError
				require.ErrorAs(t, err, &inst)
				assert.Equal(t, "B", inst.Instance)
				assert.Equal(t, wire.Probe, inst.Op)
				for _, text := range c.text {
					assert.ErrorContains(t, err, text)
				}
				assert.ErrorIs(t, report.Instances[1].Err, c.want)
				assert.Equal(t, "B", report.Instances[1].Name)
				for _, i := range []int{0, 2} {
					assert.NoError(t, report.Instances[i].Err)
					assert.NotEmpty(t, report.Instances[i].Identity.RunID)
				}
				assert.Equal(t, c.want == quorum.ErrQuarantined, report.Instances[1].Quarantine != nil)
			})
		})
	}
}

func TestVerifyNotes(t *testing.T) {
	for n, text := range map[int]string{1: "no redundancy", 2: "no more failures than 1", 4: "no more failures than 3", 3: "", 5: ""} {
		play(t, n, func(f *fixture) {
			report, err := f.Verify(f.ctx)
			require.NoError(t, err)
			if text == "" {
				assert.Empty(t, report.Notes)
				return
			}
			require.Len(t, report.Notes, 1)
			assert.Contains(t, report.Notes[0], text)
		})
	}
	play(t, 3, func(f *fixture) {
		f.identify(func(id *wire.Identity) { id.Persistence = "aof always" }, 0)
		f.identify(func(id *wire.Identity) { id.Persistence, id.Hidden = "", []string{"CONFIG: NOPERM"} }, 1)
		f.identify(func(id *wire.Identity) { id.Persistence = "aof everysec" }, 2)
		report, _ := f.Verify(f.ctx)
		assert.Empty(t, report.Instances[0].Notes)
		assert.Equal(t, []string{"hidden: CONFIG: NOPERM"}, report.Instances[1].Notes)
		require.Len(t, report.Instances[2].Notes, 1)
		assert.Contains(t, report.Instances[2].Notes[0], "aof everysec")
		assert.Contains(t, report.String(), "\nB: hidden: CONFIG: NOPERM\nC: quorum: instance is in quarantine")
	})
}

// Verify reports clocks certainly more than half of MaxTTL apart, because tokens depend on them
// when counters are lost.
func TestVerifyNotesClocksApart(t *testing.T) {
	for step, noted := range map[time.Duration]bool{0: false, 4 * time.Second: false, 6 * time.Second: true, -6 * time.Second: true, time.Hour: true} {
		play(t, 3, func(f *fixture) {
			f.servers[1].StepClock(step)
			f.slow(10*ms, 10*ms)
			report, err := f.Verify(f.ctx)
			require.NoError(f.t, err)
			if !noted {
				assert.Empty(f.t, report.Notes)
				return
			}
			require.Len(f.t, report.Notes, 1)
			assert.Contains(f.t, report.Notes[0], "more than half of MaxTTL (5s)")
			if step > 0 {
				assert.Contains(f.t, report.Notes[0], "the clock of B is at least ")
			} else {
				assert.Contains(f.t, report.Notes[0], "ahead of that of B")
			}
		})
	}
	play(t, 3, func(f *fixture) {
		f.servers[1].StepClock(time.Hour)
		f.slow(10*ms, 10*ms)
		f.servers[1].SetIdentity(func(id *wire.Identity) { id.Clock, id.Vouched = time.Time{}, true })
		report, err := f.Verify(f.ctx)
		require.NoError(f.t, err)
		assert.Empty(f.t, report.Notes, "a clock that isn't reported")
	})
}

// A replica that accepts writes loses them to its master's, so it doesn't vote, whatever it
// answers. It may be promoted, and votes then. Permanent errors are returned at once.
func TestOnlyMastersVote(t *testing.T) {
	for role, forGood := range map[string]bool{"slave": false, wire.RoleSentinel: true, wire.RoleCluster: true, "arbiter": false} {
		t.Run(role, func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				f.identify(func(id *wire.Identity) { id.Role, id.Vouched = role, true }, 1, 2)
				_, err := f.Acquire(f.ctx, "k")
				require.ErrorIs(f.t, err, wire.ErrNotMaster)
				assert.Equal(f.t, !forGood, errors.Is(err, quorum.ErrExhausted))
				for _, i := range []int{1, 2} {
					assert.NotContains(f.t, f.ops(i), wire.Acquire, "it isn't asked")
				}
				f.requireNothingLeft()

				f.vouch(1, 2)
				lease := f.acquire("k")
				synctest.Wait()
				assert.Len(f.t, lease.Instances(), 3)
			}, func(cfg *quorum.Config) { cfg.MaxWait = time.Second })
		})
	}
}

func TestVerifyWithTheQuarantineOff(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.identify(func(id *wire.Identity) { id.RunID, id.ReplID, id.Uptime = "", "", -1 })
		_, err := f.Verify(f.ctx)
		require.NoError(t, err, "what isn't asked for may be hidden")
	}, func(c *quorum.Config) { c.Lab.RestartQuarantine = quorum.Off })
}

func TestVerifyEndsWithItsContext(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.hang(0)
		why := errors.New("went away")
		ctx, cancel := context.WithCancelCause(f.ctx)
		time.AfterFunc(10*ms, func() { cancel(why) })
		report, err := f.Verify(ctx)
		assert.Equal(t, 10*ms, f.elapsed())
		for _, want := range []error{quorum.ErrInterrupted, context.Canceled, why} {
			require.ErrorIs(t, err, want)
		}
		require.Len(t, report.Instances, 3)
		assert.NotEmpty(t, report.Instances[1].Identity.RunID, "the instance that answered is in it")
		require.ErrorIs(t, report.Instances[0].Err, quorum.ErrInterrupted)
		assert.NotErrorIs(t, report.Instances[0].Err, quorum.ErrTimeout, "it had no time to be late")

		err = f.Trust(ctx)
		for _, want := range []error{quorum.ErrInterrupted, context.Canceled, why} {
			require.ErrorIs(t, err, want)
		}
		require.NoError(t, f.Close(f.ctx))
		_, err = f.Verify(f.ctx)
		require.ErrorIs(t, err, quorum.ErrClosed)
		require.ErrorIs(t, f.Trust(f.ctx), quorum.ErrClosed)
	})
}

func TestTrustOnlyTheNamed(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.identify(truth)
		require.NoError(t, f.Trust(f.ctx, "B"))
		f.tryFails("k", quorum.ErrQuarantined)
		require.NoError(t, f.Settle(f.ctx)) // B's key may have come late
		report, err := f.Verify(f.ctx)
		require.ErrorIs(t, err, quorum.ErrQuarantined)
		assert.NotNil(t, report.Instances[0].Quarantine)
		assert.Nil(t, report.Instances[1].Quarantine)
		assert.NotNil(t, report.Instances[2].Quarantine)
		require.NoError(t, f.Trust(f.ctx, "B", "C", "C"))
		f.acquire("k")
	})
}

func TestTrustSaysWhatItCouldNotDo(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.identify(truth)
		f.identify(func(id *wire.Identity) { id.RunID, id.ReplID = "", "" }, 0)
		f.kill(1)
		err := f.Trust(f.ctx, "A", "B", "C")
		require.ErrorIs(t, err, quorum.ErrHidden)
		require.ErrorIs(t, err, quorumtest.ErrConnRefused)
		report, _ := f.Verify(f.ctx)
		assert.Nil(t, report.Instances[2].Quarantine, "but the others it could")
	})
	play(t, 3, func(f *fixture) {
		f.identify(truth)
		f.identify(func(id *wire.Identity) { id.Role = "slave" }, 0)
		err := f.Trust(f.ctx)
		require.ErrorIs(t, err, quorum.ErrNotMaster)
		require.NotErrorIs(t, err, quorum.ErrOtherRun)
		require.NoError(t, f.Trust(f.ctx, "B", "C"))
	})
	play(t, 3, func(f *fixture) {
		f.identify(truth)
		f.identify(func(id *wire.Identity) { id.Role = "slave" }, 0)
		require.NoError(t, f.Trust(f.ctx), "it doesn't matter who they are")
	}, func(cfg *quorum.Config) { cfg.Lab.RestartQuarantine = quorum.Off })
}

// An unknown name is probably a mistake, so nothing is done.
func TestTrustOfAnUnknownName(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.identify(truth)
		err := f.Trust(f.ctx, "A", "Z")
		require.ErrorIs(t, err, quorum.ErrConfig)
		require.ErrorContains(t, err, `no instance "Z"`)
		report, _ := f.Verify(f.ctx)
		assert.NotNil(t, report.Instances[0].Quarantine)
	})
}

// Only the named servers are asked, and what they say is kept when ctx ends.
func TestTrustDoesNotWaitForOthers(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.identify(truth)
		f.hang(2)
		require.NoError(t, f.Trust(f.ctx, "A"))
		assert.Zero(t, f.elapsed())

		f.kill(1)
		ctx, cancel := context.WithTimeout(f.ctx, 10*ms)
		defer cancel()
		err := f.Trust(ctx)
		require.ErrorIs(t, err, quorumtest.ErrConnRefused, "B's")
		require.ErrorIs(t, err, quorum.ErrInterrupted, "C's")
		assert.False(t, quorum.Retryable(err))
		assert.NotErrorIs(t, err, quorum.ErrTimeout)
	})
}

// stoppingClock runs stop once, when a given function reads it: what happens to a process that is
// paused there.
type stoppingClock struct {
	clock.Clock
	in   string
	stop func()
	once *atomic.Bool
}

func (c stoppingClock) Now() time.Time {
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, c.in) && c.once.CompareAndSwap(false, true) {
			c.stop()
		}
		if !more {
			return c.Clock.Now()
		}
	}
}

// Between Trust's probe of a server and its conclusion, the server restarts, and another goroutine
// sees that. The new run isn't trusted.
func TestTrustIsForTheRunThatItFound(t *testing.T) {
	var f *fixture
	var found error
	restarted := stoppingClock{Clock: clock.New(), in: "quorum.(*server).report", once: new(atomic.Bool), stop: func() {
		f.servers[0].Restart(false)
		_, found = f.Verify(f.ctx)
	}}
	synctest.Test(t, func(t *testing.T) {
		f = newFixture(t, 1, func(c *quorum.Config) { c.Lab.Clock = restarted })
		f.identify(truth)
		err := f.Trust(f.ctx)
		require.ErrorIs(t, err, quorum.ErrOtherRun)
		require.False(t, quorum.Retryable(err), "a loop would trust the new run")
		require.ErrorIs(t, found, quorum.ErrQuarantined)
		f.tryFails("k", quorum.ErrQuarantined)
	})
}
