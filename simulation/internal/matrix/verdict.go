package matrix

import (
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
)

// rateSeeds is how many seeds a verdict on many runs gets at least.
const rateSeeds = 20

func (t task) playVerdict(seed uint64, sum *tally) error {
	s, err := scenarios.ByID(t.A)
	if err != nil {
		return err
	}
	d, err := s.Design(t.B)
	if err != nil {
		return err
	}
	r, err := s.Play(seed, d)
	if err != nil {
		return err
	}
	sum.run(seed, r, func(record.ViolationKind) bool { return true })
	if err := s.Check(r, d); err != nil {
		sum.Wrong.add(found{Runs: 1, First: seed, Text: err.Error()})
	}
	return nil
}
