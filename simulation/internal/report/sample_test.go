package report_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/record"
)

// clockJumps is a run in which C's clock jumps forward while c1 holds the lock on A, B
// and C.
func clockJumps(t testing.TB) record.Log {
	t.Helper()
	cfg := simulation.Config{Quorum: quorum.Config{Lab: quorum.Lab{RestartQuarantine: quorum.Off, ClockMonitor: quorum.Off}}}
	schedule := simulation.Schedule{
		{Kind: fault.Cut, Process: "c1", Server: "D"},
		{Kind: fault.Cut, Process: "c1", Server: "E"},
		{Kind: fault.Step, Server: "C", At: 1100 * time.Millisecond, By: 15 * time.Second},
	}
	r, err := simulation.Run(1, cfg, schedule, func(c *simulation.Client) {
		c.SleepUntil(time.Second + time.Duration(c.Index)*200*time.Millisecond)
		lease, err := c.TryAcquire("k")
		if err != nil {
			return
		}
		c.Sleep(time.Duration(5-4*c.Index) * time.Second)
		_ = c.Release(lease) // the checks see the outcome
	})
	require.NoError(t, err)
	return r.Log
}

// matrix has a cell of every kind.
func matrix() report.Matrix {
	found := func(violated int, seed uint64, kinds map[string]int) report.Cell {
		return report.Cell{Runs: 1000, Violated: violated, Seed: seed, Kinds: kinds}
	}
	none := report.Cell{Runs: 1000}
	unproved := report.Cell{Runs: 1000, Unreached: []string{"a clock was seen to jump"}}
	jump := found(1000, 0, map[string]int{"two holders": 1000, "lost update": 312})
	jump.Command = "redlocksim run S4 -design redlock -seed 0"
	surprise := found(3, 471, map[string]int{"two holders": 3})
	surprise.Unexpected = true
	return report.Matrix{
		Designs: []report.Axis{
			{Name: "setpx-del", Title: "SET NX PX and a plain DEL"},
			{Name: "redlock", Title: "Redlock as the Redis document has it", Source: "redis.io, Distributed Locks"},
			{Name: "default", Title: "this library's defaults"},
		},
		Faults: []report.Axis{
			{Name: "pause", Title: "a process stops for longer than the TTL", Source: "Kleppmann 2016"},
			{Name: "jump", Title: "a server's clock jumps forward"},
			{Name: "crash", Title: "a server restarts empty"},
			{Name: "rate", Title: "clocks run at different rates"},
			{Name: "loss", Title: "messages are lost"},
		},
		Cells: [][]report.Cell{
			{found(987, 0, map[string]int{"two holders": 987, "stale write": 655}), {}, none, found(1, 802, map[string]int{"two holders": 1}), none},
			{found(1000, 0, map[string]int{"stale write": 1000}), jump, found(31, 17, map[string]int{"two holders": 31}), none, none},
			{found(1000, 0, map[string]int{"stale write": 1000}), unproved, none, surprise, none},
		},
	}
}

// sample has something in every part.
func sample(t testing.TB) report.Report {
	t.Helper()
	return report.Report{
		Title: "Lock designs under faults", Version: "v0.1.0-3-gabcdef0", Command: "go run ./simulation/cmd/redlocksim -seeds 0:1000", Seeds: "0:1000", Runs: 13000,
		Notes:   []string{"Every run plays the real protocol against simulated servers."},
		Summary: summary(), Matrix: matrix(),
		Timelines: []report.TimelineRun{
			{Design: "redlock", Fault: "jump", Log: clockJumps(t)},
		},
	}
}
