package readwrite_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
)

// take takes a lease.
func (w *world) take(enter func(context.Context) (*quorum.Lease, error)) *quorum.Lease {
	w.t.Helper()
	lease, err := enter(w.ctx)
	require.NoError(w.t, err)
	return lease
}

func (w *world) release(leases ...*quorum.Lease) {
	w.t.Helper()
	for _, lease := range leases {
		require.NoError(w.t, lease.Release(w.ctx))
	}
}

// A writer's token is above all earlier ones and below all later ones. Those of readers at different
// places may be equal, or fall.
func TestTokens(t *testing.T) {
	play(t, func(w *world) {
		one, two := w.process(1), w.process(2)
		last := fencing.Token(0)
		for range 3 {
			writer := w.take(two.Write)
			require.Greater(w.t, writer.Token(), last)
			w.release(writer)
			first := w.take(one.Read)
			equal := w.take(two.Read)
			require.Greater(w.t, first.Token(), writer.Token())
			require.Equal(w.t, first.Token(), equal.Token())
			w.release(first, equal)
			w.release(w.take(one.Read))
			higher := w.take(one.Read)
			lower := w.take(two.Read)
			require.Less(w.t, lower.Token(), higher.Token())
			w.release(higher, lower)
			last = higher.Token()
		}
	})
}

// How a resource refuses the late write of a writer that was paused, and what it says to readers.
func TestGuards(t *testing.T) {
	play(t, func(w *world) {
		one, two := w.process(1), w.process(2)
		late := w.take(two.Write)
		w.release(late) // it has expired, and doesn't know it
		w.release(w.take(one.Read))
		higher := w.take(one.Read)
		lower := w.take(two.Read)
		w.release(higher, lower)
		next := w.take(two.Write)
		admit := func(g *fencing.Memory, lease *quorum.Lease, resources ...string) error {
			for _, resource := range resources {
				if err := g.Admit(w.ctx, resource, lease.Token()); err != nil {
					return err
				}
			}
			return nil
		}

		t.Log("writers alone show their tokens")
		g := new(fencing.Memory)
		require.NoError(t, admit(g, late, "book"))
		require.NoError(t, admit(g, late, "book"), "readers have come, and nobody has told")
		require.NoError(t, admit(g, next, "book"))
		require.ErrorIs(t, admit(g, late, "book"), fencing.ErrStale)

		t.Log("a mark for each place")
		g = new(fencing.Memory)
		require.NoError(t, admit(g, late, late.Keys()...))
		require.NoError(t, admit(g, higher, higher.Key()))
		require.NoError(t, admit(g, lower, lower.Key()), "another place")
		require.ErrorIs(t, admit(g, late, late.Keys()...), fencing.ErrStale, "a reader has come")
		require.NoError(t, admit(g, next, next.Keys()...))
		require.ErrorIs(t, admit(g, higher, higher.Key()), fencing.ErrStale, "its lease was over before")

		t.Log("one mark for all refuses a reader")
		g = new(fencing.Memory)
		require.NoError(t, admit(g, higher, "book"))
		require.ErrorIs(t, admit(g, lower, "book"), fencing.ErrStale)
		require.ErrorIs(t, admit(g, late, "book"), fencing.ErrStale)
		require.NoError(t, admit(g, next, "book"))
		w.release(next)
	})
}
