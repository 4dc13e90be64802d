package cells

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/byname"
)

func design(t *testing.T, name string) designs.Design {
	t.Helper()
	d, err := designs.ByName(name)
	require.NoError(t, err)
	return d
}

// The names are those of explore, and the conditions of zeros occur.
func TestFaultsAreSound(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Faults() {
		assert.False(t, seen[f.Name], f.Name)
		seen[f.Name] = true
		if kind, _, _ := strings.Cut(f.Name, "-"); kind != "slow" && kind != "all" && !slices.Contains(f.kinds, fault.Kind(f.Name)) {
			assert.Contains(t, f.kinds, fault.Kind(kind), f.Name)
		}
		assert.NotEmpty(t, f.Title, f.Name)
		assert.NotEmpty(t, f.Source, f.Name)
		needs := strings.Split(strings.Join(f.Needs, " or "), " or ")
		for seed := uint64(0); f.Needs != nil && len(needs) > 0 && assert.Less(t, seed, uint64(100), "%s: %v", f.Name, needs); seed++ {
			r, err := f.Play(seed, design(t, "token-write"))
			require.NoError(t, err)
			counts := r.Log.Counts()
			needs = slices.DeleteFunc(needs, func(need string) bool { return counts[need] > 0 })
		}
		found, err := ByName(f.Name)
		require.NoError(t, err)
		assert.Equal(t, f.Title, found.Title)
	}
	_, err := ByName("earthquake")
	require.ErrorIs(t, err, byname.ErrUnknown)
	require.ErrorContains(t, err, `"earthquake"; there are slow, pause, `)
}

// A column has only faults of its kind, and all designs get the same.
func TestSchedules(t *testing.T) {
	only := map[string]func(fault.Fault) bool{
		"pause":       func(f fault.Fault) bool { return f.Kind == fault.Pause },
		"suspend":     func(f fault.Fault) bool { return f.Kind == fault.Suspend },
		"step-client": func(f fault.Fault) bool { return f.Kind == fault.Step && f.Server == "" },
		"step-server": func(f fault.Fault) bool { return f.Kind == fault.Step && f.Process == "" },
		"rate-small":  func(f fault.Fault) bool { return f.Kind == fault.Rate && f.PPM >= -5000 && f.PPM <= 5000 },
		"restart-empty": func(f fault.Fault) bool {
			return f.Kind == fault.Restart && f.Keep == fault.KeepNothing
		},
		"restart-1sec": func(f fault.Fault) bool { return f.Keep == fault.KeepSecond },
		"delay":        func(f fault.Fault) bool { return f.Server != fault.Resource },
		"delay-write": func(f fault.Fault) bool {
			return f.Server == fault.Resource && f.Op == "write" && f.Nth > 0 && f.By > 0
		},
	}
	lags := 0
	for _, f := range Faults() {
		for seed := range uint64(200) {
			_, s, _ := f.Setting(seed, design(t, "redlock"))
			if f.Name == "slow" {
				require.Empty(t, s)
				continue
			}
			require.NotEmpty(t, s)
			_, same, _ := f.Setting(seed, design(t, "setnx"))
			require.Equal(t, same, s, "%s, seed %d", f.Name, seed)
			for _, one := range s {
				require.Contains(t, f.kinds, one.Kind)
				if allowed := only[f.Name]; allowed != nil {
					require.True(t, allowed(one), "%s: %+v", f.Name, one)
				}
			}
			_, s, _ = f.Setting(seed, design(t, "wait-some"))
			for _, one := range s {
				if one.Kind == fault.Lag && f.Name == "failover" {
					lags++
				}
			}
		}
	}
	require.Positive(t, lags, "replicas are behind")
}

// The rules name existing things, give reasons, and cover every cell of all designs but the flaws.
func TestRulesAreSound(t *testing.T) {
	for _, r := range rules {
		assert.NotEmpty(t, r.why)
		assert.NotEmpty(t, r.designs)
		for _, name := range strings.Fields(r.designs) {
			design(t, name)
		}
		for _, name := range strings.Fields(r.faults) {
			_, err := ByName(name)
			assert.NoError(t, err)
		}
	}
	// Reasons are about what the design has.
	for _, own := range []struct{ fault, design, why string }{
		{"rate", "redlock", "no client watches the servers' clocks"},
		{"rate", "default", "servers whose clocks are found to be off do not vote"},
		{"all", "redlock", "flushed servers"},
		{"all", "default", "servers that split"},
		{"flush", "wait-one", "the only server that is asked"},
	} {
		want, _ := ExpectationOf(own.fault, own.design)
		assert.Contains(t, want.Why, own.why, own.design)
	}
	for _, f := range Faults() {
		for _, d := range designs.All() {
			_, ok := ExpectationOf(f.Name, d.Name)
			assert.True(t, ok || d.Group == designs.Flaws, "%s / %s", d.Name, f.Name)
		}
		_, ok := ExpectationOf(f.Name, "value-reused")
		assert.False(t, ok)
	}
}
