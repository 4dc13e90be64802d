//go:build unix

package instance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/quorum/wire"
)

// beside is a server and a model with the same state.
type beside struct {
	ask   func(args ...any) any
	model *memory.Data
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
	record := memory.Record{Set: set1.String(), Run: run}
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

// late is how many milliseconds late the server may have been told what the model was told at b.now.
func (b beside) late() float64 { return float64(time.Since(b.now).Milliseconds() + 2) }

// same checks that both have the same of a lock.
func (b beside) same(t *testing.T, key string, at time.Time, what string) {
	t.Helper()
	held, expires, ok := b.model.Keys.Get(key, at)
	if !ok {
		require.Nil(t, b.ask("GET", key), what)
	} else {
		require.Equal(t, held, b.ask("GET", key), what)
		require.InDelta(t, expires.Sub(at).Milliseconds(), b.ask("PTTL", key), b.late(), what)
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
func (b beside) sameVote(t *testing.T, want, got wire.Vote, what string) (outcome string) {
	t.Helper()
	require.InDelta(t, want.Remaining.Milliseconds(), got.Remaining.Milliseconds(), b.late(), what)
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

// draw draws a state of four locks and the requests of one batch about some of them: several
// acquisitions, which share a list, or another request.
type draw struct {
	*rand.Rand
	run wire.Run
}

var drawn = []string{"a", "b", "c", "d"}

func (d draw) one(of ...string) string { return of[d.IntN(len(of))] }

func (d draw) state(pair beside) {
	micros := pair.now.UnixMicro()
	counters := []int64{0, 0, micros - 1e9, micros - 1e9 + 5, micros - 2e9, micros + 1e8, micros + 8e9}
	for _, key := range drawn {
		pair.ask("DEL", key, CounterKey(key), SetKey(key))
		// Mostly free, or the holder's.
		if held := d.one("", "", "v", "v", "v", "v", "w", "x"); held != "" && (d.IntN(2) == 0 || held == "v") {
			pair.hold(key, held, time.Duration(30+d.IntN(5)*15)*time.Second)
		}
		if counter := counters[min(d.IntN(12), 6-min(d.IntN(4), 1))]; counter != 0 {
			pair.count(key, counter)
		}
		if d.IntN(5) > 0 {
			pair.record(key, d.run, d.IntN(14), d.IntN(2))
		}
	}
}

func (d draw) requests(now time.Time) []wire.Request {
	ops := []wire.Op{wire.Acquire, wire.Acquire, wire.Acquire, wire.Raise, wire.Extend, wire.Restore, wire.Release}
	like := wire.Request{Op: ops[d.IntN(len(ops))], Value: "v", TTL: time.Minute, Clock: true}
	grants := like.Op == wire.Acquire || like.Op == wire.Restore
	if !grants || d.IntN(5) > 0 {
		like.Fence = wire.Fence{On: true, TTL: time.Hour, Ahead: time.Hour, Set: set1}
	}
	if like.Op != wire.Release && d.IntN(2) == 0 {
		like.Run = d.run
	}
	n, together := 1+d.IntN(1+d.IntN(4)), 1
	if like.Op == wire.Acquire {
		together += d.IntN(7)
		if like.Fence.On && n == 1 && d.IntN(2) == 0 {
			like.Fence.Reserve = 1 + d.IntN(2000)
		}
	}
	reqs := make([]wire.Request, together)
	for i := range reqs {
		req := like
		keys := slices.Clone(drawn)
		d.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		keys = slices.Sorted(slices.Values(keys[:n]))
		if req.Key = keys[0]; n > 1 {
			req.Also = keys[1:]
		}
		if req.Op == wire.Acquire {
			req.Value, req.Replace = fmt.Sprint(i), d.one("", "v", "v", "x")
			if i > 0 && d.IntN(2) == 0 {
				req.Replace = fmt.Sprint(d.IntN(i)) // of one before it
			}
		}
		if req.Fence.On && req.Op != wire.Extend && req.Op != wire.Release {
			req.Fence.Token = fencing.Token(now.UnixMicro() + []int64{-1e9, -5e9, 1e6, 9e9}[d.IntN(4)])
		}
		reqs[i] = req
	}
	return reqs
}

// TestScriptsAreAsTheModel compares requests about one key or several, alone and in lists, on a real
// server, with memory.Data at the same clock, on states that are drawn at random.
func TestScriptsAreAsTheModel(t *testing.T) {
	r, _ := real(t, Config{})
	ask := asker(t, r)
	d := draw{rand.New(rand.NewPCG(5, 1)), runOf(t, r)}
	counts := map[string]int{}
	for range fewer(1500) {
		pair := beside{ask: ask, model: memory.NewData(), now: time.Now()}
		d.state(pair)
		reqs := d.requests(pair.now)
		lived := ask("PTTL", CounterKey("a")).(int64)
		votes := inOneBatch(t, r, reqs...)
		if reqs[0].Op != wire.Acquire {
			require.Greater(t, ask("PTTL", CounterKey("a")), lived-10_000, "only a grant shortens the time of a counter")
		}
		at := time.Now() // for a Release, which tells none
		for _, vote := range votes {
			if !vote.Clock.IsZero() {
				at = vote.Clock
			}
			if counter, ok := errors.AsType[*wire.CounterError](vote.Err); ok {
				at = counter.Clock
			}
		}
		for i, req := range reqs {
			got, want := votes[i], pair.model.Run(req, at)
			what := fmt.Sprintf("%d of %+v: %+v, want %+v", i, reqs, got, want)
			if req.Op == wire.Raise {
				want.Unsent = got.Unsent
			}
			want.Clock = got.Clock
			counts[req.Op.String()+" "+pair.sameVote(t, want, got, what)]++
		}
		for _, key := range drawn {
			pair.same(t, key, at, fmt.Sprintf("%s after %+v", key, reqs))
		}
	}
	for _, outcome := range []string{
		"acquire granted", "acquire granted replaced", "acquire refused", "acquire refused with an error", "acquire failed with an error",
		"raise granted", "raise refused", "raise failed with an error", "restore granted", "restore refused", "restore failed with an error",
		"extend granted", "extend refused", "release granted", "release refused",
	} {
		require.GreaterOrEqual(t, counts[outcome], fewer(4), "%s: %v", outcome, counts)
	}
}
