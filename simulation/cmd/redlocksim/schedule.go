package main

import (
	"os"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/matrix"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// withSchedule repeats a run with the faults in a file. Its result has no expectation.
func (p played) withSchedule(path string) (played, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return p, err
	}
	schedule, err := simulation.ReadSchedule(text)
	if err != nil {
		return p, err
	}
	p.words, p.expected, p.unexpected = "the faults of "+path, "anything", nil
	if s, err := scenarios.ByID(p.name); err == nil {
		p.result, err = s.PlaySchedule(p.seed, p.design, schedule)
		return p, err
	}
	f, err := matrix.ByName(p.name)
	if err != nil {
		return p, err
	}
	p.result, err = f.PlaySchedule(p.seed, p.design, schedule)
	return p, err
}
