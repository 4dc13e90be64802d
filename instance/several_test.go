//go:build unix

package instance

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// also makes a request for several keys.
func also(req wire.Request, keys ...string) wire.Request {
	req.Also = keys
	return req
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
