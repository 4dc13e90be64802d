package cells

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
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
	require.ErrorIs(t, err, ErrUnknown)
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
	for _, f := range Faults() {
		for seed := range uint64(200) {
			_, s := f.Setting(seed, design(t, "redlock"))
			if f.Name == "slow" {
				require.Empty(t, s)
				continue
			}
			require.NotEmpty(t, s)
			_, same := f.Setting(seed, design(t, "setnx"))
			require.Equal(t, same, s, "%s, seed %d", f.Name, seed)
			_, again := f.Setting(seed, design(t, "redlock"))
			require.Equal(t, again, s)
			for _, one := range s {
				require.Contains(t, f.kinds, one.Kind)
				if allowed := only[f.Name]; allowed != nil {
					require.True(t, allowed(one), "%s: %+v", f.Name, one)
				}
			}
		}
	}
}

// Replicas lag where they should.
func TestReplicasAreBehind(t *testing.T) {
	f, err := ByName("failover")
	require.NoError(t, err)
	lags := 0
	for seed := range uint64(50) {
		_, s := f.Setting(seed, design(t, "wait-some"))
		for _, one := range s {
			if one.Kind == fault.Lag {
				lags++
			}
		}
	}
	require.Positive(t, lags)
}

// Without a fault, clients act under a lease: they check it, and don't act without it.
func TestClientsLookBeforeTheyAct(t *testing.T) {
	f, err := ByName("pause")
	require.NoError(t, err)
	looks, writes := 0, 0
	seeds := uint64(60)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		r, err := f.Play(seed, design(t, "default"))
		require.NoError(t, err)
		looked := map[string]bool{}
		for _, e := range r.Log.History() {
			switch e.Kind {
			case record.Looked:
				looks++
				looked[e.Process] = e.Validity > 0
			case record.Read, record.Write:
				writes++
				require.True(t, looked[e.Process], "seed %d: %+v", seed, e)
			}
		}
	}
	require.Positive(t, looks)
	require.Positive(t, writes)
}
