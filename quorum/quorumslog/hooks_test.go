package quorumslog_test

import (
	"bytes"
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
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumslog"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// record is one log record, its attributes with dotted names. It has no time, because events have
// their own.
type record struct {
	level slog.Level
	text  string
	attrs map[string]any
	ctx   context.Context
}

// recorder is a handler that keeps records from a level up.
type recorder struct {
	least slog.Level

	mu      sync.Mutex
	records []record
}

func (r *recorder) Enabled(_ context.Context, level slog.Level) bool {
	return level >= r.least
}

func (r *recorder) Handle(ctx context.Context, rec slog.Record) error {
	kept := record{level: rec.Level, text: rec.Message, attrs: map[string]any{}, ctx: ctx}
	rec.Attrs(func(a slog.Attr) bool {
		flatten(kept.attrs, "", a)
		return true
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, kept)
	return nil
}

func flatten(to map[string]any, prefix string, a slog.Attr) {
	if a.Value.Kind() != slog.KindGroup {
		to[prefix+a.Key] = a.Value.Any()
		return
	}
	for _, part := range a.Value.Group() {
		flatten(to, prefix+a.Key+".", part)
	}
}

func (r *recorder) WithAttrs([]slog.Attr) slog.Handler { return r }
func (r *recorder) WithGroup(string) slog.Handler      { return r }

// only returns the only record.
func (r *recorder) only(t *testing.T) record {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Len(t, r.records, 1)
	return r.records[0]
}

func (r *recorder) texts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var texts []string
	for _, rec := range r.records {
		texts = append(texts, rec.text)
	}
	return texts
}

// find returns the first record with this text.
func (r *recorder) find(t *testing.T, text string) record {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range r.records {
		if rec.text == text {
			return rec
		}
	}
	require.Failf(t, "no such record", "%q", text)
	return record{}
}

const secret = "0123456789abcdef0123456789abcdef01234567"

func TestRecords(t *testing.T) {
	errDown := errors.New("connection refused")
	roundErr := &quorum.RoundError{Op: wire.Acquire, Key: "k", Verdict: quorum.ErrTaken, Quorum: 2}
	until := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	cases := map[string]struct {
		tell  func(ctx context.Context, h quorum.Hooks)
		level slog.Level
		text  string
		attrs map[string]any
		bare  bool // the event has no context
	}{
		"round started": {
			tell: func(ctx context.Context, h quorum.Hooks) {
				h.RoundStarted(ctx, quorum.RoundStart{Op: wire.Extend, Key: "k", Try: 3})
			},
			level: slog.LevelDebug, text: "lock round started",
			attrs: map[string]any{"op": "extend", "key": "k", "try": int64(3)},
		},
		"round won": {
			tell: func(ctx context.Context, h quorum.Hooks) {
				h.RoundDecided(ctx, quorum.RoundEnd{
					Op: wire.Acquire, Key: "k", Try: 1, Took: time.Millisecond, Token: 7, Validity: time.Second,
					Ballots: []quorum.Ballot{
						{Instance: "A", Vote: wire.Vote{Outcome: wire.Granted, Token: 7}, Latency: time.Millisecond},
						{Instance: "B", Vote: wire.Vote{Err: quorum.ErrPending}},
					},
				})
			},
			level: slog.LevelDebug, text: "lock round won",
			attrs: map[string]any{
				"op": "acquire", "key": "k", "try": int64(1), "took": time.Millisecond, "token": uint64(7), "validity": time.Second,
				"ballots.A.outcome": "granted", "ballots.A.latency": time.Millisecond,
				"ballots.B.outcome": "pending",
			},
		},
		"round lost": {
			tell: func(ctx context.Context, h quorum.Hooks) {
				h.RoundDecided(ctx, quorum.RoundEnd{
					Op: wire.Acquire, Key: "k", Try: 2, Took: time.Second, Err: roundErr,
					Ballots: []quorum.Ballot{
						{Instance: "A", Vote: wire.Vote{Outcome: wire.Refused, Remaining: time.Minute, Holder: secret}, Latency: 3},
						{Instance: "B", Vote: wire.Vote{Outcome: wire.Refused, Remaining: wire.NoExpiry}, Latency: 4},
						{Instance: "C", Vote: wire.Vote{Err: errDown}, Latency: 5},
					},
				})
			},
			level: slog.LevelDebug, text: "lock round lost",
			attrs: map[string]any{
				"op": "acquire", "key": "k", "try": int64(2), "took": time.Second, "error": error(roundErr),
				"ballots.A.outcome": "refused", "ballots.A.latency": time.Duration(3), "ballots.A.remaining": time.Minute,
				"ballots.B.outcome": "refused", "ballots.B.latency": time.Duration(4), "ballots.B.remaining": "forever",
				"ballots.C.outcome": "failed", "ballots.C.latency": time.Duration(5), "ballots.C.error": errDown,
			},
		},
		"wait started": {
			tell: func(ctx context.Context, h quorum.Hooks) {
				h.WaitStarted(ctx, quorum.WaitStart{Key: "k", Waiters: 4})
			},
			level: slog.LevelDebug, text: "lock wait started",
			attrs: map[string]any{"key": "k", "waiters": int64(4)},
		},
		"wait ended": {
			tell: func(ctx context.Context, h quorum.Hooks) {
				h.WaitEnded(ctx, quorum.WaitEnd{Key: "k", Waited: time.Second, Tries: 3, Elsewhere: true, Token: 7})
			},
			level: slog.LevelInfo, text: "lock wait ended",
			attrs: map[string]any{"key": "k", "token": uint64(7), "waited": time.Second, "tries": int64(3), "here": false, "elsewhere": true},
		},
		"wait given up": {
			tell: func(ctx context.Context, h quorum.Hooks) {
				h.WaitEnded(ctx, quorum.WaitEnd{Key: "k", Waited: time.Minute, Tries: 9, Here: true, Err: quorum.ErrExhausted})
			},
			level: slog.LevelInfo, text: "lock wait given up",
			attrs: map[string]any{"key": "k", "waited": time.Minute, "tries": int64(9), "here": true, "elsewhere": false, "error": quorum.ErrExhausted},
		},
		"acquired": {
			tell: func(ctx context.Context, h quorum.Hooks) {
				h.Acquired(ctx, quorum.LeaseEvent{Key: "k", Token: 9, Validity: time.Second})
			},
			level: slog.LevelInfo, text: "lock acquired",
			attrs: map[string]any{"key": "k", "token": uint64(9), "validity": time.Second, "held": time.Duration(0)},
		},
		"extended": {
			tell: func(ctx context.Context, h quorum.Hooks) {
				h.Extended(ctx, quorum.LeaseEvent{Key: "k", Validity: time.Second, Held: time.Minute})
			},
			level: slog.LevelDebug, text: "lock extended",
			attrs: map[string]any{"key": "k", "validity": time.Second, "held": time.Minute},
		},
		"released": {
			tell: func(ctx context.Context, h quorum.Hooks) {
				h.Released(ctx, quorum.LeaseEvent{Key: "k", Token: 1, Validity: 5, Held: 6})
			},
			level: slog.LevelInfo, text: "lock released",
			attrs: map[string]any{"key": "k", "token": uint64(1), "validity": time.Duration(5), "held": time.Duration(6)},
		},
		"handed off": {
			tell: func(ctx context.Context, h quorum.Hooks) {
				h.Released(ctx, quorum.LeaseEvent{Key: "k", Validity: 5, Held: 6, Err: quorum.ErrHandedOff})
			},
			level: slog.LevelInfo, text: "lock handed off",
			attrs: map[string]any{"key": "k", "validity": time.Duration(5), "held": time.Duration(6)},
		},
		"left": {
			tell: func(ctx context.Context, h quorum.Hooks) {
				h.Released(ctx, quorum.LeaseEvent{Key: "k", Validity: 5, Held: 6, Left: true})
			},
			level: slog.LevelInfo, text: "lock left to expire",
			attrs: map[string]any{"key": "k", "validity": time.Duration(5), "held": time.Duration(6)},
		},
		"left too late": {
			tell: func(ctx context.Context, h quorum.Hooks) {
				h.Released(ctx, quorum.LeaseEvent{Key: "k", Held: 6, Err: quorum.ErrExpired, Left: true})
			},
			level: slog.LevelWarn, text: "lock ended before it was left",
			attrs: map[string]any{"key": "k", "validity": time.Duration(0), "held": time.Duration(6), "error": quorum.ErrExpired},
		},
		"release failed": {
			tell: func(ctx context.Context, h quorum.Hooks) {
				h.Released(ctx, quorum.LeaseEvent{Key: "k", Err: quorum.ErrNotHeld})
			},
			level: slog.LevelWarn, text: "lock release failed",
			attrs: map[string]any{"key": "k", "validity": time.Duration(0), "held": time.Duration(0), "error": quorum.ErrNotHeld},
		},
		"lost": {
			tell: func(_ context.Context, h quorum.Hooks) {
				h.Lost(quorum.LeaseEvent{Key: "k", Token: 2, Held: 8, Err: quorum.ErrExpired})
			},
			level: slog.LevelWarn, text: "lock lost", bare: true,
			attrs: map[string]any{"key": "k", "token": uint64(2), "validity": time.Duration(0), "held": time.Duration(8), "error": quorum.ErrExpired},
		},
		"quarantined": {
			tell: func(_ context.Context, h quorum.Hooks) {
				h.Quarantined(quorum.QuarantineEvent{Instance: "A", Err: &quorum.QuarantineError{
					Reason: quorum.Restarted, Detail: "it came up 1s ago", Remaining: time.Second, Until: until,
				}})
			},
			level: slog.LevelWarn, text: "instance quarantined", bare: true,
			attrs: map[string]any{"instance": "A", "reason": "restarted", "detail": "it came up 1s ago", "remaining": time.Second, "until": until},
		},
		"quarantined, without a reason": {
			tell:  func(_ context.Context, h quorum.Hooks) { h.Quarantined(quorum.QuarantineEvent{Instance: "A"}) },
			level: slog.LevelWarn, text: "instance quarantined", bare: true,
			attrs: map[string]any{"instance": "A"},
		},
		"clock jumped": {
			tell: func(_ context.Context, h quorum.Hooks) {
				h.ClockJumped(quorum.ClockEvent{Instance: "A", Jump: drift.Jump{By: -time.Hour, Within: time.Second}})
			},
			level: slog.LevelError, text: "instance clock jumped", bare: true,
			attrs: map[string]any{"instance": "A", "by": -time.Hour, "within": time.Second},
		},
		"all clocks jumped": {
			tell: func(_ context.Context, h quorum.Hooks) {
				h.ClockJumped(quorum.ClockEvent{Instance: "A", Jump: drift.Jump{By: time.Second, Within: time.Second}, Everywhere: true})
			},
			level: slog.LevelError, text: "instance clock jumped", bare: true,
			attrs: map[string]any{"instance": "A", "by": time.Second, "within": time.Second, "everywhere": true},
		},
		"waiting": {
			tell: func(ctx context.Context, h quorum.Hooks) {
				h.Waiting(ctx, quorum.WaitEvent{Key: "k", For: 3 * time.Second, Quarantined: 2, Instances: 3, Err: &quorum.QuarantineError{Reason: quorum.Restarted, Detail: "it came up 1s ago"}})
			},
			level: slog.LevelWarn, text: "no lock can be taken for 3s: 2 of 3 instances don't vote yet (it came up 1s ago); wait, or call Coordinator.Trust if it never held a lock",
			attrs: map[string]any{"key": "k", "for": 3 * time.Second},
		},
		"no quorum": {
			tell: func(ctx context.Context, h quorum.Hooks) {
				h.Waiting(ctx, quorum.WaitEvent{Key: "k", Instances: 3, Lasted: 1100 * time.Millisecond, Last: fmt.Errorf("%w; a: sent 0011223344556677aabb", quorum.ErrNoQuorum)})
			},
			level: slog.LevelWarn, text: "no lock could be taken for 1.1s: quorum: no quorum of instances; a: sent 00112233...",
			attrs: map[string]any{"key": "k", "lasted": 1100 * time.Millisecond},
		},
		"unprotected": {
			tell: func(_ context.Context, h quorum.Hooks) {
				h.Unprotected(quorum.UnprotectedEvent{Instance: "A", Hidden: []string{"INFO: no permission"}})
			},
			level: slog.LevelWarn, text: "instance hides its restarts", bare: true,
			attrs: map[string]any{"instance": "A", "hidden": []string{"INFO: no permission"}},
		},
		"evicts": {
			tell: func(_ context.Context, h quorum.Hooks) {
				h.Unprotected(quorum.UnprotectedEvent{Instance: "A", Eviction: "allkeys-lru"})
			},
			level: slog.LevelWarn, text: "instance may evict locks", bare: true,
			attrs: map[string]any{"instance": "A", "maxmemory-policy": "allkeys-lru"},
		},
		"cannot notify": {
			tell: func(_ context.Context, h quorum.Hooks) {
				h.CannotNotify(quorum.CannotNotifyEvent{Instance: "A", Err: quorum.ErrTaken})
			},
			level: slog.LevelWarn, text: "instance cannot notify waiters", bare: true,
			attrs: map[string]any{"instance": "A", "error": quorum.ErrTaken.Error()},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := &recorder{least: slog.LevelDebug}
			ctx := context.WithValue(t.Context(), ctxKey{}, name)
			c.tell(ctx, quorumslog.Hooks(slog.New(r)))
			got := r.only(t)
			assert.Equal(t, c.level, got.level)
			assert.Equal(t, c.text, got.text)
			assert.Equal(t, c.attrs, got.attrs)
			if !c.bare {
				assert.Equal(t, name, got.ctx.Value(ctxKey{}), "the handler sees the caller's context")
			}

			// One level higher nothing is written.
			off := &recorder{least: c.level + 1}
			c.tell(ctx, quorumslog.Hooks(slog.New(off)))
			assert.Empty(t, off.records)
		})
	}
}

type ctxKey struct{}

func TestNilLoggerIsTheDefaultOne(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	h := quorumslog.Hooks(nil)
	r := &recorder{}
	slog.SetDefault(slog.New(r)) // later than the hooks were made
	h.Lost(quorum.LeaseEvent{Key: "k"})
	assert.Equal(t, "k", r.only(t).attrs["key"])
}

// A real run. No value may get into the log: neither the lease's own, nor one that a server repeats
// in an error.
func TestValuesAreNeverWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{least: slog.LevelDebug}
		var text bytes.Buffer
		hooks := quorumslog.Hooks(slog.New(r)).And(quorumslog.Hooks(slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))))
		hooks = hooks.And(quorumslog.Hooks(slog.New(slog.NewJSONHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))))
		servers := quorumtest.NewServers(3)
		c, err := quorum.New(quorum.Config{Hooks: hooks, Owner: "me"}, servers.Instances()...)
		require.NoError(t, err)
		ctx := context.Background()

		lease, err := c.TryAcquire(ctx, "k")
		require.NoError(t, err)
		_, err = c.TryAcquire(ctx, "k")
		require.ErrorIs(t, err, quorum.ErrTaken)
		time.Sleep(time.Second)
		require.NoError(t, lease.Extend(ctx))
		synctest.Wait()
		var values []string
		for _, s := range servers {
			value, _, ok := s.Get("k")
			require.True(t, ok)
			values = append(values, value)
			s.SetFate(func(cmd wire.Request) quorumtest.Fate {
				return quorumtest.Fate{Err: fmt.Errorf("ERR unknown command 'CAS', with args beginning with: '%s' '%s'", cmd.Keys[0], cmd.Value)}
			})
		}
		_, err = c.TryAcquire(ctx, "other")
		require.ErrorIs(t, err, quorum.ErrNoQuorum)
		require.ErrorIs(t, lease.Release(ctx), quorum.ErrUnreachable)
		for _, s := range servers {
			for _, entry := range s.Log() {
				if entry.Request.Value != "" {
					values = append(values, entry.Request.Value)
				}
			}
			s.SetFate(nil)
		}
		require.NoError(t, c.Settle(ctx))
		require.NoError(t, c.Close(ctx))

		assert.Subset(t, r.texts(), []string{"lock round started", "lock round won", "lock round lost", "lock acquired", "lock extended", "lock release failed"})
		all := text.String()
		for _, rec := range r.records {
			all += fmt.Sprintln(rec.text, rec.attrs)
		}
		for _, value := range values {
			assert.NotContains(t, all, value)
			assert.NotContains(t, all, strings.TrimSuffix(value, ":me"))
		}
		assert.Contains(t, all, "unknown command", "the rest of the error is there")

		failed := r.find(t, "lock release failed").attrs["error"].(error)
		assert.ErrorIs(t, failed, quorum.ErrUnreachable)
		var instance *quorum.InstanceError
		assert.ErrorAs(t, failed, &instance, "a handler still finds the parts")
	})
}

// A record that isn't written isn't built either.
func TestDisabledLevelsAllocateNothing(t *testing.T) {
	h := quorumslog.Hooks(slog.New(slog.DiscardHandler))
	e := quorum.RoundEnd{Op: wire.Acquire, Key: "k", Ballots: make([]quorum.Ballot, 5), Err: quorum.ErrTaken}
	ctx := t.Context()
	assert.Zero(t, testing.AllocsPerRun(100, func() { h.RoundDecided(ctx, e) }))
}

// Of a lease on several keys all are named.
func TestAllKeysAreNamed(t *testing.T) {
	r := &recorder{least: slog.LevelDebug}
	hooks := quorumslog.Hooks(slog.New(r))
	also := []string{"b", "c"}
	ctx := context.Background()
	hooks.RoundStarted(ctx, quorum.RoundStart{Key: "a", Also: also})
	hooks.RoundDecided(ctx, quorum.RoundEnd{Key: "a", Also: also})
	hooks.Acquired(ctx, quorum.LeaseEvent{Key: "a", Also: also})
	hooks.Lost(quorum.LeaseEvent{Key: "a", Also: also, Err: quorum.ErrLost})
	hooks.Released(ctx, quorum.LeaseEvent{Key: "a", Also: also})
	hooks.WaitStarted(ctx, quorum.WaitStart{Key: "a", Also: also})
	hooks.WaitEnded(ctx, quorum.WaitEnd{Key: "a", Also: also, Here: true})
	require.Len(t, r.records, 7)
	for _, rec := range r.records {
		assert.Equal(t, also, rec.attrs["also"], rec.text)
	}
	hooks.WaitEnded(ctx, quorum.WaitEnd{Key: "a"}) // the lock was free, and nothing is written
	hooks.Acquired(ctx, quorum.LeaseEvent{Key: "a"})
	assert.NotContains(t, r.records[7].attrs, "also")
}
