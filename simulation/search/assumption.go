package search

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
)

// Assumption is one that package quorum makes, by its number there.
type Assumption int

// assumptions are their names, in package quorum's words.
var assumptions = [...]string{
	1: "holders notice their deadline",
	2: "instances count a TTL at about the client's rate, and their clocks don't jump",
	3: "a vote once given stands",
	4: "instances are independent",
	5: "all clients agree on the instances, the quorum and MaxTTL",
	6: "no lease is longer than MaxTTL",
	7: "nobody else writes the lock's keys",
}

// String is its name.
func (a Assumption) String() string { return assumptions[a] }

// Breach is an assumption that didn't hold, and what happened instead.
type Breach struct {
	Assumption Assumption
	How        string
}

// String is one line.
func (b Breach) String() string {
	return fmt.Sprintf("assumption %d (%v): %s", int(b.Assumption), b.Assumption, b.How)
}

// slewing is the largest rate, in millionths, of one clock that the assumptions cover. Two
// clocks then differ by less than 5 000, which the drift allowance covers and the clock
// monitor doesn't take for a jump.
const slewing = 2_000

// breach says which assumption a fault of a schedule breaks, and false if the assumptions
// cover it: then all promises must be kept. It knows nothing of assumption 1, which
// depends on the moment: the checks see that, see simulation.Violation.
func breach(f simulation.Fault, schedule simulation.Schedule, cfg simulation.Config) (Breach, bool) {
	among := func(kind simulation.Kind) bool {
		return slices.ContainsFunc(schedule, func(o simulation.Fault) bool {
			return o.Kind == kind && (f.Process == "" || f.Process == simulation.Any || o.Process == simulation.Any || o.Process == f.Process)
		})
	}
	broken := func(a Assumption, format string, args ...any) (Breach, bool) {
		return Breach{a, fmt.Sprintf(format, args...)}, true
	}
	switch {
	case f.Kind == simulation.Suspend && f.Frozen:
		return broken(2, "the clocks of a suspended machine, %s's, stood still", whose(f.Process))
	case f.Kind == simulation.Step && f.Server != "":
		return broken(2, "the clock of %s jumped", whose(f.Server))
	case f.Kind == simulation.Step && f.By < 0 && among(simulation.Suspend):
		// The larger of two clocks is of no help where both lose time.
		return broken(2, "one clock of %s stood still while its machine was suspended, and the other was set back", whose(f.Process))
	case f.Kind == simulation.Rate && (f.PPM > slewing || f.PPM < -slewing):
		return broken(2, "the clocks of %s gained %+d ppm", whose(f.Process+f.Server), f.PPM)
	case f.Kind == simulation.Evict:
		return broken(3, "%s evicted a key", whose(f.Server))
	case f.Kind == simulation.SplitBrain:
		return broken(3, "%s went on answering beside the replica that took its place", whose(f.Server))
	case f.Kind == simulation.Switch && among(simulation.Reboot):
		return broken(3, "the address of %s led a client that started to another server that had been up for long", whose(f.Server))
	case f.Kind == simulation.Switch && outlives(f, cfg):
		return broken(3, "a connection stayed with the old server behind %s's address for longer than MaxTTL exceeds the TTL", whose(f.Server))
	}
	return Breach{}, false
}

// outlives reports whether a connection to a server whose address has moved may live for
// longer than the quarantine covers.
func outlives(f simulation.Fault, cfg simulation.Config) bool {
	ttl := cmp.Or(cfg.Quorum.TTL, 10*time.Second)
	return f.By == 0 || cmp.Or(cfg.Quorum.MaxTTL, ttl)-ttl < f.By
}

func whose(who string) string {
	if who == simulation.Any {
		return "all"
	}
	return who
}

// breaches are the assumptions that a schedule breaks, each way once.
func breaches(schedule simulation.Schedule, cfg simulation.Config) []Breach {
	var all []Breach
	for _, f := range schedule {
		if b, broken := breach(f, schedule, cfg); broken && !slices.Contains(all, b) {
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(a, b Breach) int { return int(a.Assumption) - int(b.Assumption) })
	return all
}

// coverable are the kinds of faults, of some, that the assumptions may cover.
func coverable(kinds []simulation.Kind) []simulation.Kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k simulation.Kind) bool {
		return slices.Contains([]simulation.Kind{simulation.Evict, simulation.SplitBrain}, k)
	})
}

// within gives a schedule in which the assumptions cover every fault. What a fault has
// beyond that is taken away, or else the fault is.
func within(schedule simulation.Schedule, cfg simulation.Config) simulation.Schedule {
	processes := cmp.Or(cfg.Processes, 2)
	var tame simulation.Schedule
	for _, f := range schedule {
		switch f.Kind {
		case simulation.Pause, simulation.Suspend:
			// A holder that stops between its look at the lease and what it does
			// next doesn't notice its deadline.
			f.Frozen, f.Stale = false, false
			if f.Nth != 0 && !slices.Contains([]string{"acquire", "extend", "release", "clock"}, f.Op) {
				f.Op = "acquire"
			}
		case simulation.Step:
			if f.Server != "" {
				f.Server, f.Process = "", fmt.Sprintf("c%d", 1+int(f.At/time.Microsecond)%processes)
			}
		case simulation.Rate:
			f.PPM %= slewing + 1
		case simulation.Delay, simulation.Reorder, simulation.Duplicate:
			if f.Server == simulation.Resource {
				f.Server = simulation.Any
			}
		}
		tame = append(tame, f)
	}
	return slices.DeleteFunc(tame, func(f simulation.Fault) bool {
		_, broken := breach(f, tame, cfg)
		return broken
	})
}
