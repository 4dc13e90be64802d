package wheel

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

// added is what the test expects of an entry.
type added struct {
	entry Entry[int]
	due   time.Duration // as it should be
}

// Entries come when they are due, neither later nor earlier, in any order of events: also if some
// are added with a time read before others', and if Take comes late.
func TestEntriesComeWhenTheyAreDue(t *testing.T) {
	taken, late, far, removed := 0, 0, 0, 0
	for seed := range uint64(300) {
		draw := rand.New(rand.NewPCG(seed, 0))
		var w Wheel[int]
		now, seen := time.Duration(draw.Int64N(int64(time.Hour))), time.Duration(0) // seen by the last Take
		entries := map[int]*added{}
		for step := range 400 {
			switch draw.IntN(5) {
			case 0, 1:
				e := &added{entry: Entry[int]{Value: step}}
				ahead := time.Duration(draw.Int64N(int64([]time.Duration{5 * ms, 100 * ms, 5 * time.Second, time.Minute}[draw.IntN(4)])))
				read := max(0, now-time.Duration(draw.Int64N(int64(30*ms)))) // before it was paused
				w.Add(&e.entry, read+ahead, read)
				e.due = min(read+ahead, read+horizon)
				if e.due < read+ahead {
					far++
				}
				require.True(t, e.entry.In())
				entries[step] = e
			case 2:
				value := draw.IntN(step + 1)
				if e := entries[value]; e != nil {
					w.Remove(&e.entry)
					require.False(t, e.entry.In())
					delete(entries, value)
					removed++
				}
			case 3:
				now += time.Duration(draw.Int64N(int64([]time.Duration{3 * ms, 50 * ms, time.Second, 30 * time.Second}[draw.IntN(4)])))
			default:
				// At the time that Next returns, or later.
				if next := w.Next(); draw.IntN(2) == 0 && next < Never {
					now = max(now, next)
				}
				first := now
				for _, e := range entries {
					first = min(first, e.due)
				}
				if first < now-20*time.Second {
					late++
				}
				due := w.Take(now)
				for _, value := range due {
					e := entries[value]
					require.NotNil(t, e, "it came twice, or after it was removed")
					require.LessOrEqual(t, e.due, now, "too early")
					require.False(t, e.entry.In())
					delete(entries, value)
					taken++
				}
				seen = now
				next := Never
				for _, e := range entries {
					require.Greater(t, e.entry.Due(), seen, "it was due, and didn't come")
					next = min(next, e.entry.Due())
				}
				require.LessOrEqual(t, w.Next(), next, "it would come too late")
				if w.Next() < next {
					require.Greater(t, w.Next(), now+horizon, "it would wake without an entry")
				}
			}
		}
		all := w.Clear()
		require.Len(t, all, len(entries))
		for _, value := range all {
			require.False(t, entries[value].entry.In())
		}
		require.Equal(t, Never, w.Next())
		require.Empty(t, w.Take(now+time.Hour))
	}
	for what, n := range map[string]int{"taken": taken, "late": late, "far": far, "removed": removed} {
		require.Greater(t, n, 100, what)
	}
}
