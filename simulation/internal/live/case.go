package live

import (
	_ "embed"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/box"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
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

	// Args are the arguments of the servers.
	Args []string
	// TTL is the TTL of the leases in seconds: long where no lease may expire before the case ends.
	// Default: that of the box.
	TTL int
	// Schedule has the steps, in the words of the box's cases. A client that "asks" tries once if the verdict
	// is that it doesn't get the lock. Else it waits, so that leases can expire first.
	Schedule string
}

// DriverCommand is the first argument of this program where it is a driver, see Drive.
const DriverCommand = "driver"

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

// Visible is the part of a scenario's verdict on a design that shows on real servers: what clients did and were told.
func Visible(s scenarios.Scenario, design string) scenarios.Verdict {
	v := s.Verdicts[design]
	v.Kinds = slices.DeleteFunc(slices.Clone(v.Kinds), func(k record.ViolationKind) bool {
		return k == record.Overvalued // that takes a view of all servers at one moment
	})
	v.Reached = slices.DeleteFunc(slices.Concat(s.Reached, v.Reached), func(event string) bool {
		return !strings.HasPrefix(event, "c1 ") && !strings.HasPrefix(event, "c2 ") && !strings.HasPrefix(event, "c3 ")
	})
	return v
}

// steps returns the schedule for n servers, for a play that must end like the verdict.
func (c Case) steps(n int, want scenarios.Verdict) (box.Schedule, error) {
	steps := strings.Split(c.Schedule, ", ")
	for i, step := range steps {
		client, asks := strings.CutSuffix(step, " asks")
		switch {
		case asks && slices.Contains(want.Never, client+" acquired"):
			steps[i] = client + " tries"
		case asks:
			steps[i] = client + " waits"
		}
	}
	return box.ParseSchedule(strings.Join(steps, ", "), n)
}

// command starts the driver of a design: this program.
func (c Case) command(design string) ([]string, error) {
	program, err := os.Executable()
	return []string{program, DriverCommand, "-scenario", c.Scenario, design}, err
}
