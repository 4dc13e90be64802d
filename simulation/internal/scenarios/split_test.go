package scenarios_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// The documented probabilities, to their precision.
func TestNoWinner(t *testing.T) {
	for split, want := range map[scenarios.Split]float64{
		{Servers: 3, Up: 3, Clients: 2}: 0, {Servers: 3, Up: 3, Clients: 3}: .222, {Servers: 3, Up: 3, Clients: 5}: .48, {Servers: 3, Up: 3, Clients: 10}: .72,
		{Servers: 5, Up: 5, Clients: 2}: 0, {Servers: 5, Up: 5, Clients: 3}: .370, {Servers: 5, Up: 5, Clients: 5}: .710, {Servers: 5, Up: 5, Clients: 10}: .914,
		{Servers: 5, Up: 4, Clients: 2}: .375, {Servers: 5, Up: 4, Clients: 3}: .667, {Servers: 5, Up: 3, Clients: 2}: .75,
	} {
		assert.InDelta(t, want, split.NoWinner(), .0006, "%+v", split)
	}
}

// The measured frequencies agree with the computed ones, within four standard errors.
func TestSplitVotes(t *testing.T) {
	runs := long.Number[uint64](100, 10)
	for _, split := range []scenarios.Split{
		{Servers: 3, Up: 3, Clients: 2}, {Servers: 3, Up: 3, Clients: 3}, {Servers: 3, Up: 3, Clients: 5}, {Servers: 3, Up: 3, Clients: 10},
		{Servers: 5, Up: 5, Clients: 2}, {Servers: 5, Up: 5, Clients: 3}, {Servers: 5, Up: 5, Clients: 5}, {Servers: 5, Up: 5, Clients: 10},
		{Servers: 5, Up: 4, Clients: 2}, {Servers: 5, Up: 4, Clients: 3}, {Servers: 5, Up: 3, Clients: 2},
	} {
		t.Run(fmt.Sprintf("%d clients, %d of %d servers", split.Clients, split.Up, split.Servers), func(t *testing.T) {
			lost, total := 0, 0.0
			for seed := range runs {
				rounds, _, err := split.Lockstep(seed)
				require.NoError(t, err)
				require.Positive(t, rounds, "seed %d", seed)
				if rounds > 1 {
					lost++
				}
				total += float64(rounds)
			}
			p, n := split.NoWinner(), float64(runs)
			assert.InDelta(t, p, float64(lost)/n, 4*math.Sqrt(p*(1-p)/n)+.001, "rounds without a winner")
			// In lockstep each round is like the first: the mean is that of a geometric
			// distribution, and its deviation p^.5/(1-p).
			assert.InDelta(t, 1/(1-p), total/n, 4*math.Sqrt(p/n)/(1-p)+.001, "rounds to a winner")
		})
	}
}

// Ten clients at five servers: clients in lockstep take eleven rounds, clients with random
// delays take two, and so do those of this library.
func TestDelaysEndSplits(t *testing.T) {
	runs := long.Number[uint64](40, 10)
	crowd := scenarios.Split{Servers: 5, Up: 5, Clients: 10}
	rounds, took := map[string]float64{}, map[string]time.Duration{}
	for retry, play := range map[string]func(seed uint64) (int, time.Duration, error){
		"lockstep": crowd.Lockstep, "random delays": crowd.Random, "this library": crowd.Library,
	} {
		for seed := range runs {
			n, until, err := play(seed)
			require.NoError(t, err)
			require.Positive(t, n)
			rounds[retry] += float64(n) / float64(runs)
			took[retry] += until / time.Duration(runs)
		}
	}
	t.Logf("%v %v", rounds, took)
	assert.Greater(t, rounds["lockstep"], 5.)
	assert.Less(t, rounds["random delays"], 4.)
	assert.Less(t, rounds["this library"], 3.)
	assert.Less(t, took["this library"], took["random delays"])
}
