//go:build unix

package election_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/election"
)

// Three candidates on five real servers: leaders resign, two servers are killed, which changes
// nothing, and then a third, which ends the term. When it is back, one leads again.
func TestOnRealServers(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	const ttl = 3 * time.Second
	servers := instancetest.StartN(t, 5, instancetest.Config{}) // skips the test where there is no redis-server
	var urls []string
	for _, s := range servers {
		urls = append(urls, "redis://"+s.Addr())
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var (
		guard   fencing.Memory
		leaders atomic.Int32
		last    fencing.Token // guarded by the guard
		all     sync.WaitGroup
	)
	terms, over := make(chan *election.Election, 64), make(chan struct{}, 64)
	for i := range 3 {
		group, err := instance.OpenAll(instance.Config{FixedAddress: true}, urls...)
		require.NoError(t, err)
		defer func() { assert.NoError(t, group.Close()) }()
		cfg := quorum.Config{Terms: quorum.Terms{TTL: ttl}, MaxTTL: ttl, Owner: fmt.Sprint("candidate-", i)}
		cfg.Hooks.Waiting = func(context.Context, quorum.WaitEvent) {}
		locks, err := quorum.New(cfg, group.Instances()...)
		require.NoError(t, err)
		defer func() { assert.NoError(t, locks.Close(context.Background())) }()
		require.NoError(t, locks.Trust(ctx)) // they have just been started
		e, err := election.New(locks, "live", election.Config{})
		require.NoError(t, err)
		all.Go(func() {
			err := e.Run(ctx, func(ctx context.Context, term fencing.Token) error {
				assert.EqualValues(t, 1, leaders.Add(1), "leaders at once")
				assert.NoError(t, guard.Write(ctx, "r", term, func() error {
					assert.Greater(t, term, last)
					last = term
					return nil
				}))
				terms <- e
				<-ctx.Done()
				leaders.Add(-1)
				over <- struct{}{}
				return nil
			})
			if err != nil { // the leader's function returns nil
				assert.ErrorIs(t, err, context.Canceled)
			}
		})
	}
	leads := func() *election.Election {
		select {
		case e := <-terms:
			return e
		case <-time.After(time.Minute):
			t.Fatal("nobody led for a minute")
			return nil
		}
	}
	leader := leads()
	for range 5 {
		require.NoError(t, leader.Resign())
		<-over
		leader = leads()
	}
	servers[0].Kill()
	servers[1].Kill()
	shown, err := leader.Leader(ctx)
	require.NoError(t, err)
	require.Equal(t, leader.Term(), shown.TermAtMost)
	require.NoError(t, leader.IsLeader(ctx))
	servers[2].Kill()
	<-over
	require.ErrorIs(t, leader.IsLeader(ctx), election.ErrNotLeader)
	_, err = leader.Leader(ctx)
	require.ErrorIs(t, err, quorum.ErrNoQuorum)
	servers[2].Restart()
	require.NoError(t, leads().IsLeader(ctx))
	cancel()
	all.Wait()
	require.Zero(t, leaders.Load())
}
