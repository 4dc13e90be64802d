package quorum

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Leases come when they are due, neither later nor earlier, in any order of events: also if some
// are added with a time read before others', and if take comes late.
func TestWheel(t *testing.T) {
	taken, late, far, removed := 0, 0, 0, 0
	for seed := range uint64(300) {
		draw := rand.New(rand.NewPCG(seed, 0))
		var w wheel
		now := time.Duration(draw.Int64N(int64(time.Hour)))
		entries := map[*Lease]time.Duration{} // when each is due, as it should be
		var added []*Lease
		for range 400 {
			switch draw.IntN(5) {
			case 0, 1:
				l := &Lease{}
				ahead := time.Duration(draw.Int64N(int64([]time.Duration{5 * ms, 100 * ms, 5 * time.Second, time.Minute}[draw.IntN(4)])))
				read := max(0, now-time.Duration(draw.Int64N(int64(30*ms)))) // before it was paused
				w.add(l, read+ahead, read)
				if horizon < ahead {
					far++
				}
				require.True(t, l.kept.in)
				entries[l], added = min(read+ahead, read+horizon), append(added, l)
			case 2:
				if len(added) == 0 {
					continue
				}
				l := added[draw.IntN(len(added))]
				if _, in := entries[l]; in {
					w.remove(l)
					require.False(t, l.kept.in)
					delete(entries, l)
					removed++
				}
			case 3:
				now += time.Duration(draw.Int64N(int64([]time.Duration{3 * ms, 50 * ms, time.Second, 30 * time.Second}[draw.IntN(4)])))
			default:
				// At the time that next returns, or later.
				if next := w.next(); draw.IntN(2) == 0 && next < never {
					now = max(now, next)
				}
				first := now
				for _, at := range entries {
					first = min(first, at)
				}
				if first < now-20*time.Second {
					late++
				}
				for _, l := range w.take(now) {
					at, in := entries[l]
					require.True(t, in, "it came twice, or after it was removed")
					require.LessOrEqual(t, at, now, "too early")
					require.False(t, l.kept.in)
					delete(entries, l)
					taken++
				}
				next := never
				for l := range entries {
					require.Greater(t, l.kept.due, now, "it was due, and didn't come")
					next = min(next, l.kept.due)
				}
				require.LessOrEqual(t, w.next(), next, "it would come too late")
				if w.next() < next {
					require.Greater(t, w.next(), now+horizon, "it would wake without an entry")
				}
			}
		}
		all := w.clear()
		require.Len(t, all, len(entries))
		for _, l := range all {
			require.False(t, l.kept.in)
		}
		require.Equal(t, never, w.next())
		require.Empty(t, w.take(now+time.Hour))
	}
	for what, n := range map[string]int{"taken": taken, "late": late, "far": far, "removed": removed} {
		require.Greater(t, n, 100, what)
	}
}
