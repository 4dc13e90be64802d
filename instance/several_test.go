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

// beside is a server and a model with the same state.
type beside struct {
	ask   func(args ...any) any
	model *quorumtest.Data
	now   time.Time
}

// hold has a client hold a lock.
func (b beside) hold(key, value string, ttl time.Duration) {
	b.ask("SET", key, value, "PX", ttl.Milliseconds())
	b.model.Keys.Put(key, value, b.now.Add(ttl))
}

// count sets a lock's counter.
func (b beside) count(key string, counter int64) {
	b.ask("SET", CounterKey(key), counter, "PX", 7200_000)
	b.model.Counters.Put(key, fencing.Token(counter), b.now.Add(2*time.Hour))
}

// record sets the text beside a counter, of so many periods ago. Most kinds are that of the last
// grant, by a client with the same set, in this run.
func (b beside) record(key string, run wire.Run, kind, periods int) {
	record := quorumtest.Record{Set: set1.String(), Run: run}
	older, newer, other := set1, set1, set1
	older.Version, newer.Version, other.Name = 6, 10, "else"
	switch kind {
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
	quarter := time.Hour.Milliseconds() / 4
	b.ask("SET", SetKey(key), fmt.Sprintf("%s %d/%d %s", record.Set, quarter, b.now.UnixMicro()/(quarter*1000)-int64(periods), record.Run), "PX", 7200_000)
	b.model.Records.Put(key, record, b.now.Add(2*time.Hour))
}

// same checks that both have the same of a lock.
func (b beside) same(t *testing.T, key string, at time.Time, what string) {
	t.Helper()
	held, expires, ok := b.model.Keys.Get(key, at)
	if !ok {
		require.Nil(t, b.ask("GET", key), what)
	} else {
		require.Equal(t, held, b.ask("GET", key), what)
		require.InDelta(t, expires.Sub(at).Milliseconds(), b.ask("PTTL", key), 1000, what)
	}
	token, _, _ := b.model.Counters.Get(key, at)
	if text, ok := tokenIn(b.ask, key).(string); ok {
		require.Equal(t, token.String(), text, what)
		require.Greater(t, b.ask("PTTL", CounterKey(key)), int64(3500_000), what)
	} else {
		require.Zero(t, token, what)
	}
	record, _, ok := b.model.Records.Get(key, at)
	if ok {
		require.Equal(t, record.Set, setIn(b.ask, key), what)
		require.Equal(t, string(record.Run), runIn(b.ask, key), what)
		require.Greater(t, b.ask("PTTL", SetKey(key)), int64(3500_000), what)
	} else {
		require.Nil(t, b.ask("GET", SetKey(key)), what)
	}
}

// sameVote checks that a vote is the model's, and returns how it ended, in words.
func sameVote(t *testing.T, want, got wire.Vote, what string) (outcome string) {
	t.Helper()
	require.InDelta(t, want.Remaining, got.Remaining, float64(time.Second), what)
	require.Equal(t, want.Err == nil, got.Err == nil, what)
	outcome = got.Outcome.String()
	if got.Err != nil {
		require.Equal(t, errors.Is(want.Err, wire.ErrSetMismatch), errors.Is(got.Err, wire.ErrSetMismatch), what)
		require.Equal(t, errors.Is(want.Err, wire.ErrCounter), errors.Is(got.Err, wire.ErrCounter), what)
		outcome += " with an error"
	}
	want.Remaining, want.Err = got.Remaining, got.Err
	require.Equal(t, want, got, what)
	if got.Replaced {
		outcome += " replaced"
	}
	return outcome
}

// TestScriptsAreAsTheModel compares requests about one key or several, on a real server, with
// quorumtest.Data at the same clock, on states that are drawn at random.
func TestScriptsAreAsTheModel(t *testing.T) {
	r, _ := real(t, Config{})
	ask, run := asker(t, r), runOf(t, r)
	random := rand.New(rand.NewPCG(5, 1))
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	counts := map[string]int{}
	for range fewer(3000) {
		keys := []string{"a", "b", "c", "d"}[:1+random.IntN(4)]
		model := quorumtest.NewData()
		now := time.Now()
		micros := now.UnixMicro()
		pair := beside{ask: ask, model: model, now: now}
		for _, key := range keys {
			ask("DEL", key, CounterKey(key), SetKey(key))
			ttl := time.Duration(30+random.IntN(5)*15) * time.Second
			// Mostly free, or the holder's.
			if held := one("", "", "v", "v", "v", "v", "w", "x"); held != "" && (random.IntN(2) == 0 || held == "v") {
				pair.hold(key, held, ttl)
			}
			if counter := []int64{0, 0, micros - 1e9, micros - 1e9 + 5, micros - 2e9, micros + 1e8, micros + 8e9}[min(random.IntN(12), 6-min(random.IntN(4), 1))]; counter != 0 {
				pair.count(key, counter)
			}
			if random.IntN(5) > 0 {
				pair.record(key, run, random.IntN(12), random.IntN(2))
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
		lived := ask("PTTL", CounterKey("a")).(int64)
		got := r.Do(within(t), req)
		if req.Op != wire.Acquire {
			require.Greater(t, ask("PTTL", CounterKey("a")), lived-10_000, "only a grant shortens the time of a counter")
		}
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
		if req.Op == wire.Raise {
			want.Unsent = got.Unsent
		}
		want.Clock = got.Clock
		counts[req.Op.String()+" "+sameVote(t, want, got, what)]++
		for _, key := range keys {
			pair.same(t, key, at, what)
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
