package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// Schedule is the list of faults of one run.
type Schedule []fault.Fault

// keeps are the kinds of persistence.
var keeps = []fault.Keep{fault.KeepNothing, fault.KeepSecond, fault.KeepAll}

// longest bounds every time in a schedule, so that sums don't overflow.
const longest = 30 * 24 * time.Hour

// validate checks s for a world with the given names.
func (s Schedule) validate(processes, servers []string, replicas int) error {
	for i, f := range s {
		if err := validateFault(f, processes, servers, replicas); err != nil {
			return fmt.Errorf("%w: fault %d (%q): %w", ErrConfig, i, f.Kind, err)
		}
	}
	return nil
}

func validateFault(f fault.Fault, processes, servers []string, replicas int) error {
	t, ignored := f.Traits(), f.Ignored()
	if t.Kind == "" {
		return fmt.Errorf("no such kind %q", f.Kind)
	}
	process := t.Where == fault.OnProcess || t.Where == fault.OnLink || t.Where == fault.OnEither && f.Server == ""
	server := t.Where == fault.OnServer || t.Where == fault.OnLink || t.Where == fault.OnEither && f.Process == ""
	leastPPM := int64(0)
	if t.Signed {
		leastPPM = -t.MostPPM
	}
	switch {
	case process && f.Process != fault.Any && !slices.Contains(processes, f.Process):
		return fmt.Errorf("its Process is %q, want one of %v or %q", f.Process, processes, fault.Any)
	case server && f.Server != fault.Any && !slices.Contains(servers, f.Server) && !(t.Resource && f.Server == fault.Resource):
		return fmt.Errorf("its Server is %q, want one of %v or %q", f.Server, servers, fault.Any)
	case !process && f.Process != "" || !server && f.Server != "":
		return fmt.Errorf("its Process is %q and its Server %q: it takes only one of the two, leave the other empty", f.Process, f.Server)
	case len(ignored) > 0:
		return fmt.Errorf("it has the fields %q, and its kind has only %v", ignored, t.Uses)
	case f.Nth < 0:
		return fmt.Errorf("its Nth is %d, want 0 or more", f.Nth)
	case f.Op != "" && f.Nth == 0:
		return fmt.Errorf("its Op is %q, but no Nth says which one", f.Op)
	case f.Op != "" && !slices.Contains(operations(), f.Op):
		return fmt.Errorf("its Op is %q, want one of %v", f.Op, operations())
	case f.At < 0 || f.At > longest || f.For < 0 || f.For > longest || f.By < -longest || f.By > longest:
		return fmt.Errorf("its At %v, For %v, By %v: want 0 (By: %v) to %v", f.At, f.For, f.By, -longest, longest)
	case f.By < 0 && !t.Signed:
		return fmt.Errorf("its By is %v, want 0 or more", f.By)
	case f.PPM < leastPPM || f.PPM > t.MostPPM:
		return fmt.Errorf("its PPM is %d, want %d to %d", f.PPM, leastPPM, t.MostPPM)
	case f.Replica < 0 || f.Replica > max(1, replicas) || f.Replica > replicas && f.Kind == fault.Lag:
		return fmt.Errorf("its Replica is %d, want 0 to the number of Config.Replicas, %d", f.Replica, replicas)
	case !slices.Contains([]fault.Way{fault.Both, fault.Requests, fault.Replies}, f.Way):
		return fmt.Errorf("no such way %q", f.Way)
	case !slices.Contains(keeps, f.Keep):
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
