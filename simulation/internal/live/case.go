//go:build unix

package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/designs"
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
	Timeouts map[string]span
	// PredictedBy names, by design, the design that makes the prediction, if this form
	// disables a part of the design. Default: the design.
	PredictedBy map[string]string `json:"predicted_by"`

	// Args are the arguments of the servers. Machine gives them simulated clocks and
	// disks, for faults.
	Args    []string
	Machine bool
	// Row says that the resource is a row in Redis, not a file.
	Row bool
	// Freeze: paused clients are Go programs whose world is stopped, not stopped processes.
	Freeze bool
	// TTL is the TTL of the leases: long where no lease may expire before the case ends.
	// Default: shortTTL.
	TTL span
	// User and Password are the credentials of the clients. Default: none.
	User, Password string

	// Script is the name of one of scripts. Default: the scenario's own scripts and faults.
	Script string
}

// span is a duration that is written like "1.5s".
type span time.Duration

func (d *span) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = span(parsed)
	return err
}

// shortTTL is for cases that wait for a lease to expire.
const shortTTL = 1500 * time.Millisecond

func (c Case) ttl() time.Duration { return cmp.Or(time.Duration(c.TTL), shortTTL) }

// Name returns the scenario's ID with the form, as in "S7b kill -9".
func (c Case) Name() string { return strings.TrimSpace(c.Scenario + " " + c.Form) }

// timeout bounds the wait for a server.
func (c Case) timeout(design string, ttl time.Duration) time.Duration {
	return cmp.Or(time.Duration(c.Timeouts[design]), (ttl / 8).Truncate(time.Millisecond))
}

// predictedBy returns the name of the design that makes the prediction.
func (c Case) predictedBy(design string) string { return cmp.Or(c.PredictedBy[design], design) }

// settings returns a scenario and a design.
func settings(scenario, design string) (s scenarios.Scenario, d designs.Design, err error) {
	if s, err = scenarios.ByID(scenario); err == nil {
		d, err = s.Design(design)
	}
	return s, d, err
}

// visible are the kinds of violations that can be detected on real servers.
var visible = []record.ViolationKind{
	record.TwoHolders, record.StaleWrite, record.LostUpdate, record.TokenOrder,
	record.NoProgress, record.NeverFree,
}

// seeds is the number of simulated runs of a prediction. They must agree.
const seeds = 5

// predict simulates the scenario and returns the visible kinds of violations, which must
// be the same in every run.
func predict(scenario, design string) ([]record.ViolationKind, error) {
	s, d, err := settings(scenario, design)
	if err != nil {
		return nil, err
	}
	var predicted []record.ViolationKind
	for seed := range uint64(seeds) {
		r, err := s.Play(seed, d)
		if err != nil {
			return nil, err
		}
		kinds := slices.DeleteFunc(r.Kinds(), func(k record.ViolationKind) bool { return !slices.Contains(visible, k) })
		if seed > 0 && !slices.Equal(kinds, predicted) {
			return nil, fmt.Errorf("live: predictions for %s with %s differ: %v with seed 0, %v with seed %d", scenario, design, predicted, kinds, seed)
		}
		predicted = kinds
	}
	return predicted, nil
}
