//go:build unix

package instance_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/embedded"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// The replies to clients are delayed, lost, duplicated or cut off at random. The clients never hold
// the lock together, get tokens in the order of their turns, and leave no key behind.
func TestUnreliableReplies(t *testing.T) {
	t.Parallel() // it waits most of the time
	// Each has its turns, and all continue until enough replies were harmed to be significant.
	const clients, workers, turns, enough = 3, 4, 12, 100
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var calls, bad atomic.Uint64
	var peaceful atomic.Bool // while the clients identify the servers, and at the end
	peaceful.Store(true)
	fate := func() replyFate {
		if peaceful.Load() {
			return passed
		}
		// Each reply has its own random stream, so the order of goroutines doesn't change the n-th
		// reply's fate.
		r := rand.New(rand.NewPCG(seed, calls.Add(1)))
		f := passed
		switch n := r.IntN(1000); {
		case n < 8:
			f.Copies = 0
		case n < 16:
			f.Copies = 2
		case n < 20:
			f.Cut = true
		case n < 120:
			f.Delay = time.Duration(r.IntN(10)) * time.Millisecond
		default:
			return f
		}
		bad.Add(1)
		return f
	}

	cluster, err := embedded.Start(5)
	require.NoError(t, err)
	defer func() { require.NoError(t, cluster.Close()) }()
	var proxied []string
	for _, raw := range cluster.URLs() {
		u, err := url.Parse(raw)
		require.NoError(t, err)
		proxied = append(proxied, startProxy(t, u.Host, fate).URL())
	}

	coordinators := make([]*quorum.Coordinator, clients)
	for i := range coordinators {
		group, err := instance.OpenAll(instance.Config{FixedAddress: true}, proxied...)
		require.NoError(t, err)
		defer func() { require.NoError(t, group.Close()) }()
		c, err := quorum.New(quorum.Config{
			Terms: quorum.Terms{TTL: 2 * time.Second},
			// A delete that found nothing is repeated for this long.
			MaxTTL: 2 * time.Second,
			// Long enough for a machine that runs other tests: votes that time out make work for
			// the next ones, too.
			InstanceTimeout: 250 * time.Millisecond,
			BackoffMax:      100 * time.Millisecond,
			Owner:           fmt.Sprintf("client%d", i),
			Hooks: quorum.Hooks{
				ClockJumped: func(e quorum.ClockEvent) { t.Errorf("%s: %v, but no clock was touched", e.Instance, e.Jump) },
				Quarantined: func(e quorum.QuarantineEvent) {
					if !peaceful.Load() { // the servers are new, and Trust below says so
						t.Errorf("%s: %v", e.Instance, e.Err)
					}
				},
			},
		}, group.Instances()...)
		require.NoError(t, err)
		require.NoError(t, c.Trust(t.Context()))
		coordinators[i] = c
	}
	peaceful.Store(false)

	var inside, won atomic.Int64
	var highest atomic.Uint64
	hold := func(lease *quorum.Lease) {
		together := inside.Add(1)
		before := highest.Swap(uint64(lease.Token()))
		time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond) // a section that a second holder could enter
		stillOne := inside.Add(-1) == 0
		if lease.Err() != nil {
			return // it expired here: other clients may enter
		}
		won.Add(1)
		assert.EqualValues(t, 1, together, "two holders at once")
		assert.True(t, stillOne, "two holders at once")
		assert.Greater(t, lease.Token(), fencing.Token(before), "a token out of order")
	}
	var group errgroup.Group
	for _, c := range coordinators {
		for range workers {
			group.Go(func() error {
				for n := 0; n < turns || bad.Load() < enough; n++ {
					lease, err := c.Acquire(t.Context(), "k")
					if err != nil {
						return err
					}
					hold(lease)
					if err := lease.Release(t.Context()); err != nil && !errors.Is(err, quorum.ErrUnreachable) && !errors.Is(err, quorum.ErrNotHeld) {
						return err
					}
				}
				return nil
			})
		}
	}
	require.NoError(t, group.Wait())
	require.NotZero(t, won.Load())

	peaceful.Store(true)
	for _, c := range coordinators {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		require.NoError(t, c.Settle(ctx), "deletes are still pending")
		require.NoError(t, c.Close(ctx))
		cancel()
	}
	for i, inst := range cluster.Instances() {
		vote := quorumtest.Do(t.Context(), inst, wire.Request{Op: wire.Look, Key: "k"})
		require.Equal(t, wire.Granted, vote.Outcome, "instance %d has a key left: %+v", i, vote)
	}
}
