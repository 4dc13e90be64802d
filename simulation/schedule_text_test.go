package simulation_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
)

func TestReadSchedule(t *testing.T) {
	got, err := simulation.ReadSchedule([]byte(`[
		{"kind": "pause", "process": "c1", "op": "write", "nth": 1, "for": "12s"},
		{"kind": "step", "server": "C", "at": "1.5s", "by": "-2m"}
	]`))
	require.NoError(t, err)
	want := simulation.Schedule{
		{Kind: fault.Pause, Process: "c1", Op: "write", Nth: 1, For: 12 * time.Second},
		{Kind: fault.Step, Server: "C", At: 1500 * ms, By: -2 * time.Minute},
	}
	assert.Equal(t, want, got)
	written, err := json.Marshal(want)
	require.NoError(t, err)
	again, err := simulation.ReadSchedule(written)
	require.NoError(t, err, "as a replay file has it")
	assert.Equal(t, want, again)
	for bad, says := range map[string]string{
		`[{"kind": "pause", "when": "1s"}]`: "when",
		`[{"kind": "pause", "for": 12}]`:    `want a text such as "1.5s"`,
		`[{"kind": "pause", "for": "x"}]`:   "invalid duration",
		`{}`:                                "can't be read",
		`[] []`:                             "something follows",
	} {
		_, err := simulation.ReadSchedule([]byte(bad))
		require.ErrorIs(t, err, simulation.ErrConfig)
		assert.ErrorContains(t, err, says)
	}
}
