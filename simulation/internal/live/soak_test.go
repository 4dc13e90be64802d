//go:build unix

package live

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/long"
)

// The resource stays consistent, and the faults are those of the plan.
func TestSoak(t *testing.T) {
	onServers(t)
	length := long.Number(12*time.Second, 6*time.Second)
	var told []FaultResult
	report, err := Soak(t.Context(), SoakOptions{For: length, Seed: 5, Progress: func(s FaultResult) { told = append(told, s) }})
	require.NoError(t, err)
	require.True(t, report.OK(), "%s\n%v", report.Summary(), report.Findings)
	require.Positive(t, report.Updates)
	require.Equal(t, told, report.Faults)
	plan := Plan(5, length)
	require.NotEmpty(t, plan)
	require.Len(t, report.Faults, len(plan))
	for i, fault := range plan {
		require.Equal(t, fault, report.Faults[i].plannedFault)
	}
	for _, format := range Formats {
		var out strings.Builder
		require.NoError(t, report.Write(&out, format))
		require.NotEmpty(t, out.String())
		if format == "json" {
			var back soakReport
			require.NoError(t, json.Unmarshal([]byte(out.String()), &back))
			require.Equal(t, report.Updates, back.Updates)
		}
	}
}

func TestInterruptedSoak(t *testing.T) {
	onServers(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	report, err := Soak(ctx, SoakOptions{For: time.Hour, Seed: 1, Progress: func(FaultResult) { cancel() }})
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, report.Ended)
	require.False(t, report.OK())
	require.Len(t, report.Faults, 1)
	require.Positive(t, report.Acquisitions, "what was counted until then is kept")
	require.LessOrEqual(t, report.Updates, report.Acquisitions)
	require.Positive(t, report.Lasted)
	require.Less(t, report.Lasted, time.Minute)
	for _, format := range []string{"text", "markdown"} {
		var text strings.Builder
		require.NoError(t, report.Write(&text, format))
		require.Regexp(t, `^INTERRUPTED after [\d.]+m?s of 1h0m0s\. Only what happened until then is counted\.\n`, text.String())
		require.Contains(t, text.String(), "Leftover keys were not checked.")
	}
}

func TestSoakTooShort(t *testing.T) {
	_, err := Soak(t.Context(), SoakOptions{For: time.Second})
	require.ErrorContains(t, err, "at least 5s")
}

// Each violation alone makes a soak fail.
func TestSoakThatIsNotOK(t *testing.T) {
	good := soakReport{Ended: true, Acquisitions: 5, Updates: 4, Value: 4, TwoHolders: 3, TokenOrder: 1}
	require.True(t, good.OK(), "what happens at the lock is expected")
	for name, spoil := range map[string]func(*soakReport){
		"a stale write":          func(r *soakReport) { r.StaleWrites = 1 },
		"a lost update":          func(r *soakReport) { r.LostUpdates = 1 },
		"an intruder":            func(r *soakReport) { r.Intruders = 1 },
		"a key left":             func(r *soakReport) { r.KeysLeft = 1 },
		"no lock at all":         func(r *soakReport) { r.Acquisitions = 0 },
		"an update that is gone": func(r *soakReport) { r.Value = 3 },
		"no recovery":            func(r *soakReport) { r.Faults = []FaultResult{{Recovery: -1}} },
	} {
		r := good
		spoil(&r)
		require.False(t, r.OK(), name)
	}
}

func TestPlan(t *testing.T) {
	const length = 20 * time.Minute
	plan := Plan(7, length)
	require.Equal(t, plan, Plan(7, length), "the same seed")
	require.NotEqual(t, plan, Plan(8, length), "another seed")
	kinds := map[FaultKind]int{}
	end := time.Duration(0)
	for _, f := range plan {
		require.Greater(t, f.At, end, "one is over before the next begins: %v", f)
		end = f.At + f.For
		kinds[f.Kind]++
		if f.Kind != stranger {
			require.NotEmpty(t, append(append([]int{}, f.Clients...), f.Servers...), "%v", f)
		}
		for _, i := range f.Clients {
			require.Less(t, i, workers)
		}
		for _, i := range f.Servers {
			require.Less(t, i, soakServers)
		}
		require.Equal(t, f.Kind == jumpClocks, f.By != 0)
	}
	require.Less(t, end, length)
	require.Len(t, kinds, len(FaultKinds()), "every kind comes: %v", kinds)
	only := Plan(7, length, switchAddress, stranger)
	require.NotEmpty(t, only)
	for _, f := range only {
		require.Contains(t, []FaultKind{switchAddress, stranger}, f.Kind)
	}
	require.Equal(t, "902ms: kill clients c2 c4", plan[0].At.String()+": "+plan[0].String(), "on any machine, and in any version that doesn't say otherwise")
}
