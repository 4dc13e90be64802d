//go:build unix

package live

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/box"
	"github.com/redquorum/redlock/simulation/record"
)

// Case is the live form of a scenario.
type Case struct {
	// Scenario is the scenario's ID.
	Scenario string
	// Fault describes the fault.
	Fault string
	// Designs are the names of the designs that it runs with.
	Designs []string
	// Timeouts bound the wait for each server, by design. Default: an eighth of the TTL.
	Timeouts map[string]string

	// Args are the arguments of the servers.
	Args []string
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

// seeds is the number of simulated runs that say who gets the lock.
const seeds = 5

// prepared is what a case with a design needs.
type prepared struct {
	predicted []record.ViolationKind
	servers   int
	guard     simulation.Guarding
	schedule  box.Schedule
	// outcomes are the clients that get the lock in the simulation, in each run: who of two wins can be
	// chance. It is nil if some get it too late, for which a play has no time.
	outcomes []string
}

// prepare simulates a case with a design and makes its schedule.
func prepare(tc Case, design string) (p prepared, err error) {
	scenario, lock, err := settings(tc.Scenario, design)
	if err != nil {
		return p, err
	}
	p.predicted = slices.DeleteFunc(slices.Clone(scenario.Verdicts[design].Kinds), func(k record.ViolationKind) bool {
		return k == record.Overvalued // nobody sees it on real servers
	})
	var outcomes []string
	for seed := range uint64(seeds) {
		r, err := scenario.Play(seed, lock)
		if err != nil {
			return p, err
		}
		outcomes = append(outcomes, holdersOf(r.Log))
	}
	cfg, _ := scenario.Setting(lock)
	p.guard, p.servers = cfg.Guard, cmp.Or(cfg.Servers, 5)
	if lock.Servers == 1 {
		p.servers = 1
	}
	p.schedule, err = tc.steps(p.servers, outcomes[0])
	if !slices.Contains(p.predicted, record.NoProgress) {
		p.outcomes = outcomes
	}
	return p, err
}

// steps returns the schedule for n servers.
func (c Case) steps(n int, holders string) (box.Schedule, error) {
	steps := strings.Split(c.Schedule, ", ")
	for i, step := range steps {
		if client, ok := strings.CutSuffix(step, " asks"); ok && strings.Contains(holders, client) {
			steps[i] = client + " waits"
		} else if ok {
			steps[i] = client + " tries"
		}
	}
	return box.ParseSchedule(strings.Join(steps, ", "), n)
}

// holdersOf names the clients that get the lock, as in "c1 and c2".
func holdersOf(log record.Log) string {
	var holders []string
	for e := range log.All() {
		if e.Kind == record.Acquired {
			holders = append(holders, e.Process)
		}
	}
	slices.Sort(holders)
	return cmp.Or(strings.Join(slices.Compact(holders), " and "), "nobody")
}

// command starts the driver of a design: this program.
func (c Case) command(design string) ([]string, error) {
	program, err := os.Executable()
	return []string{
		program, DriverCommand, "-scenario", c.Scenario, "-timeout", cmp.Or(c.Timeouts[design], "0"), design,
	}, err
}
