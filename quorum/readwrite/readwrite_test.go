package readwrite_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/readwrite"
	"github.com/redquorum/redlock/quorum/wire"
)

// Readers and writers of processes with different settings: never a writer beside anybody, as many readers as
// the largest setting and no more, and everybody gets in.
func TestReadersAndWriters(t *testing.T) {
	for _, polls := range []bool{false, true} {
		t.Run(fmt.Sprint("polling ", polls), func(t *testing.T) {
			play(t, func(w *world) {
				w.polls = polls
				var all sync.WaitGroup
				for i, readers := range []int{2, 4, 0, 3, 1} {
					if readers == 0 {
						readers = 4
					}
					p := w.process(readers, func(cfg *quorum.Config) { cfg.Lab.BackoffMax = 100 * ms })
					for j := range 4 {
						all.Go(func() {
							for k := range 6 {
								visit := p.reads
								if (i+j+k)%4 == 0 {
									visit = p.writes
								}
								assert.NoError(w.t, visit(time.Duration(3+i+j)*ms))
							}
						})
					}
				}
				all.Wait()
				assert.LessOrEqual(w.t, w.most, 4)
				assert.GreaterOrEqual(w.t, w.most, 2)
				assert.Less(w.t, w.elapsed(), 20*time.Second)
				// As many as the largest setting, whatever the order was before.
				var readers []*holder
				for p := w.process(4); len(readers) < 4; {
					readers = append(readers, w.enter(w.take(p.Read), false))
				}
				assert.Equal(w.t, 4, w.most)
				for _, h := range readers {
					require.NoError(w.t, w.leave(h))
				}
				w.requireNothingLeft()
			})
		})
	}
}

// Clients with different settings exclude each other, and each keeps to its own setting.
func TestDifferentSettings(t *testing.T) {
	play(t, func(w *world) {
		few, many := w.process(1), w.process(0)
		full := func() { _, err := few.TryRead(w.ctx); require.ErrorIs(w.t, err, quorum.ErrTaken) }
		readers := []*quorum.Lease{w.take(few.TryRead)}
		full()
		for range readwrite.MaxReaders - 1 {
			readers = append(readers, w.take(many.TryRead))
		}
		_, err := many.TryRead(w.ctx)
		require.ErrorIs(w.t, err, quorum.ErrTaken)
		for _, lease := range readers {
			_, err := few.TryWrite(w.ctx)
			require.ErrorIs(w.t, err, quorum.ErrTaken, lease.Key())
			w.release(lease)
		}
		writer := w.take(few.TryWrite)
		full()
		_, err = many.TryRead(w.ctx)
		require.ErrorIs(w.t, err, quorum.ErrTaken)
		_, err = many.TryWrite(w.ctx)
		require.ErrorIs(w.t, err, quorum.ErrTaken)
		w.release(writer)
		w.requireNothingLeft()
	})
}

// A writer gets in although readers overlap without a gap, soon after those that read when it came. So does
// a reader although writers follow each other.
func TestNobodyStarves(t *testing.T) {
	for name, test := range map[string]struct{ polls, writes bool }{
		"a writer":          {false, true},
		"a writer, polling": {true, true},
		"a reader":          {false, false},
		"a reader, polling": {true, false},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				w.polls = test.polls
				others, stop := sync.WaitGroup{}, make(chan struct{})
				for i := range 6 {
					p := w.process(0)
					others.Go(func() {
						time.Sleep(time.Duration(i) * 37 * ms)
						for {
							select {
							case <-stop:
								return
							default:
							}
							if test.writes {
								assert.NoError(w.t, p.reads(200*ms))
							} else {
								assert.NoError(w.t, p.writes(50*ms))
							}
						}
					})
				}
				time.Sleep(time.Second)
				// Pauses are random. Five waits take more than 3 s in one run of 500, and ten times fewer with each 0.6 s.
				const soon = 10 * time.Second
				p, came := w.process(0, maxWait(soon)), w.elapsed()
				visit := p.reads
				if test.writes {
					visit = p.writes
				}
				for range 5 {
					assert.NoError(w.t, visit(ms))
				}
				took := w.elapsed() - came
				close(stop)
				others.Wait()
				assert.Less(w.t, took, soon)
				w.requireNothingLeft()
			})
		})
	}
}

// Callers have the lock in the order in which they came, by and large: one that waits is passed by nobody who
// has just had it.
func TestInOrder(t *testing.T) {
	play(t, func(w *world) {
		const others, holds, lasts = 6, 50 * ms, time.Minute
		var all sync.WaitGroup
		for range others {
			p := w.process(0)
			all.Go(func() {
				for w.elapsed() < lasts {
					assert.NoError(w.t, p.writes(holds))
				}
			})
		}
		p, reads := w.process(0), 0
		for ; w.elapsed() < lasts; reads++ {
			require.NoError(w.t, p.reads(ms))
		}
		all.Wait()
		assert.Greater(w.t, reads, int(lasts/(others*holds)*85/100))
	})
}

// A client that disagrees on the set is refused, and others go on as before.
func TestOtherSet(t *testing.T) {
	play(t, func(w *world) {
		first, second := w.process(0), w.process(0)
		other := w.process(0, func(cfg *quorum.Config) { cfg.MaxTTL = 20 * time.Second })
		require.NoError(w.t, first.writes(ms))
		require.ErrorIs(w.t, other.reads(ms), quorum.ErrSetMismatch)
		require.ErrorIs(w.t, other.writes(ms), quorum.ErrSetMismatch)
		lease := w.take(first.Write)
		time.AfterFunc(time.Second, func() { w.release(lease) })
		require.NoError(w.t, second.reads(ms), "it needs the turn")
		w.requireNothingLeft()
	})
}

// A writer that waits for all places to be left is notified of each, and asks no more often than that.
func TestWaitingWriterAsksRarely(t *testing.T) {
	play(t, func(w *world) {
		var all sync.WaitGroup
		for i := range readwrite.MaxReaders {
			p := w.process(0)
			all.Go(func() { assert.NoError(w.t, p.reads(time.Duration(6000+10*i)*ms)) })
		}
		time.Sleep(5 * time.Second)
		before := w.requests(wire.Acquire)
		late := w.process(0)
		for range 20 { // they wait behind the writer
			all.Go(func() { time.Sleep(100 * ms); assert.NoError(w.t, late.reads(ms)) })
		}
		require.NoError(w.t, w.process(0).writes(ms))
		assert.Less(w.t, w.requests(wire.Acquire)-before, 3*readwrite.MaxReaders)
		all.Wait()
		w.requireNothingLeft()
	})
}

// A caller that reads or writes is told that it would wait for itself. Whoever asks under another context isn't.
func TestNoUpgrade(t *testing.T) {
	play(t, func(w *world) {
		p := w.process(0)
		for _, enter := range []func(context.Context) (*quorum.Lease, error){p.Read, p.Write} {
			lease, err := enter(w.ctx)
			require.NoError(w.t, err)
			for _, again := range []func(context.Context) (*quorum.Lease, error){p.Read, p.Write, p.TryRead, p.TryWrite} {
				_, err := again(lease.Within(w.ctx))
				require.ErrorIs(w.t, err, quorum.ErrHeldByCaller)
				require.False(w.t, quorum.Retryable(err))
			}
			require.NoError(w.t, lease.Release(w.ctx))
			again, err := enter(lease.Within(w.ctx))
			require.ErrorIs(w.t, err, quorum.ErrInterrupted, "the lease's context has ended")
			require.Nil(w.t, again)
		}
		few, err := readwrite.New(p.locks, "book", readwrite.Config{Readers: 1})
		require.NoError(w.t, err)
		place := w.take(few.Read)
		other := w.take(p.Read) // at a place that few's readers don't use
		_, err = few.TryRead(other.Within(w.ctx))
		require.ErrorIs(w.t, err, quorum.ErrHeldByCaller)
		w.release(place, other)

		lease, err := p.Read(w.ctx)
		require.NoError(w.t, err)
		second, err := p.TryRead(w.ctx)
		require.NoError(w.t, err)
		_, err = p.TryWrite(w.ctx)
		require.ErrorIs(w.t, err, quorum.ErrTaken)
		require.NoError(w.t, errors.Join(lease.Release(w.ctx), second.Release(w.ctx)))
		w.requireNothingLeft()
	})
}

// Who tries doesn't pass those that wait.
func TestTryDoesNotPass(t *testing.T) {
	play(t, func(w *world) {
		reader, writer, third := w.process(0), w.process(0), w.process(0)
		lease, err := reader.TryRead(w.ctx)
		require.NoError(w.t, err)
		wrote := make(chan error, 1)
		go func() { wrote <- writer.writes(time.Second) }()
		time.Sleep(time.Second)
		for _, try := range []func(context.Context) (*quorum.Lease, error){third.TryRead, third.TryWrite, reader.TryRead, writer.TryRead} {
			began := w.elapsed()
			_, err := try(w.ctx)
			require.ErrorIs(w.t, err, quorum.ErrTaken)
			require.True(w.t, quorum.Retryable(err))
			require.Less(w.t, w.elapsed()-began, 5*ms)
		}
		require.NoError(w.t, lease.Release(w.ctx))
		time.Sleep(500 * ms) // now it writes
		_, err = third.TryRead(w.ctx)
		require.ErrorIs(w.t, err, quorum.ErrTaken)
		require.NoError(w.t, <-wrote)
		lease, err = third.TryWrite(w.ctx)
		require.NoError(w.t, err)
		require.NoError(w.t, lease.Release(w.ctx))
		w.requireNothingLeft()
	})
}

// Whoever gives up leaves nothing behind, at whatever moment.
func TestGivingUpLeavesNothing(t *testing.T) {
	for _, writes := range []bool{false, true} {
		for after := time.Duration(0); after < 40*ms; after += 333 * time.Microsecond {
			play(t, func(w *world) {
				holder, p, other := w.process(0), w.process(0), w.process(0)
				h, err := holder.Write(w.ctx)
				require.NoError(w.t, err)
				ctx, cancel := context.WithCancel(w.ctx)
				ended := make(chan error, 1)
				go func() {
					enter := p.Read
					if writes {
						enter = p.Write
					}
					lease, err := enter(ctx)
					if err == nil {
						err = lease.Release(w.ctx)
					}
					ended <- err
				}()
				time.AfterFunc(30*ms, func() { assert.NoError(w.t, h.Release(w.ctx)) })
				time.Sleep(after)
				cancel()
				if err := <-ended; err != nil {
					require.ErrorIs(w.t, err, context.Canceled)
					require.ErrorIs(w.t, err, quorum.ErrInterrupted)
				}
				require.NoError(w.t, other.writes(ms))
				require.Less(w.t, w.elapsed(), time.Second)
				w.requireNothingLeft()
			})
		}
	}
}

// If the caller that is next dies, the others go on a TTL later.
func TestNextDies(t *testing.T) {
	play(t, func(w *world) {
		reader, writer, last := w.process(0), w.process(0), w.process(0)
		lease, err := reader.Read(w.ctx)
		require.NoError(w.t, err)
		lease.KeepAlive()
		ctx, dies := context.WithCancel(w.ctx)
		died := make(chan error, 1)
		go func() {
			_, err := writer.Write(ctx)
			died <- err
		}()
		time.Sleep(time.Second)
		writer.cut.Store(true)
		require.NoError(w.t, last.reads(ms))
		assert.Greater(w.t, w.elapsed(), 8*time.Second)
		assert.Less(w.t, w.elapsed(), 12*time.Second)
		require.NoError(w.t, lease.Release(w.ctx))
		dies()
		require.Error(w.t, <-died)
		require.NoError(w.t, last.writes(ms))
		writer.cut.Store(false)
		w.requireNothingLeft()
	})
}

// A writer whose turn was lost queues again, so that no readers pass it from then on.
func TestLostTurn(t *testing.T) {
	play(t, func(w *world) {
		reader, writer, other := w.process(0), w.process(0), w.process(0)
		lease, err := reader.Read(w.ctx)
		require.NoError(w.t, err)
		lease.KeepAlive()
		wrote := make(chan error, 1)
		go func() { wrote <- writer.writes(ms) }()
		time.Sleep(time.Second)
		for _, s := range w.servers {
			s.Delete("book#next")
		}
		time.Sleep(5 * time.Second) // it notices that when it extends
		_, err = other.TryRead(w.ctx)
		require.ErrorIs(w.t, err, quorum.ErrTaken)
		require.NoError(w.t, lease.Release(w.ctx))
		require.NoError(w.t, <-wrote)
		w.requireNothingLeft()
	})
}

// A turn lasts as long as it takes, however short the lives of leases are.
func TestMaxLifeIsNotForTheWait(t *testing.T) {
	play(t, func(w *world) {
		reader, other := w.process(0), w.process(0)
		turns := 0
		writer := w.process(0, func(cfg *quorum.Config) {
			cfg.MaxLife = 10 * time.Second
			cfg.Hooks.Acquired = func(_ context.Context, e quorum.LeaseEvent) {
				if e.Key == "book#next" {
					turns++
				}
			}
		})
		lease, err := reader.Read(w.ctx)
		require.NoError(w.t, err)
		lease.KeepAlive()
		wrote := make(chan error, 1)
		go func() { wrote <- writer.writes(ms) }()
		time.Sleep(30 * time.Second)
		_, err = other.TryRead(w.ctx)
		require.ErrorIs(w.t, err, quorum.ErrTaken)
		require.NoError(w.t, lease.Release(w.ctx))
		require.NoError(w.t, <-wrote)
		require.Equal(w.t, 1, turns)
	})
}

// MaxWait bounds the wait as a whole, and MaxTries has the caller return.
func TestBounds(t *testing.T) {
	play(t, func(w *world) {
		holder, next, bounded := w.process(0), w.process(0), w.process(0, maxWait(3*time.Second))
		tries := w.process(0, func(cfg *quorum.Config) { cfg.MaxTries = 1 })
		lease, err := holder.Read(w.ctx)
		require.NoError(w.t, err)
		lease.KeepAlive()
		ctx, cancel := context.WithTimeout(w.ctx, 2*time.Second)
		defer cancel()
		gaveUp := make(chan error, 1)
		go func() {
			_, err := next.Write(ctx)
			gaveUp <- err
		}()
		time.Sleep(100 * ms)
		began := w.elapsed()
		require.ErrorIs(w.t, tries.reads(ms), quorum.ErrExhausted)
		require.Less(w.t, w.elapsed()-began, 50*ms)
		err = bounded.writes(ms) // it waits for its turn, and then for the reader
		require.ErrorIs(w.t, err, quorum.ErrExhausted)
		require.ErrorIs(w.t, err, quorum.ErrTaken)
		assert.InDelta(w.t, 3*time.Second, w.elapsed()-began, float64(60*ms))
		require.ErrorIs(w.t, <-gaveUp, context.DeadlineExceeded)
		for _, s := range w.servers {
			s.Hang()
		}
		began = w.elapsed()
		require.ErrorIs(w.t, w.process(0, maxWait(20*ms)).reads(ms), quorum.ErrExhausted)
		assert.InDelta(w.t, 20*ms, w.elapsed()-began, float64(ms))
		for _, s := range w.servers {
			s.Resume()
		}
		require.NoError(w.t, lease.Release(w.ctx))
		w.requireNothingLeft()
	})
}

// Close ends all waits.
func TestClose(t *testing.T) {
	play(t, func(w *world) {
		holder, p := w.process(0), w.process(0)
		lease, err := holder.Write(w.ctx)
		require.NoError(w.t, err)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { assert.ErrorIs(w.t, p.reads(ms), quorum.ErrClosed) })
			all.Go(func() { assert.ErrorIs(w.t, p.writes(ms), quorum.ErrClosed) })
		}
		time.Sleep(time.Second)
		require.NoError(w.t, p.locks.Close(w.ctx))
		all.Wait()
		p = w.process(0, func(cfg *quorum.Config) { cfg.Lab.BackoffMin, cfg.Lab.BackoffMax = 5*time.Second, 5*time.Second })
		all.Go(func() { assert.ErrorIs(w.t, p.reads(ms), quorum.ErrClosed) })
		time.Sleep(20 * ms)
		began := w.elapsed()
		require.NoError(w.t, p.locks.Close(w.ctx))
		all.Wait()
		require.Less(w.t, w.elapsed()-began, time.Second)
		require.NoError(w.t, lease.Release(w.ctx))
		w.requireNothingLeft()
	})
}

// A hook that panics leaves nothing behind, whichever it is.
func TestPanics(t *testing.T) {
	for _, released := range []bool{false, true} {
		play(t, func(w *world) {
			panics := false
			holder, p := w.process(0, maxWait(20*time.Second)), w.process(0, func(cfg *quorum.Config) {
				cfg.KeepAlive = true
				hook := func(_ context.Context, e quorum.LeaseEvent) {
					if panics && (e.Key == "book#next") == released {
						panic("a hook's")
					}
				}
				if released {
					cfg.Hooks.Released = hook
				} else {
					cfg.Hooks.Acquired = hook
				}
			})
			lease, err := holder.Write(w.ctx)
			require.NoError(w.t, err)
			time.AfterFunc(time.Second, func() { assert.NoError(w.t, lease.Release(w.ctx)) })
			panics = true
			require.PanicsWithValue(w.t, "a hook's", func() { _, _ = p.Write(w.ctx) })
			panics = false
			synctest.Wait()
			require.NoError(w.t, holder.writes(ms))
			require.Less(w.t, w.elapsed(), 2*time.Second)
			w.requireNothingLeft()
		})
	}
}

func TestConfig(t *testing.T) {
	play(t, func(w *world) {
		locks := w.process(0).locks
		for _, bad := range []struct {
			name    string
			readers int
			says    string
		}{
			{"", 0, "the name"},
			{string(make([]byte, 1020)), 0, "the name"},
			{strings.Repeat("k", 1020), 0, "#next is added"},
			{"a{b}", 0, "the name"},
			{"k", -1, "Readers is -1"},
			{"k", 17, "Readers is 17"},
		} {
			_, err := readwrite.New(locks, bad.name, readwrite.Config{Readers: bad.readers})
			require.ErrorIs(w.t, err, quorum.ErrConfig)
			require.ErrorContains(w.t, err, bad.says)
		}
		for _, none := range []*quorum.Coordinator{nil, {}} {
			_, err := readwrite.New(none, "k", readwrite.Config{})
			require.ErrorIs(w.t, err, quorum.ErrConfig)
		}
		require.LessOrEqual(w.t, readwrite.MaxReaders, wire.MaxKeys)
	})
}

// A Lock that New didn't make causes errors and no panics.
func TestZeroLock(t *testing.T) {
	for _, l := range []*readwrite.Lock{nil, {}} {
		for _, take := range []func(context.Context) (*quorum.Lease, error){l.Read, l.Write, l.TryRead, l.TryWrite} {
			_, err := take(t.Context())
			require.ErrorIs(t, err, quorum.ErrConfig)
			require.ErrorContains(t, err, "not made by New")
		}
	}
}
