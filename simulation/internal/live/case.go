//go:build unix

package live

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/box"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
)

// Case is the live form of a scenario.
type Case struct {
	// Scenario is the scenario's ID. Form distinguishes several live forms of it.
	Scenario, Form string
	// Fault describes the fault.
	Fault string
	// Designs are the names of the designs that it runs with.
	Designs []string
	// Timeouts bound the wait for each server, by design. Default: an eighth of the TTL.
	Timeouts map[string]string
	// PredictedBy names, by design, the design that makes the prediction, if this form
	// disables a part of the design. Default: the design.
	PredictedBy map[string]string `json:"predicted_by"`

	// Args are the arguments of the servers. User is the account of the clients there, and its
	// password: "name:password". Default: none.
	Args []string
	User string
	// TTL is the TTL of the leases in seconds: long where no lease may expire before the case ends.
	// Default: that of the box.
	TTL int
	// Schedule has the steps, in the words of the box's cases. A client that "asks" waits for the
	// lock if it gets it in the simulation, so that leases can expire first. Else it tries once.
	Schedule string
}

//go:embed cases.json
var caseList []byte

// Cases returns the live forms of all scenarios that have one, in the scenarios' order.
func Cases() []Case {
	var all []Case
	if err := json.Unmarshal(caseList, &all); err != nil {
		panic("cases.json: " + err.Error()) // a test reads it
	}
	return all
}

// Name returns the scenario's ID with the form, as in "S7 ACL".
func (c Case) Name() string { return strings.TrimSpace(c.Scenario + " " + c.Form) }

// seeds is the number of simulated runs of a prediction. They must agree.
const seeds = 5

// prepared is what a case with a design needs.
type prepared struct {
	predicted []record.ViolationKind
	servers   int
	guard     simulation.Guarding
	schedule  box.Schedule
	// outcomes are the sets of clients that get the lock in the simulation, one set for each run: who
	// of two wins can be chance. It is nil if some get it too late, for which a play has no time.
	outcomes []map[string]bool
}

// prepare simulates a case with a design and makes its schedule.
func prepare(tc Case, design string) (p prepared, err error) {
	scenario, lock, err := settings(tc.Scenario, design)
	if err != nil {
		return p, err
	}
	outcomes, predicted, err := predict(scenario, cmp.Or(tc.PredictedBy[design], design))
	if err != nil {
		return p, err
	}
	cfg, _ := scenario.Setting(lock)
	p.predicted, p.guard, p.servers = predicted, cfg.Guard, cmp.Or(cfg.Servers, 5)
	if lock.Servers == 1 {
		p.servers = 1
	}
	p.schedule, err = tc.steps(p.servers, outcomes[0])
	if !slices.Contains(predicted, record.NoProgress) {
		p.outcomes = outcomes
	}
	return p, err
}

// steps returns the schedule for n servers.
func (c Case) steps(n int, holders map[string]bool) (box.Schedule, error) {
	steps := strings.Split(c.Schedule, ", ")
	for i, step := range steps {
		if client, ok := strings.CutSuffix(step, " asks"); ok && holders[client] {
			steps[i] = client + " waits"
		} else if ok {
			steps[i] = client + " tries"
		}
	}
	return box.ParseSchedule(strings.Join(steps, ", "), n)
}

// holdersOf returns the clients that get the lock.
func holdersOf(log record.Log) map[string]bool {
	holders := map[string]bool{}
	for e := range log.All() {
		if e.Kind == record.Acquired {
			holders[e.Process] = true
		}
	}
	return holders
}

// predict simulates a scenario. It returns who gets the lock in each run, and the kinds of violations, which
// must be the same in every run, but for the one that nobody sees on real servers.
func predict(s scenarios.Scenario, design string) (outcomes []map[string]bool, predicted []record.ViolationKind, err error) {
	d, err := s.Design(design)
	if err != nil {
		return nil, nil, err
	}
	for seed := range uint64(seeds) {
		r, err := s.Play(seed, d)
		if err != nil {
			return nil, nil, err
		}
		outcomes = append(outcomes, holdersOf(r.Log))
		kinds := slices.DeleteFunc(r.Kinds(), func(k record.ViolationKind) bool { return k == record.Overvalued })
		if seed == 0 {
			predicted = kinds
		} else if !slices.Equal(kinds, predicted) {
			return nil, nil, fmt.Errorf("live: predictions for %s with %s differ: %v with seed 0, %v with seed %d", s.ID, design, predicted, kinds, seed)
		}
	}
	return outcomes, predicted, nil
}
