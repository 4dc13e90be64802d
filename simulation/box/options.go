package box

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Options configure Run and Once.
type Options struct {
	// Command starts a driver: a program and its arguments.
	Command []string
	// Servers is how many servers there are, 1 to 9. 0: one if the driver takes one, else five.
	Servers int
	// Binary is the server program: a name to look for in the PATH, or a path. Args are added to
	// its command line. Embedded: servers in this process instead, which have fewer faults.
	Binary   string
	Args     []string
	Embedded bool
	// Schedule is what is played, see ParseSchedule, by Run ten times. Default: the cases, and then random schedules.
	Schedule string
	// WritesAlone: the resource's guard sees the tokens of writes, and not those of reads.
	WritesAlone bool
	// TTL is how long leases last, 200 ms to 1 min. Default 1.5 s.
	TTL time.Duration
	// For is how long it goes on after the cases, with random schedules. 0: the cases alone.
	For time.Duration
	// ShrinkFor is for how long the schedules of the client's own findings are made shorter at the end, before those of
	// all findings are played again. 0: neither.
	ShrinkFor time.Duration
	// Seed selects the random schedules.
	Seed uint64
	// Faults restricts the faults, see Faults. Default: all.
	Faults []string
	// Allow is what may be found, see Broken.Allowed: a fault for all of its findings, one of its
	// findings as in "pause: stale write", or "limits" for all that are limits, see Broken.Limit.
	Allow []string
	// Parallel is how many plays run at once, 1 to 16. Default 4.
	Parallel int
	// Say, if not nil, is called with what begins, and after each play with a text that replaces that
	// of the last play. Calls do not overlap.
	Say func(text string, replaces bool)

	startLimit, firstLimit time.Duration // for tests. Default startLimit
}

// ErrOptions: Options can't be used. The message says why.
var ErrOptions = errors.New("box: bad options")

func (o Options) validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrOptions, fmt.Sprintf(format, args...))
	}
	switch {
	case len(o.Command) == 0:
		return bad("there is no command that starts a driver")
	case o.Servers < 0 || o.Servers > len(letters):
		return bad("%d servers, want 1 to %d", o.Servers, len(letters))
	case o.TTL < 200*time.Millisecond || o.TTL > time.Minute:
		return bad("a TTL of %v, want 200ms to 1m", o.TTL)
	case o.For < 0 || o.ShrinkFor < 0:
		return bad("random schedules for %v, and %v to shorten them; want 0 or more", o.For, o.ShrinkFor)
	case o.Parallel < 1 || o.Parallel > 16:
		return bad("%d plays at once, want 1 to 16", o.Parallel)
	}
	for _, fault := range o.Faults {
		if !slices.Contains(Faults(), fault) {
			return bad("no fault %q; there are %q", fault, Faults())
		}
	}
	for _, text := range o.Allow {
		fault, kind, one := strings.Cut(text, ": ")
		if text != limits && !slices.Contains(Faults(), fault) || one && !slices.Contains(Kinds(), Kind(kind)) {
			return bad(`nothing to allow is called %q: want a fault, one of its findings as in "pause: stale write", or %q; the faults are %q, and the findings %q`, text, limits, Faults(), Kinds())
		}
	}
	return nil
}

// limits allows all findings that are limits.
const limits = "limits"

// allows reports whether a finding may be there.
func (o Options) allows(fault string, kind Kind, limit bool) bool {
	return slices.ContainsFunc(o.Allow, func(text string) bool {
		return text == fault || text == fault+": "+string(kind) || text == limits && limit
	})
}
