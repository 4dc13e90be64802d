package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/quorum/wire"
)

// What programs other than the library may do to a server's data.
func TestDataFromBehind(t *testing.T) {
	d, now := memory.NewData(), time.Unix(1000, 0)
	acquire := wire.Request{Op: wire.Acquire, Key: "k", Value: "v", TTL: time.Second, Fence: wire.Fence{On: true, TTL: time.Hour, Ahead: time.Minute, Set: wire.Set{N: 5, Q: 3}}}
	require.Equal(t, wire.Granted, d.Run(acquire, now).Outcome)
	d.Keys.Put("forever", "x", time.Time{})
	d.Keys.Put("until", "x", now.Add(time.Minute))
	assert.Equal(t, []string{"forever", "k", "until"}, d.Keys.List(now))
	assert.Equal(t, []string{"k"}, d.Counters.List(now))

	later := now.Add(2 * time.Second)
	assert.Equal(t, []string{"forever", "until"}, d.Keys.List(later), "the lock has expired")
	assert.False(t, d.Keys.Delete("k", later), "it was gone")
	assert.True(t, d.Keys.Delete("until", later))
	assert.False(t, d.Keys.Delete("until", later))
	_, expires, ok := d.Keys.Get("forever", later.Add(time.Hour))
	assert.True(t, ok)
	assert.True(t, expires.IsZero())

	first, _, _ := d.Counters.Get("k", later)
	assert.NotZero(t, first)
	assert.True(t, d.Counters.Delete("k", later))
	assert.False(t, d.Counters.Delete("k", later))
	again := d.Run(acquire, later)
	assert.Greater(t, again.Token, first, "it begins by the clock")
	assert.Empty(t, d.Counters.List(later.Add(2*time.Hour)))

	d.Flush()
	assert.Empty(t, d.Keys.List(later))
	assert.Empty(t, d.Counters.List(later))
}

// The counter and the record are two keys, and a server may drop either.
func TestOneOfCounterAndRecordIsDropped(t *testing.T) {
	mine, other := wire.Set{Name: "main", N: 5, Q: 3}, wire.Set{Name: "else", N: 5, Q: 3}
	for name, c := range map[string]struct {
		drop func(d *memory.Data, now time.Time) bool
		// The next token in the same run, and the error for another set.
		next    fencing.Token
		refused bool
	}{
		"none":        {func(*memory.Data, time.Time) bool { return true }, 1_000_000_002, true},
		"the counter": {func(d *memory.Data, now time.Time) bool { return d.Counters.Delete("k", now) }, 1_002_000_001, true},
		"the record":  {func(d *memory.Data, now time.Time) bool { return d.Records.Delete("k", now) }, 1_002_000_001, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, now := memory.NewData(), time.Unix(1000, 0)
			acquire := func(set wire.Set) wire.Request {
				return wire.Request{Op: wire.Acquire, Key: "k", Value: "v", TTL: time.Second, Fence: wire.Fence{On: true, TTL: time.Hour, Ahead: time.Minute, Set: set}, Run: "run"}
			}
			assert.EqualValues(t, 1_000_000_001, d.Run(acquire(mine), now).Token)
			assert.Equal(t, []string{"k"}, d.Counters.List(now))
			assert.Equal(t, []string{"k"}, d.Records.List(now))
			record, _, _ := d.Records.Get("k", now)
			assert.Equal(t, mine.String(), record.Set)
			assert.EqualValues(t, "run", record.Run)

			now = now.Add(2 * time.Second)
			assert.True(t, c.drop(d, now))
			if c.refused {
				assert.ErrorIs(t, d.Run(acquire(other), now).Err, wire.ErrSetMismatch)
			}
			assert.Equal(t, c.next, d.Run(acquire(mine), now).Token)
		})
	}
	d, now := memory.NewData(), time.Unix(1000, 0)
	assert.False(t, d.Records.Delete("k", now))
	record, _, _ := d.Records.Get("k", now)
	assert.Zero(t, record)
	cmd := wire.Request{Op: wire.Acquire, Key: "k", Value: "v", TTL: time.Second, Fence: wire.Fence{On: true, TTL: time.Hour, Ahead: time.Minute}, Run: "run"}
	require.Equal(t, wire.Granted, d.Run(cmd, now).Outcome)
	assert.Empty(t, d.Records.List(now.Add(time.Hour)), "they expire together")
	assert.Empty(t, d.Counters.List(now.Add(time.Hour)))
	require.Equal(t, wire.Granted, d.Run(cmd, now.Add(2*time.Hour)).Outcome)
	d.Flush()
	assert.Empty(t, d.Records.List(now.Add(2*time.Hour)))
}

// Acquire writes the set, and Restore does where there is none; Raise never does. A client of
// another set learns nothing of the holder.
func TestWhoWritesTheSet(t *testing.T) {
	d, now := memory.NewData(), time.Unix(1000, 0)
	mine, other := wire.Set{Name: "main", N: 5, Q: 3}, wire.Set{Name: "else", N: 5, Q: 3}
	d.Keys.Put("k", "v", now.Add(time.Minute))
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
