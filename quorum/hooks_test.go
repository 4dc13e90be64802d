package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

type callerKey struct{}

// hookLog records the calls of hooks, one line for each. Hooks about instances run on several
// goroutines at once.
type hookLog struct {
	t     *testing.T
	mu    sync.Mutex
	lines []string

	decided []quorum.RoundEnd
	leases  []quorum.LeaseEvent
}

func (h *hookLog) say(ctx context.Context, format string, args ...any) {
	assert.Equal(h.t, "caller", ctx.Value(callerKey{}), "the context carries the caller's values")
	h.note(format, args...)
}

func (h *hookLog) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

func (h *hookLog) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := h.lines
	h.lines, h.decided, h.leases = nil, nil, nil
	return lines
}

func (h *hookLog) lease(name string) func(context.Context, quorum.LeaseEvent) {
	return func(ctx context.Context, e quorum.LeaseEvent) {
		h.say(ctx, "%s %s", name, e.Key)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.leases = append(h.leases, e)
	}
}

func (h *hookLog) install(cfg *quorum.Config) {
	cfg.Hooks = quorum.Hooks{
		RoundStarted: func(ctx context.Context, e quorum.RoundStart) {
			h.say(ctx, "started %v %s %d", e.Op, e.Key, e.Try)
		},
		RoundDecided: func(ctx context.Context, e quorum.RoundEnd) {
			h.say(ctx, "decided %v %s %d", e.Op, e.Key, e.Try)
			h.decided = append(h.decided, e)
		},
		Acquired: h.lease("acquired"), Extended: h.lease("extended"), Released: h.lease("released"),
		Lost: func(e quorum.LeaseEvent) {
			h.lease("lost")(context.WithValue(context.Background(), callerKey{}, "caller"), e)
		},
		Quarantined: func(e quorum.QuarantineEvent) {
			h.note("quarantined %s %v", e.Instance, e.Err.Reason)
		},
		ClockJumped: func(e quorum.ClockEvent) { h.note("jumped %s %v", e.Instance, e.Jump.By.Round(time.Second)) },
		Unprotected: func(e quorum.UnprotectedEvent) { h.note("unprotected %s %v", e.Instance, e.Hidden) },
	}
}

func playHooks(t *testing.T, n int, test func(f *fixture, h *hookLog, ctx context.Context)) {
	t.Helper()
	h := &hookLog{t: t}
	play(t, n, func(f *fixture) {
		test(f, h, context.WithValue(f.ctx, callerKey{}, "caller"))
	}, h.install)
}

func TestHooksOfALease(t *testing.T) {
	playHooks(t, 3, func(f *fixture, h *hookLog, ctx context.Context) {
		f.lag(2 * ms)
		lease, err := f.TryAcquire(ctx, "k") // the servers are identified first
		require.NoError(f.t, err)
		synctest.Wait()
		require.Len(f.t, h.decided, 1)
		end := h.decided[0]
		assert.Equal(f.t, 4*ms, end.Took)
		assert.Equal(f.t, f.began.Round(0), end.Started.Round(0))
		assert.Equal(f.t, lease.Token(), end.Token)
		assert.Equal(f.t, 9894*ms, end.Validity)
		assert.NoError(f.t, end.Err)
		require.Len(f.t, end.Ballots, 3)
		granted := 0
		for _, ballot := range end.Ballots {
			if ballot.Vote.Outcome == wire.Granted {
				granted++
				assert.Equal(f.t, 2*ms, ballot.Latency)
			} else {
				assert.ErrorIs(f.t, ballot.Vote.Err, quorum.ErrPending)
			}
		}
		assert.GreaterOrEqual(f.t, granted, 2)
		assert.Equal(f.t, []quorum.LeaseEvent{{Key: "k", Token: lease.Token(), Validity: 9894 * ms, Held: 4 * ms}}, h.leases)
		assert.ElementsMatch(f.t, []string{"started acquire k 1", "acquired k", "decided acquire k 1"}, h.take())

		time.Sleep(time.Second)
		require.NoError(f.t, lease.Extend(ctx))
		require.Len(f.t, h.decided, 1)
		assert.Equal(f.t, 2*ms, h.decided[0].Took)
		assert.Equal(f.t, 9896*ms, h.decided[0].Validity)
		assert.Equal(f.t, []quorum.LeaseEvent{{Key: "k", Token: lease.Token(), Validity: 9896 * ms, Held: 1006 * ms}}, h.leases)
		assert.Equal(f.t, []string{"started extend k 1", "decided extend k 1", "extended k"}, h.take())

		time.Sleep(time.Second)
		require.NoError(f.t, lease.Release(ctx))
		assert.Equal(f.t, []quorum.LeaseEvent{{Key: "k", Token: lease.Token(), Validity: 8896 * ms, Held: 2006 * ms}}, h.leases)
		assert.Equal(f.t, []string{"released k"}, h.take())

		require.ErrorIs(f.t, lease.Release(ctx), quorum.ErrReleased)
		require.ErrorIs(f.t, lease.Extend(ctx), quorum.ErrReleased)
		f.requireNothingLeft()
		assert.Empty(f.t, h.take(), "nothing happened")
	})
}

// A program that waits for its first lock reports once, without configuration, why it waits, for
// how long, and how to skip that.
func TestFirstStartIsExplained(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	var log strings.Builder
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	synctest.Test(t, func(t *testing.T) {
		c, err := quorum.New(quorum.Config{}, bareServers("A", "B", "C")...)
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Close(t.Context())) }()
		time.Sleep(time.Second)
		began := time.Now()
		for _, key := range []string{"first", "second"} {
			require.NoError(t, c.Do(t.Context(), key, func(context.Context, *quorum.Lease) error { return nil }))
		}
		assert.InDelta(t, 29.3, time.Since(began).Seconds(), 0.5)
	})
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	require.Len(t, lines, 1)
	for _, part := range []string{"level=WARN", "no lock can be taken for 29.3s", " of 3 instances don't vote yet (it came up 1s ago", "it came up 1s ago", "wait, or call Coordinator.Trust", "key=first"} {
		assert.Contains(t, lines[0], part)
	}
}

// A TryAcquire on new servers reports once why, too, however often it is called.
func TestFirstStartIsExplainedWithoutWaiting(t *testing.T) {
	var told []quorum.WaitEvent
	play(t, 3, func(f *fixture) {
		f.identify(func(id *wire.Identity) { id.Vouched, id.Served, id.Uptime = false, 0, 0 })
		for range 5 {
			f.tryFails("k", quorum.ErrQuarantined)
			time.Sleep(time.Second)
		}
		require.Len(t, told, 1)
		assert.Equal(t, 10*time.Second, told[0].For.Round(time.Second))
	}, func(cfg *quorum.Config) {
		cfg.Hooks.Waiting = func(_ context.Context, e quorum.WaitEvent) { told = append(told, e) }
	})
}

// An outage is reported once when it has lasted for a second, with what the servers did; and the next
// one again. An answer of a quorum ends it, also if that says that the lock is taken.
func TestOutageIsReported(t *testing.T) {
	var told []quorum.WaitEvent
	play(t, 3, func(f *fixture) {
		f.identify(truth, 0)
		held, err := f.other().TryAcquire(f.ctx, "held") // a lock of its own would ask no server
		require.NoError(t, err)
		outage := func(d time.Duration) {
			f.servers[0].Hang()
			f.servers[1].Hang()
			ctx, cancel := context.WithTimeout(f.ctx, d)
			defer cancel()
			_, err := f.Acquire(ctx, "k")
			require.ErrorIs(t, err, quorum.ErrNoQuorum)
			f.servers[0].Resume()
			f.servers[1].Resume()
			f.tryFails("held", quorum.ErrTaken)
			synctest.Wait() // the next round for "k" would wait for this one's deletes
		}
		outage(900 * ms)
		assert.Empty(t, told)
		outage(900 * ms)
		assert.Empty(t, told, "a quorum has answered in between")
		for i := range 2 {
			outage(5 * time.Second)
			require.Len(t, told, i+1)
			e := told[i]
			assert.Equal(t, "k", e.Key)
			assert.Zero(t, e.For)
			assert.InDelta(t, 1.2, e.Lasted.Seconds(), 0.2)
			require.ErrorIs(t, e.Last, quorum.ErrNoQuorum)
			require.ErrorIs(t, e.Last, quorum.ErrTimeout)
			assert.Regexp(t, `^no lock could be taken for 1(\.\d)?s: quorum: no quorum of instances \(acquire "k": .*; A: .*; B: `, e.String())
		}
		require.NoError(t, held.Release(f.ctx))
	}, func(cfg *quorum.Config) {
		cfg.TTL, cfg.MaxTTL = time.Minute, time.Minute
		cfg.Hooks.Waiting = func(_ context.Context, e quorum.WaitEvent) { told = append(told, e) }
	})
}

// The wait that is told of lasts until a quorum may vote, and not until one server may.
func TestWaitingLastsUntilAQuorumMayVote(t *testing.T) {
	var event quorum.WaitEvent
	play(t, 3, func(f *fixture) {
		for i, up := range []time.Duration{8 * time.Second, 0, 4 * time.Second} {
			f.identify(func(id *wire.Identity) { id.Vouched, id.Uptime, id.Served = false, up, up }, i)
		}
		began := time.Now()
		_ = f.await("k")
		assert.InDelta(t, maxTTL-4*time.Second, event.For, float64(100*ms))
		assert.InDelta(t, event.For, time.Since(began), float64(600*ms))
	}, func(cfg *quorum.Config) {
		cfg.Hooks.Waiting = func(_ context.Context, e quorum.WaitEvent) { event = e }
	})
}

func TestWaitForTheLockAloneIsNotReported(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.identify(truth, 0)
		held := f.acquire("k")
		ctx, cancel := context.WithTimeout(f.ctx, time.Second)
		defer cancel()
		_, err := f.Acquire(ctx, "k")
		require.ErrorIs(t, err, quorum.ErrInterrupted)
		require.NoError(t, held.Release(f.ctx))
	}, func(cfg *quorum.Config) {
		cfg.Hooks.Waiting = func(_ context.Context, e quorum.WaitEvent) { t.Error(e) }
	})
}

// bug panics for the key "boom".
func bug(key string) {
	if key == "boom" {
		panic("a hook's bug")
	}
}

// A hook may panic in a handler whose server recovers. Then its round no longer counts as in
// progress: neither against MaxInFlight nor in the measured round times.
func TestPanickingHookLeavesNoRoundBehind(t *testing.T) {
	play(t, 3, func(f *fixture) {
		for range 20 {
			require.PanicsWithValue(t, "a hook's bug", func() { _, _ = f.TryAcquire(f.ctx, "boom") })
		}
		time.Sleep(time.Second)
		var leases []*quorum.Lease
		for i := range 20 {
			leases = append(leases, f.acquire(fmt.Sprint("k", i)))
		}
		for _, lease := range leases {
			require.NoError(t, lease.Release(f.ctx))
		}
		f.requireNothingLeft()
	}, func(cfg *quorum.Config) {
		cfg.Lab.MaxInFlight = 24 // which allows 18 rounds at once
		cfg.Hooks.RoundStarted = func(_ context.Context, e quorum.RoundStart) { bug(e.Key) }
	})
}

// A lease that was won, but never returned because a hook panics, is released.
func TestPanickingHookLeavesNoLeaseBehind(t *testing.T) {
	for name, hooks := range map[string]quorum.Hooks{
		"RoundDecided": {RoundDecided: func(_ context.Context, e quorum.RoundEnd) { bug(e.Key) }},
		"Acquired":     {Acquired: func(_ context.Context, e quorum.LeaseEvent) { bug(e.Key) }},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				other := f.other(func(cfg *quorum.Config) { cfg.Hooks = quorum.Hooks{} })
				for _, take := range []func(context.Context, string) (*quorum.Lease, error){f.Acquire, f.TryAcquire} {
					require.PanicsWithValue(t, "a hook's bug", func() { _, _ = take(f.ctx, "boom") })
					f.requireNothingLeft()
					lease := f.acquireBy(other, "boom")
					require.NoError(t, lease.Release(f.ctx))
				}
			}, func(cfg *quorum.Config) { cfg.Hooks = hooks })
		})
	}
}

// waits is what the hooks tell of waits. Waiters call them one at a time, because they are in
// one bubble and one queue.
type waits struct {
	started []quorum.WaitStart
	ended   []quorum.WaitEnd
}

func (w *waits) install(cfg *quorum.Config) {
	cfg.Hooks.WaitStarted = func(_ context.Context, e quorum.WaitStart) { w.started = append(w.started, e) }
	cfg.Hooks.WaitEnded = func(_ context.Context, e quorum.WaitEnd) { w.ended = append(w.ended, e) }
}

// A waiter learns whether the holder was in its own process, in another one, or first there and
// then here.
func TestHooksOfAWaitSayWhereTheHolderWas(t *testing.T) {
	var w waits
	playNotifying(t, 3, func(f *fixture) {
		other := f.other(func(cfg *quorum.Config) { cfg.Hooks.WaitStarted, cfg.Hooks.WaitEnded = nil, nil })
		held := f.awaitBy(other, "k")
		leases := make(chan *quorum.Lease, 2)
		wait := func() {
			lease, err := f.Acquire(f.ctx, "k")
			assert.NoError(t, err)
			leases <- lease
		}
		go wait()
		synctest.Wait()
		go wait()
		synctest.Wait()
		assert.Equal(t, []quorum.WaitStart{{Key: "k", Waiters: 1}, {Key: "k", Waiters: 2}}, w.started)
		assert.Empty(t, w.ended, "they wait")

		time.Sleep(300 * ms)
		require.NoError(t, held.Release(f.ctx))
		first := <-leases
		time.Sleep(200 * ms)
		require.NoError(t, first.Release(f.ctx))
		second := <-leases
		require.Len(t, w.ended, 2)
		assert.True(t, w.ended[0].Elsewhere)
		assert.False(t, w.ended[0].Here)
		assert.GreaterOrEqual(t, w.ended[0].Waited, 300*ms)
		assert.GreaterOrEqual(t, w.ended[0].Tries, 2)
		assert.Equal(t, first.Token(), w.ended[0].Token)
		assert.True(t, w.ended[1].Here)
		assert.False(t, w.ended[1].Elsewhere)
		assert.GreaterOrEqual(t, w.ended[1].Waited, 500*ms)
		assert.Equal(t, second.Token(), w.ended[1].Token)
		require.NoError(t, second.Release(f.ctx))
	}, w.install)
}

// Whatever ends a wait is told, with the error that Acquire returns.
func TestHooksOfAWaitThatIsGivenUp(t *testing.T) {
	errStop := errors.New("stop")
	for name, c := range map[string]struct {
		set  func(*quorum.Config)
		ends func(f *fixture, ctx context.Context) context.Context
		is   error
	}{
		"deadline": {
			ends: func(f *fixture, ctx context.Context) context.Context {
				bounded, cancel := context.WithTimeout(ctx, time.Second)
				f.t.Cleanup(cancel)
				return bounded
			},
			is: context.DeadlineExceeded,
		},
		"cancelled": {
			ends: func(f *fixture, ctx context.Context) context.Context {
				ended, cancel := context.WithCancelCause(ctx)
				time.AfterFunc(time.Second, func() { cancel(errStop) })
				return ended
			},
			is: errStop,
		},
		"closed": {
			ends: func(f *fixture, ctx context.Context) context.Context {
				time.AfterFunc(time.Second, func() { _ = f.Close(ctx) })
				return ctx
			},
			is: quorum.ErrClosed,
		},
		"MaxWait":  {set: func(cfg *quorum.Config) { cfg.MaxWait = time.Second }, is: quorum.ErrExhausted},
		"MaxTries": {set: func(cfg *quorum.Config) { cfg.MaxTries = 1 }, is: quorum.ErrExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			var w waits
			play(t, 3, func(f *fixture) {
				other := f.other(func(cfg *quorum.Config) { cfg.Hooks.WaitStarted, cfg.Hooks.WaitEnded = nil, nil })
				_ = f.awaitBy(other, "k")
				ctx := f.ctx
				if c.ends != nil {
					ctx = c.ends(f, ctx)
				}
				_, err := f.Acquire(ctx, "k")
				require.ErrorIs(t, err, c.is)
				require.Len(t, w.started, 1)
				require.Len(t, w.ended, 1)
				assert.Same(t, err, w.ended[0].Err)
				var given *quorum.WaitError
				require.ErrorAs(t, err, &given)
				assert.Equal(t, given.Tries, w.ended[0].Tries)
				assert.Equal(t, given.Waited, w.ended[0].Waited)
				assert.True(t, w.ended[0].Elsewhere)
				assert.Zero(t, w.ended[0].Token)
			}, w.install, func(cfg *quorum.Config) {
				if c.set != nil {
					c.set(cfg)
				}
			})
		})
	}
}
