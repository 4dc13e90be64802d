package simulation

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrConfig is wrapped by the error for a Config or a Schedule that can't be
// played.
var ErrConfig = errors.New("simulation: bad configuration")

// Kind is what a Fault does.
type Kind string

// The kinds. Of a Fault's fields each uses those that are named with it, beside
// the moment (At, or Op and Nth).
const (
	// Pause stops Process for For, as a garbage collection or SIGSTOP does: its
	// clocks go on, and what reaches it meanwhile is taken in afterwards.
	Pause Kind = "pause"
	// Suspend stops Process for For, as a virtual machine is: the monotonic clock
	// stands still, the wall clock is right afterwards - or, with Frozen, it is
	// late by For as well.
	Suspend Kind = "suspend"
	// Crash ends Process. What it sent stays on its way.
	Crash Kind = "crash"
	// Step moves the wall clock of Process or of Server by By.
	Step Kind = "step"
	// Rate lets the clocks of Process, or that of Server, gain PPM millionths.
	Rate Kind = "rate"
	// Restart kills Server, and starts it again after For with what Keep says.
	Restart Kind = "restart"
	// Hang stops Server for For: commands wait in its socket, and are carried out
	// afterwards.
	Hang Kind = "hang"
	// Failover puts a replica in Server's place that is By behind it.
	Failover Kind = "failover"
	// Cut loses, for For, all that is sent between Process and Server in Way. For
	// this and the two that follow, a For of 0 means to the end of the run.
	Cut Kind = "cut"
	// Lose is Cut for only PPM millionths of the messages.
	Lose Kind = "lose"
	// Delay makes messages between Process and Server in Way later by By: those
	// that are sent within For from At, or the Nth request of the kind Op alone.
	Delay Kind = "delay"
)

// Way is a direction of messages. The zero Way is both.
type Way string

// The ways.
const (
	Both     Way = ""
	Requests Way = "request"
	Replies  Way = "reply"
)

// Keep is what a server still knows after a Restart.
type Keep string

// What can be kept.
const (
	// KeepNothing: no persistence.
	KeepNothing Keep = ""
	// KeepSecond: an append-only file that is synced once a second.
	KeepSecond Keep = "second"
	// KeepAll: an append-only file that is synced before each answer.
	KeepAll Keep = "all"
)

// Names that Fault.Process and Fault.Server take beside those of processes ("c1",
// "c2", ...) and servers ("A", "B", ...).
const (
	// Any is every process, or every server. The resource is none of these.
	Any = "*"
	// Resource is the protected resource, as a place that messages go to.
	Resource = "resource"
)

// Fault is one thing that goes wrong, as plain data. Times are true times from the
// start of the run.
type Fault struct {
	Kind Kind `json:"kind"`

	// At is when, 0 or more. With Nth it is the earliest moment.
	At time.Duration `json:"at_ns,omitempty"`
	// Nth, if not 0, lets the fault happen at Process's Nth operation (from 1) of
	// the kind Op: before that takes effect (Pause, Suspend, Crash), or to it
	// (Delay). Code between two operations takes no virtual time, so that no At
	// falls between a look at the lease and the write that follows; this does.
	Nth int `json:"nth,omitempty"`
	// Op is the kind of operation that Nth counts: the name of a quorum.Op,
	// "read" or "write". Empty: all of them.
	Op string `json:"op,omitempty"`

	Process string        `json:"process,omitempty"`
	Server  string        `json:"server,omitempty"`
	For     time.Duration `json:"for_ns,omitempty"`
	By      time.Duration `json:"by_ns,omitempty"`
	PPM     int64         `json:"ppm,omitempty"`
	Way     Way           `json:"way,omitempty"`
	Keep    Keep          `json:"keep,omitempty"`
	Frozen  bool          `json:"frozen,omitempty"`
	// Shuffled mixes what reaches a process after a Pause or Suspend; without it,
	// it comes in the order in which it would have.
	Shuffled bool `json:"shuffled,omitempty"`
}

// Schedule is all that goes wrong in one run.
type Schedule []Fault

// longest bounds every time in a schedule, so that no sum of them overflows.
const longest = 30 * 24 * time.Hour

// validate says what is wrong with s in a world of the given names.
func (s Schedule) validate(processes, servers []string) error {
	for i, f := range s {
		if err := f.validate(processes, servers); err != nil {
			return fmt.Errorf("%w: fault %d (%s): %w", ErrConfig, i, f.Kind, err)
		}
	}
	return nil
}

func (f Fault) validate(processes, servers []string) error {
	var process, server, byNth bool
	switch f.Kind {
	case Pause, Suspend, Crash:
		process, byNth = true, true
	case Step, Rate:
		process, server = f.Server == "", f.Process == ""
	case Restart, Hang, Failover:
		server = true
	case Cut, Lose:
		process, server = true, true
	case Delay:
		process, server, byNth = true, true, true
	default:
		return fmt.Errorf("no such kind %q", f.Kind)
	}
	links := f.Kind == Cut || f.Kind == Lose || f.Kind == Delay
	switch {
	case process && f.Process != Any && !slices.Contains(processes, f.Process):
		return fmt.Errorf("its Process is %q, want one of %v or %q", f.Process, processes, Any)
	case server && f.Server != Any && !slices.Contains(servers, f.Server) && !(links && f.Server == Resource):
		return fmt.Errorf("its Server is %q, want one of %v or %q", f.Server, servers, Any)
	case !process && f.Process != "" || !server && f.Server != "":
		return fmt.Errorf("its Process %q and Server %q: it concerns only one of the two, leave the other empty", f.Process, f.Server)
	case f.Nth != 0 && (!byNth || f.Nth < 0):
		return fmt.Errorf("its Nth is %d, want 0, or 1 and more where an operation can be meant", f.Nth)
	case f.At < 0 || f.At > longest || f.For < 0 || f.For > longest || f.By < -longest || f.By > longest:
		return fmt.Errorf("its At %v, For %v, By %v: want 0 (By: %v) to %v", f.At, f.For, f.By, -longest, longest)
	case (f.Kind == Delay || f.Kind == Failover) && f.By < 0:
		return fmt.Errorf("its By is %v, want 0 or more", f.By)
	case f.Kind == Rate && (f.PPM < -500_000 || f.PPM > 500_000):
		return fmt.Errorf("its PPM is %d, want -500000 to 500000", f.PPM)
	case f.Kind == Lose && (f.PPM < 0 || f.PPM > million):
		return fmt.Errorf("its PPM is %d, want 0 to %d", f.PPM, million)
	case !slices.Contains([]Way{Both, Requests, Replies}, f.Way):
		return fmt.Errorf("no such way %q", f.Way)
	case !slices.Contains([]Keep{KeepNothing, KeepSecond, KeepAll}, f.Keep):
		return fmt.Errorf("no such persistence %q", f.Keep)
	}
	return nil
}

// matches reports whether name is meant by pattern.
func matches(pattern, name string) bool { return pattern == name || pattern == Any && name != Resource }

// Draw draws a schedule from a seed: first which kinds of faults the run has at
// all, then up to most faults of these within span. Runs with few kinds find what
// runs with all of them bury ("swarm testing").
func Draw(seed uint64, cfg Config, most int, span time.Duration) Schedule {
	cfg = cfg.complete()
	processes, servers := cfg.processNames(), cfg.serverNames()
	var kinds []Kind
	for i, k := range []Kind{Pause, Suspend, Crash, Step, Rate, Restart, Hang, Failover, Cut, Lose, Delay} {
		if draw(seed, tagSchedule, uint64(i))%3 == 0 {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) == 0 || most < 1 {
		return nil
	}
	n := 1 + int(draw(seed, tagSchedule, 100)%uint64(most))
	s := make(Schedule, n)
	for i := range s {
		pick := func(what, n uint64) uint64 { return draw(seed, tagSchedule, 200+uint64(i), what) % n }
		length := func(what uint64, most time.Duration) time.Duration {
			// Evenly over the magnitudes: half of all faults shouldn't be longer
			// than half of the longest.
			d := most >> pick(what, 12)
			return time.Duration(pick(what+1, uint64(d)+1)).Truncate(time.Microsecond)
		}
		f := Fault{
			Kind: kinds[pick(0, uint64(len(kinds)))],
			At:   time.Duration(pick(1, uint64(max(1, span)))).Truncate(time.Microsecond),
		}
		process, server := processes[pick(3, uint64(len(processes)))], servers[pick(4, uint64(len(servers)))]
		f.For = length(10, 2*cfg.Quorum.TTL)
		switch f.Kind {
		case Pause, Suspend:
			f.Process, f.Shuffled = process, pick(5, 2) == 0
			if pick(6, 2) == 0 {
				f.Nth = 1 + int(pick(7, 40))
			}
		case Crash:
			f.Process, f.Nth, f.For = process, 1+int(pick(7, 40)), 0
		case Step:
			f.By, f.For = length(20, 2*cfg.Quorum.TTL), 0
			if pick(8, 2) == 0 {
				f.By = -f.By
			}
			if pick(9, 2) == 0 {
				f.Process = process
			} else {
				f.Server = server
			}
		case Rate:
			f.PPM, f.For = int64(pick(21, 200_001))-100_000, 0
			if pick(9, 2) == 0 {
				f.Process = process
			} else {
				f.Server = server
			}
		case Restart:
			f.Server, f.Keep = server, []Keep{KeepNothing, KeepSecond, KeepAll}[pick(22, 3)]
		case Hang:
			f.Server = server
		case Failover:
			f.Server, f.By, f.For = server, length(20, 2*time.Second), 0
		case Cut, Lose, Delay:
			f.Process, f.Server, f.Way = process, server, []Way{Both, Requests, Replies}[pick(23, 3)]
			f.PPM = int64(pick(24, million))
			if f.Kind == Delay {
				f.By, f.PPM = length(20, cfg.Quorum.TTL), 0
			}
			if f.Kind == Cut {
				f.PPM = 0
			}
		}
		s[i] = f
	}
	return s
}
