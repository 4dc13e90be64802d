package quorumtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// What others than the library may do to a server's data.
func TestDataFromBehind(t *testing.T) {
	d, now := quorumtest.NewData(), time.Unix(1000, 0)
	acquire := wire.Request{Op: wire.Acquire, Key: "k", Value: "v", TTL: time.Second, Fence: wire.Fence{On: true, TTL: time.Hour, Ahead: time.Minute, Set: wire.Set{N: 5, Q: 3}}}
	require.Equal(t, wire.Granted, d.Run(acquire, now).Outcome)
	d.Put("for ever", "x", wire.NoExpiry, now)
	d.PutUntil("until", "x", now.Add(time.Minute))
	assert.Equal(t, []string{"for ever", "k", "until"}, d.Keys(now))
	assert.Equal(t, []string{"k"}, d.Counters(now))

	later := now.Add(2 * time.Second)
	assert.Equal(t, []string{"for ever", "until"}, d.Keys(later), "the lock has expired")
	assert.False(t, d.Delete("k", later), "it was gone")
	assert.True(t, d.Delete("until", later))
	assert.False(t, d.Delete("until", later))
	_, expires, ok := d.Holder("for ever", later.Add(time.Hour))
	assert.True(t, ok)
	assert.True(t, expires.IsZero())

	first := d.Counter("k", later)
	assert.NotZero(t, first)
	assert.True(t, d.Forget("k", later))
	assert.False(t, d.Forget("k", later))
	assert.Zero(t, d.Counter("k", later))
	again := d.Run(acquire, later)
	assert.Greater(t, again.Token, first, "it begins by the clock")
	assert.Empty(t, d.Counters(later.Add(2*time.Hour)))

	d.Flush()
	assert.Empty(t, d.Keys(later))
	assert.Empty(t, d.Counters(later))
}

// The counter and the record are two keys, and a server may drop either.
func TestOneOfCounterAndRecordIsDropped(t *testing.T) {
	mine, other := wire.Set{Name: "main", N: 5, Q: 3}, wire.Set{Name: "else", N: 5, Q: 3}
	for name, c := range map[string]struct {
		drop func(d *quorumtest.Data, now time.Time) bool
		// What the same run is given, and what another set hears.
		next    fencing.Token
		refused bool
	}{
		"none":        {func(*quorumtest.Data, time.Time) bool { return true }, 1_000_000_002, true},
		"the counter": {func(d *quorumtest.Data, now time.Time) bool { return d.Forget("k", now) }, 1_002_000_001, true},
		"the record":  {func(d *quorumtest.Data, now time.Time) bool { return d.ForgetRecord("k", now) }, 1_002_000_001, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, now := quorumtest.NewData(), time.Unix(1000, 0)
			acquire := func(set wire.Set) wire.Request {
				return wire.Request{Op: wire.Acquire, Key: "k", Value: "v", TTL: time.Second, Fence: wire.Fence{On: true, TTL: time.Hour, Ahead: time.Minute, Set: set}, Run: "run"}
			}
			assert.EqualValues(t, 1_000_000_001, d.Run(acquire(mine), now).Token)
			assert.Equal(t, []string{"k"}, d.Counters(now))
			assert.Equal(t, []string{"k"}, d.Records(now))
			set, run := d.Record("k", now)
			assert.Equal(t, mine.String(), set)
			assert.EqualValues(t, "run", run)

			now = now.Add(2 * time.Second)
			assert.True(t, c.drop(d, now))
			if c.refused {
				assert.ErrorIs(t, d.Run(acquire(other), now).Err, wire.ErrSetMismatch)
			}
			assert.Equal(t, c.next, d.Run(acquire(mine), now).Token)
		})
	}
	d, now := quorumtest.NewData(), time.Unix(1000, 0)
	assert.False(t, d.ForgetRecord("k", now))
	set, run := d.Record("k", now)
	assert.Empty(t, set)
	assert.Empty(t, run)
	cmd := wire.Request{Op: wire.Acquire, Key: "k", Value: "v", TTL: time.Second, Fence: wire.Fence{On: true, TTL: time.Hour, Ahead: time.Minute}, Run: "run"}
	require.Equal(t, wire.Granted, d.Run(cmd, now).Outcome)
	assert.Empty(t, d.Records(now.Add(time.Hour)), "they expire together")
	assert.Empty(t, d.Counters(now.Add(time.Hour)))
	require.Equal(t, wire.Granted, d.Run(cmd, now.Add(2*time.Hour)).Outcome)
	d.Flush()
	assert.Empty(t, d.Records(now.Add(2*time.Hour)))
}

// The set is written by who takes the lock, and by a Restore where there is none;
// never by a Raise. And a client of another set learns nothing of the holder.
func TestWhoWritesTheSet(t *testing.T) {
	d, now := quorumtest.NewData(), time.Unix(1000, 0)
	mine, other := wire.Set{Name: "main", N: 5, Q: 3}, wire.Set{Name: "else", N: 5, Q: 3}
	d.Put("k", "v", time.Minute, now)
	cmd := func(op wire.Op, value string, set wire.Set) wire.Request {
		return wire.Request{Op: op, Key: "k", Value: value, TTL: time.Minute, Fence: wire.Fence{Token: 5, On: true, TTL: time.Hour, Ahead: time.Minute, Set: set}}
	}
	acquire := func(set wire.Set) wire.Vote { return d.Run(cmd(wire.Acquire, "w", set), now) }

	require.Equal(t, wire.Granted, d.Run(cmd(wire.Raise, "v", mine), now).Outcome)
	require.NoError(t, acquire(other).Err, "a Raise wrote no set")
	require.Equal(t, wire.Granted, d.Run(cmd(wire.Restore, "v", mine), now).Outcome)
	vote := acquire(other)
	var mismatch *wire.SetMismatchError
	require.ErrorAs(t, vote.Err, &mismatch)
	assert.Equal(t, mine.String(), mismatch.Theirs)
	assert.Zero(t, vote.Remaining)
	assert.Equal(t, time.Minute, acquire(mine).Remaining)
}
