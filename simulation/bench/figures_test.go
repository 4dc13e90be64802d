package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestFiguresOfProcesses(t *testing.T) {
	const ms = time.Millisecond
	f := figuresOf(Case{}, []Result{
		{Usage: Usage{2 * time.Second, 3 * ms, 7, 5}, Cycles: [][]time.Duration{{ms, 2 * ms}, {4 * ms}}, Longest: 9 * ms, Failed: 1},
		{Usage: Usage{time.Second, 5 * ms, 9, 6}, Cycles: [][]time.Duration{{3 * ms}, nil}, Longest: 2 * ms, Failed: 2},
	}, 12*ms, 0)
	assert.Equal(t, figures{
		"cycles_per_second": 2, "p50_us": 3000, "p99_us": 4000, "wait_longest_ms": 9, "fewest_turns": 0, "most_turns": 2,
		"client_cpu_us_per_cycle": 2000, "server_cpu_us_per_cycle": 3000, "allocs_per_cycle": 4, "goroutines": 6, "failed": 3,
	}, f)
	assert.Zero(t, figuresOf(Case{}, []Result{{Usage: Usage{Elapsed: 1}}}, 0, 0)["p99_us"], "nobody got a lock")
}

func TestRounds(t *testing.T) {
	rounds := []figures{{"p50_us": 3, "failed": 1, "goroutines": 7}, {"p50_us": 1, "failed": 0, "goroutines": 9}, {"p50_us": 2, "failed": 1, "goroutines": 8}}
	assert.Equal(t, figures{"p50_us": 2, "failed": 2, "goroutines": 9}, joined(rounds))
	assert.Equal(t, 2.0, joined(rounds[:2])["p50_us"], "between two")

	others := []figures{{"p50_us": 6, "failed": 0}, {"p50_us": 4, "failed": 0}}
	assert.Equal(t, map[string]Ratio{"p50_us": {0.375, 0.25, 0.5}}, ratios(rounds, others), "of the rounds that both have")
}
