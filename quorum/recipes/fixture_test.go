package recipes_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// migrate reads migrations ahead, and leaves that goroutine behind when a run ends early.
		goleak.IgnoreAnyFunction("github.com/golang-migrate/migrate/v4.(*Migration).Buffer"),
	)
}

// slowly is for tests in real time, on a busy machine.
var slowly = quorum.Config{TTL: 30 * time.Second, KeepAlive: true, InstanceTimeout: 10 * time.Second}

// servers are five servers in memory. In a synctest bubble they are in virtual time.
type servers struct{ quorumtest.Servers }

func newServers() servers { return servers{quorumtest.NewServers(5)} }

// process makes the Coordinator of one process.
func (all servers) process(t *testing.T, cfg quorum.Config) *quorum.Coordinator {
	t.Helper()
	locks, err := quorum.New(cfg, all.Instances()...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, locks.Close(context.Background())) })
	return locks
}

// requireFree demands that the processes have left no lock on the servers.
func (all servers) requireFree(t *testing.T, processes []*quorum.Coordinator) {
	t.Helper()
	for _, locks := range processes {
		require.NoError(t, locks.Settle(t.Context()))
	}
	for _, s := range all.Servers {
		require.Empty(t, s.Keys())
	}
}

// notes are what several processes did, in order.
type notes[T any] struct {
	mu  sync.Mutex
	all []T
}

func (n *notes[T]) add(note T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, note)
}

func (n *notes[T]) list() []T {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}
