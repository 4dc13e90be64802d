package memory

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// A time without a monotonic reading would move when the machine's wall clock is set.
func TestKeysExpireByTheMonotonicClock(t *testing.T) {
	now := named("clock").now()
	require.NotEqual(t, now.Round(0).String(), now.String(), "it has a monotonic reading")
}

// A program that locks another key each time, and none of them again, keeps those that are alive.
func TestWhatHasExpiredIsDropped(t *testing.T) {
	d, now := NewData(), time.Unix(1_700_000_000, 0)
	most := 0
	for i := range 100_000 {
		now = now.Add(10 * time.Millisecond)
		req := wire.Request{Op: wire.Acquire, Keys: []string{fmt.Sprint(i)}, Value: "v", TTL: time.Second, Fence: wire.Fence{On: true, Floor: 1, TTL: time.Second, Ahead: time.Second}}
		require.Equal(t, wire.Granted, d.Run(req, now).Outcome)
		require.Equal(t, wire.Granted, d.Run(wire.Request{Op: wire.Enqueue, Keys: req.Keys, TTL: time.Second, Waiter: wire.Waiter{Address: "a"}}, now).Outcome)
		most = max(most, len(d.Keys), len(d.Counters), len(d.queues))
	}
	require.LessOrEqual(t, most, 1024)
	require.Len(t, d.Keys.List(now), 100, "those that are alive")
	for i := range 50_000 { // all at once
		d.Run(wire.Request{Op: wire.Acquire, Keys: []string{fmt.Sprint("once-", i)}, Value: "v", TTL: time.Second, Fence: wire.Fence{On: true, Floor: 1, TTL: time.Second, Ahead: time.Second}}, now)
	}
	require.Greater(t, len(d.Keys), 50_000)
	now = now.Add(time.Minute)
	for range 200_000 {
		d.Run(wire.Request{Op: wire.Look, Keys: []string{"k"}}, now)
	}
	require.Empty(t, d.Keys, "they don't stay because no others come")
	require.Less(t, fencing.Token(now.UnixMicro()), d.Run(wire.Request{Op: wire.Acquire, Keys: []string{"0"}, Value: "v", TTL: time.Second, Fence: wire.Fence{On: true, Floor: 1, TTL: time.Hour, Ahead: time.Second}}, now).Token,
		"a counter that is dropped goes on from the clock")
}
