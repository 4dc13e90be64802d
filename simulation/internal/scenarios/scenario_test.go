package scenarios

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/byname"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
)

// Every scenario ends as expected, with every design and every seed, and a seed always plays the same run.
func TestVerdicts(t *testing.T) {
	seeds := seeds()
	for _, s := range All() {
		t.Run(s.ID, func(t *testing.T) {
			for _, d := range s.Designs() {
				for seed := range seeds {
					r, err := s.Play(seed, d)
					require.NoError(t, err)
					if seed == 0 {
						again, err := s.Play(seed, d)
						require.NoError(t, err)
						require.Equal(t, r.Log.Digest(), again.Log.Digest(), d.Name)
					}
					if err := s.Check(r, d); !assert.NoError(t, err, "seed %d", seed) {
						t.Logf("%s", r.Log)
						break
					}
				}
			}
		})
	}
}

// seeds returns the number of seeds of each design.
func seeds() uint64 { return long.Number[uint64](20, 3) }

// Without faults each design but one is a lock: it locks, excludes, extends, releases and hands
// off, and leaves nothing behind.
func TestCalmDay(t *testing.T) {
	var ended step = func(p *performer) bool {
		return p.lease.Key() == key && p.lease.Validity() <= 0 && p.lease.Release(p.Context()) != nil
	}
	s := Scenario{
		Base: simulation.Config{Witness: true, Quorum: quorum.Config{MaxWait: time.Minute}},
		Scripts: clients(
			Script{
				until(0), acquire, update, until(7 * time.Second), extendOrEnd,
				until(14 * time.Second), update, release, ended, // beyond the first TTL
				until(24 * time.Second), await, update, release,
			},
			Script{
				until(100 * ms), attempt(acquire), until(12 * time.Second), attempt(acquire), await, update,
				until(19 * time.Second), release,
			},
		),
		Free: []Free{{Process: "c2", After: 14 * time.Second, By: 14_500 * ms}},
	}
	want := map[string]int{
		"c1 acquired": 2, "c1 write": 3, "c1 released": 2,
		"c2 acquired": 1, "c2 write": 1, "c2 released": 1, "c2 refused": 2,
	}
	all := slices.DeleteFunc(designs.All(), func(d designs.Design) bool { return d.Name == "setex" }) // it excludes nobody, see S32
	for _, d := range all {
		for seed := range seeds() {
			r, err := s.Play(seed, d)
			require.NoError(t, err)
			require.Empty(t, r.Kinds(), "%s, seed %d: %v\n%s", d.Name, seed, r.Log.Violations(), r.Log)
			for event, n := range want {
				assert.Equal(t, n, happened(r.Log, event), "%s, seed %d: %s", d.Name, seed, event)
			}
			for e := range r.Log.All() {
				random := e.Kind != record.Acquired || len(e.Change.Value) >= 40 // 20 bytes, as the document has it
				assert.True(t, random || d.Name == "same-value", "%s: %v", d.Name, e.Change)
			}
		}
	}
}

// A check that can't fail proves nothing.
func TestCheckSaysNo(t *testing.T) {
	two := []record.ViolationKind{record.TwoHolders}
	found := simulation.Result{Log: record.Log{{Kind: record.Found, Violation: &record.Violation{Kind: record.TwoHolders}}}}
	quiet := simulation.Result{Log: record.Log{
		{Kind: record.Counted, Words: "a process was paused"}, {Kind: record.Write, Process: "c1"},
	}}
	some := designs.Design{Name: "some"}
	check := func(r simulation.Result, v Verdict) error {
		return Scenario{ID: "S0", Verdicts: expect(v, some.Name)}.Check(r, some)
	}
	require.NoError(t, check(found, Verdict{Kinds: two}))
	require.NoError(t, check(quiet, Verdict{}))
	require.NoError(t, check(quiet, Verdict{Reached: []string{"a process was paused", "c1 write"}}), "a counter, and an entry of the history")
	for _, test := range []struct {
		says    string
		result  simulation.Result
		verdict Verdict
	}{
		{"found two holders, want lost update", found, breaks(record.LostUpdate)},
		{"found two holders, want none", found, none},
		{"found none, want two holders", quiet, Verdict{Kinds: two}},
		{`"c2 write" never happened`, quiet, Verdict{Reached: []string{"c2 write"}}},
		{`"c1 write" happened 1 times, and mustn't`, quiet, Verdict{Never: []string{"c1 write"}}},
	} {
		err := check(test.result, test.verdict)
		require.ErrorIs(t, err, ErrUnexpected)
		assert.ErrorContains(t, err, "S0 with some: "+test.says)
	}
	s := Scenario{ID: "S0", Reached: []string{"never"}, Verdicts: map[string]Verdict{"some": {}}}
	require.ErrorContains(t, s.Check(quiet, some), `"never" never happened`, "the scenario's own")
	require.ErrorIs(t, s.Check(quiet, designs.Design{Name: "other"}), byname.ErrUnknown)
}

// A client must get the lock between two moments of the scenario, which begins after a
// second.
func TestFree(t *testing.T) {
	for _, test := range []struct {
		wanted, got string
		at          time.Duration
		met         bool
	}{
		{"c2", "c2", 2500 * ms, true},
		{"c2", "c2", 3000 * ms, true},
		{"c2", "c2", 3001 * ms, false},
		{"c2", "c2", 1999 * ms, false},
		{"c2", "c1", 2500 * ms, false},
		{fault.Any, "c1", 2500 * ms, true},
		{fault.Any, "", 0, false},
	} {
		r := simulation.Result{Log: record.Log{{At: test.at, Process: test.got, Kind: record.Acquired}}}
		r = Scenario{Free: []Free{{Process: test.wanted, After: time.Second, By: 2 * time.Second}}}.Judge(r)
		if test.met {
			assert.Empty(t, r.Log.Violations(), "%+v", test)
			continue
		}
		require.Len(t, r.Log.Violations(), 1, "%+v", test)
		assert.Equal(t, record.NoProgress, r.Log.Violations()[0].Kind)
		assert.Equal(t, 3*time.Second, r.Log.Violations()[0].At)
	}
}

func TestTheListIsComplete(t *testing.T) {
	ids, broken := map[string]bool{}, map[string]bool{}
	for _, s := range All() {
		assert.False(t, ids[s.ID], "%s comes twice", s.ID)
		ids[s.ID] = true
		same, err := ByID(strings.ToLower(s.ID))
		require.NoError(t, err)
		assert.Equal(t, s.Title, same.Title)
		for what, text := range map[string]string{"Title": s.Title, "Helps": s.Helps, "Source": s.Source} {
			assert.NotEmpty(t, text, "%s: %s", s.ID, what)
		}
		assert.LessOrEqual(t, len(s.Title), 80, "%s: the title is too long for tables", s.ID)
		assert.NotEmpty(t, s.Steps, s.ID)
		assert.Len(t, s.Designs(), len(s.Verdicts), "%s has a verdict for a design that doesn't exist", s.ID)
		safe := 0
		for _, d := range s.Designs() {
			verdict := s.Verdicts[d.Name]
			assert.True(t, slices.IsSorted(verdict.Kinds), s.ID)
			if verdict.Safe() {
				safe++
				assert.NotEmpty(t, slices.Concat(s.Reached, verdict.Reached), "%s with %s proves nothing unless the run came close to a violation", s.ID, d.Name)
			} else {
				broken[d.Name] = true
			}
		}
		assert.Equal(t, s.ID != "S4b", safe > 0, "%s: a violation without a design that has none", s.ID) // S4b says why
		_, err = s.Design("nothing of the kind")
		assert.ErrorIs(t, err, byname.ErrUnknown)
	}
	for _, d := range designs.All() {
		assert.True(t, broken[d.Name], "no scenario breaks %s", d.Name)
	}
	_, err := ByID("S23")
	require.ErrorIs(t, err, byname.ErrUnknown)
	assert.ErrorContains(t, err, `"S23"`)
	assert.ErrorContains(t, err, "S22, S24")
}
