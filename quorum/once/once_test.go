package once_test

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/once"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// A slot's job is begun once, also if it ended long before the second process comes, and its keys
// last for their TTL.
func TestSecondProcess(t *testing.T) {
	play(t, func(w *world) {
		a, b := w.process("a", once.Config{}), w.process("b", once.Config{})
		require.NoError(t, a.run(w.slot, 0))
		err := b.run(w.slot, 0)
		require.ErrorIs(t, err, once.ErrDone)
		require.ErrorIs(t, err, quorum.ErrTaken)
		require.ErrorContains(t, err, `"job@2000-01-01T00:00:00Z", by "a"`)
		require.ErrorIs(t, a.run(w.slot, 0), once.ErrDone, "on its own")
		time.Sleep(time.Until(w.slot.Add(window - ms))) // a try may have looked for some milliseconds
		require.ErrorIs(t, b.run(w.slot.In(time.FixedZone("elsewhere", 3600)), 0), once.ErrDone)
		require.Equal(t, []string{"a"}, w.begun(w.slot))

		time.Sleep(time.Until(w.slot.Add(window)))
		require.ErrorIs(t, b.run(w.slot, 0), once.ErrLate)
		time.Sleep(time.Until(w.slot.Add(ttl - ms)))
		kept := 0
		for _, s := range w.servers {
			kept += len(s.Keys())
		}
		require.GreaterOrEqual(t, kept, 3)
		time.Sleep(ms)
		for _, s := range w.servers {
			require.Empty(t, s.Keys())
		}
	})
}

// A job is begun from the slot's time on, until the window is over.
func TestWindow(t *testing.T) {
	play(t, func(w *world) {
		a := w.process("a", once.Config{})
		slot := w.slot.Add(time.Minute)
		err := a.run(slot, 0)
		require.ErrorIs(t, err, once.ErrEarly)
		require.ErrorContains(t, err, "begins in 1m0s")
		time.Sleep(time.Minute - 1)
		require.ErrorIs(t, a.run(slot, 0), once.ErrEarly)
		time.Sleep(window)
		require.NoError(t, a.run(slot, 0), "1 ns before its end")

		late := w.slot.Add(2 * time.Minute)
		time.Sleep(time.Until(late.Add(window)))
		err = a.run(late, 0)
		require.ErrorIs(t, err, once.ErrLate)
		require.ErrorContains(t, err, "began 5m0s ago")
		for _, s := range w.servers {
			for _, e := range s.Log() {
				for _, key := range e.Request.Keys {
					require.NotContains(t, key, "00:02:00", "no server was asked")
				}
			}
		}
		require.ErrorIs(t, a.run(time.Unix(0, 0), 0), once.ErrLate)
		require.ErrorIs(t, a.run(w.slot.AddDate(20_000, 0, 0), 0), once.ErrEarly)
	})
}

// Windows that differ, as while another one is rolled out, and clocks that differ by nearly Skew: the first
// process begins as early as it can, and the second comes as late as it can.
func TestOtherWindowsAndClocks(t *testing.T) {
	for _, cfg := range [][2]once.Config{
		{}, {{Window: time.Second}, {Window: once.MaxWindow}}, {{Window: once.MaxWindow}, {Window: time.Second}},
		{{Window: once.MaxWindow, Skew: once.MaxSkew}, {Window: once.MaxWindow, Skew: once.MaxSkew}},
	} {
		play(t, func(w *world) {
			a, b := w.process("a", cfg[0]), w.process("b", cfg[1])
			window, skew := cmp.Or(cfg[1].Window, window), cmp.Or(cfg[1].Skew, skew)
			slot := w.slot.Add(skew - 1) // which a's clock shows now
			a.clock.set(skew - 1)
			require.NoError(t, a.run(slot, 0))
			time.Sleep(skew - 1 + window - 1)
			require.ErrorIs(t, b.run(slot, 0), once.ErrDone)
			require.Equal(t, []string{"a"}, w.begun(slot))
			time.Sleep(time.Nanosecond)
			require.ErrorIs(t, b.run(slot, 0), once.ErrLate)
		})
	}
}

// A process paused between reading the clock and the grant doesn't run the job. Others that are in
// time may.
func TestPausedOnTheWay(t *testing.T) {
	play(t, func(w *world) {
		var late *process
		late = w.process("late", once.Config{}, func(c *quorum.Config) {
			c.Hooks.RoundStarted = func(context.Context, quorum.RoundStart) { late.clock.set(window) }
		})
		require.ErrorIs(t, late.run(w.slot, 0), once.ErrLate)
		synctest.Wait() // its keys are deleted on the last server, too
		require.NoError(t, w.process("b", once.Config{}).run(w.slot, 0))
		require.Equal(t, []string{"b"}, w.begun(w.slot))
	})
}

// A process that crashes has begun the job. When it is back, no process repeats it.
func TestRestartedProcess(t *testing.T) {
	play(t, func(w *world) {
		crashes := w.process("a", once.Config{})
		begun := make(chan struct{})
		ended := make(chan error, 1)
		ctx, crash := context.WithCancel(w.ctx)
		go func() {
			ended <- crashes.Run(ctx, w.slot, func(ctx context.Context, _ *quorum.Lease) error {
				crashes.begins(w.slot)
				close(begun)
				<-ctx.Done() // and then the process stops
				return nil
			})
		}()
		<-begun
		synctest.Wait()
		require.NoError(t, crashes.locks.Close(w.ctx)) // it extends nothing
		crash()
		require.ErrorIs(t, <-ended, quorum.ErrClosed)
		for w.slot.Add(20 * time.Second).After(time.Now()) {
			err := w.process("a", once.Config{}).run(w.slot, 0)
			require.True(t, errors.Is(err, once.ErrDone) || errors.Is(err, once.ErrLate), err)
			time.Sleep(500 * ms)
		}
		require.Equal(t, []string{"a"}, w.begun(w.slot))
	})
}

// A job may take longer than its slot, and keeps its lease. The next slot's job runs at the same
// time.
func TestLongJob(t *testing.T) {
	play(t, func(w *world) {
		a, b := w.process("a", once.Config{}), w.process("b", once.Config{})
		ended := make(chan error, 1)
		go func() { ended <- a.run(w.slot, 3*time.Minute) }()
		time.Sleep(time.Minute)
		next := w.slot.Add(time.Minute)
		require.NoError(t, b.run(next, time.Minute))
		require.ErrorIs(t, a.run(next, 0), once.ErrDone)
		require.Empty(t, ended, "the first still runs")
		require.NoError(t, <-ended)
		require.Equal(t, 3*time.Minute, time.Since(w.slot))
		require.NoError(t, a.locks.Settle(w.ctx))
	})
}

// The context of a job ends when its keys are lost.
func TestLostLease(t *testing.T) {
	play(t, func(w *world) {
		a := w.process("a", once.Config{})
		ended := make(chan error, 1)
		go func() { ended <- a.run(w.slot, time.Hour) }()
		synctest.Wait()
		for _, s := range w.servers[:3] {
			s.FlushAll()
		}
		require.ErrorIs(t, <-ended, quorum.ErrLost)
		require.Less(t, time.Since(w.slot), window)
	})
	play(t, func(w *world) { // its servers can't be reached
		a := w.process("a", once.Config{})
		ended := make(chan error, 1)
		go func() { ended <- a.run(w.slot, time.Hour) }()
		synctest.Wait()
		for _, s := range w.servers[:3] {
			s.Hang()
		}
		require.ErrorIs(t, <-ended, quorum.ErrExpired)
		require.Less(t, time.Since(w.slot), 10*time.Second)
		w.each(resume, 0, 1, 2)
		time.Sleep(time.Second)
		require.ErrorIs(t, w.process("b", once.Config{}).run(w.slot, 0), once.ErrDone)
	})
}

// Without a quorum Run tries until the window is over.
func TestNoQuorum(t *testing.T) {
	for _, back := range []time.Duration{window - time.Second, window + time.Second} {
		play(t, func(w *world) {
			a := w.process("a", once.Config{})
			for _, s := range w.servers[:3] {
				s.Kill()
			}
			time.AfterFunc(back, func() {
				for _, s := range w.servers[:3] {
					s.Start(true)
					run := s.RunID()
					s.SetIdentity(func(id *wire.Identity) { id.Vouched = id.RunID == run })
				}
				_ = a.locks.Trust(w.ctx)
			})
			err := a.run(w.slot, 0)
			if back < window {
				require.NoError(t, err)
				require.Less(t, time.Since(w.slot), window)
				return
			}
			require.ErrorIs(t, err, once.ErrLate)
			require.ErrorIs(t, err, quorum.ErrNoQuorum)
			require.ErrorIs(t, err, quorumtest.ErrConnRefused)
			require.GreaterOrEqual(t, time.Since(w.slot), window)
			require.Less(t, time.Since(w.slot), window+time.Second)
			require.Empty(t, w.begun(w.slot))
			time.Sleep(2 * time.Second)
			require.NoError(t, a.locks.Settle(w.ctx))
			for _, s := range w.servers {
				require.Empty(t, s.Keys(), "nothing is left behind")
			}
		})
	}
}

// A majority of servers that was restarted, or has just been set up, costs a slot that nobody has begun a wait
// for the quarantine.
func TestRestartCostsAWait(t *testing.T) {
	for _, restart := range []func(s *quorumtest.Server){empty, func(s *quorumtest.Server) { s.Kill(); s.Start(true) }} {
		play(t, func(w *world) {
			a, b := w.process("a", once.Config{}), w.process("b", once.Config{})
			w.each(restart, 0, 1, 2, 3, 4)
			require.NoError(t, a.run(w.slot, 0))
			require.Greater(t, time.Since(w.slot), 29*time.Second)
			require.Less(t, time.Since(w.slot), 32*time.Second)
			require.ErrorIs(t, b.run(w.slot, 0), once.ErrDone)
		})
	}
}

// A slot that was begun is known after data was lost: on a minority whatever else is away, and on a majority
// if another server can be asked.
func TestRestartAfterTheBeginning(t *testing.T) {
	minutes := once.Config{Window: 10 * time.Minute}
	for name, lose := range map[string]func(w *world){
		"of a minority, with others away": func(w *world) { w.each(empty, 2); w.each(hang, 0, 1) },
		"of two of the quorum":            func(w *world) { w.each(empty, 1, 2) },
		"of all but one":                  func(w *world) { w.each(empty, 1, 2, 3, 4) },
		"of the others":                   func(w *world) { w.each(empty, 3, 4) },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				time.Sleep(time.Minute)
				slot := w.slot.Add(time.Minute)
				a, b := w.process("a", minutes), w.process("b", minutes)
				away := func(s *quorumtest.Server) {
					s.SetFate(func(wire.Request) quorumtest.Fate { return quorumtest.Fate{End: quorumtest.Refuse} })
				}
				w.each(away, 3, 4)
				require.NoError(t, a.run(slot, 0)) // on a quorum and not more
				time.Sleep(time.Second)
				w.each(func(s *quorumtest.Server) { s.SetFate(nil) }, 3, 4)
				lose(w)
				time.Sleep(time.Minute) // no quarantine keeps b from asking
				err := b.run(slot, 0)
				require.True(t, errors.Is(err, once.ErrDone) || errors.Is(err, once.ErrLate), err)
				require.Equal(t, []string{"a"}, w.begun(slot))
			})
		})
	}
}

// A server that doesn't tell since when it is up, because no mark can be kept there, may have lost the keys.
func TestServerOfUnknownAge(t *testing.T) {
	play(t, func(w *world) {
		w.servers[2].SetIdentity(func(id *wire.Identity) { id.Served, id.Mark = -1, "" })
		time.Sleep(time.Minute)
		slot := w.slot.Add(time.Minute)
		a, b := w.process("a", once.Config{}), w.process("b", once.Config{})
		away := func(s *quorumtest.Server) {
			s.SetFate(func(wire.Request) quorumtest.Fate { return quorumtest.Fate{End: quorumtest.Refuse} })
		}
		w.each(away, 3, 4)
		time.AfterFunc(time.Minute, func() { w.each(func(s *quorumtest.Server) { s.SetFate(nil) }, 3, 4) })
		require.NoError(t, a.run(slot, 0))
		require.GreaterOrEqual(t, time.Since(slot), time.Minute, "with a third server whose age is known")
		w.each(empty, 2)
		w.each(away, 0, 1)
		time.Sleep(time.Minute) // it votes again
		require.ErrorIs(t, b.run(slot, 0), once.ErrDone)
		require.Equal(t, []string{"a"}, w.begun(slot))
	})
	off := func(cfg *quorum.Config) { cfg.Lab.RestartQuarantine = quorum.Off }
	play(t, func(w *world) { // all of them
		require.NoError(t, w.process("a", once.Config{}, off).run(w.slot, 0))
		require.ErrorIs(t, w.process("b", once.Config{}, off).run(w.slot, 0), once.ErrDone)
		require.Zero(t, time.Since(w.slot))
	})
}

// While A B C become A to E, a job isn't begun twice by processes that are one step apart: each quorum of one shares
// a server with each of the other. Those of A B C and of A to E that are two steps apart need not.
func TestOtherServersOneStepApart(t *testing.T) {
	type set struct{ servers, quorum int }
	for _, step := range [][2]set{{{3, 2}, {3, 3}}, {{3, 3}, {5, 3}}, {{5, 3}, {3, 3}}, {{3, 3}, {3, 2}}} {
		for first := range 1 << step[0].servers {
			for second := range 1 << step[1].servers {
				of := func(i, up int) bool { return bits.OnesCount(uint(up)) == step[i].quorum }
				if !of(0, first) || !of(1, second) {
					continue
				}
				play(t, func(w *world) {
					all := w.servers
					time.Sleep(time.Minute)
					slot := w.slot.Add(time.Minute)
					for i, up := range []int{first, second} {
						for n, s := range all {
							s.SetFate(func(wire.Request) quorumtest.Fate {
								return quorumtest.Fate{End: map[bool]quorumtest.End{true: quorumtest.Answer, false: quorumtest.Refuse}[up>>n&1 == 1]}
							})
						}
						w.servers = all[:step[i].servers]
						_ = w.process(string("ab"[i]), short, func(c *quorum.Config) {
							c.Quorum, c.Set.Version = step[i].quorum, uint64(1+i)
						}).run(slot, 0)
						time.Sleep(time.Second)
					}
					require.Equal(t, []string{"a"}, w.begun(slot), "%+v on %b and %b", step, first, second)
				})
			}
		}
	}
}

// A process has the keys stay on too few servers, and is cut off. It hasn't begun the job. Others wait for it to
// delete them.
func TestKeptOnTooFew(t *testing.T) {
	for _, cutOff := range []time.Duration{time.Minute, 2 * window} {
		play(t, func(w *world) {
			time.Sleep(time.Minute)
			slot := w.slot.Add(time.Minute)
			for i, s := range w.servers {
				s.SetFate(func(r wire.Request) quorumtest.Fate {
					late := time.Since(slot) >= cutOff || !strings.Contains(r.Value, ":a ")
					if !late && (r.Op == wire.Release || r.Op == wire.Extend && i > 0) {
						return quorumtest.Fate{End: quorumtest.LoseRequest}
					}
					return quorumtest.Fate{}
				})
			}
			a, b := w.process("a", once.Config{}), w.process("b", once.Config{})
			ctx, cancel := context.WithTimeout(w.ctx, 100*ms)
			defer cancel()
			err := a.Run(ctx, slot, func(context.Context, *quorum.Lease) error { panic("begun") })
			require.ErrorIs(t, err, quorum.ErrInterrupted)
			_, left, _ := w.servers[0].Get("job@2000-01-01T00:01:00Z")
			require.Greater(t, left, once.MaxWindow)

			err = b.run(slot, 0)
			if cutOff < window {
				require.NoError(t, err)
				require.Less(t, time.Since(slot), cutOff+5*time.Second)
				return
			}
			require.ErrorIs(t, err, once.ErrLate)
			require.ErrorIs(t, err, quorum.ErrTaken)
			require.NotErrorIs(t, err, once.ErrDone)
			require.ErrorContains(t, err, `"a" has left its keys on 1 of 5 servers`)
			require.Empty(t, w.begun(slot))
		})
	}
}

// Votes split between processes win for none: Run waits until it can have them.
func TestSplitVotes(t *testing.T) {
	play(t, func(w *world) {
		const key = "job@2000-01-01T00:00:00Z"
		for i, value := range []string{"x:x", "x:x", "y:y", "y:y"} {
			w.servers[i].Put(key, value, 2*time.Second)
		}
		require.NoError(t, w.process("a", once.Config{}).run(w.slot, 0))
		require.GreaterOrEqual(t, time.Since(w.slot), 2*time.Second)
		require.Less(t, time.Since(w.slot), 3*time.Second)
	})
}

// Run returns the error of a job, and the slot counts as done, also after a panic. A job that
// releases its lease makes the slot available again.
func TestJobFails(t *testing.T) {
	failed := errors.New("failed")
	play(t, func(w *world) {
		a, b := w.process("a", once.Config{}), w.process("b", once.Config{})
		err := a.Run(w.ctx, w.slot, func(context.Context, *quorum.Lease) error { return failed })
		require.ErrorIs(t, err, failed)
		require.EqualError(t, err, "failed", "and nothing else")
		require.ErrorIs(t, b.run(w.slot, 0), once.ErrDone)
	})
	play(t, func(w *world) {
		a, b := w.process("a", once.Config{}), w.process("b", once.Config{})
		require.PanicsWithValue(t, "job", func() {
			_ = a.Run(w.ctx, w.slot, func(context.Context, *quorum.Lease) error { panic("job") })
		})
		require.NoError(t, a.locks.Settle(w.ctx), "it isn't extended any more")
		require.ErrorIs(t, b.run(w.slot, 0), once.ErrDone)
	})
	play(t, func(w *world) {
		a, b := w.process("a", once.Config{}), w.process("b", once.Config{})
		err := a.Run(w.ctx, w.slot, func(ctx context.Context, lease *quorum.Lease) error {
			return errors.Join(failed, lease.Release(ctx))
		})
		require.ErrorIs(t, err, failed)
		require.NotErrorIs(t, err, quorum.ErrReleased)
		synctest.Wait() // the last server has deleted the keys, too
		require.NoError(t, b.run(w.slot, 0))
	})
	play(t, func(w *world) {
		a := w.process("a", once.Config{})
		err := a.Run(w.ctx, w.slot, func(ctx context.Context, lease *quorum.Lease) error {
			return a.Run(ctx, w.slot, func(context.Context, *quorum.Lease) error { return nil })
		})
		require.ErrorIs(t, err, quorum.ErrHeldByCaller)
	})
}

// A context that ends also ends Run, or the job.
func TestContextEnds(t *testing.T) {
	play(t, func(w *world) {
		a := w.process("a", once.Config{})
		ended, cancel := context.WithCancel(w.ctx)
		cancel()
		err := a.Run(ended, w.slot, func(context.Context, *quorum.Lease) error { return nil })
		require.ErrorIs(t, err, quorum.ErrInterrupted)
		require.ErrorIs(t, err, context.Canceled)

		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		err = a.Run(ctx, w.slot, func(ctx context.Context, _ *quorum.Lease) error {
			<-ctx.Done()
			return ctx.Err()
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(w.slot))

		require.NoError(t, a.locks.Close(w.ctx))
		require.ErrorIs(t, a.run(w.slot, 0), quorum.ErrClosed)
	})
}

func TestBadInput(t *testing.T) {
	play(t, func(w *world) {
		a := w.process("a", once.Config{})
		for says, input := range map[string]struct {
			locks *quorum.Coordinator
			name  string
			cfg   once.Config
		}{
			"the Coordinator is nil":                  {nil, "job", once.Config{}},
			"key is empty":                            {a.locks, "", once.Config{}},
			`"a{b" has a '{' at byte 1`:               {a.locks, "a{b", once.Config{}},
			"the name has 994 bytes, at most 993":     {a.locks, strings.Repeat("n", 994), once.Config{}},
			"Window is -1s and Skew 5s":               {a.locks, "job", once.Config{Window: -time.Second}},
			"Window is 5m0s and Skew 1ns":             {a.locks, "job", once.Config{Skew: 1}},
			"Window is 24h0m0.001s and Skew 5s, want": {a.locks, "job", once.Config{Window: once.MaxWindow + ms}},
			"Skew 1h0m0.001s, want 1ms to 24h0m0s":    {a.locks, "job", once.Config{Skew: once.MaxSkew + ms}},
		} {
			_, err := once.New(input.locks, input.name, input.cfg)
			require.ErrorIs(t, err, quorum.ErrConfig, says)
			require.ErrorContains(t, err, says)
			require.ErrorContains(t, err, "once: ")
		}
		nothing := func(context.Context, *quorum.Lease) error { return nil }
		require.ErrorIs(t, a.Run(w.ctx, w.slot, nil), quorum.ErrConfig)
		require.ErrorIs(t, a.Run(w.ctx, time.Time{}, nothing), quorum.ErrConfig)
		for says, period := range map[string]time.Duration{"period is 0s": 0, "period is 999ms": 999 * ms, "period is 8761h": 8761 * time.Hour} {
			_, err := a.Slots(w.ctx, period)
			require.ErrorIs(t, err, quorum.ErrConfig)
			require.ErrorContains(t, err, says)
		}
		for _, s := range w.servers {
			require.Empty(t, s.Log(), "no server was asked")
		}
		for _, name := range []string{strings.Repeat("n", once.MaxName), "a@b", "a@2000-01-01T00:00:00Z"} {
			job, err := once.New(a.locks, name, once.Config{})
			require.NoError(t, err)
			require.NoError(t, job.Run(w.ctx, w.slot.Add(-123456789), nothing))
		}
	})
}

// Each slot is yielded at its time. Slots during which the loop's body sleeps are skipped.
func TestSlots(t *testing.T) {
	play(t, func(w *world) {
		time.Sleep(short.Window - ms) // the first short.Window is open
		a := w.process("a", short)
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		slots, err := a.Slots(ctx, time.Minute)
		require.NoError(t, err)
		var seen []string
		for slot := range slots {
			seen = append(seen, slot.Format(time.TimeOnly)+" at "+time.Now().UTC().Format(time.TimeOnly))
			require.Equal(t, time.UTC, slot.Location())
			switch len(seen) {
			case 2:
				time.Sleep(time.Minute + short.Window - ms) // until just before the next short.Window ends
			case 3:
				time.Sleep(2*time.Minute + ms) // the one after next is over
			case 5:
				time.AfterFunc(time.Second, cancel)
			}
		}
		require.Equal(t, []string{
			"00:00:00 at 00:00:09", "00:01:00 at 00:01:00", "00:02:00 at 00:02:09", "00:05:00 at 00:05:00", "00:06:00 at 00:06:00",
		}, seen)
		require.Equal(t, 6*time.Minute+time.Second, time.Since(w.slot))
		for range slots {
			t.Error("a slot after the end")
		}
	})
	play(t, func(w *world) { // a loop that breaks
		slots, err := w.process("a", short).Slots(w.ctx, time.Second)
		require.NoError(t, err)
		for range slots {
			break
		}
		require.Zero(t, time.Since(w.slot))
	})
}

// A wall clock that is set, or that continued while the machine was suspended, is noticed within
// half a window. No slot is yielded twice.
func TestSlotsAndTheWallClock(t *testing.T) {
	play(t, func(w *world) {
		a := w.process("a", short)
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		slots, err := a.Slots(ctx, time.Hour)
		require.NoError(t, err)
		var seen []time.Duration // true times
		for range slots {
			switch seen = append(seen, time.Since(w.slot)); len(seen) {
			case 1:
				time.AfterFunc(time.Minute, func() { a.clock.set(59 * time.Minute) })
			case 2:
				a.clock.set(0) // the same slot begins again in 59 minutes
			case 3:
				cancel()
			}
		}
		require.Len(t, seen, 3)
		require.GreaterOrEqual(t, seen[1], time.Minute)
		require.LessOrEqual(t, seen[1], time.Minute+short.Window/2)
		require.Equal(t, 2*time.Hour, seen[2])
	})
}

// What a lost round has left on the servers, because replies and deletes were lost, doesn't mean that
// somebody has begun the job.
func TestOwnKeysAreNoHolder(t *testing.T) {
	for _, end := range []quorumtest.End{quorumtest.ResetAfter, quorumtest.LoseReply} {
		play(t, func(w *world) {
			for _, s := range w.servers[:3] {
				extended := false
				s.SetFate(func(r wire.Request) quorumtest.Fate {
					switch {
					case time.Since(w.slot) > 5*time.Second:
					case r.Op == wire.Extend:
						extended = true
						return quorumtest.Fate{End: end}
					// An acquisition would delete them.
					case r.Op == wire.Release, r.Op == wire.Acquire && extended:
						return quorumtest.Fate{End: quorumtest.ResetBefore}
					}
					return quorumtest.Fate{}
				})
			}
			a := w.process("a", once.Config{}, func(cfg *quorum.Config) { cfg.Note = "a note" })
			require.NoError(t, a.run(w.slot, 0))
			require.Equal(t, []string{"a"}, w.begun(w.slot))
			require.ErrorIs(t, a.run(w.slot, 0), once.ErrDone, "now it has")
		})
	}
}

// While no quorum answers, a process asks about as often as Acquire does.
func TestFewRoundsWithoutAQuorum(t *testing.T) {
	play(t, func(w *world) {
		for _, s := range w.servers[:3] {
			s.Kill()
		}
		rounds := 0
		a := w.process("a", short, func(cfg *quorum.Config) {
			cfg.Hooks.RoundDecided = func(context.Context, quorum.RoundEnd) { rounds++ }
		})
		require.ErrorIs(t, a.run(w.slot, 0), once.ErrLate)
		require.Less(t, rounds, 100)
	})
}

// A body that takes longer than a period misses no slot whose window is open.
func TestSlotsWhoseWindowIsOpen(t *testing.T) {
	play(t, func(w *world) {
		slots, err := w.process("a", short).Slots(w.ctx, time.Second)
		require.NoError(t, err)
		var seen []string
		for slot := range slots {
			switch seen = append(seen, slot.Format("05")); len(seen) {
			case 1:
				time.Sleep(3500 * ms)
			case 5:
				time.Sleep(12500 * ms) // until 16.5 s
			}
			if len(seen) == 8 {
				break
			}
		}
		require.Equal(t, []string{"00", "01", "02", "03", "04", "07", "08", "09"}, seen)
	})
}

// Processes agree on the defaults while a longer MaxTTL is rolled out.
func TestDefaultsWithALongerMaxTTL(t *testing.T) {
	play(t, func(w *world) {
		with := func(version uint64, length time.Duration) func(*quorum.Config) {
			return func(cfg *quorum.Config) { cfg.Set.Version, cfg.MaxTTL = version, length }
		}
		a, b := w.process("a", once.Config{}, with(1, 30*time.Second)), w.process("b", once.Config{}, with(2, time.Minute))
		require.NoError(t, a.run(w.slot, 0))
		for range 30 {
			require.Error(t, b.run(w.slot, 0))
			time.Sleep(10 * time.Second)
		}
		require.Equal(t, []string{"a"}, w.begun(w.slot))
	})
}

// The zero Config suits a Coordinator with any MaxTTL.
func TestZeroConfigWithAnyMaxTTL(t *testing.T) {
	for _, length := range []time.Duration{900 * ms, 9 * time.Second, time.Hour, 100 * 24 * time.Hour} {
		play(t, func(w *world) {
			with := func(cfg *quorum.Config) { cfg.TTL, cfg.MaxTTL = min(2*time.Second, length/2), length }
			a, b := w.process("a", once.Config{}, with), w.process("b", once.Config{}, with)
			require.NoError(t, a.run(w.slot, 0))
			require.ErrorIs(t, b.run(w.slot, 0), once.ErrDone)
		})
	}
}

// Retryable knows the errors.
func TestRetryable(t *testing.T) {
	play(t, func(w *world) {
		a := w.process("a", once.Config{})
		early := a.run(w.slot.Add(time.Second), 0)
		require.ErrorIs(t, early, once.ErrEarly)
		require.True(t, quorum.Retryable(early))
		late := a.run(w.slot.Add(-window), 0)
		require.ErrorIs(t, late, once.ErrLate)
		require.False(t, quorum.Retryable(late))
		require.NoError(t, a.run(w.slot, 0))
		done := a.run(w.slot, 0)
		require.ErrorIs(t, done, once.ErrDone)
		require.ErrorIs(t, done, quorum.ErrTaken)
		require.False(t, quorum.Retryable(done))
	})
}

// A window that is shorter than the usual pauses is used up to its end.
func TestShortWindow(t *testing.T) {
	for range 20 {
		play(t, func(w *world) {
			for _, s := range w.servers[:3] {
				s.Hang()
			}
			time.AfterFunc(time.Second, func() {
				for _, s := range w.servers[:3] {
					s.Resume()
				}
			})
			a := w.process("a", once.Config{Window: 3 * time.Second, Skew: time.Second}, func(cfg *quorum.Config) { cfg.Lab.BackoffMax = time.Hour; cfg.Lab.BackoffMin = time.Millisecond })
			require.NoError(t, a.run(w.slot, 0))
		})
	}
}

// A Job that New didn't make causes errors and no panics.
func TestZeroJob(t *testing.T) {
	for _, j := range []*once.Job{nil, {}} {
		err := j.Run(t.Context(), time.Now(), func(context.Context, *quorum.Lease) error { return nil })
		require.ErrorIs(t, err, quorum.ErrConfig)
		_, err = j.Slots(t.Context(), time.Hour)
		require.ErrorIs(t, err, quorum.ErrConfig)
		require.ErrorContains(t, err, "not made by New")
	}
}
