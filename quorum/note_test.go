package quorum_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
)

// noted is the fixture's Coordinator with a note.
func (f *fixture) noted(note string) *quorum.Coordinator {
	f.t.Helper()
	c, err := f.WithTerms(func(terms *quorum.Terms) { terms.Note = note })
	require.NoError(f.t, err)
	return c
}

func TestInspectShowsTheNote(t *testing.T) {
	const note = "nightly backup: 3 of 7 – ü"
	for _, owner := range []string{"", "10.0.0.7:8080"} {
		play(t, 3, func(f *fixture) {
			lease := f.acquireBy(f.noted(note), "k")
			synctest.Wait()
			for _, s := range f.servers {
				value, _, _ := s.Get("k")
				assert.Equal(t, lease.Value(), value, "set in one step with the lock")
			}
			held := f.inspect("k").Held()
			require.NotNil(t, held)
			assert.Equal(t, owner, held.Owner)
			assert.Equal(t, note, held.Note)
			assert.Contains(t, f.inspect("k").String(), `held by "`+owner+`" ("nightly backup: 3 of 7 – ü") on A, B, C for 10s`)
			assert.NotContains(t, f.inspect("k").String(), lease.Value()[:40])
			assert.NotContains(t, lease.String(), note)

			// What a client that knows no notes shows as the owner.
			_, old, _ := strings.Cut(lease.Value(), ":")
			assert.Equal(t, owner+" "+note, old)

			// It lasts as long as the lock.
			require.NoError(t, lease.Extend(f.ctx))
			assert.Equal(t, note, f.inspect("k").Held().Note)
			require.NoError(t, lease.Release(f.ctx))
			synctest.Wait()
			lease = f.acquire("k")
			synctest.Wait()
			assert.Equal(t, quorum.Holder{Owner: owner, Value: lease.Value(), Instances: []string{"A", "B", "C"}, Remaining: 10 * time.Second, Held: true},
				*f.inspect("k").Held(), "another lease has another note, or none")
		}, func(cfg *quorum.Config) { cfg.Owner = owner })
	}
}

func TestNotesThatCannotBe(t *testing.T) {
	play(t, 3, func(f *fixture) {
		for note, says := range map[string]string{
			strings.Repeat("n", 129): "129 bytes, at most 128",
			"a\nb":                   "at byte 1",
			"\x1b[31m":               "at byte 0",
			"ab\u202ec":              "at byte 2", // which turns the direction of what follows
			"ü\xff":                  "at byte 2",
			"\ufffd":                 "at byte 0",
		} {
			_, err := f.WithTerms(func(terms *quorum.Terms) { terms.Note = note })
			require.ErrorIs(t, err, quorum.ErrConfig)
			assert.ErrorContains(t, err, says)
			_, err = quorum.New(quorum.Config{Note: note}, f.instances()...)
			require.ErrorIs(t, err, quorum.ErrConfig)
		}
		longest := strings.Repeat("ü", 64)
		lease := f.acquireBy(f.noted(longest), "k")
		synctest.Wait()
		assert.Equal(t, longest, f.inspect("k").Held().Note)
		require.NoError(t, lease.Release(f.ctx))
	})
}
