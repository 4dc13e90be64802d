package scenarios

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
)

// Sweep is a scenario with one number in it, and where it begins to break as that
// grows.
type Sweep struct {
	ID, Title string
	// Parameter is what the number is, with its unit; Formula is what says where it
	// breaks.
	Parameter, Formula string
	Source             string
	// Values are played, in rising order. First is the first of them that breaks;
	// all from there on do, in every run, and none before.
	Values []int64
	First  int64
	// Kinds is what is found from First on.
	Kinds []simulation.ViolationKind
	// Design is what it is played with.
	Design designs.Design

	scenario func(value int64) Scenario
}

// At is the scenario with a value put in, with its verdict.
func (s Sweep) At(value int64) Scenario {
	at := s.scenario(value)
	at.ID = fmt.Sprintf("%s/%d", s.ID, value)
	verdict := none
	if value >= s.First {
		verdict = breaks(s.Kinds...)
	}
	at.Verdicts = expect(verdict, s.Design.Name)
	at.Variants = []designs.Design{s.Design}
	return at
}

// Sweeps is every sweep: S6 from one side and from both, and the losses that a
// lease on 3, 4 and 5 servers survives.
func Sweeps() []Sweep {
	sweeps := []Sweep{clockRatesOneSide(), clockRatesBothSides()}
	for granted := 3; granted <= 5; granted++ {
		sweeps = append(sweeps, losses(granted))
	}
	return sweeps
}

// undisturbed is the library without what would notice: the sweeps are about
// arithmetic.
func undisturbed(name string, allowance drift.Allowance) designs.Design {
	return withSetting(name, "this library without clock monitor", "default", func(c *simulation.Config) {
		c.Quorum.ClockMonitor = quorum.Off
		c.Quorum.Drift = allowance
	})
}

// rates is a client that gets a lock while clocks run apart. Messages take next
// to no time, so that nothing but the clocks uses the allowance up.
func rates(title string, faults simulation.Schedule) Scenario {
	return Scenario{
		Title:    title,
		Base:     simulation.Config{Processes: 1, LatencyMin: time.Microsecond, LatencyMax: time.Microsecond},
		Schedule: faults,
		Work:     parts(map[string]simulation.Workload{"c1": turn(0, 0)}),
		Reached:  []string{"c1 acquired"},
	}
}

const rateSource = "the Redis document, \"The Redlock Algorithm\", step 3, takes an allowance and gives no figures for what it covers"

// clockRatesOneSide is S6 with the servers' clocks alone.
func clockRatesOneSide() Sweep {
	return Sweep{
		ID: "S6-servers", Title: "The servers' clocks are fast, by how much?",
		Parameter: "millionths that all servers' clocks gain",
		Formula:   "validity <= TTL/(1+r): 9 898 of 10 000 hold up to r = 10 305 millionths",
		Source:    rateSource,
		Values:    []int64{0, 1_000, 5_000, 10_000, 10_305, 10_306, 11_000, 20_000, 50_000, slewed},
		First:     10_306,
		Kinds:     []simulation.ViolationKind{simulation.Overvalued},
		Design:    undisturbed("allowance-1", drift.Default()),
		scenario: func(ppm int64) Scenario {
			return rates("fast servers", simulation.Schedule{{Kind: simulation.Rate, Server: simulation.Any, PPM: ppm}})
		},
	}
}

// clockRatesBothSides is S6 at its worst: the servers' clocks are fast and the
// client's is slow.
func clockRatesBothSides() Sweep {
	return Sweep{
		ID: "S6-both", Title: "The servers' clocks are fast and the client's is slow, by how much?",
		Parameter: "millionths that all servers' clocks gain, and the client's loses",
		Formula:   "validity <= TTL*(1-r)/(1+r): a hundredth covers 5 025 millionths, with 2 ms more 5 126",
		Source:    rateSource,
		Values:    []int64{0, 1_000, 5_000, 5_025, 5_126, 5_127, 6_000, 10_000, 50_000, slewed},
		First:     5_127,
		Kinds:     []simulation.ViolationKind{simulation.Overvalued},
		Design:    undisturbed("allowance-1", drift.Default()),
		scenario: func(ppm int64) Scenario {
			return rates("fast servers and a slow client", simulation.Schedule{
				{Kind: simulation.Rate, Server: simulation.Any, PPM: ppm},
				{Kind: simulation.Rate, Process: simulation.Any, PPM: -ppm},
			})
		},
	}
}

// losses is the formula g-Q+1: how many premature losses of its keys break a lease
// that was granted by so many of five servers.
func losses(granted int) Sweep {
	s := Sweep{
		ID: fmt.Sprintf("losses-%d", granted), Title: fmt.Sprintf("A lease on %d of 5 servers loses keys, how many?", granted),
		Parameter: "keys lost before their time",
		Formula:   fmt.Sprintf("g-Q+1 = %d-3+1 = %d", granted, granted-2),
		Source:    "go-redsync/redsync #186, for g = 3",
		First:     int64(granted - 2),
		Kinds:     []simulation.ViolationKind{simulation.StaleWrite, simulation.TwoHolders},
		Design:    undisturbed("plain", drift.Default()),
		scenario: func(lost int64) Scenario {
			s := oneVoteLost(Scenario{Title: "keys lost"}, simulation.Fault{})
			s.Schedule, s.Alone = cut(-50*ms, 0, "ABCDE"[granted:]), nil
			for _, server := range "ABCDE"[:lost] {
				s.Schedule = append(s.Schedule, simulation.Fault{Kind: simulation.Evict, Server: string(server), Key: key, At: at(50 * ms)})
			}
			s.Reached = []string{"c1 write"}
			return s
		},
	}
	for lost := range granted + 1 {
		s.Values = append(s.Values, int64(lost))
	}
	return s
}
