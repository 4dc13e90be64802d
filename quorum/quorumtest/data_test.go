package quorumtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
)

// What others than the library may do to a server's data.
func TestDataFromBehind(t *testing.T) {
	d, now := quorumtest.NewData(), time.Unix(1000, 0)
	acquire := quorum.Command{Op: quorum.Acquire, Key: "k", Value: "v", TTL: time.Second, Fence: true, CounterTTL: time.Hour, Set: quorum.Set{N: 5, Q: 3}}
	require.Equal(t, quorum.Granted, d.Run(acquire, now).Outcome)
	d.Put("for ever", "x", quorum.NoExpiry, now)
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

// The set is written by who takes the lock, and by a Restore where there is none;
// never by a Raise. And a client of another set learns nothing of the holder.
func TestWhoWritesTheSet(t *testing.T) {
	d, now := quorumtest.NewData(), time.Unix(1000, 0)
	mine, other := quorum.Set{Name: "main", N: 5, Q: 3}, quorum.Set{Name: "else", N: 5, Q: 3}
	d.Put("k", "v", time.Minute, now)
	cmd := func(op quorum.Op, value string, set quorum.Set) quorum.Command {
		return quorum.Command{Op: op, Key: "k", Value: value, TTL: time.Minute, Token: 5, Fence: true, CounterTTL: time.Hour, Set: set}
	}
	acquire := func(set quorum.Set) quorum.Vote { return d.Run(cmd(quorum.Acquire, "w", set), now) }

	require.Equal(t, quorum.Granted, d.Run(cmd(quorum.Raise, "v", mine), now).Outcome)
	require.NoError(t, acquire(other).Err, "a Raise wrote no set")
	require.Equal(t, quorum.Granted, d.Run(cmd(quorum.Restore, "v", mine), now).Outcome)
	vote := acquire(other)
	var mismatch *quorum.SetMismatchError
	require.ErrorAs(t, vote.Err, &mismatch)
	assert.Equal(t, mine.String(), mismatch.Theirs)
	assert.Zero(t, vote.Remaining)
	assert.Equal(t, time.Minute, acquire(mine).Remaining)
}
