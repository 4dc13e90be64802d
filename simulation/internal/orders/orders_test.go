package orders

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
)

// recorded are the plans whose walks docs/reference/orders.md shows, each with the time that it gets.
func recorded() []timed {
	keys := []fault.Kind{fault.Crash, fault.Evict, fault.Lose}
	large := []string{"try", "turns", "stages", "extend", "keys", "hand-off", "release"}
	tiny := []string{"try", "turns", "extend", "late", "release", "keys", "hand-off"}
	return []timed{
		{plan(3, nil, large...), 4 * time.Minute},
		{plan(3, []fault.Kind{fault.Pause}, "try"), time.Minute},
		{plan(3, []fault.Kind{fault.Crash, fault.Step, fault.Restart, fault.Failover, fault.Evict, fault.Stall}, "try"), 4 * time.Minute},
		{plan(3, []fault.Kind{fault.Lose}, "try"), 2 * time.Minute},
		{plan(3, Kinds(), "turns"), 2 * time.Minute},
		{plan(3, Kinds(), "extend"), 2 * time.Minute},
		{plan(3, keys, "keys"), time.Minute},
		{plan(3, keys, "stages"), time.Minute},
		{plan(3, keys, "hand-off"), 2 * time.Minute},
		{pairs(plan(3, []fault.Kind{fault.Crash, fault.Step, fault.Evict, fault.Lose}, "turns")), time.Minute},
		{pairs(plan(3, []fault.Kind{fault.Lose}, "try")), time.Minute},
		{plan(2, Kinds(), "try", "extend"), 3 * time.Minute},
		{pairs(plan(2, keys, "try")), time.Minute},
		{plan(1, Kinds(), tiny...), 2 * time.Minute},
		{pairs(plan(1, Kinds(), "try")), 2 * time.Minute},
	}
}

type timed struct {
	Plan
	long time.Duration
}

// plan is a plan of two clients of the library.
func plan(servers int, kinds []fault.Kind, worlds ...string) Plan {
	return Plan{Worlds: worlds, Design: "default", Size: Size{servers, 2}, Faults: kinds}
}

// Whatever is found is due to a broken assumption. The plans are played for a moment, without those that
// first play minutes to learn which messages can be lost. With REDLOCK_ORDERS=FILE all of them get their
// time, half an hour together, and the file gets what came of them.
func TestRecordedPlans(t *testing.T) {
	file := os.Getenv("REDLOCK_ORDERS")
	var records []Record
	for _, p := range recorded() {
		if file == "" {
			if p.Pairs || slices.Contains(p.Faults, fault.Lose) && p.Size.Servers > 1 {
				continue
			}
			p.long = long.Number(2*time.Second, 300*time.Millisecond)
		}
		walks, err := p.Walks()
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), p.long)
		require.NoError(t, Play(ctx, walks, min(p.long/10, 3*time.Second)))
		cancel()
		for _, w := range walks {
			assert.Empty(t, w.Log, "%s with %v: %v", w.Setup.Workload, w.Setup.Schedule, w.Found)
		}
		records = append(records, Record{Plan: p.Plan, Rows: Table(walks)})
	}
	if file == "" {
		return
	}
	out, err := os.Create(file)
	require.NoError(t, err)
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	for _, r := range records {
		require.NoError(t, encoder.Encode(r))
	}
	require.NoError(t, out.Close())
}
