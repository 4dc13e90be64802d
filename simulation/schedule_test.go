package simulation_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
)

// A schedule that is encoded and decoded is unchanged.
func TestScheduleAsJSON(t *testing.T) {
	kinds := map[simulation.Kind]bool{}
	for seed := range uint64(400) {
		cfg := contended()
		cfg.Replicas = int(seed % 2)
		s := simulation.Draw(seed, cfg, simulation.Kinds(), 8, 20*time.Second)
		text, err := json.Marshal(s)
		require.NoError(t, err)
		var again simulation.Schedule
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, s, again)
		for _, f := range s {
			kinds[f.Kind] = true
		}
	}
	assert.Len(t, kinds, len(simulation.Kinds()), "every kind is drawn")
}

func TestRunRefusesWhatItCantPlay(t *testing.T) {
	nothing := func(*simulation.Client) {}
	faults := map[string]simulation.Fault{
		`no such kind ""`:           {},
		`Process is "c9"`:           {Kind: simulation.Pause, Process: "c9"},
		`Server is "Z"`:             {Kind: simulation.Hang, Server: "Z"},
		`Server is "resource"`:      {Kind: simulation.Hang, Server: simulation.Resource},
		"leave the other empty":     {Kind: simulation.Step, Process: "c1", Server: "A"},
		"Nth is 2":                  {Kind: simulation.Step, Process: "c1", Nth: 2},
		"Nth is -1":                 {Kind: simulation.Pause, Process: "c1", Nth: -1},
		"At -1ns":                   {Kind: simulation.Pause, Process: "c1", At: -1},
		"By is -1s":                 {Kind: simulation.Failover, Server: "A", By: -time.Second},
		"PPM is 500001":             {Kind: simulation.Rate, Server: "A", PPM: 500_001},
		"PPM is -1,":                {Kind: simulation.Lose, Process: "c1", Server: "A", PPM: -1},
		`no such way "up"`:          {Kind: simulation.Cut, Process: "c1", Server: "A", Way: "up"},
		"PPM is 1000001":            {Kind: simulation.Duplicate, Process: "c1", Server: "A", PPM: 1_000_001},
		`Way is "reply"`:            {Kind: simulation.Duplicate, Process: "c1", Server: "A", Way: simulation.Replies},
		"Replica is 2":              {Kind: simulation.Failover, Server: "A", Replica: 2},
		"Replica is 1":              {Kind: simulation.Lag, Server: "A", Replica: 1},
		`Op is "wirte"`:             {Kind: simulation.Pause, Process: "c1", Op: "wirte", Nth: 1},
		`Op is "write", but no`:     {Kind: simulation.Pause, Process: "c1", Op: "write"},
		"only a pause or a suspend": {Kind: simulation.Crash, Process: "c1", Op: "clock", Nth: 1},
		"need the Op":               {Kind: simulation.Pause, Process: "c1", Op: "write", Nth: 1, Stale: true},
		`Func is "f"`:               {Kind: simulation.Pause, Process: "c1", Func: "f"},
		"its Process is \"c9\"":     {Kind: simulation.SplitBrain, Process: "c9", Server: "A"},
		`Server is ""`:              {Kind: simulation.Reconnect, Process: "c1"},
		`Process is ""`:             {Kind: simulation.Reboot},
		`no such persistence`:       {Kind: simulation.Restart, Server: "A", Keep: "some"},
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
		"ReplicaLagMin":     {ReplicaLagMin: 2, ReplicaLagMax: 1},
		"WaitTimeout 1ns":   {WaitTimeout: 1},
		`no such Guard "x"`: {Guard: "x"},
		`Persistence "x"`:   {Persistence: "x"},
		`"c1", is taken`:    {Aliases: []simulation.Alias{{Name: "c1", Server: "A"}}},
		"printable ASCII":   {Aliases: []simulation.Alias{{Name: "a b", Server: "A"}}},
		`the Server of`:     {Aliases: []simulation.Alias{{Name: "x", Server: "Z"}}},
		"the Database of":   {Aliases: []simulation.Alias{{Name: "x", Server: "A", Database: 16}}},
	}
	for want, cfg := range configs {
		_, err := simulation.Run(1, cfg, nil, nothing)
		require.ErrorIs(t, err, simulation.ErrConfig, want)
		assert.ErrorContains(t, err, want)
	}
	_, err := simulation.Run(1, simulation.Config{}, nil, nil)
	require.ErrorIs(t, err, simulation.ErrConfig)
}
