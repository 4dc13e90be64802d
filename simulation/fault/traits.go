package fault

import (
	"slices"
	"strings"
	"time"
)

// Where says what a fault hits.
type Where string

// The places.
const (
	OnProcess Where = "process"
	OnServer  Where = "server"
	OnEither  Where = "either" // a process or a server
	OnLink    Where = "link"   // between a process and a server, or the resource
)

// Traits are what all faults of a kind have in common.
type Traits struct {
	Kind  Kind
	Where Where
	// Title completes "the process", "the server" or "the connection".
	Title string
	// Uses are the fields of a Fault, by their JSON names and separated by spaces, that matter
	// beside the kind, the moment, the process and the server. "nth" stands for op and nth: the
	// kind can happen at an operation.
	Uses string
	// Example is a fault to begin with, without a moment, a process and a server.
	Example Fault
	// OnMessages: it affects messages for a while.
	OnMessages bool
	// Disables: it keeps events of a process from happening.
	Disables bool
}

// beyondLease is longer than the default TTL.
const beyondLease = 12 * time.Second

// All are the traits of all kinds but Stall.
func All() []Traits {
	return []Traits{
		{Kind: Pause, Where: OnProcess, Title: "stops, as in a garbage collection; its clocks go on", Uses: "for_ns nth", Example: Fault{For: beyondLease}, Disables: true},
		{Kind: Suspend, Where: OnProcess, Title: "stops with its machine; the monotonic clock stands still", Uses: "for_ns nth frozen", Example: Fault{For: beyondLease}, Disables: true},
		{Kind: Crash, Where: OnProcess, Title: "crashes; messages that it has sent still arrive", Uses: "nth", Disables: true},
		{Kind: Step, Where: OnEither, Title: "has its wall clock set to another time", Uses: "by_ns", Example: Fault{By: beyondLease}},
		{Kind: Rate, Where: OnEither, Title: "has a clock that runs too fast or too slow", Uses: "ppm", Example: Fault{PPM: 100_000}},
		{Kind: Restart, Where: OnServer, Title: "crashes, and starts again with what its disk has kept", Uses: "for_ns keep", Example: Fault{For: 100 * time.Millisecond}},
		{Kind: Hang, Where: OnServer, Title: "hangs; commands wait, and are executed afterwards", Uses: "for_ns", Example: Fault{For: time.Second}},
		{Kind: Failover, Where: OnServer, Title: "fails, and a replica takes over", Uses: "for_ns by_ns replica", Example: Fault{For: 100 * time.Millisecond, By: time.Second}},
		{Kind: Cut, Where: OnLink, Title: "loses all messages", Uses: "for_ns way", Example: Fault{For: beyondLease}, OnMessages: true},
		{Kind: Lose, Where: OnLink, Title: "loses some messages", Uses: "for_ns way ppm nth", Example: Fault{For: beyondLease, PPM: 500_000}, OnMessages: true},
		{Kind: Delay, Where: OnLink, Title: "delivers messages late", Uses: "for_ns by_ns way nth", Example: Fault{For: beyondLease, By: time.Second}, OnMessages: true},
		{Kind: Reboot, Where: OnProcess, Title: "crashes, and starts again without its memory", Uses: "for_ns nth", Example: Fault{For: time.Second}, Disables: true},
		{Kind: Reconnect, Where: OnLink, Title: "closes its connections"},
		{Kind: Evict, Where: OnServer, Title: "drops a key, as a full memory does", Uses: "key"},
		{Kind: Flush, Where: OnServer, Title: "drops all data: FLUSHALL"},
		{Kind: Duplicate, Where: OnLink, Title: "delivers requests twice", Uses: "for_ns by_ns ppm nth", Example: Fault{For: beyondLease, By: time.Second, PPM: 1_000_000}, OnMessages: true},
		{Kind: Reorder, Where: OnLink, Title: "delivers messages out of order", Uses: "for_ns by_ns way", Example: Fault{For: beyondLease, By: 100 * time.Millisecond}, OnMessages: true},
		{Kind: Lag, Where: OnServer, Title: "sends its changes late to its replicas", Uses: "for_ns by_ns replica", Example: Fault{For: time.Second}},
		{Kind: SplitBrain, Where: OnLink, Title: "leads to the old master, while the others use the replica that has taken over", Uses: "for_ns by_ns replica", Example: Fault{For: beyondLease}},
		{Kind: Proxy, Where: OnLink, Title: "has a proxy, which hides when the server's connections break", Uses: "for_ns"},
		{Kind: Switch, Where: OnLink, Title: "leads to another server, because the address has moved", Uses: "for_ns by_ns ppm", Example: Fault{For: beyondLease}},
		{Kind: Demote, Where: OnServer, Title: "becomes a replica of an empty master, and then a master again", Uses: "for_ns", Example: Fault{For: time.Second}},
	}
}

// Kinds are all kinds of faults but Stall.
func Kinds() []Kind {
	var kinds []Kind
	for _, t := range All() {
		kinds = append(kinds, t.Kind)
	}
	return kinds
}

// traits are those of the known kinds.
var traits = All()

// Traits are the kind's, false if there is no such kind.
func (k Kind) Traits() (Traits, bool) {
	if i := slices.IndexFunc(traits, func(t Traits) bool { return t.Kind == k }); i >= 0 {
		return traits[i], true
	}
	return Traits{Kind: k}, k == Stall
}

// ByNth reports whether faults of the kind can happen at an operation.
func (t Traits) ByNth() bool { return slices.Contains(strings.Fields(t.Uses), "nth") }

// OnLinks reports whether the fault affects messages for a while.
func (f Fault) OnLinks() bool {
	t, _ := f.Kind.Traits()
	return t.OnMessages
}

// Disables reports whether faults of the kind keep events of a process from happening.
func (k Kind) Disables() bool {
	t, _ := k.Traits()
	return t.Disables
}
