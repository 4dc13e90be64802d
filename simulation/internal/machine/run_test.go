package machine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/machine"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

func TestScenariosAreRunsOfTheMachine(t *testing.T) {
	total := map[machine.Kind]int{}
	runs, rounds, handed := 0, 0, 0
	for _, s := range append(scenarios.All(), scenarios.ForMutants()...) {
		for _, d := range s.Designs() {
			cfg, _ := s.Setting(d)
			if cfg.Locker != nil || cfg.Quorum.Fencing == quorum.Off {
				continue
			}
			t.Run(s.ID+" "+d.Name, func(t *testing.T) {
				for seed := range uint64(2) {
					r, err := s.Play(seed, d)
					require.NoError(t, err)
					counts, err := machine.Compare(r.Log)
					if !assert.NoError(t, err, "seed %d", seed) {
						return
					}
					runs++
					rounds += counts.Rounds
					handed += counts.Handed
					for kind, n := range counts.Steps {
						total[kind] += n
					}
				}
			})
		}
	}
	fmt.Println(runs, rounds, handed, total)
	_ = simulation.Any
}
