//go:build unix

package instance

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// What the proof of the tokens' order demands of the scripts, one test each.

// TestEachGrantCounts: a grant's token is above all earlier ones, however the key became free.
func TestEachGrantCounts(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		ctx := within(t)
		var last fencing.Token
		for i, free := range []func(holder string){
			func(holder string) { granted(t, r.Do(ctx, request(wire.Release, "k", holder))) },
			func(string) { ask("DEL", "k") },
			func(string) { ask("PEXPIRE", "k", 0) },
			func(string) { ask("RENAME", "k", "elsewhere") },
			func(holder string) {
				raise := request(wire.Raise, "k", holder)
				raise.Fence.Token = last + 1000
				granted(t, r.Do(ctx, raise))
				last = raise.Fence.Token
				ask("DEL", "k")
			},
			func(string) {},
		} {
			holder := value()
			v := granted(t, r.Do(ctx, acquire("k", holder)))
			require.Greater(t, v.Token, last, "grant %d", i)
			last = v.Token
			free(holder)
		}
		// A refused request counted nothing.
		refused(t, r.Do(ctx, acquire("k", value())))
		require.Equal(t, last, refused(t, r.Do(ctx, request(wire.Look, "k", ""))).Token)
	})
}

// TestLostCounterStartsHigher: a lost counter starts above its old value, because the clock is
// ahead of it.
func TestLostCounterStartsHigher(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		ctx := within(t)
		var last fencing.Token
		for range 50 {
			v := granted(t, r.Do(ctx, acquire("k", value())))
			require.Greater(t, v.Token, last)
			require.Equal(t, v.Clock.UnixMicro()+1, int64(v.Token), "the clock, plus the grant")
			last = v.Token
			ask("DEL", "k", CounterKey("k"))
		}
		require.Less(t, int64(last), int64(fencing.MaxToken)/4, "there is room for centuries")
		// A counter without a set, because a raise made it, is open to every set.
		ask("DEL", SetKey("k"))
		ask("SET", CounterKey("k"), fmt.Sprint(uint64(last)+7))
		require.Equal(t, last+8, granted(t, r.Do(ctx, acquire("k", value()))).Token)
		require.Equal(t, set1.String(), setIn(ask, "k"))
	})
}

// TestConcurrentGrants has many clients compete for one key: each token is given once.
func TestConcurrentGrants(t *testing.T) {
	r, _ := real(t, Config{})
	var mu sync.Mutex
	seen := make(map[fencing.Token]bool)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				holder := value()
				v := r.Do(within(t), acquire("k", holder))
				if v.Outcome != wire.Granted {
					continue
				}
				mu.Lock()
				if seen[v.Token] {
					t.Errorf("token %v was given twice", v.Token)
				}
				seen[v.Token] = true
				mu.Unlock()
				if out := r.Do(within(t), request(wire.Release, "k", holder)).Outcome; out != wire.Granted {
					t.Errorf("the release of a held lock was %v", out)
				}
			}
		})
	}
	wg.Wait()
	require.NotEmpty(t, seen)
}

// TestSets: an instance refuses clients with another set, except for a higher version of the same
// name, and changes nothing for the others.
func TestSets(t *testing.T) {
	set := func(name string, version uint64, n, q int) wire.Set {
		return wire.Set{Name: name, Version: version, N: n, Q: q, MaxTTL: 30 * time.Second}
	}
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		ctx := within(t)
		for _, test := range []struct {
			theirs string
			mine   wire.Set
			ok     bool
		}{
			{"prod@7 N=5 Q=3 MaxTTL=30s", set("prod", 7, 5, 3), true},
			{"prod@7 N=5 Q=3 MaxTTL=30s", set("prod", 8, 5, 3), true},
			{"prod@7 N=5 Q=3 MaxTTL=30s", set("prod", 8, 7, 4), true},
			{"prod@7 N=5 Q=3 MaxTTL=30s", set("prod", 7, 7, 4), false},
			{"prod@7 N=5 Q=3 MaxTTL=30s", set("prod", 7, 5, 4), false},
			{"prod@7 N=5 Q=3 MaxTTL=20s", set("prod", 7, 5, 3), false},
			{"prod@7 N=5 Q=3 MaxTTL=20s", set("prod", 8, 5, 3), true},
			{"prod@7 N=5 Q=3 MaxTTL=30s", set("prod", 6, 5, 3), false},
			{"prod@7 N=5 Q=3 MaxTTL=30s", set("test", 8, 5, 3), false},
			{"prod@7 N=5 Q=3 MaxTTL=30s", set("", 8, 5, 3), false},
			{"@0 N=3 Q=2 MaxTTL=30s", set("", 0, 3, 2), true},
			{"@0 N=3 Q=2 MaxTTL=30s", set("", 1, 5, 3), true},
			{"prod@9 N=5 Q=3 MaxTTL=30s", set("prod", 10, 5, 3), true},
			{"prod@10 N=5 Q=3 MaxTTL=30s", set("prod", 9, 5, 3), false},
			{"prod@18446744073709551614 N=5 Q=3 MaxTTL=30s", set("prod", math.MaxUint64, 5, 3), true},
			{"prod@18446744073709551615 N=5 Q=3 MaxTTL=30s", set("prod", math.MaxUint64-1, 5, 3), false},
			{"prod@9007199254740992 N=5 Q=3 MaxTTL=30s", set("prod", 9007199254740993, 5, 3), true},
			{"prod@9007199254740993 N=5 Q=3 MaxTTL=30s", set("prod", 9007199254740992, 5, 3), false},
			{"a.b-c_d@1 N=5 Q=3 MaxTTL=30s", set("a.b-c_d", 2, 5, 3), true},
			{"axb-c_d@1 N=5 Q=3 MaxTTL=30s", set("a.b-c_d", 2, 5, 3), false},
			{"nonsense", set("prod", 8, 5, 3), false},
			{"prod@-1 N=5 Q=3 MaxTTL=30s", set("prod", 8, 5, 3), false},
		} {
			ask("DEL", "k")
			counted(ask, "k", old, test.theirs, "")
			req := acquire("k", value())
			req.Fence.Set = test.mine
			if v := r.Do(ctx, req); test.ok {
				require.EqualValues(t, old+1, granted(t, v).Token, "%v after %v", test.mine, test.theirs)
				require.Equal(t, test.mine.String(), setIn(ask, "k"))
				if old, err := wire.ParseSet(test.theirs); err == nil && old != test.mine {
					require.True(t, test.mine.Supersedes(old))
				}
				continue
			} else {
				require.Equal(t, wire.Refused, v.Outcome, "%v after %v", test.mine, test.theirs)
				var mismatch *wire.SetMismatchError
				require.ErrorAs(t, v.Err, &mismatch)
				require.ErrorIs(t, v.Err, wire.ErrSetMismatch)
				require.Equal(t, test.theirs, mismatch.Theirs)
				require.Equal(t, test.mine, mismatch.Mine)
			}
			require.Nil(t, ask("GET", "k"))
			require.Equal(t, old.String(), tokenIn(ask, "k"))
			require.Equal(t, test.theirs, setIn(ask, "k"))
			require.InDelta(t, 77_000, ask("PTTL", CounterKey("k")), 1000)
			require.InDelta(t, 77_000, ask("PTTL", SetKey("k")), 1000)
		}

		// A higher version takes over only if the key is free.
		ask("DEL", "k", CounterKey("k"), SetKey("k"))
		granted(t, r.Do(ctx, acquire("k", value())))
		higher := acquire("k", value())
		higher.Fence.Set.Version++
		refused(t, r.Do(ctx, higher))
		require.Equal(t, set1.String(), setIn(ask, "k"))
	})
}

// TestFlushedScripts: scripts that the server has lost are sent again.
func TestFlushedScripts(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		for range 3 {
			holder := value()
			ask("SCRIPT", "FLUSH")
			granted(t, r.Do(within(t), acquire("k", holder)))
			ask("SCRIPT", "FLUSH")
			granted(t, r.Do(within(t), request(wire.Release, "k", holder)))
		}
	})
}

// TestNoSecondSend: a failed vote is no reason for a second try.
func TestNoSecondSend(t *testing.T) {
	f := startFake(t, func([]string) string { return hangUp })
	r := open(t, "redis://"+f.addr, Config{})
	for i, req := range every() {
		before := len(f.commands())
		v := r.Do(within(t), req)
		require.Equal(t, wire.Failed, v.Outcome)
		require.False(t, v.Unsent)
		require.Equal(t, i+1, f.connections())
		require.Len(t, f.commands(), before+1, "%v", req.Op)
	}
}

// TestUnknownOperation is an error, not a panic.
func TestUnknownOperation(t *testing.T) {
	r, _ := mini(t, Config{})
	v := r.Do(within(t), wire.Request{Op: 99})
	require.True(t, failed(t, v, ErrConfig).Unsent)
	require.True(t, errors.Is(r.Do(within(t), wire.Request{}).Err, ErrConfig))
}
