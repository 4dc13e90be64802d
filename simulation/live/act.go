//go:build unix

package live

import (
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/scenarios"
)

// Act is one scenario in its live form.
type Act struct {
	// Scenario is the ID of the scenario that it is the live form of, Form says
	// which, where there are several.
	Scenario, Form string
	// Fault says in words what is done, and to what.
	Fault string
	// Parts are the designs that it is played with.
	Parts []Part

	// Args are what the servers are started with, Machine says that they have clocks
	// and disks that faults can be done to.
	Args    []string
	Machine bool
	// Row says that the resource is a row in Redis, not a file.
	Row bool
	// TTL is the leases' time to live. Default: shortTTL.
	TTL time.Duration
	// User and Password are who the clients are to the servers. Default: whoever.
	User, Password string

	script func(s *stage)
}

// Part is one design in an act.
type Part struct {
	// Design is its name, in the scenario.
	Design string
	// Timeout is how long it waits for each server. Default: an eighth of the TTL.
	Timeout time.Duration
	// As names the design to which it is reduced in this form of the scenario, so that
	// the prediction is that one's. Default: Design.
	As string
	// Declines says that its clients are right to ask for nothing here.
	Declines bool
}

// The times to live. Where the story has to wait for the end of a lease, that is
// short; where it mustn't come before the story's, it is long.
const (
	shortTTL = 1500 * time.Millisecond
	longTTL  = 30 * time.Second
)

func (a Act) ttl() time.Duration {
	if a.TTL > 0 {
		return a.TTL
	}
	return shortTTL
}

// Name is the scenario's ID with the form, as in "S7b kill -9".
func (a Act) Name() string {
	if a.Form == "" {
		return a.Scenario
	}
	return a.Scenario + " " + a.Form
}

func (p Part) timeout(ttl time.Duration) time.Duration {
	if p.Timeout > 0 {
		return p.Timeout
	}
	return (ttl / 8).Truncate(time.Millisecond)
}

// predictedBy names the design that the prediction is made with.
func (p Part) predictedBy() string {
	if p.As != "" {
		return p.As
	}
	return p.Design
}

// parts makes Parts of designs' names.
func parts(names ...string) []Part {
	all := make([]Part, len(names))
	for i, name := range names {
		all[i].Design = name
	}
	return all
}

// settings is what a scenario and a design make of a simulated world: the locker that
// processes have there they have here, too. Without a scenario it is the design's
// alone.
func settings(scenario, design string) (simulation.Config, error) {
	if scenario == "" {
		d, err := designs.ByName(design)
		if err != nil {
			return simulation.Config{}, err
		}
		return d.Configure(simulation.Config{}), nil
	}
	s, err := scenarios.ByID(scenario)
	if err != nil {
		return simulation.Config{}, err
	}
	d, err := s.Design(design)
	if err != nil {
		return simulation.Config{}, err
	}
	cfg, _ := s.Setting(d)
	return cfg, nil
}

// visible are the kinds of violations that show on real servers, too.
var visible = []simulation.ViolationKind{
	simulation.TwoHolders, simulation.StaleWrite, simulation.LostUpdate, simulation.TokenOrder,
	simulation.NoProgress, simulation.NeverFree,
}

// seeds is how many runs a prediction is made of: they must agree.
const seeds = 5

// predict plays the scenario in the simulation, and gives the kinds of violations
// that every run has come to and that show on real servers.
func predict(scenario, design string) ([]simulation.ViolationKind, error) {
	s, err := scenarios.ByID(scenario)
	if err != nil {
		return nil, err
	}
	d, err := s.Design(design)
	if err != nil {
		return nil, err
	}
	var predicted []simulation.ViolationKind
	for seed := range uint64(seeds) {
		r, err := s.Play(seed, d)
		if err != nil {
			return nil, err
		}
		kinds := slices.DeleteFunc(r.Kinds(), func(k simulation.ViolationKind) bool { return !slices.Contains(visible, k) })
		if seed > 0 && !slices.Equal(kinds, predicted) {
			return nil, fmt.Errorf("live: the simulation doesn't agree with itself on %s with %s: %v with seed 0, %v with seed %d", scenario, design, predicted, kinds, seed)
		}
		predicted = kinds
	}
	return predicted, nil
}
