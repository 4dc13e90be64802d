package search

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
)

// assumptions are the names of package quorum's assumptions, by their numbers there.
var assumptions = [...]string{
	1: "holders notice their deadline",
	2: "servers count a TTL at about the client's rate, and their clocks don't jump",
	3: "a vote stands for its TTL",
	4: "instances are independent",
	5: "all clients agree on the instances, the quorum and MaxTTL",
	6: "no lease is longer than MaxTTL",
	7: "no other program writes the lock's keys",
}

// Breach is an assumption that did not hold, and how.
type Breach struct {
	Assumption int // its number in package quorum
	How        string
}

// String is one line.
func (b Breach) String() string {
	return fmt.Sprintf("assumption %d (%s): %s", b.Assumption, assumptions[b.Assumption], b.How)
}

// slewing is the largest error of a clock's rate, in ppm, that the assumptions cover. Two
// clocks then differ by less than 5 000 ppm, which the drift allowance covers and the clock
// monitor does not take for a jump.
const slewing = 2_000

// breach returns the assumption that a fault of a schedule breaks, or false if the
// assumptions cover the fault. Then all promises must be kept. Assumption 1 depends on the
// moment, which the checks see, see record.Violation.
func breach(f fault.Fault, schedule simulation.Schedule, cfg simulation.Config) (Breach, bool) {
	among := func(kind fault.Kind) bool {
		return slices.ContainsFunc(schedule, func(o fault.Fault) bool {
			return o.Kind == kind && (f.Process == "" || f.Process == fault.Any || o.Process == fault.Any || o.Process == f.Process)
		})
	}
	broken := func(a int, format string, args ...any) (Breach, bool) {
		return Breach{a, fmt.Sprintf(format, args...)}, true
	}
	switch {
	case f.Kind == fault.Suspend && f.Frozen:
		return broken(2, "the clocks of a suspended machine, %s's, stood still", whose(f.Process))
	case f.Kind == fault.Step && f.Server != "":
		return broken(2, "the clock of %s jumped", whose(f.Server))
	case f.Kind == fault.Step && f.By < 0 && among(fault.Suspend):
		// The larger of two clocks does not help if both lose time.
		return broken(2, "one clock of %s stood still while its machine was suspended, and the other was set back", whose(f.Process))
	case f.Kind == fault.Rate && (f.PPM > slewing || f.PPM < -slewing):
		return broken(2, "the clocks of %s gained %+d ppm", whose(f.Process+f.Server), f.PPM)
	case f.Kind == fault.Evict:
		return broken(3, "%s evicted a key", whose(f.Server))
	case f.Kind == fault.SplitBrain:
		return broken(3, "%s continued to answer beside the replica that replaced it", whose(f.Server))
	case f.Kind == fault.Switch && among(fault.Reboot):
		return broken(3, "the address of %s led a starting client to another server that had been up for long", whose(f.Server))
	case f.Kind == fault.Switch && outlives(f, cfg):
		return broken(3, "two servers answered behind %s's address for longer than MaxTTL exceeds the TTL", whose(f.Server))
	}
	return Breach{}, false
}

// outlives reports whether some processes reach another server behind an address than the
// others, for longer than the quarantine covers.
func outlives(f fault.Fault, cfg simulation.Config) bool {
	ttl := cmp.Or(cfg.Quorum.TTL, 10*time.Second)
	return f.Process != fault.Any && (f.For == 0 || cmp.Or(cfg.Quorum.MaxTTL, ttl)-ttl < f.For)
}

func whose(who string) string {
	if who == fault.Any {
		return "all"
	}
	return who
}

// breaches are the assumptions that a schedule breaks, each breach once.
func breaches(schedule simulation.Schedule, cfg simulation.Config) []Breach {
	var all []Breach
	for _, f := range schedule {
		if b, broken := breach(f, schedule, cfg); broken && !slices.Contains(all, b) {
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(a, b Breach) int { return a.Assumption - b.Assumption })
	return all
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
		_, broken := breach(f, covered, cfg)
		return broken
	})
}
