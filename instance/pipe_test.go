//go:build unix

package instance

import (
	"context"
	"errors"
	"fmt"
	"net"
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

// ballotBox takes the votes on requests, by their values.
type ballotBox struct {
	mu    sync.Mutex
	votes map[string][]wire.Vote
	n     atomic.Int64
}

// slot is a Receiver for one request.
type slot struct {
	box   *ballotBox
	value string
}

func (s slot) Receive(vote wire.Vote) {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	if s.box.votes == nil {
		s.box.votes = make(map[string][]wire.Vote)
	}
	s.box.votes[s.value] = append(s.box.votes[s.value], vote)
	s.box.n.Add(1)
}

// start sends a request.
func (b *ballotBox) start(r *Redis, req wire.Request, timeout time.Duration) {
	r.Send(req, timeout, slot{b, req.Value})
}

// atLeast waits for n votes.
func (b *ballotBox) atLeast(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return int(b.n.Load()) >= n }, patience, time.Millisecond)
}

// await waits for n votes and demands that each request has one.
func (b *ballotBox) await(t *testing.T, n int) map[string]wire.Vote {
	t.Helper()
	b.atLeast(t, n)
	b.mu.Lock()
	defer b.mu.Unlock()
	one := make(map[string]wire.Vote)
	for value, votes := range b.votes {
		require.Len(t, votes, 1, "%s", value)
		one[value] = votes[0]
	}
	require.Len(t, one, n)
	return one
}

// held is a fake server that answers nothing until it is released.
type held struct {
	*fake
	gate chan struct{}
	once sync.Once
}

func startHeld(t *testing.T, answer func(args []string) string) *held {
	h := &held{gate: make(chan struct{})}
	h.fake = startFake(t, func(args []string) string { <-h.gate; return answer(args) })
	t.Cleanup(h.release)
	return h
}

func (h *held) release() { h.once.Do(func() { close(h.gate) }) }

// many is the answer to a script for many requests about one lock each, by their values.
func many(args []string, element func(value string) string) string {
	script, nonce := listOf(args), nonceOf(args)
	values := args[4+keysOf(args):]
	switch script {
	case extendScript:
		values = values[1:]
		values = values[:len(values)/2]
	case acquireScript:
		values = slices.Collect(func(yield func(string) bool) {
			for i := 7; i < len(values) && yield(values[i]); i += 3 {
			}
		})
	}
	reply := fmt.Sprintf("*%d\r\n$%d\r\n%s\r\n:0\r\n", listHead+len(values), len(nonce), nonce)
	for _, value := range values {
		reply += element(value)
	}
	return reply
}

func keysOf(args []string) int {
	var n int
	_, _ = fmt.Sscan(args[2], &n)
	return n
}

// TestWaitingCommandsTravelTogether: the first command is sent alone and at once, and those that
// come meanwhile are one batch: one command for all locks.
func TestWaitingCommandsTravelTogether(t *testing.T) {
	f := startHeld(t, func(args []string) string { return many(args, func(string) string { return ":1\r\n" }) })
	r := open(t, "redis://"+f.addr, Config{})
	near(r)
	var box ballotBox
	box.start(r, request(wire.Extend, "first", value()), patience)
	f.asked(t, 1)
	for i := range 50 {
		box.start(r, request(wire.Extend, fmt.Sprint("k", i), value()), patience)
	}
	require.Len(t, f.commands(), 1, "nothing else is sent meanwhile")
	f.release()
	for _, v := range box.await(t, 51) {
		granted(t, v)
	}
	require.Len(t, f.commands(), 2)
	require.Equal(t, 50, keysOf(f.commands()[1]))
	require.Equal(t, 1, f.connections())
}

// TestLongTextsHurtNoOtherLock: a client that may write the keys of some locks can't make a command
// for another lock fail, though they share a batch.
func TestLongTextsHurtNoOtherLock(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		var box ballotBox
		cmds := []wire.Request{acquire("first", value())}
		for i := range maxBatch - 5 {
			key, text := fmt.Sprint("forged", i), strings.Repeat("A", 480)+" 1/1 r" // the longest text that is repeated
			switch i {
			case 7:
				text = strings.Repeat("A", 100<<10) + " 1/1 r"
			case 8:
				text = set1.String() + " 1/1 " + strings.Repeat("A", 100<<10)
			}
			ask("SET", SetKey(key), text)
			cmds = append(cmds, acquire(key, value()))
		}
		ask("SET", "long", strings.Repeat("A", 100<<10))
		look := request(wire.Look, "long", value())
		cmds = append(cmds, look, acquire("long", value()), acquire("last", value()))

		// They wait as if the maximum number of batches were in flight.
		r.pipe.mu.Lock()
		r.pipe.starting = maxInFlight
		r.pipe.mu.Unlock()
		for _, req := range cmds {
			box.start(r, req, patience)
		}
		r.pipe.mu.Lock()
		r.pipe.starting = 0
		r.pipe.mu.Unlock()
		box.start(r, acquire("another", value()), patience)
		votes := box.await(t, len(cmds)+1)
		for _, req := range cmds {
			vote := votes[req.Value]
			switch {
			case req.Key == "long":
				require.Len(t, refused(t, vote).Holder, 16<<10)
			case req.Key == "forged7" || req.Key == "forged8":
				failed(t, vote, wire.ErrCounter)
			case strings.HasPrefix(req.Key, "forged"):
				require.ErrorIs(t, vote.Err, wire.ErrSetMismatch)
			default:
				granted(t, vote)
			}
		}
	})
}

// TestNeighboursErrors: an error concerns one lock, whatever else is in its batch.
func TestNeighboursErrors(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		ask("HSET", "{typed}:redlock", "token", "1")
		ask("SET", "{bad}:redlock", "x")
		counted(ask, "other", 5, "other@1 N=5 Q=3", "")
		ask("HSET", "{typed set}:redlock:set", "set", "1")
		ask("SET", "{bad set}:redlock:set", "x")
		// These count as granted in this period, and then prove to be lost or bad.
		for _, key := range []string{"lost", "bad now", "typed now"} {
			granted(t, r.Do(within(t), acquire(key, "before")))
			ask("DEL", key, CounterKey(key))
		}
		ask("SET", CounterKey("bad now"), "x")
		ask("RPUSH", CounterKey("typed now"), "x")
		ask("SET", "taken", "theirs")
		ask("RPUSH", "list", "x")
		var box ballotBox
		byKey := make(map[string]string)
		send := func(req wire.Request) {
			byKey[fmt.Sprint(req.Op, " ", req.Key)] = req.Value
			box.start(r, req, patience)
		}
		// The first is sent alone; the others together.
		for _, key := range []string{"first", "good", "typed", "bad", "other", "taken", "list", "typed set", "bad set", "lost", "bad now", "typed now", "better"} {
			send(acquire(key, value()))
		}
		for _, key := range []string{"list", "gone"} {
			send(request(wire.Release, key, value()))
		}
		votes := box.await(t, 15)
		vote := func(what string) wire.Vote { return votes[byKey[what]] }
		for _, key := range []string{"first", "good", "lost", "better"} {
			granted(t, vote("acquire "+key))
			require.Equal(t, byKey["acquire "+key], ask("GET", key))
		}
		require.InDelta(t, time.Now().UnixMicro(), float64(vote("acquire lost").Token), 10e6, "from the clock")
		for _, key := range []string{"typed", "typed set", "typed now"} {
			failed(t, vote("acquire "+key), ErrWrongType)
		}
		for _, key := range []string{"bad", "bad set", "bad now"} {
			failed(t, vote("acquire "+key), wire.ErrCounter)
		}
		require.ErrorIs(t, vote("acquire other").Err, wire.ErrSetMismatch)
		require.Equal(t, wire.Refused, vote("acquire other").Outcome)
		require.Equal(t, wire.NoExpiry, refused(t, vote("acquire taken")).Remaining)
		refused(t, vote("acquire list"))
		refused(t, vote("release list"))
		refused(t, vote("release gone"))
		for _, key := range []string{"typed", "bad", "other", "typed set", "bad set", "bad now", "typed now"} {
			require.Nil(t, ask("GET", key), "%s: nothing was changed", key)
		}
	})
}

// TestAnotherRunBesideOthers: the request for the other run did nothing. The connection is then
// closed, so the outcome of the request behind it isn't known.
func TestAnotherRunBesideOthers(t *testing.T) {
	f := startHeld(t, func(args []string) string {
		if args[0] == "EVALSHA" && args[1] == extendScript.sha {
			return "-" + otherRun + " master " + strings.Repeat("9", 40) + "\r\n"
		}
		return answerAll(args)
	})
	r := open(t, "redis://"+f.addr, Config{})
	near(r)
	var box ballotBox
	box.start(r, acquire("first", "first"), patience)
	f.asked(t, 1)
	for _, value := range []string{"1", "2"} {
		req := request(wire.Extend, "k"+value, value)
		req.Run = wire.Run(strings.Repeat(value, 40))
		box.start(r, req, patience)
	}
	f.release()
	votes := box.await(t, 3)
	require.True(t, failed(t, votes["1"], wire.ErrOtherRun).Unsent)
	behind := failed(t, votes["2"], ErrConnection)
	require.False(t, behind.Unsent)
	require.NotErrorIs(t, behind.Err, wire.ErrOtherRun)
	require.NotContains(t, behind.Err.Error(), otherRun, "that is for the client alone")
}

// TestHungServerCostsLittle sends a hung server far more commands than it may cost: goroutines and
// connections stay few, most votes fail at once, all in time, and the instance recovers with the
// first answer.
func TestHungServerCostsLittle(t *testing.T) {
	r, s := real(t, Config{})
	granted(t, r.Do(within(t), acquire("warm", value())))
	goroutines := runtime.NumGoroutine()
	s.Pause()
	const n, timeout = 20_000, 50 * time.Millisecond
	for vote := (wire.Vote{Unsent: true}); vote.Unsent; { // until the server is known to be late
		late := make(votes, 1)
		r.Send(acquire("late", value()), timeout, late)
		vote = <-late
	}
	var box ballotBox
	most := 0
	for i := range n {
		box.start(r, acquire(fmt.Sprint("k", i), value()), timeout)
		if i%500 == 0 {
			time.Sleep(2 * time.Millisecond) // the pace of many callers, and several timeouts
			most = max(most, runtime.NumGoroutine())
		}
	}
	votes := box.await(t, n)
	var refusedAtOnce, unsent int
	for _, v := range votes {
		require.Equal(t, wire.Failed, v.Outcome)
		if errors.Is(v.Err, wire.ErrOverloaded) {
			refusedAtOnce++
		}
		if v.Unsent {
			unsent++
		}
	}
	t.Logf("%d goroutines more at most, %d connections, %d failed at once, %d sent", most-goroutines, r.Client().PoolStats().TotalConns, refusedAtOnce, n-unsent)
	require.LessOrEqual(t, most, goroutines+2*maxInFlight)
	require.LessOrEqual(t, int(r.Client().PoolStats().TotalConns), maxInFlight)
	require.LessOrEqual(t, n-unsent, maxInFlight*maxBatch, "each of these is a pending delete")
	require.Positive(t, refusedAtOnce)

	s.Resume()
	require.Eventually(t, func() bool {
		return r.Do(within(t), request(wire.Look, "x", "")).Outcome == wire.Granted
	}, patience, time.Millisecond)
}

// TestDeadServerIsNotDialedInAStorm counts the dials of many callers to a server
// that is gone.
func TestDeadServerIsNotDialedInAStorm(t *testing.T) {
	var dials atomic.Int64
	opt := Harden(nil)
	opt.Addr = "gone"
	opt.Dialer = delayDialError(func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		return nil, &net.OpError{Op: "dial", Err: errors.New("nobody there")}
	})
	r := of(t, opt)
	began := time.Now()
	var all sync.WaitGroup
	var votes atomic.Int64
	for range 32 {
		all.Go(func() {
			for first := true; first || time.Since(began) < 300*time.Millisecond; first = false {
				v := r.Do(within(t), acquire("k", value()))
				if !v.Unsent || !errors.Is(v.Err, ErrConnection) {
					t.Errorf("%+v", v)
				}
				votes.Add(1)
				time.Sleep(100 * time.Microsecond)
			}
		})
	}
	all.Wait()
	t.Logf("%d dials for %d commands", dials.Load(), votes.Load())
	require.LessOrEqual(t, dials.Load(), int64(time.Since(began)/dialPause)+maxInFlight)
	require.Greater(t, votes.Load(), dials.Load())
}

// TestLateAnswerKeepsTheConnection: an answer after its calls have timed out is useless, but no
// reason to dial.
func TestLateAnswerKeepsTheConnection(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	r := open1(t, &redis.Options{Addr: s.Addr(), ConnMaxLifetime: maxLifetime}, Config{})
	granted(t, r.Do(within(t), request(wire.Look, "x", "")))
	before := onlyConnection(t, r)
	s.Pause()
	vote := make(votes, 1)
	late := pending(t, r, acquire("k", value()), vote)
	written(t, r)
	late() // its time ended after it was sent; its batch's time hasn't
	require.False(t, failed(t, <-vote, context.DeadlineExceeded).Unsent)
	s.Resume()
	granted(t, r.Do(within(t), request(wire.Look, "x", "")))
	require.Same(t, before, onlyConnection(t, r))
}

// onlyConnection waits until the instance has one connection, which no batch uses.
func onlyConnection(t testing.TB, r *Redis) (c *connection) {
	t.Helper()
	require.Eventually(t, func() bool {
		r.pipe.mu.Lock()
		defer r.pipe.mu.Unlock()
		if r.pipe.conns != 1 || r.pipe.connecting != 0 || len(r.pipe.ready) != 1 {
			return false
		}
		c = r.pipe.ready[0]
		return true
	}, patience, time.Millisecond)
	return c
}

// elapse does to the requests that wait what time does.
func elapse(r *Redis, d time.Duration) {
	r.pipe.mu.Lock()
	defer r.pipe.mu.Unlock()
	for _, c := range r.pipe.pending {
		c.deadline = c.deadline.Add(-d)
		if !c.stale.IsZero() {
			c.stale = c.stale.Add(-d)
		}
	}
}

// TestLateCommandsAreLeftBehind: an acquisition or an extension that has waited for half of its
// timeout isn't sent; a delete is.
func TestLateCommandsAreLeftBehind(t *testing.T) {
	f := startHeld(t, answerAll)
	r := open(t, "redis://"+f.addr, Config{})
	near(r)
	var box ballotBox
	box.start(r, acquire("first", value()), time.Hour)
	f.asked(t, 1)
	release := request(wire.Release, "k", value())
	lock, extend := acquire("k", value()), request(wire.Extend, "held", value())
	for _, req := range []wire.Request{lock, extend, release} {
		box.start(r, req, time.Hour)
	}
	elapse(r, time.Hour/2)
	f.release()
	box.atLeast(t, 2)
	elapse(r, time.Hour/2)
	r.pipe.expire()
	votes := box.await(t, 4)
	granted(t, votes[release.Value])
	for _, late := range []wire.Request{lock, extend} {
		require.True(t, failed(t, votes[late.Value], context.DeadlineExceeded).Unsent)
		for _, args := range f.commands() {
			require.NotContains(t, args, late.Value)
		}
	}
}
