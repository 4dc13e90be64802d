package scenarios

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// sweep is a scenario with a parameter, and the value from which it breaks.
type sweep struct {
	ID, Title string
	// Parameter describes the value, with its unit. Formula says where it breaks.
	Parameter, Formula string
	Source             string
	// Values are tried, in rising order. First is the first of them that breaks. All
	// values from there on break in every run, and none before does.
	Values []int64
	First  int64
	// Kinds are the violations from First on.
	Kinds  []record.ViolationKind
	Design designs.Design

	scenario func(value int64) Scenario
}

// At returns the scenario with a value, and with its verdict.
func (s sweep) At(value int64) Scenario {
	at := s.scenario(value)
	at.ID, at.Work = fmt.Sprintf("%s/%d", s.ID, value), workload(at.Scripts)
	verdict := none
	if value >= s.First {
		verdict = breaks(s.Kinds...)
	}
	at.Verdicts = expect(verdict, s.Design.Name)
	at.Variants = []designs.Design{s.Design}
	return at
}

// Sweeps returns every sweep: S6 with fast servers, and with a slow client as well, and the
// losses that a lease on 3, 4 and 5 servers survives.
func Sweeps() []sweep {
	sweeps := []sweep{
		clockRateSweep(sweep{
			ID: "S6-servers", Title: "The servers' clocks are fast, by how much?",
			Parameter: "ppm that all servers' clocks gain",
			Formula:   "validity <= TTL/(1+r): 9 898 of 10 000 hold up to r = 10 305 ppm",
			Values:    []int64{0, 1_000, 5_000, 10_000, 10_305, 10_306, 11_000, 20_000, 50_000, slewed},
			First:     10_306,
		}, 0),
		clockRateSweep(sweep{
			ID: "S6-both", Title: "The servers' clocks are fast and the client's is slow, by how much?",
			Parameter: "ppm that all servers' clocks gain, and the client's loses",
			Formula:   "validity <= TTL*(1-r)/(1+r): 1 % covers 5 025 ppm, with 2 ms more 5 126",
			Values:    []int64{0, 1_000, 5_000, 5_025, 5_126, 5_127, 6_000, 10_000, 50_000, slewed},
			First:     5_127,
		}, -1),
	}
	for granted := 3; granted <= 5; granted++ {
		sweeps = append(sweeps, losses(granted))
	}
	return sweeps
}

// unmonitored is the library without clock monitor: the sweeps are about arithmetic.
func unmonitored(name string) designs.Design {
	return withSetting(name, "this library without clock monitor", "default", func(c *simulation.Config) {
		c.Quorum.ClockMonitor = quorum.Off
		c.Quorum.Drift = drift.Default()
	})
}

// clockRateSweep is a client that acquires a lock while clocks run apart. The client's rate
// is a multiple of the servers'. Messages take almost no time, so that only the clocks use
// the allowance.
func clockRateSweep(s sweep, client int64) sweep {
	s.Source = "the Redis document, \"The Redlock Algorithm\", step 3, makes an allowance and gives no figures for what it covers"
	s.Kinds = []record.ViolationKind{record.Overvalued}
	s.Design = unmonitored("allowance-1")
	s.scenario = func(ppm int64) Scenario {
		return Scenario{
			Title: s.Title,
			Base:  simulation.Config{Processes: 1, LatencyMin: time.Microsecond, LatencyMax: time.Microsecond},
			Schedule: simulation.Schedule{
				{Kind: fault.Rate, Server: fault.Any, PPM: ppm},
				{Kind: fault.Rate, Process: fault.Any, PPM: client * ppm},
			},
			Scripts: clients(turn(0, 0)),
			Reached: []string{"c1 acquired"},
		}
	}
	return s
}

// losses is the formula g-Q+1: the number of lost keys that breaks a lease on g of five
// servers.
func losses(granted int) sweep {
	s := sweep{
		ID: fmt.Sprintf("losses-%d", granted), Title: fmt.Sprintf("A lease on %d of 5 servers loses keys, how many?", granted),
		Parameter: "keys lost before they expire",
		Formula:   fmt.Sprintf("g-Q+1 = %d-3+1 = %d", granted, granted-2),
		Source:    "go-redsync/redsync #186, for g = 3",
		First:     int64(granted - 2),
		Kinds:     []record.ViolationKind{record.StaleWrite, record.TwoHolders},
		Design:    unmonitored("plain"),
		scenario: func(lost int64) Scenario {
			s := oneVoteLost(Scenario{Title: "keys lost", Reached: []string{"c1 write"}})
			evict := fault.Fault{Kind: fault.Evict, Key: key, At: at(50 * ms)}
			s.Schedule, s.Alone = append(cut(-50*ms, 0, "ABCDE"[granted:]), each("ABCDE"[:lost], evict)...), nil
			return s
		},
	}
	for lost := range granted + 1 {
		s.Values = append(s.Values, int64(lost))
	}
	return s
}
