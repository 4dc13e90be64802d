//go:build unix

package election_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
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

// Three candidates on five real servers. Leaders resign. Two servers are killed, and there is still
// a leader (another one, if the first had won with those two). A third is killed, which ends the
// term. When it is back, a candidate leads again. A resource that checks terms sees them rise
// throughout.
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
		guard fencing.Memory
		last  fencing.Token // guarded by the guard
		all   sync.WaitGroup
		every []*election.Election
	)
	type event struct {
		of     *election.Election
		begins bool
	}
	events := make(chan event, 1024)
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
		every = append(every, e)
		all.Go(func() {
			err := e.Run(ctx, func(ctx context.Context, term fencing.Token) error {
				events <- event{e, true}
				defer func() { events <- event{e, false} }()
				for ctx.Err() == nil {
					err := guard.Write(ctx, "r", term, func() error {
						assert.GreaterOrEqual(t, term, last)
						last = term
						return nil
					})
					if err != nil { // on a very busy machine the term may be over already
						assert.ErrorIs(t, err, fencing.ErrStale)
					}
					select {
					case <-time.After(10 * time.Millisecond):
					case <-ctx.Done():
					}
				}
				return nil
			})
			if err != nil { // the leader's function returns nil
				assert.ErrorIs(t, err, context.Canceled)
			}
		})
	}
	next := func() event {
		select {
		case e := <-events:
			return e
		case <-time.After(time.Minute):
			t.Fatal("nothing happened for a minute")
			return event{}
		}
	}
	leads := func() *election.Election {
		for {
			if e := next(); e.begins {
				return e.of
			}
		}
	}
	leader := leads()
	for range 5 {
		_ = leader.Resign() // on a busy machine the term may be over already
		leader = leads()
	}
	servers[0].Kill()
	servers[1].Kill()
	for shown, err := range leader.Observe(ctx) {
		if err == nil {
			require.Contains(t, shown.ID, "candidate-")
			break
		}
	}
	servers[2].Kill()
	for slices.ContainsFunc(every, func(e *election.Election) bool { return e.IsLeader(ctx) == nil }) {
		next()
	}
	_, err := leader.Leader(ctx)
	require.ErrorIs(t, err, quorum.ErrNoQuorum)
	servers[2].Restart()
	leads()
	cancel()
	all.Wait()
}
