//go:build unix

package instance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// collected takes the votes of many requests.
type collected struct {
	mu    sync.Mutex
	votes map[int][]wire.Vote
}

func (c *collected) of(i int) wire.Receiver {
	return wire.ReceiverFunc(func(v wire.Vote) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.votes == nil {
			c.votes = map[int][]wire.Vote{}
		}
		c.votes[i] = append(c.votes[i], v)
	})
}

// count is how many requests have a vote.
func (c *collected) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.votes)
}

// all waits until each of n requests has one vote.
func (c *collected) all(t testing.TB, n int) map[int]wire.Vote {
	t.Helper()
	eventually(t, func() bool { return c.count() >= n }, "requests have no vote")
	c.mu.Lock()
	defer c.mu.Unlock()
	one := map[int]wire.Vote{}
	for i, votes := range c.votes {
		require.Len(t, votes, 1, "request %d", i)
		one[i] = votes[0]
	}
	require.Len(t, one, n)
	return one
}

// keepings are the requests that keep leases.
func keepings() []wire.Request {
	return []wire.Request{request(wire.Extend, "k", value()), token(request(wire.Raise, "k", value()), 3), token(request(wire.Restore, "k", value()), 3)}
}

// TestWhatWaitsGoesTogether: a request is sent at once, and those that come meanwhile are one pipeline, with as
// few scripts as may be.
func TestWhatWaitsGoesTogether(t *testing.T) {
	f := startHeld(t, grants)
	r := open(t, "redis://"+f.addr, Config{})
	require.NoError(t, r.Connect(within(t)))
	var got collected
	var reqs []wire.Request
	for i := range 20 {
		reqs = append(reqs, request(wire.Extend, fmt.Sprint("k", i), value()), request(wire.Release, fmt.Sprint("k", i), value()), acquire(fmt.Sprint("k", i), value()))
	}
	enter(t, r, got.of, reqs...)
	f.release()
	for _, v := range got.all(t, len(reqs)) {
		granted(t, v)
	}
	var names []string
	for _, args := range f.commands() {
		names = append(names, args[0])
	}
	// 20 extensions, 20 releases, and 20 times SET, SET and INCR.
	require.Equal(t, append([]string{"EVAL", "EVAL", "MULTI"}, slices.Repeat([]string{"SET", "SET", "INCR"}, 20)...), names[:len(names)-2])
	require.Equal(t, []string{"TIME", "EXEC"}, names[len(names)-2:])
	require.Equal(t, 1, f.connections())
}

// TestWhatIsHeldGoesFirst: what keeps leases goes before releases, and these before acquisitions, however
// long those have waited.
func TestWhatIsHeldGoesFirst(t *testing.T) {
	f := startHeld(t, grants)
	r := open(t, "redis://"+f.addr, Config{})
	require.NoError(t, r.Connect(within(t)))
	var got collected
	var reqs []wire.Request
	for range maxBatch + 5 {
		reqs = append(reqs, acquire("k", value()))
	}
	for range 5 {
		reqs = append(reqs, request(wire.Release, "k", value()))
	}
	reqs = append(reqs, keepings()...)
	reqs = append(reqs, request(wire.Extend, "k", value()))
	want := []string{}
	for _, ops := range [][]wire.Op{{wire.Extend, wire.Raise, wire.Restore}, {wire.Release}} {
		for _, req := range reqs {
			if slices.Contains(ops, req.Op) {
				want = append(want, req.Value)
			}
		}
	}
	enter(t, r, got.of, reqs...)
	f.release()
	got.all(t, len(reqs))
	var kept []string
	for _, value := range f.values() {
		if slices.ContainsFunc(reqs, func(req wire.Request) bool { return req.Value == value && req.Op == wire.Acquire }) {
			break
		}
		kept = append(kept, value)
	}
	slices.Sort(want[:4])
	slices.Sort(kept[:4])
	require.Equal(t, want, kept)
}

// TestHeldIsNotStuck: while a server that hangs has as many acquisitions as may be under way, what keeps or deletes a
// lease still goes out, and its connection takes no acquisition.
func TestHeldIsNotStuck(t *testing.T) {
	stuck := make(chan struct{})
	var once sync.Once
	free := func() { once.Do(func() { close(stuck) }) }
	f := startFake(t, func(args []string) string {
		if args[0] == "MULTI" {
			<-stuck
		}
		return grants(args)
	})
	t.Cleanup(free)
	r := open1(t, redis.Options{Addr: f.addr, ConnMaxLifetime: maxLifetime}, Config{})
	require.NoError(t, r.Connect(within(t)))
	r.pipe.trip.Store(1) // near, so that one may be under way
	var got collected
	enter(t, r, func(int) wire.Receiver { return got.of(0) }, acquire("k", value()))
	locked(t, r, func(p *pipe) bool { return len(p.idle) == 0 && len(p.queue[rankAcquire]) == 0 }, "it isn't sent")
	enter(t, r, func(int) wire.Receiver { return got.of(1) }, acquire("k", value()))
	for _, req := range append(keepings(), request(wire.Release, "k", value())) {
		vote := make(votes, 1)
		enter(t, r, func(int) wire.Receiver { return vote }, req)
		eventually(t, func() bool { return len(vote) == 1 }, "it is stuck")
		granted(t, <-vote)
	}
	require.Zero(t, got.count())
	r.pipe.mu.Lock()
	require.Len(t, r.pipe.queue[rankAcquire], 1)
	r.pipe.mu.Unlock()
	free()
	for _, v := range got.all(t, 2) {
		granted(t, v)
	}
	require.Equal(t, 2, f.connections())
}

// TestLateRequests: an acquisition or an extension that has waited for half of its time isn't sent; a delete is.
// One whose time is over gets its vote while its exchange goes on, and while it waits.
func TestLateRequests(t *testing.T) {
	f := startHeld(t, grants)
	r := open1(t, redis.Options{Addr: f.addr, ConnMaxLifetime: maxLifetime}, Config{})
	require.NoError(t, r.Connect(within(t)))
	r.pipe.mu.Lock()
	l := r.pipe.links[0]
	r.pipe.mu.Unlock()
	first := make(votes, 1)
	late := pending(t, r, acquire("k", value()), first)
	underWay(t, r, 1)
	late()
	v := failed(t, <-first, context.DeadlineExceeded)
	require.False(t, v.Unsent, "it was sent")
	require.NotEmpty(t, l.calls, "its exchange goes on")

	r.pipe.trip.Store(1) // near, so that one may be under way
	r.pipe.mu.Lock()
	r.pipe.redial = time.Now().Add(time.Hour) // so that what comes now waits
	r.pipe.mu.Unlock()
	var got collected
	reqs := []wire.Request{acquire("k", value()), request(wire.Extend, "k", value()), request(wire.Release, "k", value()), request(wire.Look, "k", ""), acquire("k", value())}
	calls := enter(t, r, got.of, reqs...)
	r.pipe.mu.Lock()
	for i, c := range calls[:4] {
		if i < 2 {
			c.stale = time.Now().Add(-1)
		}
	}
	calls[4].deadline = time.Now()
	r.pipe.mu.Unlock()
	r.pipe.expire()
	f.release()
	for i, v := range got.all(t, len(reqs)) {
		if i == 2 || i == 3 {
			granted(t, v)
			continue
		}
		require.True(t, failed(t, v, context.DeadlineExceeded).Unsent)
		require.NotContains(t, f.values(), reqs[i].Value)
	}
	// Send gives acquisitions and extensions half of their time to be sent.
	f = startHeld(t, grants)
	r = open1(t, redis.Options{Addr: f.addr, ConnMaxLifetime: maxLifetime}, Config{})
	require.NoError(t, r.Connect(within(t)))
	enter(t, r, func(int) wire.Receiver { return make(votes, 1) }, acquire("k", value()))
	underWay(t, r, 1)
	r.pipe.mu.Lock()
	r.pipe.redial = time.Now().Add(time.Hour)
	r.pipe.mu.Unlock()
	for _, req := range every() {
		r.Send(req, time.Hour, make(votes, 1))
	}
	r.pipe.mu.Lock()
	defer r.pipe.mu.Unlock()
	for _, c := range slices.Concat(r.pipe.queue[:]...) {
		require.Equal(t, c.req.Op == wire.Acquire || c.req.Op == wire.Extend, !c.stale.IsZero(), c.req.Op)
		if !c.stale.IsZero() {
			require.Equal(t, time.Hour/2, c.deadline.Sub(c.stale))
		}
	}
}

// TestAskedAgain: a request that is sent once more, because the server did nothing, counts as unsent until then.
// One that was refused keeps its refusal if nobody says who holds the lock.
func TestAskedAgain(t *testing.T) {
	answer, stop := make(chan string), make(chan struct{})
	var key atomic.Pointer[string]
	f := startFake(t, func(args []string) string {
		if strings.HasPrefix(args[0], "EVAL") || args[0] == "GETRANGE" || args[0] == "SET" && args[1] == *key.Load() {
			select {
			case reply := <-answer:
				return reply
			case <-stop:
				return hangUp
			}
		}
		return grants(args)
	})
	t.Cleanup(func() { close(stop) }) // before the server waits for its answers
	none := ""
	key.Store(&none)
	r := open1(t, redis.Options{Addr: f.addr, ConnMaxLifetime: maxLifetime}, Config{})
	require.NoError(t, r.Connect(within(t)))
	// Two releases share a script that the server doesn't know, and then the script in full, which fails: both go
	// alone. The second one's time ends while the first is under way.
	var got collected
	first := enter(t, r, got.of, request(wire.Extend, "a", value()), request(wire.Extend, "b", value()))
	underWay(t, r, 2)
	r.pipe.mu.Lock()
	r.pipe.redial = time.Now().Add(time.Hour)
	r.pipe.mu.Unlock()
	answer <- "-ERR one of them\r\n"
	locked(t, r, func(p *pipe) bool { return len(p.queue[rankKeep]) == 1 }, "they aren't sent alone")
	r.pipe.mu.Lock()
	waits := r.pipe.queue[rankKeep][0]
	waits.deadline = time.Now()
	r.pipe.mu.Unlock()
	r.pipe.expire()
	i := slices.Index(first, waits)
	require.True(t, failed(t, got.all(t, 1)[i], context.DeadlineExceeded).Unsent)
	answer <- "*2\r\n:1\r\n:1\r\n"
	granted(t, got.all(t, 2)[1-i])

	taken := "taken"
	key.Store(&taken)
	vote := make(votes, 2)
	late := pending(t, r, acquire("taken", value()), vote)
	answer <- "$-1\r\n"
	locked(t, r, func(p *pipe) bool {
		return slices.ContainsFunc(p.links, func(l *link) bool { return len(l.calls) == 1 && l.calls[0].refusal.Outcome == wire.Refused })
	}, "it doesn't ask who has it")
	late()
	require.Empty(t, refused(t, <-vote).Holder)
	answer <- bulk("theirs")
	enter(t, r, func(int) wire.Receiver { return vote }, acquire("taken", value()))
	answer <- "$-1\r\n"
	answer <- bulk("theirs")
	require.Equal(t, "theirs", refused(t, <-vote).Holder)
	// The connection breaks while it asks, and there is no other.
	enter(t, r, func(int) wire.Receiver { return vote }, acquire("taken", value()))
	answer <- "$-1\r\n"
	answer <- hangUp
	require.Empty(t, refused(t, <-vote).Holder)
	require.Empty(t, vote)
}

// TestOverloaded: acquisitions that wait are bounded, what keeps or deletes leases isn't.
func TestOverloaded(t *testing.T) {
	f := startHeld(t, grants)
	r := open(t, "redis://"+f.addr, Config{})
	var got collected
	const n = maxWaiting + maxLinks*maxBatch + 10
	for i := range n {
		r.Send(acquire("k", value()), time.Minute, got.of(i))
	}
	require.GreaterOrEqual(t, got.count(), 10)
	early := got.count()
	held := append(keepings(), request(wire.Release, "k", value()))
	for i, req := range held {
		r.Send(req, time.Minute, got.of(n+i))
	}
	require.Equal(t, early, got.count())
	f.release()
	overloaded := 0
	for i, v := range got.all(t, n+len(held)) {
		if errors.Is(v.Err, wire.ErrOverloaded) {
			overloaded++
			require.True(t, v.Unsent)
			continue
		}
		require.Equal(t, wire.Granted, v.Outcome, "%d: %v", i, v.Err)
	}
	require.Equal(t, early, overloaded)
}

// TestClosing: after Close each request has its vote, also those that wait and those under way, and nothing is sent.
func TestClosing(t *testing.T) {
	f := startHeld(t, grants)
	r := open1(t, redis.Options{Addr: f.addr, ConnMaxLifetime: maxLifetime}, Config{})
	require.NoError(t, r.Connect(within(t)))
	var got collected
	late := pending(t, r, acquire("k", value()), got.of(0))
	underWay(t, r, 1)
	r.pipe.mu.Lock()
	r.pipe.redial = time.Now().Add(time.Hour)
	r.pipe.mu.Unlock()
	enter(t, r, func(int) wire.Receiver { return got.of(1) }, request(wire.Release, "k", value()))
	require.NoError(t, r.Close())
	require.True(t, failed(t, got.all(t, 1)[1], ErrClosed).Unsent)
	late() // the timer goes on
	require.False(t, failed(t, got.all(t, 2)[0], context.DeadlineExceeded).Unsent)
	require.True(t, failed(t, r.Do(within(t), acquire("k", value())), ErrClosed).Unsent)
	require.ErrorIs(t, r.Connect(within(t)), ErrClosed)
	_, err := r.Probe(within(t), wire.Known{})
	require.ErrorIs(t, err, ErrClosed)
	f.release()
	eventually(t, func() bool { return r.Client().PoolStats().TotalConns == 0 }, "a connection is left")
	require.NoError(t, r.Close(), "twice")

	// A request that is to be sent again isn't.
	f = startHeld(t, func([]string) string { return "-NOSCRIPT No matching script.\r\n" })
	r = open1(t, redis.Options{Addr: f.addr}, Config{})
	require.NoError(t, r.Connect(within(t)))
	r.loaded.Store(^uint32(0))
	vote := make(votes, 1)
	enter(t, r, func(int) wire.Receiver { return vote }, request(wire.Tick, "", ""))
	underWay(t, r, 1)
	require.NoError(t, r.Close())
	f.release()
	require.True(t, failed(t, <-vote, ErrClosed).Unsent)
	for _, g := range []*Group{nil, {}} {
		require.Empty(t, g.Instances())
		require.NoError(t, g.Close())
	}
	require.NoError(t, (*Redis)(nil).Close())
}

// TestUnknownOperation is an error, not a panic.
func TestUnknownOperation(t *testing.T) {
	r := open(t, "redis://127.0.0.1:1", Config{})
	for _, op := range []wire.Op{0, wire.Probe, 99} {
		require.True(t, failed(t, r.Do(within(t), wire.Request{Op: op}), ErrConfig).Unsent)
	}
}

// TestProbeGivenUp: a Probe whose context ends doesn't touch the request that comes after it.
func TestProbeGivenUp(t *testing.T) {
	r, _ := real(t, Config{})
	require.NoError(t, r.Connect(within(t)))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				ctx, cancel := context.WithCancel(context.Background())
				go func() {
					for range rand.IntN(2000) {
						runtime.Gosched()
					}
					cancel()
				}()
				if _, err := r.Probe(ctx, wire.Known{}); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				cancel()
				if v := r.Do(within(t), request(wire.Tick, "", "")); v.Outcome != wire.Granted {
					t.Error(v.Err)
				}
			}
		})
	}
	all.Wait()
}

// TestEveryRequestHasOneVote, whatever happens to connections, scripts and the server meanwhile, and whatever
// the votes say is so: what isn't sent sets no key, and what is granted holds it.
func TestEveryRequestHasOneVote(t *testing.T) {
	t.Parallel() // it waits most of the time
	s := instancetest.Start(t, instancetest.Config{})
	for _, lifetime := range []time.Duration{5 * time.Millisecond, 300 * time.Millisecond} {
		t.Run(fmt.Sprint(lifetime), func(t *testing.T) {
			r := open1(t, redis.Options{Addr: s.Addr(), ConnMaxLifetime: lifetime}, Config{})
			stop := make(chan struct{})
			var faults, all sync.WaitGroup
			faults.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					case <-time.After(3 * time.Millisecond):
					}
					switch n % 4 {
					case 0:
						_, _ = s.Ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
					case 1:
						_, _ = s.Ask("SCRIPT", "FLUSH")
					case 2:
						_, _ = s.Ask("CLIENT", "PAUSE", "8")
					}
				}
			})
			const workers, each = 16, 60
			var twice, none atomic.Int64
			for w := range workers {
				all.Go(func() {
					for i := range each {
						key, holder := fmt.Sprintf("%v:%d:%d", lifetime, w, i), value()
						send := func(req wire.Request, timeout time.Duration) wire.Vote {
							vote := make(votes, 2)
							r.Send(req, timeout, vote)
							select {
							case v := <-vote:
								runtime.Gosched()
								if len(vote) > 0 {
									twice.Add(1)
								}
								return v
							case <-time.After(patience):
								none.Add(1)
								return wire.Vote{}
							}
						}
						req := acquire(key, holder)
						if i%5 == 0 {
							req = also(req, key+"b")
						}
						at := func() (text string) { // whose connection may be killed, too
							for err := ErrClosed; err != nil; {
								text, err = s.Ask("GET", key)
							}
							return text
						}
						v := send(req, []time.Duration{2 * time.Millisecond, 20 * time.Millisecond, time.Minute}[i%3])
						if v.Unsent && at() == holder {
							t.Errorf("it was sent: %v", v.Err)
						}
						if v.Outcome == wire.Granted && at() != holder {
							t.Error("it isn't held")
						}
						if v.Outcome == wire.Refused {
							t.Error("nobody else asked")
						}
						if v.Outcome != wire.Granted && v.Err == nil {
							t.Error("no error")
						}
						release := request(wire.Release, key, holder)
						release.Keys = req.Keys
						send(release, time.Minute)
						send(request(wire.Look, key, ""), time.Millisecond)
					}
				})
			}
			all.Wait()
			close(stop)
			faults.Wait()
			require.Zero(t, twice.Load())
			require.Zero(t, none.Load())
			// Nothing is lost on the way: it still works, and no link is in between.
			eventually(t, func() bool { return r.Do(within(t), request(wire.Tick, "", "")).Outcome == wire.Granted }, "it doesn't work any more")
			locked(t, r, func(p *pipe) bool {
				return len(p.links) == len(p.idle) && len(p.queue[rankKeep])+len(p.queue[rankRelease])+len(p.queue[rankAcquire]) == 0
			}, "something is left")
		})
	}
}
