package live

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// FaultKind is what a soak does to servers and clients.
type FaultKind string

// The kinds.
const (
	// StopClients: their processes are stopped (SIGSTOP).
	StopClients FaultKind = "stop clients"
	// FreezeClient: a Go program's world is stopped.
	FreezeClient FaultKind = "stop the world of"
	// KillClients: kill -9; others take their places.
	KillClients FaultKind = "kill clients"
	// KillServers: kill -9; they come back empty.
	KillServers FaultKind = "kill servers"
	// StopServers: they are stopped (SIGSTOP).
	StopServers FaultKind = "stop servers"
	// JumpClocks: their clocks are stepped, and stay so until the fault is over.
	JumpClocks FaultKind = "step the clocks of"
	// FlushServers: FLUSHALL.
	FlushServers FaultKind = "flush"
	// CutLinks: one client is cut off from servers.
	CutLinks FaultKind = "cut off"
	// HoldReplies: what servers answer one client is kept, and comes later.
	HoldReplies FaultKind = "hold the replies to"
	// LoseReplies: it is lost.
	LoseReplies FaultKind = "lose the replies to"
	// HoldWrites: one client's requests to the resource are kept, and come later.
	HoldWrites FaultKind = "hold the requests to the resource of"
	// AgeServers: they save a snapshot, go on for a while, and are killed; they come back
	// with the snapshot.
	AgeServers FaultKind = "kill and restore from a snapshot"
	// SwitchAddress: new connections, and those through a proxy, lead to another server
	// with data of its own, and afterwards back again. Others that are open stay.
	SwitchAddress FaultKind = "switch the address of"
	// RetargetProxy: only the proxy that some clients go through asks that other server,
	// and before it is trusted the first one again. No connection breaks.
	RetargetProxy FaultKind = "lead the proxy elsewhere than to"
	// ChangeTTL: clients are replaced by others that ask for another TTL, within MaxTTL.
	ChangeTTL FaultKind = "change the TTL of"
	// Stranger: one more client, with another MaxTTL, asks for the lock. It must not get it.
	Stranger FaultKind = "send a client with another MaxTTL"
)

// Fault is one in a plan.
type Fault struct {
	// At is when it begins, from the soak's beginning; For is how long it lasts, 0 for
	// one that is over at once.
	At  time.Duration `json:"at_ns"`
	For time.Duration `json:"for_ns,omitempty"`
	// By is how far clocks are stepped.
	By   time.Duration `json:"by_ns,omitempty"`
	Kind FaultKind     `json:"kind"`
	// Clients are places in the crew, from 0; Servers are places of servers.
	Clients []int `json:"clients,omitempty"`
	Servers []int `json:"servers,omitempty"`
}

// String is the fault in words.
func (f Fault) String() string {
	text := string(f.Kind)
	var clients, servers []string
	for _, i := range f.Clients {
		clients = append(clients, fmt.Sprint("c", i+1))
	}
	for _, i := range f.Servers {
		servers = append(servers, string(rune('A'+i)))
	}
	switch {
	case len(clients)+len(servers) == 0:
	case len(clients) > 0 && len(servers) > 0:
		text += " " + strings.Join(clients, " ") + " from " + strings.Join(servers, " ")
	default:
		text += " " + strings.Join(append(clients, servers...), " ")
	}
	if f.By != 0 {
		text += fmt.Sprintf(" by %v", f.By)
	}
	if f.For != 0 {
		text += fmt.Sprintf(" for %v", f.For)
	}
	return text
}

// soakTTL is the leases' time to live in a soak at the beginning, and longestTTL the
// longest that clients change to. Connections live for connLifetime: until then a client
// may get a lease from a server that its address no longer leads to. So MaxTTL, for which
// others wait, is as long as both together.
const (
	soakTTL      = time.Second
	longestTTL   = 3 * soakTTL / 2
	connLifetime = soakTTL / 2
	soakMaxTTL   = longestTTL + connLifetime
)

// Crew and SoakServers are how many clients and servers a soak has.
const (
	Crew        = 4
	SoakServers = 5
)

// shares say how often each kind comes.
var shares = []struct {
	kind  FaultKind
	share int
}{
	{StopClients, 4}, {FreezeClient, 2}, {KillClients, 2}, {KillServers, 4}, {StopServers, 4}, {JumpClocks, 3},
	{FlushServers, 2}, {CutLinks, 2}, {HoldReplies, 2}, {LoseReplies, 2}, {HoldWrites, 3},
	{AgeServers, 3}, {SwitchAddress, 3}, {RetargetProxy, 3}, {ChangeTTL, 2}, {Stranger, 2},
}

// FaultKinds are all kinds.
func FaultKinds() []FaultKind {
	kinds := make([]FaultKind, len(shares))
	for i, s := range shares {
		kinds[i] = s.kind
	}
	return kinds
}

// Plan draws the faults of a soak: the same ones for the same seed, length and kinds, on
// any machine. Without kinds it draws of all. One is over before the next begins.
func Plan(seed uint64, length time.Duration, kinds ...FaultKind) []Fault {
	d := draw{rand.New(rand.NewPCG(seed, 0x736f616b)), kinds}
	var plan []Fault
	for at := d.span(soakTTL/2, soakTTL); ; {
		f := d.fault()
		f.At = at
		// The last one is over, and got over, before the end.
		if at += f.For; at+3*soakTTL > length {
			return plan
		}
		plan = append(plan, f)
		at += d.span(soakTTL/2, 2*soakTTL)
	}
}

type draw struct {
	*rand.Rand
	kinds []FaultKind
}

// span draws a time, in whole milliseconds.
func (d draw) span(least, most time.Duration) time.Duration {
	return (least + time.Duration(d.Int64N(int64(most-least)))).Truncate(time.Millisecond)
}

// some draws how many, up to most, and which of n.
func (d draw) some(most, n int) []int {
	chosen := d.Perm(n)[:1+d.IntN(most)]
	slices.Sort(chosen)
	return chosen
}

func (d draw) kind() FaultKind {
	total := 0
	for _, s := range shares {
		if d.wants(s.kind) {
			total += s.share
		}
	}
	n := d.IntN(total)
	for _, s := range shares {
		if !d.wants(s.kind) {
			continue
		}
		if n -= s.share; n < 0 {
			return s.kind
		}
	}
	panic("live: shares that don't add up")
}

func (d draw) wants(kind FaultKind) bool {
	return len(d.kinds) == 0 || slices.Contains(d.kinds, kind)
}

func (d draw) fault() Fault {
	f := Fault{Kind: d.kind(), For: d.span(soakTTL/4, 5*soakTTL/2)}
	const minority = (SoakServers - 1) / 2
	switch f.Kind {
	case StopClients:
		f.Clients = d.some(2, Crew)
	case FreezeClient:
		f.Clients = d.some(1, Crew)
	case HoldWrites:
		f.Clients = []int{0} // the one with a link there
	case KillClients:
		f.Clients, f.For = d.some(2, Crew), 0
	case KillServers, StopServers:
		f.Servers = d.some(minority+1, SoakServers)
	case JumpClocks:
		f.Servers = d.some(minority, SoakServers)
		if f.By = d.span(soakTTL/10, 5*soakTTL); d.IntN(2) == 0 {
			f.By = -f.By
		}
	case AgeServers:
		f.Servers = d.some(minority+1, SoakServers)
	case SwitchAddress:
		// Long enough for the other server to be trusted.
		f.Servers, f.For = d.some(1, SoakServers), d.span(soakTTL/4, 8*soakTTL)
	case RetargetProxy:
		// Not so long: those who don't go through the proxy go on with the first one.
		f.Servers, f.For = d.some(1, SoakServers), d.span(soakTTL/4, soakMaxTTL)
	case ChangeTTL:
		f.Clients, f.For = d.some(2, Crew), 0
	case Stranger:
		f.For = 0
	case FlushServers:
		f.Servers, f.For = d.some(minority, SoakServers), 0
	case CutLinks, HoldReplies, LoseReplies:
		f.Clients, f.Servers = d.some(1, Crew), d.some(SoakServers, SoakServers)
	}
	return f
}
