package live

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// FaultKind is a kind of fault in a soak.
type FaultKind string

// The kinds.
const (
	// StopClients: client processes are stopped (SIGSTOP).
	StopClients FaultKind = "stop clients"
	// FreezeClient: a Go program's world is stopped.
	FreezeClient FaultKind = "stop the world of"
	// KillClients: kill -9; new clients replace them.
	KillClients FaultKind = "kill clients"
	// KillServers: kill -9; they come back empty.
	KillServers FaultKind = "kill servers"
	// StopServers: they are stopped (SIGSTOP).
	StopServers FaultKind = "stop servers"
	// JumpClocks: servers' clocks are stepped, and stepped back at the end of the fault.
	JumpClocks FaultKind = "step the clocks of"
	// FlushServers: FLUSHALL.
	FlushServers FaultKind = "flush"
	// CutLinks: one client is disconnected from servers.
	CutLinks FaultKind = "cut off"
	// HoldReplies: replies to one client are delayed.
	HoldReplies FaultKind = "hold the replies to"
	// LoseReplies: replies to one client are lost.
	LoseReplies FaultKind = "lose the replies to"
	// HoldWrites: one client's requests to the resource are delayed.
	HoldWrites FaultKind = "hold the requests to the resource of"
	// AgeServers: servers save a snapshot, continue, are killed, and restart from the
	// snapshot.
	AgeServers FaultKind = "kill and restore from a snapshot"
	// SwitchAddress: new connections and those through a proxy reach another server with
	// its own data, until the end of the fault. Other open connections stay.
	SwitchAddress FaultKind = "switch the address of"
	// RetargetProxy: only the proxy of some clients uses the other server, and returns
	// before that server is trusted. No connection breaks.
	RetargetProxy FaultKind = "lead the proxy elsewhere than to"
	// ChangeTTL: clients are replaced by clients with another TTL, within MaxTTL.
	ChangeTTL FaultKind = "change the TTL of"
	// Stranger: a client with another MaxTTL asks for the lock. It must not get it.
	Stranger FaultKind = "send a client with another MaxTTL"
)

// Fault is a fault in a plan.
type Fault struct {
	// At is its start from the beginning of the soak. For is its duration, 0 for an
	// instant.
	At  time.Duration `json:"at_ns"`
	For time.Duration `json:"for_ns,omitempty"`
	// By is how far clocks are stepped.
	By   time.Duration `json:"by_ns,omitempty"`
	Kind FaultKind     `json:"kind"`
	// Clients are indexes of workers, and Servers indexes of servers, from 0.
	Clients []int `json:"clients,omitempty"`
	Servers []int `json:"servers,omitempty"`
}

// String describes the fault.
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

// soakTTL is the TTL at the beginning of a soak, longestTTL the longest that clients
// change to. For connLifetime a connection may reach a server that its address no longer
// names, and get a lease there. So MaxTTL is the sum of both.
const (
	soakTTL      = time.Second
	longestTTL   = 3 * soakTTL / 2
	connLifetime = soakTTL / 2
	soakMaxTTL   = longestTTL + connLifetime
)

// Workers and SoakServers are the numbers of clients and servers in a soak.
const (
	Workers     = 4
	SoakServers = 5
)

// shares are the relative frequencies of the kinds.
var shares = []struct {
	kind  FaultKind
	share int
}{
	{StopClients, 4}, {FreezeClient, 2}, {KillClients, 2}, {KillServers, 4}, {StopServers, 4}, {JumpClocks, 3},
	{FlushServers, 2}, {CutLinks, 2}, {HoldReplies, 2}, {LoseReplies, 2}, {HoldWrites, 3},
	{AgeServers, 3}, {SwitchAddress, 3}, {RetargetProxy, 3}, {ChangeTTL, 2}, {Stranger, 2},
}

// FaultKinds returns all kinds.
func FaultKinds() []FaultKind {
	kinds := make([]FaultKind, len(shares))
	for i, s := range shares {
		kinds[i] = s.kind
	}
	return kinds
}

// Plan returns a random schedule of faults, which depends only on the seed, the length and
// the kinds. Without kinds it uses all. Faults do not overlap.
func Plan(seed uint64, length time.Duration, kinds ...FaultKind) []Fault {
	d := randomSchedule{rand.New(rand.NewPCG(seed, 0x736f616b)), kinds}
	var plan []Fault
	for at := d.span(soakTTL/2, soakTTL); ; {
		f := d.fault()
		f.At = at
		// The last fault and the recovery from it end before the soak does.
		if at += f.For; at+3*soakTTL > length {
			return plan
		}
		plan = append(plan, f)
		at += d.span(soakTTL/2, 2*soakTTL)
	}
}

type randomSchedule struct {
	*rand.Rand
	kinds []FaultKind
}

// span returns a random duration in whole milliseconds.
func (d randomSchedule) span(least, most time.Duration) time.Duration {
	return (least + time.Duration(d.Int64N(int64(most-least)))).Truncate(time.Millisecond)
}

// some returns a random choice of up to most of n.
func (d randomSchedule) some(most, n int) []int {
	chosen := d.Perm(n)[:1+d.IntN(most)]
	slices.Sort(chosen)
	return chosen
}

func (d randomSchedule) kind() FaultKind {
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
	panic("live: shares do not add up")
}

func (d randomSchedule) wants(kind FaultKind) bool {
	return len(d.kinds) == 0 || slices.Contains(d.kinds, kind)
}

func (d randomSchedule) fault() Fault {
	f := Fault{Kind: d.kind(), For: d.span(soakTTL/4, 5*soakTTL/2)}
	const minority = (SoakServers - 1) / 2
	switch f.Kind {
	case StopClients:
		f.Clients = d.some(2, Workers)
	case FreezeClient:
		f.Clients = d.some(1, Workers)
	case HoldWrites:
		f.Clients = []int{0} // the client with a link to the resource
	case KillClients:
		f.Clients, f.For = d.some(2, Workers), 0
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
		// Shorter: clients without the proxy continue to use the first server.
		f.Servers, f.For = d.some(1, SoakServers), d.span(soakTTL/4, soakMaxTTL)
	case ChangeTTL:
		f.Clients, f.For = d.some(2, Workers), 0
	case Stranger:
		f.For = 0
	case FlushServers:
		f.Servers, f.For = d.some(minority, SoakServers), 0
	case CutLinks, HoldReplies, LoseReplies:
		f.Clients, f.Servers = d.some(1, Workers), d.some(SoakServers, SoakServers)
	}
	return f
}
