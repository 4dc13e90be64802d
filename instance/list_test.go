//go:build unix

package instance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// inOneBatch sends requests in one batch, so that those that can share a list do.
func inOneBatch(t testing.TB, r *Redis, reqs ...wire.Request) []wire.Vote {
	t.Helper()
	require.LessOrEqual(t, len(reqs), maxBatch)
	r.Do(within(t), wire.Request{Op: wire.Tick}) // so that there is a connection
	to := make([]votes, len(reqs))
	var worker chan struct{}
	r.pipe.mu.Lock()
	for i, req := range reqs {
		to[i] = make(votes, 1)
		c := r.newCall(req)
		c.to, c.deadline, c.state, c.index = to[i], time.Now().Add(time.Minute), queued, len(r.pipe.pending)
		r.pipe.pending = append(r.pipe.pending, c)
		r.pipe.queue.add(c)
	}
	worker = r.pipe.startLocked()
	r.pipe.mu.Unlock()
	if worker != nil {
		worker <- struct{}{}
	}
	got := make([]wire.Vote, len(reqs))
	for i := range to {
		got[i] = <-to[i]
	}
	return got
}

// replacing makes a request replace a value.
func replacing(req wire.Request, value string) wire.Request {
	req.Replace = value
	return req
}

// A request that fails after it has raised a counter doesn't hurt the next one for that lock, nor
// any other.
func TestListAfterAFailureHalfway(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		granted(t, r.Do(within(t), also(acquire("a", "u"), "b")))
		ask("DEL", "a", "b")
		ask("SET", CounterKey("b"), "1.50000000000e15")
		before := tokenIn(ask, "a")
		got := inOneBatch(t, r, also(acquire("x", "0"), "y"), also(acquire("a", "1"), "b"), also(acquire("a", "2"), "c"), also(acquire("v", "3"), "w"))
		granted(t, got[0])
		require.True(t, failed(t, got[1], wire.ErrCounter).Unsent)
		granted(t, got[2])
		granted(t, got[3])
		require.Greater(t, got[2].Token.String(), before)
		require.Nil(t, ask("GET", "b"))
	})
}

// A counter that is no token by tokenin's rules is never used, whatever Lua takes for a number.
func TestCounterThatIsANumberToLua(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		for _, counter := range []string{
			"nan(12345678901)", "  nan           ", "             nan", "-nan(1234567890)", "        infinity", "1.5e15          ", " 150000000000000", "+150000000000000",
			"0150000000000000", "0x5af3107a4000.8", "0x05543df729c000", "1.50000000000e15", "9999999999999999", "-150000000000000", "1500000000000.e3", "150000000000000\n", "150000000000000\x00",
		} {
			require.Len(t, counter, 16)
			if strings.HasSuffix(t.Name(), "miniredis") && strings.TrimLeft(counter, "+0123456789") == "" {
				continue // its INCR takes leading signs and zeros
			}
			for _, text := range []string{"usual", "of before", "none"} {
				t.Run(fmt.Sprintf("%q %s", counter, text), func(t *testing.T) {
					ask("FLUSHALL")
					switch text {
					case "usual":
						granted(t, r.Do(within(t), acquire("k", "u")))
						ask("DEL", "k")
					case "of before":
						counted(ask, "k", old, set1.String(), "")
					}
					ask("SET", CounterKey("k"), counter)
					// Others in the list, with a higher counter in another lock.
					got := inOneBatch(t, r, also(acquire("i", "0"), "j"), also(acquire("h", "1"), "k"), also(acquire("l", "0"), "m"))
					granted(t, got[0])
					granted(t, got[2])
					require.True(t, failed(t, got[1], wire.ErrCounter).Unsent)
					require.Equal(t, counter, tokenIn(ask, "k"), "it stays as it was")
					require.Nil(t, ask("GET", "k"))
					require.Nil(t, ask("GET", "h"))
					require.True(t, failed(t, r.Do(within(t), acquire("k", "1")), wire.ErrCounter).Unsent)
					require.Equal(t, counter, tokenIn(ask, "k"), "it stays as it was")
				})
			}
		}
	})
}

// A user whose right to read one of the locks is missing only within the script: EVALSHA itself is
// allowed on all.
func TestListWithoutARightInTheScript(t *testing.T) {
	instancetest.Needs(t, 7, 0, "selectors")
	s := instancetest.Start(t, instancetest.Config{})
	s.MustAsk("ACL", "SETUSER", "some", "on", ">pw", "+@all", "-mget", "-get", "-set", "-incr", "-incrby", "-exists", "~*", "(+@all ~mine:* ~{mine:*)")
	r := open(t, "redis://some:pw@"+s.Addr(), Config{})
	got := inOneBatch(t, r, acquire("mine:0", "0"), acquire("theirs", "1"), acquire("mine:2", "2"))
	granted(t, got[0])
	failed(t, got[1], ErrPermission)
	granted(t, got[2])
	got = inOneBatch(t, r, also(acquire("mine:3", "0"), "mine:4"), also(acquire("mine:5", "1"), "theirs"), also(acquire("mine:6", "2"), "mine:7"))
	granted(t, got[0])
	failed(t, got[1], ErrPermission)
	granted(t, got[2])
	require.Equal(t, ":0", strings.TrimSpace(s.MustAsk("EXISTS", "theirs")))
}

// TestListsAreAsTheModel compares whole lists, whose requests are about the same few locks, with
// quorumtest.Data, which carries them out one after the other, on states that are drawn at random.
func TestListsAreAsTheModel(t *testing.T) {
	r, _ := real(t, Config{})
	ask, run := asker(t, r), runOf(t, r)
	random := rand.New(rand.NewPCG(5, 2))
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	counts := map[string]int{}
	all := []string{"a", "b", "c", "d", "e"}
	for range fewer(600) {
		model := quorumtest.NewData()
		now := time.Now()
		micros := now.UnixMicro()
		pair := beside{ask: ask, model: model, now: now}
		for _, key := range all {
			ask("DEL", key, CounterKey(key), SetKey(key))
			ttl := time.Duration(30+random.IntN(5)*15) * time.Second
			if held := one("", "", "", "", "v", "v", "w", "x"); held != "" {
				pair.hold(key, held, ttl)
			}
			if counter := []int64{0, micros - 1e9, micros - 1e9 + 5, micros - 2e9, micros + 1e8, micros + 8e9}[min(random.IntN(12), 5-min(1, random.IntN(4)))]; counter != 0 {
				pair.count(key, counter)
			}
			if random.IntN(5) > 0 {
				pair.record(key, run, random.IntN(16), random.IntN(2))
			}
		}
		// All share one list.
		like := wire.Request{Op: wire.Acquire, TTL: time.Minute, Clock: true}
		if random.IntN(5) > 0 {
			like.Fence = wire.Fence{On: true, TTL: time.Hour, Ahead: time.Hour, Set: set1}
		}
		if random.IntN(2) == 0 {
			like.Run = run
		}
		n := 1 + random.IntN(3)
		if like.Fence.On && n == 1 && random.IntN(2) == 0 {
			like.Fence.Reserve = 1 + random.IntN(2000)
		}
		reqs := make([]wire.Request, 2+random.IntN(6))
		for i := range reqs {
			reqs[i] = like
			keys := slices.Clone(all)
			random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			keys = slices.Sorted(slices.Values(keys[:n]))
			reqs[i].Key, reqs[i].Also, reqs[i].Value, reqs[i].Replace = keys[0], keys[1:], fmt.Sprint(i), one("", "v", "v", "x")
			if n == 1 {
				reqs[i].Also = nil
			}
			if i > 0 && random.IntN(2) == 0 {
				reqs[i].Replace = fmt.Sprint(random.IntN(i))
			}
			if like.Fence.On {
				reqs[i].Fence.Token = fencing.Token(micros + []int64{-1e9, -5e9, 1e6, 9e9}[random.IntN(4)])
			}
		}
		got := inOneBatch(t, r, reqs...)
		var at time.Time
		for _, vote := range got {
			if !vote.Clock.IsZero() {
				at = vote.Clock
			}
			if counter, ok := errors.AsType[*wire.CounterError](vote.Err); ok {
				at = counter.Clock
			}
		}
		highest := map[string]fencing.Token{}
		for i, req := range reqs {
			got, want := got[i], model.Run(req, at)
			what := fmt.Sprintf("%d of %+v: %+v, want %+v", i, reqs, got, want)
			counts[sameVote(t, want, got, what)]++
			if got.Outcome == wire.Granted && like.Fence.On {
				for _, key := range append([]string{req.Key}, req.Also...) {
					require.Greater(t, got.First(), highest[key], what)
					highest[key] = got.Token
				}
			}
		}
		for _, key := range all {
			pair.same(t, key, at, key)
		}
	}
	t.Log(counts)
	for _, outcome := range []string{"granted", "granted replaced", "refused", "refused with an error", "failed with an error"} {
		require.GreaterOrEqual(t, counts[outcome], fewer(10), "%s: %v", outcome, counts)
	}
}

// A failure without its text is no refusal.
func TestListFailureWithoutText(t *testing.T) {
	l := list{parser: parser{rest: []byte("*4\r\n:4\r\n$-1\r\n:0\r\n:0\r\n")}}
	_, _ = l.acquisition()
	require.False(t, l.end())
}
