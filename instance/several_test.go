//go:build unix

package instance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// also makes a request for several keys.
func also(req wire.Request, keys ...string) wire.Request {
	req.Also = keys
	return req
}

// TestSeveralAreAsTheModel compares requests about several keys, on a real server, with
// quorumtest.Data at the same clock, on states that are drawn at random.
func TestSeveralAreAsTheModel(t *testing.T) {
	r, _ := real(t, Config{})
	ask, run := asker(t, r), runOf(t, r)
	random := rand.New(rand.NewPCG(5, 1))
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	older, newer, other := set1, set1, set1
	older.Version, newer.Version, other.Name = 6, 10, "else"
	counts := map[string]int{}
	for range fewer(3000) {
		keys := []string{"a", "b", "c", "d"}[:1+random.IntN(4)]
		model := quorumtest.NewData()
		now := time.Now()
		micros := now.UnixMicro()
		quarter := time.Hour.Milliseconds() / 4
		for _, key := range keys {
			ask("DEL", key, CounterKey(key), SetKey(key))
			ttl := time.Duration(30+random.IntN(5)*15) * time.Second
			// Mostly free, or the holder's.
			if held := one("", "", "v", "v", "v", "v", "w", "x"); held != "" && (random.IntN(2) == 0 || held == "v") {
				ask("SET", key, held, "PX", ttl.Milliseconds())
				model.Keys.Put(key, held, now.Add(ttl))
			}
			if counter := []int64{0, 0, micros - 1e9, micros - 1e9 + 5, micros - 2e9, micros + 1e8, micros + 8e9}[min(random.IntN(12), 6-min(random.IntN(4), 1))]; counter != 0 {
				ask("SET", CounterKey(key), counter, "PX", 7200_000)
				model.Counters.Put(key, fencing.Token(counter), now.Add(2*time.Hour))
			}
			if random.IntN(5) > 0 {
				record := quorumtest.Record{Set: set1.String(), Run: run}
				switch random.IntN(12) {
				case 0:
					record.Run = "another"
				case 1:
					record.Set = older.String()
				case 2:
					record.Set = newer.String()
				case 3:
					record.Set = other.String()
				case 4:
					record.Run = ""
				}
				ask("SET", SetKey(key), fmt.Sprintf("%s %d/%d %s", record.Set, quarter, micros/(quarter*1000)-int64(random.IntN(2)), record.Run), "PX", 7200_000)
				model.Records.Put(key, record, now.Add(2*time.Hour))
			}
		}
		ops := []wire.Op{wire.Acquire, wire.Acquire, wire.Acquire, wire.Raise, wire.Extend, wire.Restore, wire.Release}
		req := wire.Request{
			Op: ops[random.IntN(len(ops))], Key: keys[0], Also: keys[1:], Value: "v", TTL: time.Minute, Clock: true,
			Fence: wire.Fence{On: true, TTL: time.Hour, Ahead: time.Hour, Set: set1},
		}
		if req.Op != wire.Extend && req.Op != wire.Release {
			req.Fence.Token = fencing.Token(micros + []int64{-1e9, -5e9, 1e6, 9e9}[random.IntN(4)])
		}
		if req.Op == wire.Acquire {
			req.Value, req.Replace = "n", one("", "v", "v", "x")
		}
		if req.Op == wire.Acquire || req.Op == wire.Restore {
			req.Fence.On = random.IntN(5) > 0
		}
		if req.Op == wire.Acquire && req.Fence.On && len(keys) == 1 && random.IntN(3) == 0 {
			req.Fence.Reserve = 1 + random.IntN(2000)
		}
		if req.Op != wire.Release && random.IntN(2) == 0 {
			req.Run = run
		}
		got := r.Do(within(t), req)
		at := got.Clock
		if counter, ok := errors.AsType[*wire.CounterError](got.Err); ok {
			at = counter.Clock
		}
		if at.IsZero() {
			require.Equal(t, wire.Release, req.Op, "%+v", got)
			at = time.Now()
		}
		want := model.Run(req, at)
		what := fmt.Sprintf("%+v: %+v", req, got)
		if req.Op == wire.Release {
			got.Clock = want.Clock
		}
		require.InDelta(t, want.Remaining, got.Remaining, float64(time.Second), what)
		require.Equal(t, want.Err == nil, got.Err == nil, what)
		outcome := req.Op.String() + " " + got.Outcome.String()
		if got.Err != nil {
			require.Equal(t, errors.Is(want.Err, wire.ErrSetMismatch), errors.Is(got.Err, wire.ErrSetMismatch), what)
			require.Equal(t, errors.Is(want.Err, wire.ErrCounter), errors.Is(got.Err, wire.ErrCounter), what)
			outcome += " with an error"
		}
		want.Remaining, want.Err = got.Remaining, got.Err
		if req.Op == wire.Raise {
			want.Unsent = got.Unsent
		}
		want.Clock = got.Clock
		require.Equal(t, want, got, what)
		if got.Replaced {
			outcome += " replaced"
		}
		counts[outcome]++
		for _, key := range keys {
			held, expires, ok := model.Keys.Get(key, at)
			if !ok {
				require.Nil(t, ask("GET", key), what)
			} else {
				require.Equal(t, held, ask("GET", key), what)
				require.InDelta(t, expires.Sub(at).Milliseconds(), ask("PTTL", key), 1000, what)
			}
			token, _, _ := model.Counters.Get(key, at)
			if text, ok := tokenIn(ask, key).(string); ok {
				require.Equal(t, token.String(), text, what)
				require.Greater(t, ask("PTTL", CounterKey(key)), int64(3500_000), what)
			} else {
				require.Zero(t, token, what)
			}
			record, _, ok := model.Records.Get(key, at)
			if ok {
				require.Equal(t, record.Set, setIn(ask, key), what)
				require.Equal(t, string(record.Run), runIn(ask, key), what)
				require.Greater(t, ask("PTTL", SetKey(key)), int64(3500_000), what)
			} else {
				require.Nil(t, ask("GET", SetKey(key)), what)
			}
		}
	}
	for _, outcome := range []string{
		"acquire granted", "acquire granted replaced", "acquire refused", "acquire refused with an error", "acquire failed with an error",
		"raise granted", "raise refused", "raise failed with an error", "restore granted", "restore refused", "restore failed with an error",
		"extend granted", "extend refused", "release granted", "release refused",
	} {
		require.GreaterOrEqual(t, counts[outcome], fewer(10), "%s: %v", outcome, counts)
	}
}

// A key of another type is held, and no counter or text of another type is overwritten. Nothing
// is changed then.
func TestSeveralMeetOtherTypes(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(args ...any) any) {
		ask("RPUSH", "b", "x")
		vote := refused(t, r.Do(within(t), also(acquire("a", "v"), "b", "c")))
		require.Equal(t, uint8(2), vote.InTheWay)
		failed(t, r.Do(within(t), also(request(wire.Restore, "a", "v"), "b")), ErrWrongType)
		ask("DEL", "b")
		for _, key := range []string{CounterKey("b"), SetKey("b")} {
			ask("RPUSH", key, "x")
			failed(t, r.Do(within(t), also(acquire("a", "v"), "b", "c")), ErrWrongType)
			failed(t, r.Do(within(t), also(request(wire.Restore, "a", "v"), "b", "c")), ErrWrongType)
			ask("DEL", key)
		}
		ask("SET", CounterKey("b"), "x")
		vote = failed(t, r.Do(within(t), also(acquire("a", "v"), "b", "c")), wire.ErrCounter)
		require.True(t, vote.Unsent)
		ask("DEL", CounterKey("b"))
		require.Empty(t, ask("KEYS", "*"), "nothing was written")
		granted(t, r.Do(within(t), also(acquire("a", "v"), "b", "c")))
	})
}

// A server whose memory is full does nothing of it, and nothing need be deleted.
func TestSeveralWithoutMemory(t *testing.T) {
	r, s := real(t, Config{})
	granted(t, r.Do(within(t), also(acquire("a", "v"), "b")))
	s.MustAsk("CONFIG", "SET", "maxmemory", "1")
	vote := failed(t, r.Do(within(t), also(acquire("c", "v"), "d")), ErrOutOfMemory)
	require.True(t, vote.Unsent)
	granted(t, r.Do(within(t), also(request(wire.Extend, "a", "v"), "b")))
	granted(t, r.Do(within(t), also(request(wire.Release, "a", "v"), "b")))
	s.MustAsk("CONFIG", "SET", "maxmemory", "0")
	ask := asker(t, r)
	for _, key := range []string{"a", "b", "c", "d", CounterKey("c"), CounterKey("d"), SetKey("c")} {
		require.Nil(t, ask("GET", key), key)
	}
}

// Requests about one key and about several share scripts, and each gets its own answer.
func TestSeveralShareListsWithOthers(t *testing.T) {
	r, s := real(t, Config{})
	const n = 60
	key := func(i, j int) string { return fmt.Sprintf("k%02d.%02d", i, j) }
	leased := func(op wire.Op, i int) wire.Request {
		req := request(op, key(i, 0), "v"+strconv.Itoa(i))
		req.TTL = time.Minute
		for j := 1; j <= i%wire.MaxKeys; j++ {
			req.Also = append(req.Also, key(i, j))
		}
		return req
	}
	all := func(op wire.Op) []wire.Vote {
		got := make([]wire.Vote, n)
		var group sync.WaitGroup
		for i := range n {
			group.Go(func() {
				req := leased(op, i)
				req.Notify = op == wire.Release && i%4 == 0
				got[i] = r.Do(within(t), req)
			})
		}
		group.Wait()
		return got
	}
	for i, vote := range all(wire.Acquire) {
		require.Equal(t, wire.Granted, vote.Outcome, "%d: %v", i, vote.Err)
	}
	// Every fifth lacks its last key.
	for i := 0; i < n; i += 5 {
		s.MustAsk("DEL", key(i, i%wire.MaxKeys))
	}
	for _, op := range []wire.Op{wire.Extend, wire.Release} {
		for i, vote := range all(op) {
			want := wire.Granted
			if i%5 == 0 {
				want = wire.Refused
			}
			require.Equal(t, want, vote.Outcome, "%v of %d: %v", op, i, vote.Err)
		}
	}
	require.Equal(t, ":0", strings.TrimSpace(s.MustAsk("EVAL", "return #redis.call('KEYS', 'k*')", "0")))
}
