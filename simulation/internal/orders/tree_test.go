package orders

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// small is the plan of a world with few clients and servers.
func small(world, design string, clients, servers int, kinds ...fault.Kind) Plan {
	return Plan{Worlds: []string{world}, Design: design, Size: Size{servers, clients}, Faults: kinds}
}

// seen is what each process and each server saw in a run, and what the checks found. It is the same for
// two runs that differ only in the order of independent events.
func seen(r simulation.Result) string {
	parts := map[string][]string{}
	for e := range r.Log.All() {
		if e.Kind == record.Counted || e.At < from {
			continue
		}
		at := cmp.Or(e.Process, e.Place) // a server's fault has no process
		switch e.Kind {
		case record.Voted, record.Answered, record.KeyChanged, record.Back:
			at = e.Place
		case record.RequestLost, record.ReplyLost, record.Ignored, record.Found:
			continue
		}
		words := fmt.Sprint(e.At, e.Kind, e.Process, e.Place, e.N, e.Op, e.Key, e.Token, e.Validity, e.Words, e.Keys)
		parts[at] = append(parts[at], words)
	}
	var b strings.Builder
	for _, at := range slices.Sorted(maps.Keys(parts)) {
		fmt.Fprintf(&b, "%s: %s\n", at, strings.Join(parts[at], "; "))
	}
	fmt.Fprintln(&b, r.Kinds())
	return b.String()
}

// walkThrough plays a walk to its end, and returns what was seen. It ignores runs in which not all faults
// came before the end of all processes. It returns false if the walk has more than most runs.
func walkThrough(t *testing.T, w Walk, most uint64) (all map[string]bool, runs uint64, ended bool) {
	t.Helper()
	all = map[string]bool{}
	order := &kernel.Order{}
	for !w.Tree.Over {
		if w.Tree.Runs+w.Tree.Cut >= most {
			return nil, 0, false
		}
		var result simulation.Result
		complete, err := w.Tree.next(func(o *kernel.Order) (err error) {
			result, err = play(w.Setup, o)
			return err
		}, order)
		require.NoError(t, err)
		faults := w.Setup.Schedule[len(given(w.Setup.Workload)):]
		if complete && suffered(result, faults) {
			all[seen(result)] = true
		}
	}
	return all, w.Tree.Runs, true
}

// suffered reports whether all faults happened. If a fault loses a message, the log shows only that.
func suffered(r simulation.Result, faults simulation.Schedule) bool {
	missing := slices.DeleteFunc(slices.Clone(faults), func(f fault.Fault) bool { return f.Kind == fault.Lose })
	for e := range r.Log.All() {
		if e.Kind != record.Suffered {
			continue
		}
		if i := slices.Index(missing, *e.Fault); i >= 0 {
			missing = slices.Delete(missing, i, i+1)
		}
	}
	return len(missing) == 0
}

// pairs is the plan with two faults in a run.
func pairs(p Plan) Plan {
	p.Pairs = true
	return p
}

// smallPlans are plans whose walks end without the reduction, in less than most runs each.
func smallPlans() []Plan {
	if long.Asked() {
		return []Plan{
			small("try", "default", 2, 1, without(fault.Restart, fault.Failover)...),
			small("try", "default", 1, 2, without(fault.Pause)...),
			small("try", "default", 1, 3, fault.Lose, fault.Restart, fault.Failover),
			small("release", "default", 2, 1, fault.Pause, fault.Crash, fault.Lose),
			small("extend", "default", 2, 1, without(fault.Restart, fault.Failover)...),
			small("extend", "default", 1, 3, fault.Restart, fault.Evict),
			small("late", "default", 2, 1, without(fault.Pause, fault.Stall)...),
			small("keys", "default", 2, 1, fault.Lose, fault.Crash, fault.Evict),
			pairs(small("release", "default", 1, 2, fault.Crash, fault.Evict)),
		}
	}
	return []Plan{
		small("try", "default", 1, 2, fault.Crash, fault.Step, fault.Restart, fault.Failover, fault.Evict, fault.Lose, fault.Stall),
		small("try", "default", 1, 3),
		small("try", "default", 2, 1, fault.Crash, fault.Lose),
		small("extend", "default", 1, 2, fault.Restart, fault.Failover, fault.Evict),
		small("extend", "default", 2, 1, fault.Lose, fault.Evict),
		small("stages", "default", 1, 2, fault.Restart),
		small("late", "default", 2, 1, fault.Crash),
		pairs(small("release", "default", 1, 1, fault.Restart, fault.Evict, fault.Crash, fault.Lose)),
	}
}

// without returns all Kinds but some.
func without(some ...fault.Kind) []fault.Kind {
	return slices.DeleteFunc(Kinds(), func(k fault.Kind) bool { return slices.Contains(some, k) })
}

// most bounds the runs of a walk without the reduction.
func most() uint64 { return long.Number[uint64](50_000, 2500) }

// In worlds that are small enough to play every order, processes and servers see the same with the
// reduction and without.
func TestReductionLosesNothing(t *testing.T) {
	compared, saved := map[string]bool{}, uint64(0)
	for _, p := range smallPlans() {
		walks, err := p.Walks()
		require.NoError(t, err)
		for _, w := range walks {
			full := w
			full.Tree.Full = true
			all, played, ended := walkThrough(t, full, most())
			require.True(t, ended, "%s with %v has too many orders to play all of them", p.Worlds, w.Setup.Schedule)
			require.NotEmpty(t, all)
			reduced, runs, ended := walkThrough(t, w, most())
			require.True(t, ended, "%s with %v: the reduction plays more than all orders", p.Worlds, w.Setup.Schedule)
			require.Equal(t, all, reduced, "%s with %v: %d orders, reduced to %d", p.Worlds, w.Setup.Schedule, played, runs)
			compared[w.faults()] = true
			saved += played - runs
		}
	}
	for _, what := range []string{"none", "crash", "step of a server's clock", "restart without data", "promotion without the last second", "lost key", "lost reply", "stall"} {
		assert.True(t, compared[what], "no world with %q was small enough to compare", what)
	}
	assert.Greater(t, saved, uint64(1000), "the reduction saved hardly anything")
}

// The comparison notices a reduction with a mistake.
func TestWrongReductionIsNoticed(t *testing.T) {
	const clients, servers, keys, links = 1<<10 - 1, 1<<20 - 1<<10, 1<<41 - 1<<20, 1<<62 - 1<<41
	for name, c := range map[string]struct {
		plan  Plan
		walk  int
		wrong func(*Tree)
	}{
		"deliveries to one server are independent": {small("extend", "default", 2, 1), 0, func(t *Tree) {
			t.independent = func(a, b uint64) bool { return a&b&^servers == 0 }
		}},
		"replies to one client are independent": {small("try", "default", 1, 3), 0, func(t *Tree) {
			t.independent = func(a, b uint64) bool { return a&b&^clients == 0 }
		}},
		"a crash is like any other event": {small("try", "default", 1, 2, fault.Crash), 1, func(t *Tree) { t.narrow = true }},
		"a connection is no part of the world": {small("extend", "default", 1, 2, fault.Restart), 1, func(t *Tree) {
			t.independent = func(a, b uint64) bool { return a&b&^links == 0 }
		}},
		"the check of a validity reads no server": {small("try", "default", 1, 3, fault.Restart), 1, func(t *Tree) {
			t.independent = func(a, b uint64) bool { return a&b&^keys == 0 }
		}},
		"the end of the last client is like any other event": {pairs(small("release", "default", 1, 2, fault.Evict, fault.Crash)), 7, func(t *Tree) {
			least := func(parts uint64) uint64 {
				if ^parts == 0 {
					return clients
				}
				return parts
			}
			t.independent = func(a, b uint64) bool { return least(a)&least(b) == 0 }
		}},
		"a step in which time could pass is like any other": {small("try", "default", 1, 2, fault.Restart), 1, func(t *Tree) { t.narrow = true }},
	} {
		t.Run(name, func(t *testing.T) {
			walks, err := c.plan.Walks()
			require.NoError(t, err)
			wrong, full := walks[c.walk], walks[c.walk]
			full.Tree.Full = true
			c.wrong(&wrong.Tree)
			all, _, ended := walkThrough(t, full, 3000)
			require.True(t, ended)
			some, _, ended := walkThrough(t, wrong, 3000)
			require.True(t, ended)
			assert.Less(t, len(some), len(all))
		})
	}
}

// A walk that is stopped continues as if it had not been stopped.
func TestWalkGoesOn(t *testing.T) {
	plan := small("try", "default", 2, 2)
	at := func() Walk {
		walks, err := plan.Walks()
		require.NoError(t, err)
		return walks[0]
	}
	whole, pieces := at(), at()
	require.NoError(t, whole.Play(t.Context(), time.Hour))
	require.True(t, whole.Tree.Over)
	slices := 0
	for ; !pieces.Tree.Over; slices++ {
		require.NoError(t, pieces.Play(t.Context(), time.Microsecond)) // a run takes longer
	}
	require.Greater(t, slices, 1)
	assert.Equal(t, whole.Found, pieces.Found)
	assert.Equal(t, whole.Tree.Runs, pieces.Tree.Runs)
}

// A writer and two readers exclude each other in every order, and so do a writer and a reader if one of
// them dies or is paused, or a message is lost.
func TestReadersAndWriters(t *testing.T) {
	var walks []Walk
	for clients, faults := range map[int][]fault.Kind{3: nil, 2: {fault.Crash, fault.Pause, fault.Lose}} {
		more, err := small("book", "default", clients, 1, faults...).Walks()
		require.NoError(t, err)
		walks = append(walks, more...)
	}
	require.NoError(t, Play(t.Context(), walks, time.Hour))
	runs := uint64(0)
	for _, w := range walks {
		require.True(t, w.Tree.Over)
		require.Empty(t, w.Found, "%v", w.Setup)
		runs += w.Tree.Runs
	}
	require.Greater(t, runs, uint64(2500))
}

// The walk finds flaws of designs that show in a small world.
func TestFlawsAreFound(t *testing.T) {
	for _, flaw := range []struct {
		design, world string
		servers       int
		faults        []fault.Kind
		shows         record.ViolationKind
	}{
		{"half-quorum", "try", 2, nil, record.TwoHolders},
		{"setpx-del", "late", 1, nil, record.TwoHolders},
		{"redlock", "try", 1, []fault.Kind{fault.Restart}, record.TwoHolders},
		{"quorum-reachable", "try", 2, []fault.Kind{fault.Lose}, record.Overvalued},
		{"no-elapsed-check", "try", 1, []fault.Kind{fault.Pause}, record.Overvalued},
		{"late-start", "try", 1, []fault.Kind{fault.Pause}, record.Overvalued},
		{"wall-clock", "try", 1, []fault.Kind{fault.Step}, record.Overvalued},
	} {
		walks, err := small(flaw.world, flaw.design, 2, flaw.servers, flaw.faults...).Walks()
		require.NoError(t, err)
		_, found := find(t, walks, flaw.shows)
		assert.True(t, found, "%+v", flaw)
	}
}

// find plays walks in turns until one of them finds a kind of violation, or all have ended.
func find(t *testing.T, walks []Walk, kind record.ViolationKind) (search.Finding, bool) {
	t.Helper()
	for open := true; open; {
		open = false
		for i := range walks {
			w := &walks[i]
			require.NoError(t, w.Play(t.Context(), 10*time.Millisecond))
			if at := slices.IndexFunc(w.Found, func(f search.Finding) bool { return f.Kind == kind }); at >= 0 {
				return w.Found[at], true
			}
			open = open || !w.Tree.Over
		}
	}
	return search.Finding{}, false
}

// A fault excuses the violations that come after it, also those of the same moment.
func TestFaultExcusesWhatComesAfterIt(t *testing.T) {
	walks, err := small("try", "half-quorum", 2, 2, fault.Evict).Walks()
	require.NoError(t, err)
	w, counts := walks[1], map[search.Assumption]int{}
	for seed := range uint64(500) {
		result, err := play(w.Setup, &kernel.Order{Choose: kernel.DrawOrder(seed)})
		require.NoError(t, err)
		want, excuse := map[search.Assumption]bool{}, search.Assumption(0)
		for e := range result.Log.All() {
			switch e.Kind {
			case record.Suffered:
				excuse = 3
			case record.Found:
				want[cmp.Or(search.Assumption(e.Violation.Assumption), excuse)] = true
			}
		}
		findings, err := registry().Findings(seed, w.Setup.Setup, result)
		require.NoError(t, err)
		got := map[search.Assumption]bool{}
		for _, f := range findings {
			got[f.Assumption] = true
			counts[f.Assumption]++
		}
		require.Equal(t, want, got, "seed %d", seed)
	}
	assert.Greater(t, counts[0], 10)
	assert.Greater(t, counts[3], 10)
}
