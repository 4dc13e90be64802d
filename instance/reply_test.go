package instance

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// TestRemaining reads PTTL's replies.
func TestRemaining(t *testing.T) {
	for ms, want := range map[int64]time.Duration{
		-1: wire.NoExpiry, -2: time.Millisecond, 0: time.Millisecond, 1: time.Millisecond, 5000: 5 * time.Second,
		math.MaxInt64: math.MaxInt64, math.MinInt64: time.Millisecond,
	} {
		require.Equal(t, want, remaining(ms), "%d", ms)
	}
}

// FuzzTransaction: no reply, however broken, makes the reader panic or read beyond its end, and every request has a vote
// or is sent again.
func FuzzTransaction(f *testing.F) {
	const queued = "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n"
	const info = "$42\r\n# Replication\r\nrole:master\r\nmaster_replid:r\r\n\r\n"
	const results = "+OK\r\n+OK\r\n:5\r\n$-1\r\n$-1\r\n+OK\r\n+OK\r\n:0\r\n$4\r\nr@1 \r\n" + info + "*2\r\n$10\r\n1700000000\r\n$1\r\n5\r\n"
	for _, seed := range []string{
		queued + "*11\r\n" + results, queued + "*10\r\n" + results, "-NOPERM no\r\n" + queued, queued + "-EXECABORT x\r\n", queued + "*-1\r\n", queued, "", "*",
		strings.Replace(queued, "+QUEUED", "-OOM x", 1) + "-EXECABORT x\r\n", queued + "*9223372036854775807\r\n" + results, queued + "$9223372036854775807\r\n", "$-5\r\n", ":\r\n",
		queued + "*11\r\n" + strings.Replace(results, ":5", "-ERR value is not an integer", 1), queued + "*11\r\n" + strings.Replace(results, ":5", ":-9223372036854775808", 1),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		x := newExchange(&Redis{}, nil, "mark")
		one := &call{req: wire.Request{Op: wire.Acquire, Keys: []string{"k"}, Value: "v", TTL: time.Minute, Run: "r@1 ", Fence: wire.Fence{On: true, Floor: 1, TTL: time.Hour, Ahead: time.Minute}}}
		several := &call{req: wire.Request{Op: wire.Acquire, Keys: []string{"a", "b"}, Value: "v", TTL: time.Minute, Delete: []string{"u"}}}
		calls := []*call{one, several}
		for _, c := range calls {
			x.transaction.add(c, drift.Instant{})
		}
		x.transaction.commands()
		bad := x.transaction.read(&parser{rest: raw}, drift.Instant{Mono: time.Second})
		for _, c := range calls {
			if c.again || c.looks {
				require.NoError(t, bad)
				continue
			}
			require.Equal(t, c.vote.Outcome == wire.Failed, c.vote.Err != nil)
			require.False(t, c.vote.Unsent && c.vote.Outcome != wire.Failed)
			require.NotEqual(t, wire.Refused, c.vote.Outcome, "it is asked who has it")
		}
	})
}
