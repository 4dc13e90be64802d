package quorum_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

func (f *fixture) inspect(key string) quorum.Inspection {
	f.t.Helper()
	found, err := f.Inspect(f.ctx, key)
	require.NoError(f.t, err)
	return found
}

func TestInspectAHeldLock(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		time.Sleep(time.Second)
		found := f.inspect("k")
		held := found.Held()
		require.NotNil(t, held)
		for _, ballot := range found.Votes {
			assert.Equal(t, lease.Token(), ballot.Vote.Token, ballot.Instance)
			assert.Equal(t, lease.Value(), ballot.Vote.Holder, ballot.Instance)
		}
		assert.Equal(t, quorum.Holder{
			Owner: "worker-7", Value: lease.Value(), Instances: []string{"A", "B", "C", "D", "E"}, Remaining: 9 * time.Second, Held: true,
		}, *held)
		assert.Empty(t, found.Free)
		assert.GreaterOrEqual(t, found.Token, lease.Token())
		assert.Contains(t, found.String(), `"k": held by "worker-7" on A, B, C, D, E for 9s; tokens up to `)
		assert.NotContains(t, found.String(), lease.Value(), "the value is a secret: it allows a release")

		// The counter outlives the lease.
		require.NoError(t, lease.Release(f.ctx))
		synctest.Wait()
		assert.GreaterOrEqual(t, f.inspect("k").Token, lease.Token())
		assert.Len(t, f.inspect("k").Free, 5)
	}, func(c *quorum.Config) { c.Owner = "worker-7" })
}

// A key is held as long as it keeps a quorum: the third longest TTL of five.
func TestInspectTellsHowLongAQuorumLasts(t *testing.T) {
	play(t, 5, func(f *fixture) {
		for i, left := range []time.Duration{5 * time.Second, 1 * time.Second, 4 * time.Second, 2 * time.Second, 3 * time.Second} {
			f.servers[i].Put("k", "v:o", left)
		}
		held := f.inspect("k").Held()
		require.NotNil(t, held)
		assert.Equal(t, 3*time.Second, held.Remaining)
		time.Sleep(3500 * ms)
		found := f.inspect("k")
		assert.Nil(t, found.Held())
		require.Len(t, found.Holders, 1)
		assert.Equal(t, []string{"A", "C"}, found.Holders[0].Instances)
		assert.Equal(t, 1500*ms, found.Holders[0].Remaining, "with no quorum, the TTL of the last key")
	})
}

func TestInspectASplit(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.servers[0].Put("k", "one:alice", time.Second)
		f.servers[1].Put("k", "two:bob", 2*time.Second)
		f.servers[2].Put("k", "two:bob", 3*time.Second)
		f.servers[3].Put("k", "three", wire.NoExpiry)
		found := f.inspect("k")
		assert.Nil(t, found.Held())
		require.Len(t, found.Holders, 3)
		assert.Equal(t, quorum.Holder{Owner: "bob", Value: "two:bob", Instances: []string{"B", "C"}, Remaining: 3 * time.Second}, found.Holders[0], "the value on most servers comes first")
		assert.Equal(t, wire.NoExpiry, found.Holders[2].Remaining)
		assert.Equal(t, []string{"E"}, found.Free)
		assert.Contains(t, found.String(), `partly held by "bob" on B, C for 3s;`)
		assert.Contains(t, found.String(), `on D forever; free on E; tokens up to `)
	})
}

func TestInspectKeysThatLiveForEver(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.occupy("k", wire.NoExpiry)
		assert.Equal(t, wire.NoExpiry, f.inspect("k").Held().Remaining)
		f.occupy("k", time.Second, 0)
		assert.Equal(t, wire.NoExpiry, f.inspect("k").Held().Remaining, "two of three are enough")
		f.occupy("k", 2*time.Second, 1)
		assert.Equal(t, 2*time.Second, f.inspect("k").Held().Remaining)
	})
}

func TestInspectWithInstancesMissing(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		f.kill(0)
		f.hang(1)
		found := f.inspect("k")
		assert.Equal(t, 100*ms, f.elapsed(), "no longer than InstanceTimeout")
		require.NotNil(t, found.Held())
		assert.Equal(t, []string{"C", "D", "E"}, found.Held().Instances)
		require.Len(t, found.Failed, 2)
		assert.ErrorIs(t, found.Failed[0].Vote.Err, quorumtest.ErrConnRefused)
		assert.ErrorIs(t, found.Failed[1].Vote.Err, wire.ErrTimeout)
		assert.Contains(t, found.String(), "; unknown on A: quorumtest: connection refused; unknown on B: ")

		f.kill(2)
		found, err := f.Inspect(f.ctx, "k")
		require.ErrorIs(t, err, quorum.ErrNoQuorum)
		var round *quorum.RoundError
		require.ErrorAs(t, err, &round)
		assert.Equal(t, wire.Look, round.Op)
		assert.Len(t, round.Votes, 5)
		assert.Nil(t, found.Held(), "two are no quorum")
		require.Len(t, found.Holders, 1)
		assert.Equal(t, lease.Value(), found.Holders[0].Value, "the findings are returned nevertheless")
	})
}

// An inspection needs no vote, so a server in quarantine reports what it has.
func TestInspectAsksServersInQuarantineToo(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.identify(truth)
		f.occupy("k", time.Minute)
		assert.NotNil(t, f.inspect("k").Held())
	})
}

// A server that is listed twice counts once, also if nothing was locked before, and a replica doesn't count.
func TestInspectCountsIndependentMasters(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.servers[0].Put("k", "somebody's", time.Minute)
		f.identify(func(id *wire.Identity) { id.RunID, id.ReplID = "one", "one" }, 0, 1)
		f.servers[1].Put("k", "somebody's", time.Minute) // as it is the same server
		found := f.inspect("k")
		assert.Nil(t, found.Held())
		require.Len(t, found.Failed, 1)
		require.ErrorIs(t, found.Failed[0].Vote.Err, quorum.ErrDuplicate)

		f.identify(func(id *wire.Identity) { id.Role = "slave" }, 2)
		_, err := f.other().Inspect(f.ctx, "k")
		require.ErrorIs(t, err, quorum.ErrNoQuorum)
		require.ErrorIs(t, err, quorum.ErrNotMaster)
	})
}

func TestInspectEndsWithItsContext(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.hang(0, 1, 2)
		why := errors.New("went away")
		ctx, cancel := context.WithCancelCause(f.ctx)
		time.AfterFunc(10*ms, func() { cancel(why) })
		_, err := f.Inspect(ctx, "k")
		assert.Equal(t, 10*ms, f.elapsed())
		for _, want := range []error{quorum.ErrInterrupted, context.Canceled, why} {
			require.ErrorIs(t, err, want)
		}
		assert.NotErrorIs(t, err, quorum.ErrNoQuorum)
		assert.NotErrorIs(t, err, quorum.ErrTimeout, "no server had the time to be late")
		_, err = f.Inspect(ctx, "k")
		require.ErrorIs(t, err, why)
		_, err = f.Inspect(f.ctx, "")
		require.ErrorIs(t, err, quorum.ErrConfig)
		require.NoError(t, f.Close(f.ctx))
		_, err = f.Inspect(f.ctx, "k")
		require.ErrorIs(t, err, quorum.ErrClosed)
	})
}

// An inspection whose caller has left continues until it is answered or times out, and Close waits
// for it.
func TestCloseWaitsForALookThatWasGivenUp(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.inspect("k")
		f.hang()
		ctx, cancel := context.WithTimeout(f.ctx, 10*ms)
		defer cancel()
		at := time.Now()
		_, err := f.Inspect(ctx, "k")
		require.ErrorIs(f.t, err, quorum.ErrInterrupted)
		assert.Equal(f.t, 10*ms, time.Since(at))
		require.NoError(f.t, f.Close(f.ctx))
		assert.Equal(f.t, f.Config().InstanceTimeout, time.Since(at))
	}, func(cfg *quorum.Config) { cfg.Lab.ClockMonitor = quorum.Off })
}

// Free is decided by the first quorum that says the same, and doesn't wait for a server that hangs.
func TestFree(t *testing.T) {
	for name, test := range map[string]struct {
		held, down, hung []int
		want             error
		at               time.Duration
	}{
		"free":                       {},
		"a key of a minority":        {held: []int{0}},
		"held":                       {held: []int{0, 1, 2}, want: quorum.ErrTaken},
		"held on a quorum":           {held: []int{0, 1}, want: quorum.ErrTaken},
		"free, and one hangs":        {hung: []int{2}},
		"held, and one hangs":        {held: []int{0, 1}, hung: []int{2}, want: quorum.ErrTaken},
		"unknown, because one hangs": {held: []int{0}, hung: []int{2}, want: quorum.ErrNoQuorum, at: 100 * ms},
		"too few":                    {down: []int{0, 1}, want: quorum.ErrNoQuorum},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				f.warm()
				for _, i := range test.held {
					f.occupy("k", time.Minute, i)
				}
				if test.down != nil {
					f.kill(test.down...)
				}
				if test.hung != nil {
					f.hang(test.hung...)
				}
				began := f.elapsed()
				err := f.Free(f.ctx, "k")
				assert.Equal(t, test.at, f.elapsed()-began)
				f.resume()
				if test.want == nil {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, test.want)
				require.True(t, quorum.Retryable(err))
				var round *quorum.RoundError
				require.ErrorAs(t, err, &round)
				if test.want == quorum.ErrTaken {
					assert.True(t, round.Holder.Held)
				}
			})
		})
	}
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		require.ErrorIs(t, f.Free(f.ctx, "k"), quorum.ErrTaken, "nobody was asked")
		assert.ErrorIs(t, f.other().Free(f.ctx, "k"), quorum.ErrTaken)
		assert.True(t, f.Holds(lease.Context(), "other", "k"))
		assert.False(t, f.Holds(lease.Context(), "other"))
		assert.False(t, f.Holds(f.ctx, "k"))
		require.NoError(t, lease.Release(f.ctx))
		assert.False(t, f.Holds(lease.Context(), "k"))
		require.NoError(t, f.Free(f.ctx, "k"))
		ended, cancel := context.WithCancel(f.ctx)
		cancel()
		require.ErrorIs(t, f.Free(ended, "k"), context.Canceled)
		require.ErrorIs(t, f.Free(f.ctx, ""), quorum.ErrConfig)
		f.each((*quorumtest.Server).Hang)
		soon, cancel := context.WithTimeout(f.ctx, ms)
		defer cancel()
		require.ErrorIs(t, f.Free(soon, "k"), quorum.ErrInterrupted)
		f.each((*quorumtest.Server).Resume)
	})
}
