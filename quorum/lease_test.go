package quorum_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// fullValidity is the validity of a new lease by default: 10 s less 1 % and 2 ms.
const fullValidity = 9898 * ms

// slow makes requests and replies of servers take these times.
func (f *fixture) slow(before, after time.Duration, which ...int) {
	f.each(func(s *quorumtest.Server) {
		s.Delay(func(wire.Request) time.Duration { return before }, func(wire.Request) time.Duration { return after })
	}, which...)
}

func TestValidityIsTheTTLLessElapsedLessDrift(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*quorum.Config)
		want time.Duration
	}{
		"defaults":      {func(*quorum.Config) {}, fullValidity},
		"another TTL":   {func(c *quorum.Config) { c.TTL = 5 * time.Second }, 5000*ms - 50*ms - 2*ms},
		"another drift": {func(c *quorum.Config) { c.Lab.Drift = drift.Allowance{PPM: 100_000, Floor: 7 * ms} }, 10_000*ms - 1000*ms - 7*ms},
		"no drift":      {func(c *quorum.Config) { c.Lab.Drift = drift.Allowance{Floor: 1} }, 10_000*ms - 1},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				// The first round also probes: two round trips, and their time comes off the lease,
				// in both directions.
				f.slow(3*ms, 4*ms)
				lease := f.acquire("k")
				require.Equal(t, 14*ms, f.elapsed())
				assert.Equal(t, c.want-14*ms, lease.Validity())
				assert.Equal(t, f.began.Add(c.want).UnixNano(), lease.Deadline().UnixNano())

				time.Sleep(1234567 * time.Nanosecond)
				assert.Equal(t, c.want-14*ms-1234567, lease.Validity(), "nanosecond by nanosecond")
				time.Sleep(lease.Validity() - 1)
				assert.EqualValues(t, 1, lease.Validity())
				assert.NoError(t, lease.Err())
				time.Sleep(time.Nanosecond)
				assert.Zero(t, lease.Validity())
				assert.ErrorIs(t, lease.Err(), quorum.ErrExpired)
				assert.ErrorIs(t, lease.Err(), quorum.ErrLost)
				// And all that before the keys expire.
				assert.NotEmpty(t, f.left())
			}, c.set)
		})
	}
}

func TestDeadlineIsNeverInTheFutureOnceItIsOver(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		time.Sleep(time.Second)
		require.True(t, lease.Deadline().After(time.Now()))
		require.NoError(t, lease.Release(f.ctx))
		assert.Equal(t, f.began.Add(time.Second).UnixNano(), lease.Deadline().UnixNano())
		assert.Zero(t, lease.Validity())
		assert.ErrorIs(t, lease.Err(), quorum.ErrReleased)
		time.Sleep(time.Minute)
		assert.Equal(t, f.began.Add(time.Second).UnixNano(), lease.Deadline().UnixNano(), "it stays")

		// An expired lease ended at its deadline, though that is noticed later.
		late := f.acquire("k")
		end := late.Deadline()
		time.Sleep(time.Minute)
		f.acquire("k") // it keeps nobody from the lock
		require.Error(t, late.Err())
		assert.Equal(t, end.UnixNano(), late.Deadline().UnixNano())
	})
}

// acquireAfter waits and then acquires.
func (f *fixture) acquireAfter(key string, d time.Duration) *quorum.Lease {
	f.t.Helper()
	time.Sleep(d)
	return f.acquire(key)
}

func TestInstancesGrowByTheStragglers(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.slow(15*ms, 0, 3)
		f.hang(4)
		lease := f.acquire("k")
		require.Zero(t, f.elapsed(), "it doesn't wait for the slow ones")
		assert.ElementsMatch(t, []string{"A", "B", "C"}, lease.Instances())

		time.Sleep(30 * ms)
		synctest.Wait()
		assert.ElementsMatch(t, []string{"A", "B", "C", "D"}, lease.Instances())

		time.Sleep(time.Second)
		synctest.Wait()
		assert.NoError(t, lease.Err(), "a late failure changes nothing")

		f.resume(4)
		f.giveBack(lease)
	})
}

// All methods of one lease at once: for the race detector, and for what must hold in any order.
func TestALeaseIsSafeForConcurrentUse(t *testing.T) {
	play(t, 5, func(f *fixture) {
		for round := range 20 {
			lease := f.acquire("k")
			rng := rand.New(rand.NewPCG(1, uint64(round)))
			var all sync.WaitGroup
			for range 8 {
				pause := time.Duration(rng.IntN(3000)) * ms
				all.Go(func() {
					time.Sleep(pause)
					ctx := lease.Within(f.ctx)
					before := lease.Deadline()
					err := lease.Extend(f.ctx)
					if err == nil {
						assert.False(t, lease.Err() == nil && lease.Deadline().Before(before), "an extension never shortens")
					} else {
						assert.Error(t, lease.Err())
					}
					_ = lease.Instances()
					if lease.Validity() == 0 {
						assert.Error(t, ctx.Err())
					}
				})
			}
			lease.KeepAlive()
			all.Go(func() {
				time.Sleep(2 * time.Second)
				assert.NoError(t, lease.Release(f.ctx))
			})
			all.Go(func() {
				<-lease.Context().Done()
				assert.ErrorIs(t, lease.Err(), quorum.ErrReleased)
			})
			all.Wait()
			f.requireNothingLeft()
		}
	})
}

// A printed or logged lease shows its name and none of its secrets.
func TestLeaseIsPrintedByItsName(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		want := fmt.Sprintf("lease on \"k\", token %d, valid for 9.898s", lease.Token())
		for _, verb := range []string{"%v", "%+v", "%s", "%#v"} {
			assert.Equal(t, want, fmt.Sprintf(verb, lease), verb)
		}
		var out strings.Builder
		slog.New(slog.NewJSONHandler(&out, nil)).Info("held", "lease", lease)
		assert.Contains(t, out.String(), `"lease":{"key":"k","token":`)
		assert.NotContains(t, out.String(), lease.Value())
		require.NoError(t, lease.Release(f.ctx))
	})
}

// Acquire returns a nil lease with an error, and New a nil Coordinator. Using these, or zero ones, is
// a mistake, but doesn't panic: methods return an error if they can, and zero values otherwise.
func TestNilAndZero(t *testing.T) {
	args := map[reflect.Type]reflect.Value{
		reflect.TypeFor[func(context.Context) (*quorum.Lease, error)](): reflect.ValueOf(func(context.Context) (*quorum.Lease, error) { return nil, nil }),
		reflect.TypeFor[time.Duration]():                                reflect.ValueOf(time.Second),
		reflect.TypeFor[context.Context]():                              reflect.ValueOf(fencing.NewContext(t.Context(), 7)),
		reflect.TypeFor[string]():                                       reflect.ValueOf("k"),
		reflect.TypeFor[[]string]():                                     reflect.ValueOf([]string{"k", "l"}),
		reflect.TypeFor[quorum.Handle]():                                reflect.ValueOf(quorum.Handle{}),
		reflect.TypeFor[func(*quorum.Terms)]():                          reflect.ValueOf(func(*quorum.Terms) {}),
		reflect.TypeFor[func(context.Context, *quorum.Lease) error]():   reflect.ValueOf(func(context.Context, *quorum.Lease) error { return nil }),
	}
	closed := func(done <-chan struct{}) bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	nothing := func(t *testing.T, v any) {
		switch v := v.(type) {
		case error:
			assert.ErrorIs(t, v, quorum.ErrConfig)
			assert.Regexp(t, "the (lease|Coordinator) is nil", v.Error())
		case <-chan struct{}:
			assert.True(t, closed(v))
		case context.Context:
			assert.True(t, closed(v.Done()))
			assert.ErrorIs(t, v.Err(), context.Canceled)
			assert.ErrorIs(t, context.Cause(v), quorum.ErrConfig)
			_, has := fencing.FromContext(v)
			assert.False(t, has, "an outer lease's token isn't this one's")
		default:
			assert.Zero(t, v)
		}
	}
	for name, value := range map[string]any{
		"nil lease": (*quorum.Lease)(nil), "zero lease": &quorum.Lease{},
		"nil Coordinator": (*quorum.Coordinator)(nil), "zero Coordinator": &quorum.Coordinator{},
	} {
		for i := range reflect.TypeOf(value).NumMethod() {
			m := reflect.TypeOf(value).Method(i)
			t.Run(name+"/"+m.Name, func(t *testing.T) {
				switch m.Name {
				case "String", "Format":
					assert.Equal(t, "no lease", fmt.Sprint(value))
					return
				case "LogValue":
					assert.Equal(t, "no lease", value.(*quorum.Lease).LogValue().String())
					return
				}
				in := []reflect.Value{reflect.ValueOf(value)}
				for at := 1; at < m.Type.NumIn(); at++ {
					arg, known := args[m.Type.In(at)]
					require.True(t, known, "%v", m.Type.In(at))
					in = append(in, arg)
				}
				call := m.Func.Call
				if m.Type.IsVariadic() {
					call = m.Func.CallSlice
				}
				require.NotPanics(t, func() {
					for _, result := range call(in) {
						if result.Type() == reflect.TypeFor[error]() {
							require.False(t, result.IsNil(), "an error is due")
						}
						nothing(t, result.Interface())
					}
				})
			})
		}
	}
}

func TestNilFunctions(t *testing.T) {
	play(t, 1, func(f *fixture) {
		for text, err := range map[string]error{
			"call under the lock is nil":    f.Do(f.ctx, "k", nil),
			"to call under the lock is nil": f.DoAll(f.ctx, []string{"k", "l"}, nil),
			"function to call under":        f.DoUnder(f.ctx, nil, func(context.Context, *quorum.Lease) error { return nil }),
			"changes the terms is nil":      func() error { _, err := f.WithTerms(nil); return err }(),
		} {
			require.ErrorIs(t, err, quorum.ErrConfig)
			assert.ErrorContains(t, err, text)
		}
		assert.Empty(t, f.log(0), "no lock was taken")
	})
}

// Work that returns why its context ended is told of the loss once.
func TestDoTellsALossOnce(t *testing.T) {
	play(t, 3, func(f *fixture) {
		err := f.Do(f.ctx, "k", func(ctx context.Context, _ *quorum.Lease) error {
			f.kill(0, 1, 2)
			<-ctx.Done()
			return fmt.Errorf("import: %w", context.Cause(ctx))
		})
		require.ErrorIs(t, err, quorum.ErrExpired)
		require.Equal(t, 1, strings.Count(err.Error(), quorum.ErrExpired.Error()), "%v", err)
	})
}

// granter is an instance that grants everything at once and keeps nothing, so that a benchmark
// measures only the Coordinator.
type granter struct {
	name  string
	token atomic.Uint64
}

func (g *granter) Name() string            { return g.name }
func (g *granter) ConnLife() time.Duration { return 0 }

func (g *granter) Probe(context.Context, wire.Known) (wire.Identity, error) {
	return wire.Identity{RunID: g.name, ReplID: g.name, Role: wire.RoleMaster, Mark: wire.MarkOf(g.name, "1", ""), Vouched: true, Served: time.Hour}, nil
}

func (g *granter) Send(req wire.Request, _ time.Duration, to wire.Receiver) {
	vote := wire.Vote{Outcome: wire.Granted}
	if req.Clock {
		vote.Clock = time.Now()
	}
	if req.Op == wire.Acquire {
		vote.Token = fencing.Token(1_000_000_000_000_000 + g.token.Add(1)) // of September 2001
	}
	to.Receive(vote)
}

// Subscribe never notifies: no other process waits.
func (g *granter) Subscribe(context.Context) (wire.Subscription, error) {
	return &silence{g.name, make(chan struct{})}, nil
}

// silence is a subscription without notifications.
type silence struct {
	address string
	closed  chan struct{}
}

func (s *silence) Address() string { return s.address }

func (s *silence) Next() (string, error) {
	<-s.closed
	return "", io.EOF
}

func (s *silence) Close() error {
	close(s.closed)
	return nil
}

// granters is a Coordinator on five granters.
func granters(b testing.TB, cfg quorum.Config) *quorum.Coordinator {
	b.Helper()
	instances := make([]wire.Instance, 5)
	for i := range instances {
		instances[i] = &granter{name: string(rune('A' + i))}
	}
	c, err := quorum.New(cfg, instances...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return c
}

// heap is the memory in use, without stacks.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// holdAsDo holds a lease as Do does.
func holdAsDo(lease *quorum.Lease) {
	lease.KeepAlive()
	lease.Within(context.Background())
}

// A process may hold very many leases. Each takes about 2 KB, and no goroutine or timer. The rest of the
// bound is for maps, which grow at moments that differ from run to run.
func TestAHeldLeaseIsSmall(t *testing.T) {
	const n, most = 5000, 2560
	// Nothing is extended, and no clock is read, while this runs.
	c := granters(t, quorum.Config{TTL: time.Hour, MaxTTL: time.Hour, Lab: quorum.Lab{ClockEvery: time.Hour}, InstanceTimeout: time.Minute})
	_, err := c.Verify(context.Background()) // so that no round has to wait for a probe, on a goroutine of its own
	require.NoError(t, err)
	leases := make([]*quorum.Lease, n)
	before, goroutines := heap(), runtime.NumGoroutine()
	for i := range leases {
		lease, err := c.TryAcquire(context.Background(), strconv.Itoa(i))
		require.NoError(t, err)
		holdAsDo(lease)
		require.NoError(t, lease.Extend(context.Background()))
		leases[i] = lease
	}
	used := heap() - before
	assert.Less(t, used/n, int64(most))
	assert.LessOrEqual(t, runtime.NumGoroutine()-goroutines, 5, "the keeper, the clock monitor, and what they are doing")
	for _, lease := range leases {
		require.NoError(t, lease.Release(context.Background()))
	}
}
