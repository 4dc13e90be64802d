package orders

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/check"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// Runs are compared with the abstract machine. A run without enough votes isn't a run of the machine, and
// designs without tokens aren't compared.
func TestRunsAreCompared(t *testing.T) {
	r, err := play(Setup{search.Setup{Workload: "try", Design: "default"}, Size{3, 2}}, &kernel.Order{})
	require.NoError(t, err)
	require.Empty(t, r.Kinds())

	r.Log = record.Log{slices.DeleteFunc(slices.Concat(r.Log...), func(e record.Event) bool {
		return e.Kind == record.Voted && e.Place != "A" && e.Change != nil
	})}
	assert.Equal(t, []record.ViolationKind{record.NoStep}, judge("default", r).Kinds())
	assert.Empty(t, judge("redlock", r).Kinds(), "it has no tokens")
}

// A key of a lost round that isn't deleted is noticed.
func TestKeysThatStayAreNoticed(t *testing.T) {
	walks, err := small("try", "default", 2, 3, Kinds()...).Walks()
	require.NoError(t, err)
	noticed := map[fault.Kind]int{}
	for _, w := range walks {
		kind := fault.Kind("none")
		if len(w.Setup.Schedule) > 0 {
			kind = w.Setup.Schedule[0].Kind
		}
		for seed := range uint64(20) {
			result, err := play(w.Setup, &kernel.Order{Choose: kernel.DrawOrder(seed)})
			require.NoError(t, err)
			require.NotContains(t, result.Kinds(), record.KeyLeft)
			// As if no server had carried out a delete.
			result.Log = record.Log{slices.DeleteFunc(slices.Concat(result.Log...), func(e record.Event) bool {
				return e.At >= from && e.Kind == record.Voted && e.Op == wire.Release.String()
			})}
			noticed[kind] += len(check.KeysLeft(result.Log, result.Ended, quiet))
		}
	}
	for _, kind := range append(Kinds(), "none") {
		assert.Positive(t, noticed[kind], "%s", kind)
	}
}

// Each message that can occur can be lost: rare ones, too, and those that another fault brings about. A
// fault can happen twice.
func TestAllFaultsAreKnown(t *testing.T) {
	lost := func(p Plan, n int) (names []string) {
		walks, err := p.Walks()
		require.NoError(t, err)
		for _, w := range walks {
			if len(w.Setup.Schedule) != n {
				continue
			}
			if f := w.Setup.Schedule[0]; f.Kind == fault.Lose {
				names = append(names, fmt.Sprintf("%s %s %s %d %s", f.Process, f.Server, f.Op, f.Nth, f.Way))
			}
		}
		return names
	}
	single := lost(small("try", "default", 2, 3, fault.Lose), 1)
	require.Len(t, single, 36)
	require.Contains(t, single, "c1 B raise 1 request")

	both := lost(pairs(small("try", "default", 2, 1, fault.Lose)), 2)
	require.Contains(t, both, "c1 A release 1 request", "after the reply was lost")

	walks, err := pairs(small("try", "default", 1, 1, fault.Pause, fault.Crash)).Walks()
	require.NoError(t, err)
	var twice []fault.Kind
	for _, w := range walks {
		if s := w.Setup.Schedule; len(s) == 2 && s[0] == s[1] {
			twice = append(twice, s[0].Kind)
		}
	}
	require.Equal(t, []fault.Kind{fault.Pause, fault.Pause}, twice)
}
