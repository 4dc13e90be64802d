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
	// stopClients: client processes are stopped (SIGSTOP).
	stopClients FaultKind = "stop clients"
	// freezeClient: a Go program's world is stopped.
	freezeClient FaultKind = "stop the world of"
	// killClients: kill -9; new clients replace them.
	killClients FaultKind = "kill clients"
	// killServers: kill -9; they come back empty.
	killServers FaultKind = "kill servers"
	// stopServers: they are stopped (SIGSTOP).
	stopServers FaultKind = "stop servers"
	// jumpClocks: servers' clocks are stepped, and stepped back at the end of the fault.
	jumpClocks FaultKind = "step the clocks of"
	// flushServers: FLUSHALL.
	flushServers FaultKind = "flush"
	// cutLinks: one client is disconnected from servers.
	cutLinks FaultKind = "cut off"
	// holdReplies: replies to one client are delayed.
	holdReplies FaultKind = "hold the replies to"
	// loseReplies: replies to one client are lost.
	loseReplies FaultKind = "lose the replies to"
	// holdWrites: one client's requests to the resource are delayed.
	holdWrites FaultKind = "hold the requests to the resource of"
	// ageServers: servers save a snapshot, continue, are killed, and restart from the
	// snapshot.
	ageServers FaultKind = "kill and restore from a snapshot"
	// switchAddress: new connections and those through a proxy reach another server with
	// its own data, until the end of the fault. Other open connections stay.
	switchAddress FaultKind = "switch the address of"
	// retargetProxy: only the proxy of some clients uses the other server, and returns
	// before that server is trusted. No connection breaks.
	retargetProxy FaultKind = "retarget the proxy of"
	// changeTTL: clients are replaced by clients with another TTL, within MaxTTL.
	changeTTL FaultKind = "change the TTL of"
	// stranger: a client with another MaxTTL asks for the lock. It must not get it.
	stranger FaultKind = "send a client with another MaxTTL"
)

// plannedFault is a fault in a plan.
type plannedFault struct {
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
func (f plannedFault) String() string {
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

// workers and soakServers are the numbers of clients and servers in a soak.
const (
	workers     = 4
	soakServers = 5
)

// shares are the relative frequencies of the kinds.
var shares = []struct {
	kind  FaultKind
	share int
}{
	{stopClients, 4}, {freezeClient, 2}, {killClients, 2}, {killServers, 4}, {stopServers, 4}, {jumpClocks, 3},
	{flushServers, 2}, {cutLinks, 2}, {holdReplies, 2}, {loseReplies, 2}, {holdWrites, 3},
	{ageServers, 3}, {switchAddress, 3}, {retargetProxy, 3}, {changeTTL, 2}, {stranger, 2},
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
func Plan(seed uint64, length time.Duration, kinds ...FaultKind) []plannedFault {
	d := randomSchedule{rand.New(rand.NewPCG(seed, 0x736f616b)), kinds}
	var plan []plannedFault
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

func (d randomSchedule) fault() plannedFault {
	f := plannedFault{Kind: d.kind(), For: d.span(soakTTL/4, 5*soakTTL/2)}
	const minority = (soakServers - 1) / 2
	switch f.Kind {
	case stopClients:
		f.Clients = d.some(2, workers)
	case freezeClient:
		f.Clients = d.some(1, workers)
	case holdWrites:
		f.Clients = []int{0} // the client with a link to the resource
	case killClients:
		f.Clients, f.For = d.some(2, workers), 0
	case killServers, stopServers:
		f.Servers = d.some(minority+1, soakServers)
	case jumpClocks:
		f.Servers = d.some(minority, soakServers)
		if f.By = d.span(soakTTL/10, 5*soakTTL); d.IntN(2) == 0 {
			f.By = -f.By
		}
	case ageServers:
		f.Servers = d.some(minority+1, soakServers)
	case switchAddress:
		// Long enough for the other server to be trusted.
		f.Servers, f.For = d.some(1, soakServers), d.span(soakTTL/4, 8*soakTTL)
	case retargetProxy:
		// Shorter: clients without the proxy continue to use the first server.
		f.Servers, f.For = d.some(1, soakServers), d.span(soakTTL/4, soakMaxTTL)
	case changeTTL:
		f.Clients, f.For = d.some(2, workers), 0
	case stranger:
		f.For = 0
	case flushServers:
		f.Servers, f.For = d.some(minority, soakServers), 0
	case cutLinks, holdReplies, loseReplies:
		f.Clients, f.Servers = d.some(1, workers), d.some(soakServers, soakServers)
	}
	return f
}
