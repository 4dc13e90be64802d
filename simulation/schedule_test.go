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

// A schedule that is encoded, as in a replay file, and read again is unchanged.
func TestScheduleAsJSON(t *testing.T) {
	kinds := map[fault.Kind]bool{}
	for seed := range uint64(400) {
		cfg := contended()
		cfg.Replicas = int(seed % 2)
		s := simulation.Draw(seed, cfg, fault.Kinds(), 8, 20*time.Second)
		text, err := json.Marshal(s)
		require.NoError(t, err)
		again, err := simulation.ReadSchedule(text)
		require.NoError(t, err)
		require.Equal(t, s, again)
		for _, f := range s {
			kinds[f.Kind] = true
		}
	}
	assert.Len(t, kinds, len(fault.Kinds()), "every kind is drawn")
}

func TestRunRefusesWhatItCantPlay(t *testing.T) {
	nothing := func(*simulation.Client) {}
	faults := map[string]fault.Fault{
		`no such kind ""`:              {},
		`Process is "c9"`:              {Kind: fault.Pause, Process: "c9"},
		`Server is "Z"`:                {Kind: fault.Hang, Server: "Z"},
		`Server is "resource"`:         {Kind: fault.Hang, Server: fault.Resource},
		"leave the other empty":        {Kind: fault.Step, Process: "c1", Server: "A"},
		`fields ["nth"], and its kind`: {Kind: fault.Step, Process: "c1", Nth: 2},
		"Nth is -1":                    {Kind: fault.Pause, Process: "c1", Nth: -1},
		"At -1ns":                      {Kind: fault.Pause, Process: "c1", At: -1},
		"By is -1s":                    {Kind: fault.Failover, Server: "A", By: -time.Second},
		"PPM is 500001":                {Kind: fault.Rate, Server: "A", PPM: 500_001},
		"PPM is -1,":                   {Kind: fault.Lose, Process: "c1", Server: "A", PPM: -1},
		`no such way "up"`:             {Kind: fault.Cut, Process: "c1", Server: "A", Way: "up"},
		"PPM is 1000001":               {Kind: fault.Duplicate, Process: "c1", Server: "A", PPM: 1_000_001},
		`fields ["way"], and its kind`: {Kind: fault.Duplicate, Process: "c1", Server: "A", Way: fault.Replies},
		"Replica is 2":                 {Kind: fault.Failover, Server: "A", Replica: 2},
		"Replica is 1":                 {Kind: fault.Lag, Server: "A", Replica: 1},
		`Op is "wirte"`:                {Kind: fault.Pause, Process: "c1", Op: "wirte", Nth: 1},
		`Op is "write", but no`:        {Kind: fault.Pause, Process: "c1", Op: "write"},
		"its Process is \"c9\"":        {Kind: fault.SplitBrain, Process: "c9", Server: "A"},
		`Server is ""`:                 {Kind: fault.Cut, Process: "c1"},
		`Process is ""`:                {Kind: fault.Reboot},
		`its Process is ""`:            {Kind: fault.Switch, Server: "A"},
		`no such persistence`:          {Kind: fault.Restart, Server: "A", Keep: "some"},
	}
	for want, fault := range faults {
		_, err := simulation.Run(1, simulation.Config{}, simulation.Schedule{fault}, nothing)
		require.ErrorIs(t, err, simulation.ErrConfig, want)
		assert.ErrorContains(t, err, want)
	}
	configs := map[string]simulation.Config{
		"Servers is 27":     {Servers: 27},
		"Processes is -1":   {Processes: -1},
		"LatencyMin is 2ms": {LatencyMin: 2 * time.Millisecond, LatencyMax: time.Millisecond},
		"Horizon -1ns":      {Horizon: -1},
		"Replicas is 6":     {Replicas: 6},
		"SemiSync is 1s":    {SemiSync: time.Second},
		`no such Guard "x"`: {Guard: "x"},
	}
	for want, cfg := range configs {
		_, err := simulation.Run(1, cfg, nil, nothing)
		require.ErrorIs(t, err, simulation.ErrConfig, want)
		assert.ErrorContains(t, err, want)
	}
	_, err := simulation.Run(1, simulation.Config{}, nil, nil)
	require.ErrorIs(t, err, simulation.ErrConfig)
}

// People write times as texts.
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
	for bad, says := range map[string]string{
		`[{"kind": "pause", "when": "1s"}]`: "when",
		`[{"kind": "pause", "for": 12}]`:    "of type simulation.durationText",
		`[{"kind": "pause", "for": "x"}]`:   "invalid duration",
		`{}`:                                "can't be read",
		`[] []`:                             "something follows",
	} {
		_, err := simulation.ReadSchedule([]byte(bad))
		require.ErrorIs(t, err, simulation.ErrConfig)
		assert.ErrorContains(t, err, says)
	}
}
