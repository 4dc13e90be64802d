package search_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search/history"
	"github.com/redquorum/redlock/simulation/search/judge"
)

// The two judges agree: the checks of package simulation, which see everything as
// it happens, and porcupine, which sees what clients asked and were told. They
// differ by definition where
//
//   - a read or a write was carried out that nobody was answered: porcupine may put
//     it where it does no harm;
//   - reads and writes are without tokens: then porcupine knows no later holder, and
//     sees a stale write only if an update is lost by it;
//   - a client's clocks were tampered with: how long it believes in its lease isn't
//     known from outside.
//
// In all other runs both find the same.
func TestTheJudgesAgree(t *testing.T) {
	both := map[string]int{} // how often both found it
	compared, broken := 0, 0
	seeds := long.Number[uint64](120, 24)
	for _, design := range []string{"default", "guarded", "forgetful", "unwatched", "unfenced"} {
		for seed := range seeds {
			s := setup(design)
			s.Seed = seed
			s.Schedule = simulation.Draw(seed, simulation.Config{Processes: 3}, fault.Kinds(), 6, 12e9)
			r, err := registry().Play(s)
			require.NoError(t, err)
			ops := history.Of(r.Log, r.Ended)
			verdict, err := judge.Check(ops, 0)
			require.NoError(t, err)
			compared++
			if !verdict.Holds() {
				broken++
			}

			found := func(kinds ...record.ViolationKind) bool {
				return slices.ContainsFunc(r.Kinds(), func(k record.ViolationKind) bool { return slices.Contains(kinds, k) })
			}
			agree := func(what string, answer judge.Answer, first bool) {
				require.Equal(t, first, answer == judge.Broken, "%s: %s seed %d: %v\n%v\n%v\n%s", what, design, seed, s.Schedule, r.Log.Violations(), lines(ops), r.Log)
				if first {
					both[what]++
				}
			}
			agree("tokens", verdict.Tokens, found(record.TokenOrder))
			if !crooked(s.Schedule) {
				agree("exclusion", verdict.Exclusion, found(record.TwoHolders))
			}
			switch damage := found(record.LostUpdate, record.StaleWrite); {
			case !unanswered(ops) && (design != "unfenced" || !found(record.StaleWrite)):
				agree("resource", verdict.Resource, damage)
			case verdict.Resource == judge.Broken:
				require.True(t, damage, "porcupine alone finds fault: %s seed %d\n%v\n%s", design, seed, lines(ops), r.Log)
			}
		}
	}
	t.Logf("%d runs, %d broken, both found: %v", compared, broken, both)
	for _, what := range []string{"exclusion", "resource"} {
		assert.Greater(t, both[what], compared/20, "%s: they agree on nothing but peace", what)
	}
}

// crooked reports whether faults change a client's clocks.
func crooked(s simulation.Schedule) bool {
	return slices.ContainsFunc(s, func(f fault.Fault) bool {
		return f.Kind == fault.Suspend || f.Process != "" && (f.Kind == fault.Step || f.Kind == fault.Rate)
	})
}

func unanswered(ops []judge.Operation) bool {
	return slices.ContainsFunc(ops, func(o judge.Operation) bool { return o.Outcome == judge.Unknown })
}

func lines(ops []judge.Operation) string {
	text := ""
	for _, o := range ops {
		text += o.Call.String() + " to " + o.Return.String() + ": " + o.String() + "\n"
	}
	return text
}

// The second judge gets every lease and every operation that was carried out.
func TestOperationsAreComplete(t *testing.T) {
	locks, unlocks, acts := 0, 0, 0
	seeds := long.Number[uint64](100, 25)
	for seed := range seeds {
		s := setup("guarded")
		s.Seed = seed
		r, err := registry().Play(s)
		require.NoError(t, err)
		ops := history.Of(r.Log, r.Ended)
		of := map[judge.Kind]int{}
		for _, o := range ops {
			if o.Client != "observer" {
				of[o.Kind]++
			}
		}
		in := map[record.EventKind]int{}
		for _, e := range r.Log.History() {
			in[e.Kind]++
		}
		require.GreaterOrEqual(t, of[judge.Lock], in[record.Acquired], "seed %d", seed) // a lease that lapsed and was extended after all counts twice
		require.Equal(t, of[judge.Lock], of[judge.Unlock], "seed %d", seed)
		require.Equal(t, in[record.Read], of[judge.Read], "seed %d", seed)
		require.Equal(t, in[record.Write], of[judge.Write], "seed %d", seed)
		locks, unlocks, acts = locks+of[judge.Lock], unlocks+of[judge.Unlock], acts+of[judge.Write]
	}
	assert.Positive(t, locks)
	assert.Positive(t, unlocks)
	assert.Positive(t, acts)
}
