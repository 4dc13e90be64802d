package cells

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/byname"
	"github.com/redquorum/redlock/simulation/search"
)

// Fault is a column: one fault that happens several times in a run, at random moments that
// the seed determines.
type Fault struct {
	// Name is a fault.Kind. If several columns have the same kind, a dash and a word
	// follow.
	Name, Title string
	// Source is a source for the claim that it happens, or that it does harm.
	Source string
	// Needs names events (see record.Log.Counts) without which a 0 in a cell shows
	// nothing.
	Needs []string

	kinds []fault.Kind
	shape func(*fault.Fault)
}

const (
	// most is the largest number of faults in a schedule. They begin within span, the time
	// of the workload's three rounds.
	most = 8
	span = 12 * time.Second
)

// Faults is every column, in order.
func Faults() []Fault {
	const (
		forgot = "a server lost acknowledged writes"
		waited = "a call timed out"
		skewed = "a clock was stepped"
	)
	return []Fault{{
		Name: "slow", Title: "no fault, but some work takes longer than its lease",
		Source: "the Redis document, \"Making the algorithm more reliable: Extending the lock\"",
	}, {
		Name: "pause", Title: "clients stop for up to two TTLs, as in a garbage collection: at some moment, or right before an operation",
		Source: "Kleppmann 2016, \"Protecting a resource with a lock\"",
		Needs:  []string{"a process was paused", "a write was carried out after its lease or the guard refused a write"},
		kinds:  []fault.Kind{fault.Pause}, shape: beforeWrites,
	}, {
		Name: "suspend", Title: "clients' machines are suspended: the monotonic clock stands still, at times the wall clock too",
		Source: "clock_gettime(2) on CLOCK_MONOTONIC; golang/go issue 24595",
		Needs:  []string{"a process was paused"},
		kinds:  []fault.Kind{fault.Suspend}, shape: beforeWrites,
	}, {
		Name: "crash", Title: "clients die, with the lock or without, and some come back without their memory",
		Source: "the Redis document, \"Safety and Liveness Guarantees\": deadlock free",
		Needs:  []string{"a process crashed or a process was rebooted"},
		kinds:  []fault.Kind{fault.Crash, fault.Reboot},
	}, {
		Name: "step-client", Title: "clients' wall clocks are set, up to two TTLs forward or back",
		Source: "antirez 2016, \"Is Redlock safe?\", who asks for the monotonic clock",
		Needs:  []string{skewed},
		kinds:  []fault.Kind{fault.Step}, shape: ofClients,
	}, {
		Name: "step-server", Title: "servers' clocks are set, up to two TTLs forward or back, now and then all at once",
		Source: "Kleppmann 2016, \"Breaking Redlock with bad timings\"",
		Needs:  []string{skewed},
		kinds:  []fault.Kind{fault.Step}, shape: and(ofServers, oftenAll),
	}, {
		Name: "rate-small", Title: "all clocks run apart by up to 0.5 %: the allowance covers that",
		Source: "the Redis document, \"Safety Arguments\"",
		kinds:  []fault.Kind{fault.Rate}, shape: and(oftenAll, func(f *fault.Fault) { f.PPM %= 5_001 }),
	}, {
		Name: "rate", Title: "all clocks run apart by up to 10 %: faster than chrony may slew a clock",
		Source: "chrony.conf(5), maxslewrate",
		kinds:  []fault.Kind{fault.Rate}, shape: oftenAll,
	}, {
		Name: "restart-empty", Title: "servers restart without their data, now and then all at once",
		Source: "the Redis document, \"Performance, Crash Recovery and fsync\"",
		Needs:  []string{forgot},
		kinds:  []fault.Kind{fault.Restart}, shape: and(oftenAll, keeping(fault.KeepNothing)),
	}, {
		Name: "restart-1sec", Title: "servers restart without what they did in the last second (appendfsync everysec)",
		Source: "the Redis document, \"Performance, Crash Recovery and fsync\"",
		Needs:  []string{forgot},
		kinds:  []fault.Kind{fault.Restart}, shape: and(oftenAll, keeping(fault.KeepSecond)),
	}, {
		Name: "failover", Title: "servers fail over to replicas that lag",
		Source: "the Redis document, \"Why Failover-based Implementations Are Not Enough\"",
		Needs:  []string{"a server failed over", forgot},
		kinds:  []fault.Kind{fault.Failover}, shape: oftenAll,
	}, {
		Name: "split-brain", Title: "servers fail over, and the old master goes on for one of the clients",
		Source: "the Redis documentation, \"High availability with Redis Sentinel\", \"Example 2: basic setup with three boxes\"",
		Needs:  []string{"a server split in two", forgot},
		kinds:  []fault.Kind{fault.SplitBrain}, shape: oftenAll,
	}, {
		Name: "evict", Title: "servers drop single keys",
		Source: "the Redis documentation, \"Key eviction\"",
		Needs:  []string{"a key was evicted"},
		kinds:  []fault.Kind{fault.Evict},
	}, {
		Name: "flush", Title: "servers are flushed",
		Source: "the Redis documentation, FLUSHALL",
		Needs:  []string{"a server was flushed"},
		kinds:  []fault.Kind{fault.Flush}, shape: oftenAll,
	}, {
		Name: "hang", Title: "servers stop and go on, and then carry out all requests that came meanwhile",
		Source: "redisson/redisson issue 1636",
		Needs:  []string{"a server hung", waited},
		kinds:  []fault.Kind{fault.Hang}, shape: oftenAll,
	}, {
		Name: "cut", Title: "clients and servers don't reach each other, in both directions or in one",
		Source: "the Redis document, \"Liveness Arguments\"",
		Needs:  []string{"a request was lost", "a reply was lost", waited},
		kinds:  []fault.Kind{fault.Cut}, shape: lasting,
	}, {
		Name: "lose", Title: "messages between clients and servers are lost",
		Source: "the Redis document, \"Retry on Failure\"",
		Needs:  []string{"a request was lost", "a reply was lost", waited},
		kinds:  []fault.Kind{fault.Lose}, shape: lasting,
	}, {
		Name: "delay", Title: "messages between clients and servers are late, and overtake each other",
		Source: "Kleppmann 2016, \"The synchrony assumptions of Redlock\"",
		Needs:  []string{"a message was delayed"},
		kinds:  []fault.Kind{fault.Delay, fault.Reorder}, shape: and(ofServers, lasting),
	}, {
		Name: "delay-write", Title: "writes are late on their way to the resource",
		Source: "Kleppmann 2016, \"Protecting a resource with a lock\": packet delay",
		Needs:  []string{"a write was carried out after its lease or the guard refused a write"},
		kinds:  []fault.Kind{fault.Delay}, shape: toResource,
	}, {
		Name: "duplicate-write", Title: "writes reach the resource twice, the second time late",
		Source: "Kleppmann 2016, \"Protecting a resource with a lock\": packet delay; RFC 9110, 9.2.2, idempotent methods",
		Needs:  []string{"a request arrived twice"},
		kinds:  []fault.Kind{fault.Duplicate}, shape: toResource,
	}, {
		Name: "all", Title: "a few faults of any of these kinds",
		Source: "what a year brings",
		Needs:  []string{"a process was paused", forgot, "a server hung", skewed, "a request was lost"},
		kinds:  fault.Kinds(), shape: beforeWrites,
	}}
}

// ByName gives the fault of that name. The error Is byname.ErrUnknown, and lists the names.
func ByName(name string) (Fault, error) {
	return byname.Find("fault", name, Faults(), func(f Fault) string { return f.Name })
}

// Setting gives the configuration, the schedule and the clients of a seed, for a design. Designs with the
// same number of replicas get the same schedule. The TTL is shorter than some of the work, so
// that leases expire.
func (f Fault) Setting(seed uint64, d designs.Design) (simulation.Config, simulation.Schedule, simulation.Workload) {
	clients := search.Mixed()
	cfg := clients.Base
	cfg.Quorum.TTL, cfg.Quorum.MaxWait = 2*time.Second, 8*time.Second
	cfg = d.Configure(cfg)
	schedule := simulation.Draw(seed, cfg, f.kinds, most, span)
	for i := range schedule {
		if f.shape != nil {
			f.shape(&schedule[i])
		}
	}
	return cfg, append(schedule, behind(schedule, cfg)...), clients.Work
}

// Play plays one run.
func (f Fault) Play(seed uint64, d designs.Design) (simulation.Result, error) {
	cfg, schedule, work := f.Setting(seed, d)
	return simulation.Run(seed, cfg, schedule, work)
}

// Unreached names the events that never happened and on which a 0 depends.
func (f Fault) Unreached(counts map[string]int) []string {
	needs := append([]string{"a lease was acquired"}, f.Needs...)
	return slices.DeleteFunc(needs, func(need string) bool {
		for one := range strings.SplitSeq(need, " or ") {
			if counts[one] > 0 {
				return true
			}
		}
		return false
	})
}

// Shapes change random faults. They choose by the fault's moment, which is random enough.

func and(shapes ...func(*fault.Fault)) func(*fault.Fault) {
	return func(f *fault.Fault) {
		for _, shape := range shapes {
			shape(f)
		}
	}
}

func chosen(f *fault.Fault, n int) int { return int(f.At/time.Microsecond) % n }

// behind lets replicas lag before every second failover. Without a lag a replica has
// everything within a few milliseconds.
func behind(s simulation.Schedule, cfg simulation.Config) (lags simulation.Schedule) {
	for _, f := range s {
		if (f.Kind == fault.Failover || f.Kind == fault.SplitBrain) && cfg.Replicas > 0 && chosen(&f, 2) == 0 {
			lag := fault.Fault{Kind: fault.Lag, Server: f.Server, At: max(0, f.At-2*time.Second), For: 4 * time.Second}
			if chosen(&f, 3) > 0 {
				lag.Replica = f.Replica
			}
			lags = append(lags, lag)
		}
	}
	return lags
}

// ofServers moves a fault from a client or the resource to a server.
func ofServers(f *fault.Fault) {
	if f.Kind == fault.Step {
		f.Process = ""
	}
	if f.Server == "" || f.Server == fault.Resource {
		f.Server = string(rune('A' + chosen(f, 5)))
	}
}

// ofClients moves a fault from a server to a client.
func ofClients(f *fault.Fault) {
	f.Server = ""
	f.Process = cmp.Or(f.Process, fmt.Sprintf("c%d", 1+chosen(f, 3)))
}

// oftenAll makes one in four faults of a server a fault of all servers, because they share a
// rack, a time server, and an operator.
func oftenAll(f *fault.Fault) {
	if f.Server != "" && chosen(f, 4) == 0 {
		f.Server = fault.Any
	}
}

// lasting lets a fault of a link last for a while. 0 would be forever.
func lasting(f *fault.Fault) {
	if f.Nth == 0 {
		f.For = max(f.For, 10*time.Millisecond)
	}
}

func keeping(what fault.Keep) func(*fault.Fault) {
	return func(f *fault.Fault) { f.Keep = what }
}

// toResource moves a fault of a link to one of a client's writes.
func toResource(f *fault.Fault) {
	f.By += time.Duration(1+chosen(f, 4)) * time.Second // about a lease's length
	f.Server, f.Way, f.At, f.For = fault.Resource, fault.Both, 0, 0
	f.Op, f.Nth = "write", 1+f.Nth%6
	if f.Kind == fault.Duplicate {
		f.PPM = 0
	}
}

// beforeWrites lets half of the pauses of a client happen directly before a write, for so
// long that the lease may expire.
func beforeWrites(f *fault.Fault) {
	if chosen(f, 2) == 0 && (f.Kind == fault.Pause || f.Kind == fault.Suspend) {
		f.At, f.Op, f.Nth = 0, "write", 1+f.Nth%6
		f.For += 2 * time.Second
	}
}
