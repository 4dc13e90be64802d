package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// Schedule is the list of faults of one run.
type Schedule []fault.Fault

// longest bounds every time in a schedule, so that sums don't overflow.
const longest = 30 * 24 * time.Hour

// validate checks s for a world with the given names.
func (s Schedule) validate(processes, servers, places []string, replicas int) error {
	for i, f := range s {
		names := servers
		if f.OnLinks() || f.Kind == fault.Reconnect || f.Kind == fault.Proxy {
			names = places
		}
		if err := validateFault(f, processes, names, replicas); err != nil {
			return fmt.Errorf("%w: fault %d (%q): %w", ErrConfig, i, f.Kind, err)
		}
	}
	return nil
}

func validateFault(f fault.Fault, processes, servers []string, replicas int) error {
	t, ok := f.Kind.Traits()
	if !ok {
		return fmt.Errorf("no such kind %q", f.Kind)
	}
	process := t.Where == fault.OnProcess || t.Where == fault.OnLink || t.Where == fault.OnEither && f.Server == ""
	server := t.Where == fault.OnServer || t.Where == fault.OnLink || t.Where == fault.OnEither && f.Process == ""
	links := t.OnMessages || f.Kind == fault.Reconnect
	switch {
	case process && f.Process != fault.Any && !slices.Contains(processes, f.Process):
		return fmt.Errorf("its Process is %q, want one of %v or %q", f.Process, processes, fault.Any)
	case server && f.Server != fault.Any && !slices.Contains(servers, f.Server) && !(links && f.Server == fault.Resource):
		return fmt.Errorf("its Server is %q, want one of %v or %q", f.Server, servers, fault.Any)
	case !process && f.Process != "" || !server && f.Server != "":
		return fmt.Errorf("its Process is %q and its Server %q: it takes only one of the two, leave the other empty", f.Process, f.Server)
	case f.Nth != 0 && (!t.ByNth() || f.Nth < 0):
		return fmt.Errorf("its Nth is %d, want 0, or for a kind that happens at an operation 1 or more", f.Nth)
	case f.Op != "" && f.Nth == 0:
		return fmt.Errorf("its Op is %q, but no Nth says which one", f.Op)
	case f.Op != "" && !slices.Contains(operations(), f.Op):
		return fmt.Errorf("its Op is %q, want one of %v", f.Op, operations())
	case f.At < 0 || f.At > longest || f.For < 0 || f.For > longest || f.By < -longest || f.By > longest:
		return fmt.Errorf("its At %v, For %v, By %v: want 0 (By: %v) to %v", f.At, f.For, f.By, -longest, longest)
	case f.By < 0 && f.Kind != fault.Step:
		return fmt.Errorf("its By is %v, want 0 or more", f.By)
	case f.Kind == fault.Rate && (f.PPM < -500_000 || f.PPM > 500_000):
		return fmt.Errorf("its PPM is %d, want -500000 to 500000", f.PPM)
	case (f.Kind == fault.Lose || f.Kind == fault.Duplicate || f.Kind == fault.Switch) && (f.PPM < 0 || f.PPM > kernel.Million):
		return fmt.Errorf("its PPM is %d, want 0 to %d", f.PPM, kernel.Million)
	case f.Kind == fault.Duplicate && f.Way != fault.Both:
		return fmt.Errorf("its Way is %q: only requests arrive twice, leave it empty", f.Way)
	case f.Replica < 0 || f.Replica > max(1, replicas) && (f.Kind == fault.Failover || f.Kind == fault.SplitBrain) || f.Replica > replicas && f.Kind == fault.Lag:
		return fmt.Errorf("its Replica is %d, want 0 to the number of Config.Replicas, %d", f.Replica, replicas)
	case !slices.Contains([]fault.Way{fault.Both, fault.Requests, fault.Replies}, f.Way):
		return fmt.Errorf("no such way %q", f.Way)
	case !slices.Contains([]fault.Keep{fault.KeepNothing, fault.KeepSecond, fault.KeepAll}, f.Keep):
		return fmt.Errorf("no such persistence %q", f.Keep)
	}
	return nil
}

// operations are the names of all operations, sorted.
func operations() []string {
	names := []string{"read", "write", "wait"}
	for op := wire.Acquire; op <= wire.Probe; op++ {
		names = append(names, op.String())
	}
	names = append(names, redismodel.Commands()...)
	slices.Sort(names)
	return names
}
