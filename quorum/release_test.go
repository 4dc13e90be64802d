package quorum_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// All 4^5 combinations of what a release can find on five instances.
func TestReleaseTellsWhatItFound(t *testing.T) {
	const (
		held = iota
		gone
		takenOver
		down
		states
	)
	total := 1
	for range 5 {
		total *= states
	}
	for mask := range total {
		name := ""
		for i, rest := 0, mask; i < 5; i, rest = i+1, rest/states {
			name += []string{held: "h", gone: "g", takenOver: "t", down: "d"}[rest%states]
		}
		t.Run(name, func(t *testing.T) {
			play(t, 5, func(f *fixture) {
				lease := f.acquire("k")
				synctest.Wait()
				var n [states]int
				for i, rest := 0, mask; i < 5; i, rest = i+1, rest/states {
					n[rest%states]++
					switch rest % states {
					case gone:
						f.servers[i].Delete("k")
					case takenOver:
						f.servers[i].Put("k", strangers, time.Minute)
					case down:
						f.servers[i].EndWith(quorumtest.Refuse)
					}
				}
				err := lease.Release(f.ctx)
				require.Zero(t, f.elapsed())
				state := fmt.Sprintf("%d held, %d gone, %d taken over, %d down: %v", n[held], n[gone], n[takenOver], n[down], err)
				notMine := n[gone] + n[takenOver]
				switch {
				case n[held] >= 3:
					require.NoError(t, err, state)
				case notMine >= 3:
					require.ErrorIs(t, err, quorum.ErrNotHeld, state)
					require.NotErrorIs(t, err, quorum.ErrUnreachable, state)
				case n[down] >= 3:
					require.ErrorIs(t, err, quorum.ErrUnreachable, state)
					require.NotErrorIs(t, err, quorum.ErrNotHeld, state)
					require.ErrorIs(t, err, quorumtest.ErrConnRefused, state)
				default:
					// No quorum has it, and none certainly lacks it: too few answered. A missing
					// answer may still come.
					require.ErrorIs(t, err, quorum.ErrUnreachable, state)
				}
				if err != nil {
					var round *quorum.RoundError
					require.ErrorAs(t, err, &round)
					require.Equal(t, wire.Release, round.Op)
					require.Equal(t, "k", round.Key)
					require.Len(t, round.Votes, 5)
				}
				require.ErrorIs(t, lease.Err(), quorum.ErrReleased)

				again := lease.Release(f.ctx)
				require.ErrorIs(t, again, quorum.ErrReleased)
				require.NotErrorIs(t, again, quorum.ErrNotHeld)

				f.each(func(s *quorumtest.Server) { s.SetFate(nil) })
				f.requireNothingLeft()
				for i, rest := 0, mask; i < 5; i, rest = i+1, rest/states {
					if rest%states == takenOver {
						value, _, _ := f.servers[i].Get("k")
						require.Equal(t, strangers, value, "what isn't ours isn't deleted")
					}
				}
			})
		})
		if t.Failed() {
			return
		}
	}
}

// A lease that is released after its deadline was lost, whether or not anything has watched the deadline.
func TestReleaseAfterTheDeadline(t *testing.T) {
	for name, watch := range map[string]func(*quorum.Lease){"watched": func(l *quorum.Lease) { l.Done() }, "not watched": func(*quorum.Lease) {}} {
		for _, held := range []time.Duration{fullValidity + 10*ms, 15 * time.Second} {
			t.Run(fmt.Sprint(name, ", released after ", held), func(t *testing.T) {
				var lost, released []error
				play(t, 3, func(f *fixture) {
					lease := f.acquire("k")
					watch(lease)
					time.Sleep(held)
					err := lease.Release(f.ctx)
					if held > 10*time.Second {
						require.ErrorIs(t, err, quorum.ErrNotHeld)
					} else {
						require.NoError(t, err, "its keys were there")
					}
					require.ErrorIs(t, lease.Err(), quorum.ErrExpired)
					require.Len(t, lost, 1)
					require.ErrorIs(t, lost[0], quorum.ErrExpired)
					require.Equal(t, []error{err}, released)
				}, func(cfg *quorum.Config) {
					cfg.Hooks.Lost = func(e quorum.LeaseEvent) { lost = append(lost, e.Err) }
					cfg.Hooks.Released = func(_ context.Context, e quorum.LeaseEvent) { released = append(released, e.Err) }
				})
			})
		}
	}
}
