package search

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// Assumption is the number of an assumption of package quorum. 0 is none.
type Assumption int

// assumptions are their names.
var assumptions = [...]string{
	1: "holders notice their deadline",
	2: "servers count down a TTL at about the client's rate, and their clocks don't jump",
	3: "a vote stands for its TTL",
	4: "instances are independent",
	5: "all clients agree on the instances, the quorum and MaxTTL",
	6: "no lease is longer than MaxTTL",
	7: "no other program writes the lock's keys",
}

// String is the number with the name.
func (a Assumption) String() string {
	if a == 0 {
		return "no assumption"
	}
	return fmt.Sprintf("assumption %d (%s)", int(a), assumptions[a])
}

// slewing is the largest error of a clock's rate, in ppm, that the assumptions cover. Two
// clocks then differ by less than 5 000 ppm, which the drift allowance covers and the clock
// monitor does not take for a jump.
const slewing = 2_000

// breaks returns the assumption that a fault of a schedule breaks, or 0 if the assumptions
// cover the fault. Then all promises must be kept. Assumption 1 depends on the moment, which
// the checks see, see record.Violation.
func breaks(f fault.Fault, schedule simulation.Schedule, cfg simulation.Config) Assumption {
	among := func(kind fault.Kind) bool {
		return slices.ContainsFunc(schedule, func(o fault.Fault) bool {
			return o.Kind == kind && (f.Process == "" || f.Process == fault.Any || o.Process == fault.Any || o.Process == f.Process)
		})
	}
	switch {
	case f.Kind == fault.Suspend && f.Frozen,
		f.Kind == fault.Step && f.Server != "",
		// The larger of two clocks does not help if one stood still and the other is set back.
		f.Kind == fault.Step && f.By < 0 && among(fault.Suspend),
		f.Kind == fault.Rate && (f.PPM > slewing || f.PPM < -slewing):
		return 2
	case f.Kind == fault.SplitBrain:
		return 4
	case f.Kind == fault.Evict,
		// A client that starts is led to another server that had been up for long.
		f.Kind == fault.Switch && among(fault.Reboot),
		f.Kind == fault.Switch && outlives(f, cfg):
		return 3
	}
	return 0
}

// outlives reports whether an address leads some processes to one server and the others to another,
// for longer than the quarantine covers.
func outlives(f fault.Fault, cfg simulation.Config) bool {
	ttl := cmp.Or(cfg.Quorum.TTL, 10*time.Second)
	return f.Process != fault.Any && (f.For == 0 || cmp.Or(cfg.Quorum.MaxTTL, ttl)-ttl < f.For)
}

// broken is the first assumption that a schedule breaks, or 0.
func broken(schedule simulation.Schedule, cfg simulation.Config) Assumption {
	first := Assumption(0)
	for _, f := range schedule {
		if a := breaks(f, schedule, cfg); a != 0 && (first == 0 || a < first) {
			first = a
		}
	}
	return first
}

// coverable returns the kinds of faults that the assumptions may cover.
func coverable(kinds []fault.Kind) []fault.Kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k fault.Kind) bool {
		return slices.Contains([]fault.Kind{fault.Evict, fault.SplitBrain}, k)
	})
}

// within reduces a schedule to what the assumptions cover: it weakens faults, and removes
// those that it can't weaken.
func within(schedule simulation.Schedule, cfg simulation.Config) simulation.Schedule {
	processes := cmp.Or(cfg.Processes, 2)
	var covered simulation.Schedule
	for _, f := range schedule {
		switch f.Kind {
		case fault.Pause, fault.Suspend:
			// A holder that stops between a check of its lease and its next action
			// does not notice its deadline.
			f.Frozen = false
			if f.Nth != 0 && !slices.Contains([]string{"acquire", "extend", "release"}, f.Op) {
				f.Op = "acquire"
			}
		case fault.Step:
			if f.Server != "" {
				f.Server, f.Process = "", fmt.Sprintf("c%d", 1+int(f.At/time.Microsecond)%processes)
			}
		case fault.Rate:
			f.PPM %= slewing + 1
		case fault.Delay, fault.Reorder, fault.Duplicate:
			if f.Server == fault.Resource {
				f.Server = fault.Any
			}
		}
		covered = append(covered, f)
	}
	return slices.DeleteFunc(covered, func(f fault.Fault) bool {
		return breaks(f, covered, cfg) != 0
	})
}

// unexcused are the kinds of violations that no fault excuses.
var unexcused = []record.ViolationKind{record.LeftOver, record.Stuck, record.Panicked}

// excuse is the broken assumption that a violation may be due to: the one that the check saw, or
// else the first one that a fault before it had broken. 0: there is none.
func excuse(cfg simulation.Config, result simulation.Result, v record.Violation) Assumption {
	switch {
	case v.Assumption != 0:
		return Assumption(v.Assumption)
	case slices.Contains(unexcused, v.Kind):
		return 0
	}
	var struck simulation.Schedule
	for e := range result.Log.All() {
		// By the order of events: many of them can happen at one moment.
		if e.Kind == record.Found && *e.Violation == v {
			break
		}
		if e.Kind == record.Suffered && !slices.Contains(struck, *e.Fault) {
			struck = append(struck, *e.Fault)
		}
	}
	return broken(struck, cfg)
}
