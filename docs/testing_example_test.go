package docs_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/guardtest"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
)

// rollOver is the code under test: a job that must not run twice for one day.
func rollOver(ctx context.Context, locks *quorum.Coordinator, day string, work func(context.Context, fencing.Token) error) error {
	err := locks.Do(ctx, "roll-over/"+day, func(ctx context.Context, lease *quorum.Lease) error {
		return work(ctx, lease.Token())
	})
	if errors.Is(err, quorum.ErrNotHeld) || errors.Is(err, quorum.ErrLost) {
		return fmt.Errorf("roll-over of %s went on without the lock, look at what it did: %w", day, err)
	}
	return err
}

// locksInMemory makes a Coordinator and its servers: no network, no process, and in a synctest
// bubble the time is virtual.
func locksInMemory(t *testing.T) (*quorum.Coordinator, quorumtest.Servers) {
	t.Helper()
	servers := quorumtest.NewServers(3)
	locks, err := quorum.New(quorum.Config{}, servers.Instances()...)
	require.NoError(t, err)
	return locks, servers
}

func TestRollOverSaysThatItLostTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks, servers := locksInMemory(t)
		defer func() { require.NoError(t, locks.Close(context.Background())) }()

		err := rollOver(t.Context(), locks, "2026-01-31", func(ctx context.Context, _ fencing.Token) error {
			for _, s := range servers {
				s.FlushAll() // an operator's mistake
			}
			<-ctx.Done() // keep-alive finds out, long before the TTL is over
			return context.Cause(ctx)
		})
		require.ErrorIs(t, err, quorum.ErrLost)
		require.ErrorContains(t, err, "went on without the lock")
	})
}

func TestRollOverSurvivesAHungServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks, servers := locksInMemory(t)
		defer func() { require.NoError(t, locks.Close(context.Background())) }()
		servers[0].Hang()
		defer servers[0].Resume()

		began, ran := time.Now(), false
		err := rollOver(t.Context(), locks, "2026-01-31", func(context.Context, fencing.Token) error {
			ran = true
			return nil
		})
		require.NoError(t, err)
		require.True(t, ran)
		require.Less(t, time.Since(began), locks.Config().InstanceTimeout, "two servers of three decided")
	})
}

// lastWriter is the user's guard: a row in a map, in place of a row in a database.
type lastWriter struct {
	bound fencing.Bound
	mu    sync.Mutex
	marks map[string]fencing.Token
}

func (g *lastWriter) Admit(ctx context.Context, resource string, t fencing.Token) error {
	return g.Check(ctx, resource, t) // its effect on the mark is the same
}

func (g *lastWriter) Check(ctx context.Context, resource string, t fencing.Token) error {
	if err := g.bound.Check(resource, t); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if highest := g.marks[resource]; t < highest {
		return &fencing.StaleError{Resource: resource, Token: t, Highest: highest}
	}
	g.marks[resource] = t
	return nil
}

func (g *lastWriter) Forget(ctx context.Context, resource string) (bool, error) {
	if err := fencing.Validate(resource, 1); err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_, known := g.marks[resource]
	delete(g.marks, resource)
	return known, nil
}

func TestOwnGuard(t *testing.T) {
	guardtest.Run(t, func(_ *testing.T, b fencing.Bound) fencing.Guard {
		return &lastWriter{bound: b, marks: map[string]fencing.Token{}}
	})
}
