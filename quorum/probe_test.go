package quorum

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
)

// queueProbe is queueProbeLocked with the lock.
func (m *member) queueProbe(enough func(drift.Instant) bool) *prober {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.queueProbeLocked(enough)
}

func notEnough(drift.Instant) bool { return false }

// A probe that answers a question ends the wait of all goroutines with that question. The last of
// the others is next.
func TestWhoProbesNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, found := &member{c: &core{reader: drift.SystemReader()}}, false
		await := func(p *prober) (mine bool) {
			mine, err := m.awaitProbe(context.Background(), p)
			require.NoError(t, err)
			return mine
		}
		foundIt := func(drift.Instant) bool { return found }
		first, same, early, late := m.queueProbe(foundIt), m.queueProbe(foundIt), m.queueProbe(notEnough), m.queueProbe(notEnough)
		require.True(t, await(first))
		found = true
		m.nextProbe()
		require.False(t, await(same))
		require.True(t, await(late))
		m.nextProbe()
		require.True(t, await(early))
	})
}

// A goroutine whose context ends leaves the queue, and lets the next one probe if it was to probe at the
// same moment.
func TestProbersWhoseContextsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &member{c: &core{reader: drift.SystemReader()}}
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		for range 100 {
			_, err := m.awaitProbe(ended, m.queueProbe(notEnough))
			require.ErrorIs(t, err, context.Canceled)
		}
		mine, err := m.awaitProbe(context.Background(), m.queueProbe(notEnough))
		require.NoError(t, err)
		require.True(t, mine)
		_, err = m.awaitProbe(ended, m.queueProbe(notEnough))
		require.ErrorIs(t, err, context.Canceled)
		m.nextProbe()
		require.False(t, m.probing)
	})
}
