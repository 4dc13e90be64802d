//go:build unix

package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// Case is the live form of a scenario.
type Case struct {
	// Scenario is the scenario's ID. Form distinguishes several live forms of it.
	Scenario, Form string
	// Fault describes the fault.
	Fault string
	// Variants are the designs that it runs with.
	Variants []variant

	// Args are the arguments of the servers. Machine gives them simulated clocks and
	// disks, for faults.
	Args    []string
	Machine bool
	// Row says that the resource is a row in Redis, not a file.
	Row bool
	// Freeze: paused clients are Go programs whose world is stopped, not stopped processes.
	Freeze bool
	// TTL is the TTL of the leases. Default: shortTTL.
	TTL time.Duration
	// User and Password are the credentials of the clients. Default: none.
	User, Password string

	// script performs the case. Default: the scenario's own scripts and faults.
	script func(s *environment)
}

// variant is a design in a case.
type variant struct {
	// Design is the design's name in the scenario.
	Design string
	// Timeout bounds the wait for each server. Default: an eighth of the TTL.
	Timeout time.Duration
	// As names the design that makes the prediction, if this form disables a part of
	// Design. Default: Design.
	As string
}

// The TTLs: short where a case waits for a lease to expire, long where no lease may
// expire before the case ends.
const (
	shortTTL = 1500 * time.Millisecond
	longTTL  = 30 * time.Second
)

func (c Case) ttl() time.Duration { return cmp.Or(c.TTL, shortTTL) }

// Name returns the scenario's ID with the form, as in "S7b kill -9".
func (c Case) Name() string { return strings.TrimSpace(c.Scenario + " " + c.Form) }

func (v variant) timeout(ttl time.Duration) time.Duration {
	return cmp.Or(v.Timeout, (ttl / 8).Truncate(time.Millisecond))
}

// predictedBy returns the name of the design that makes the prediction.
func (v variant) predictedBy() string { return cmp.Or(v.As, v.Design) }

// variants returns a variant for each design name.
func variants(names ...string) []variant {
	all := make([]variant, len(names))
	for i, name := range names {
		all[i].Design = name
	}
	return all
}

// settings returns a scenario and a design. Without a scenario, it returns an empty one, whose
// configuration is the design's alone.
func settings(scenario, design string) (s scenarios.Scenario, d designs.Design, err error) {
	if scenario == "" {
		d, err = designs.ByName(design)
	} else if s, err = scenarios.ByID(scenario); err == nil {
		d, err = s.Design(design)
	}
	return s, d, err
}

// visible are the kinds of violations that can be detected on real servers.
var visible = []simulation.ViolationKind{
	simulation.TwoHolders, simulation.StaleWrite, simulation.LostUpdate, simulation.TokenOrder,
	simulation.NoProgress, simulation.NeverFree,
}

// seeds is the number of simulated runs of a prediction. They must agree.
const seeds = 5

// predict simulates the scenario and returns the visible kinds of violations, which must
// be the same in every run.
func predict(scenario, design string) ([]simulation.ViolationKind, error) {
	s, d, err := settings(scenario, design)
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
			return nil, fmt.Errorf("live: predictions for %s with %s differ: %v with seed 0, %v with seed %d", scenario, design, predicted, kinds, seed)
		}
		predicted = kinds
	}
	return predicted, nil
}
