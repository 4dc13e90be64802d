package play

import (
	"time"

	"github.com/redquorum/redlock/simulation/fault"
)

// Where says what a fault hits.
type Where string

// The places.
const (
	onProcess Where = "process"
	onServer  Where = "server"
	onEither  Where = "either" // a process or a server
	onLink    Where = "link"   // between a process and a server, or the resource
)

// FaultKind describes a kind of fault to people who put one into a schedule.
type FaultKind struct {
	Kind  fault.Kind `json:"kind"`
	Title string     `json:"title"`
	Where Where      `json:"where"`
	// Uses are the fields of a fault.Fault, by their JSON names, that matter beside the
	// kind, the moment, the process and the server. "nth" stands for op and nth.
	Uses []string `json:"uses"`
	// Example is a fault to begin with, without a moment, a process and a server.
	Example fault.Fault `json:"example"`
}

// FaultKinds returns all kinds of faults.
func FaultKinds() []FaultKind {
	const lease = 12 * time.Second // longer than the default TTL
	list := []FaultKind{
		{Where: onProcess, Title: "stops, as in a garbage collection; its clocks go on", Uses: []string{"for_ns", "nth", "shuffled"}, Example: fault.Fault{Kind: fault.Pause, For: lease}},
		{Where: onProcess, Title: "stops with its machine; the monotonic clock stands still", Uses: []string{"for_ns", "nth", "frozen", "shuffled"}, Example: fault.Fault{Kind: fault.Suspend, For: lease}},
		{Where: onProcess, Title: "crashes; messages that it has sent still arrive", Uses: []string{"nth"}, Example: fault.Fault{Kind: fault.Crash}},
		{Where: onProcess, Title: "crashes, and starts again without its memory", Uses: []string{"for_ns", "nth"}, Example: fault.Fault{Kind: fault.Reboot, For: time.Second}},
		{Where: onEither, Title: "has its wall clock set to another time", Uses: []string{"by_ns"}, Example: fault.Fault{Kind: fault.Step, By: lease}},
		{Where: onEither, Title: "has a clock that runs too fast or too slow", Uses: []string{"ppm"}, Example: fault.Fault{Kind: fault.Rate, PPM: 100_000}},
		{Where: onServer, Title: "crashes, and starts again with what its disk has kept", Uses: []string{"for_ns", "keep"}, Example: fault.Fault{Kind: fault.Restart, For: 100 * time.Millisecond}},
		{Where: onServer, Title: "hangs; commands wait, and are executed afterwards", Uses: []string{"for_ns"}, Example: fault.Fault{Kind: fault.Hang, For: time.Second}},
		{Where: onServer, Title: "fails, and a replica takes over", Uses: []string{"for_ns", "by_ns", "replica"}, Example: fault.Fault{Kind: fault.Failover, For: 100 * time.Millisecond, By: time.Second}},
		{Where: onServer, Title: "sends its changes late to its replicas", Uses: []string{"for_ns", "by_ns", "replica"}, Example: fault.Fault{Kind: fault.Lag, For: time.Second}},
		{Where: onServer, Title: "drops a key, as a full memory does", Uses: []string{"key"}, Example: fault.Fault{Kind: fault.Evict}},
		{Where: onServer, Title: "drops all data: FLUSHALL", Uses: []string{}, Example: fault.Fault{Kind: fault.Flush}},
		{Where: onServer, Title: "becomes a replica of an empty master, and then a master again", Uses: []string{"for_ns"}, Example: fault.Fault{Kind: fault.Demote, For: time.Second}},
		{Where: onLink, Title: "loses all messages", Uses: []string{"for_ns", "way"}, Example: fault.Fault{Kind: fault.Cut, For: lease}},
		{Where: onLink, Title: "loses some messages", Uses: []string{"for_ns", "way", "ppm"}, Example: fault.Fault{Kind: fault.Lose, For: lease, PPM: 500_000}},
		{Where: onLink, Title: "delivers messages late", Uses: []string{"for_ns", "by_ns", "way", "nth"}, Example: fault.Fault{Kind: fault.Delay, For: lease, By: time.Second}},
		{Where: onLink, Title: "delivers messages out of order", Uses: []string{"for_ns", "by_ns", "way"}, Example: fault.Fault{Kind: fault.Reorder, For: lease, By: 100 * time.Millisecond}},
		{Where: onLink, Title: "delivers requests twice", Uses: []string{"for_ns", "by_ns", "ppm", "nth"}, Example: fault.Fault{Kind: fault.Duplicate, For: lease, By: time.Second, PPM: 1_000_000}},
		{Where: onLink, Title: "closes its connections", Uses: []string{}, Example: fault.Fault{Kind: fault.Reconnect}},
		{Where: onLink, Title: "has a proxy, which hides when the server's connections break", Uses: []string{"for_ns"}, Example: fault.Fault{Kind: fault.Proxy}},
		{Where: onLink, Title: "leads to another server, because the address has moved", Uses: []string{"for_ns", "by_ns", "ppm"}, Example: fault.Fault{Kind: fault.Switch, For: lease}},
		{Where: onLink, Title: "leads to the old master, while the others use the replica that has taken over", Uses: []string{"for_ns", "by_ns", "replica"}, Example: fault.Fault{Kind: fault.SplitBrain, For: lease}},
	}
	for i := range list {
		list[i].Kind = list[i].Example.Kind
	}
	return list
}
