package matrix

import (
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// rateSeeds is how many seeds a verdict on many runs gets at least.
const rateSeeds = 20

func (t task) playVerdict() (sum tally, err error) {
	s, err := scenarios.ByID(t.A)
	if err != nil {
		return tally{}, err
	}
	d, err := s.Design(t.B)
	if err != nil {
		return tally{}, err
	}
	for seed := t.From; seed < t.To; seed++ {
		r, err := s.Play(seed, d)
		if err != nil {
			return tally{}, err
		}
		sum.run(seed, r, func(simulation.ViolationKind) bool { return true })
		sum.wrong(seed, s.Check(r, d))
	}
	return sum, nil
}
