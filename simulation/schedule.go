package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// Kind is the kind of a Fault.
type Kind string

// The kinds. Each uses the fields of a Fault that its comment names, and the moment: At, or
// Op and Nth.
const (
	// Pause stops Process for For, as a garbage collection or SIGSTOP does: its
	// clocks continue, and it receives messages only afterwards.
	Pause Kind = "pause"
	// Suspend stops Process for For, as a suspended virtual machine: the monotonic
	// clock stops. The wall clock is right afterwards; with Frozen, it is late by For.
	Suspend Kind = "suspend"
	// Crash ends Process. Messages that it has sent still arrive.
	Crash Kind = "crash"
	// Step moves the wall clock of Process or of Server by By.
	Step Kind = "step"
	// Rate makes the clocks of Process, or the clock of Server, fast by PPM millionths.
	Rate Kind = "rate"
	// Restart kills Server, and starts it again after For with the data that Keep says.
	Restart Kind = "restart"
	// Hang stops Server for For: commands wait in its socket and are executed
	// afterwards.
	Hang Kind = "hang"
	// Failover ends Server and promotes a replica after For. With Config.Replicas it is
	// the one with the number Replica (0 means 1), with the data that had reached it. In
	// any case it has no more than Server had By ago.
	Failover Kind = "failover"
	// SplitBrain is an immediate Failover after which the old master continues for For (0:
	// to the end of the run): Process still reaches it, the others reach the replica. Then
	// it is demoted, and its own changes are lost.
	SplitBrain Kind = "split-brain"
	// Lag delays the changes that Server makes within For on their way to Replica (0: to
	// all replicas): by By, or until the end of For if By is 0. Without By and For they
	// never arrive.
	Lag Kind = "lag"
	// Evict drops Key from Server, as a full memory or an operator does. Key is a lock's
	// key, "{k}" for the counter of the resource k, or "{k}:set" for the record beside it.
	// If it is empty, a random one of these is dropped.
	Evict Kind = "evict"
	// Flush drops all data of Server: FLUSHALL.
	Flush Kind = "flush"
	// Reboot is Crash, and Process restarts its workload after For, with a new
	// Coordinator that knows nothing of its earlier leases.
	Reboot Kind = "reboot"
	// Reconnect closes the connections between Process and Server. Sent requests are
	// executed, calls that wait for a reply fail, and the next request opens a new
	// connection.
	Reconnect Kind = "reconnect"
	// Cut loses, for For, all messages between Process and Server in Way. For Cut, Lose
	// and Reorder, a For of 0 means to the end of the run.
	Cut Kind = "cut"
	// Lose is Cut for only PPM millionths of the messages, or, with Nth, for one request of
	// the kind Op, or its reply (Way).
	Lose Kind = "lose"
	// Reorder delays each message between Process and Server in Way by a random time
	// from 0 to By, so that messages overtake each other.
	Reorder Kind = "reorder"
	// Duplicate makes requests from Process to Server arrive twice, the second copy By
	// later: PPM millionths of the requests sent within For (0: all of them), or only the
	// Nth of the kind Op. TCP doesn't do that, but a proxy may, and so may a client
	// library that sends again when a connection breaks. The process receives only the
	// first copy's reply.
	Duplicate Kind = "duplicate"
	// Delay delays messages between Process and Server in Way by By: the messages sent
	// within For, or only the Nth request of the kind Op.
	Delay Kind = "delay"
	// Proxy puts a proxy between Process and Server for For (0: to the end of the run).
	// While the server is down, the proxy keeps its clients' connections and replies with
	// errors. Afterwards it forwards to whatever server is there, so clients see no
	// connection break. Subscriptions still break with the server.
	Proxy Kind = "proxy"
	// Switch points Server's address, for Process, at another server for For (0: to the end
	// of the run). The other server has been up as long as the first, has its own data, and
	// is named with a tilde ("A~"). New connections lead to it, and after For to the first
	// server again. Open connections stay until they break, or until By after the address
	// has moved if By isn't 0. Meanwhile PPM millionths of the requests use separate
	// connections, as in a pool. SplitBrain and Switch don't combine on one server.
	Switch Kind = "switch"
	// Demote makes Server the replica of an empty master for For, and then a master again.
	// It loses its data and changes its replication ID. It keeps its run ID, and no
	// connection breaks.
	Demote Kind = "demote"
	// Stall holds all messages back for For: those on their way, and those that are sent
	// meanwhile, arrive afterwards. It isn't drawn (see Kinds).
	Stall Kind = "stall"
)

// Way is a direction of messages. The zero Way is both.
type Way string

// The ways.
const (
	Both     Way = ""
	Requests Way = "request"
	Replies  Way = "reply"
)

// Fault is one fault, as plain data. Times are true times from the start of the run.
type Fault struct {
	Kind Kind `json:"kind"`

	// At is the moment, 0 or more. With Nth it is the earliest moment.
	At time.Duration `json:"at_ns,omitempty"`
	// With Nth, the fault happens at Process's Nth operation (from 1) of the kind Op:
	// before the operation takes effect (Pause, Suspend, Crash), or to the operation
	// (Delay, Duplicate, Lose). Code between two operations takes no virtual time, so no At
	// falls between a check of the lease and the next write, but Nth can.
	Nth int `json:"nth,omitempty"`
	// Op is the kind of operation that Nth counts: the name of a wire.Op, "read", "write",
	// or a Redis command in lower case. Empty: all of them.
	//
	// Op "clock" is for Pause and Suspend. Nth then counts the Locker's readings of
	// Process's clock (Clock.Now and Clock.Since) from At on, with Func only those in that
	// function. Result.Readings says how many there are. The process stops before it reads
	// the clock, or with Stale after it, and then continues with an old time. Readings of
	// several goroutines at one moment are counted in the order of their stacks. Those with
	// the same stack stop together.
	Op string `json:"op,omitempty"`
	// Func is a function as stack traces name it, with only the last element of its
	// package's path: "quorum.(*core).send". Only with Op "clock".
	Func  string `json:"func,omitempty"`
	Stale bool   `json:"stale,omitempty"`

	Process string        `json:"process,omitempty"`
	Server  string        `json:"server,omitempty"`
	For     time.Duration `json:"for_ns,omitempty"`
	By      time.Duration `json:"by_ns,omitempty"`
	PPM     int64         `json:"ppm,omitempty"`
	Way     Way           `json:"way,omitempty"`
	Keep    Keep          `json:"keep,omitempty"`
	// Replica is the number of a replica, from 1.
	Replica int    `json:"replica,omitempty"`
	Key     string `json:"key,omitempty"`
	Frozen  bool   `json:"frozen,omitempty"`
	// Shuffled randomizes the order of messages that reach a process after a Pause or
	// Suspend. Otherwise they keep their order.
	Shuffled bool `json:"shuffled,omitempty"`
}

// Schedule is the list of faults of one run.
type Schedule []Fault

// longest bounds every time in a schedule, so that sums don't overflow.
const longest = 30 * 24 * time.Hour

// validate checks s for a world with the given names.
func (s Schedule) validate(processes, servers, places []string, replicas int) error {
	ofClocks := 0
	for i, f := range s {
		if f.Op == clockOp {
			ofClocks++
		}
		if ofClocks > maxClockFaults {
			return fmt.Errorf("%w: fault %d (%q): too many with the Op %q; want at most %d, because each needs another run", ErrConfig, i, f.Kind, clockOp, maxClockFaults)
		}
		names := servers
		if f.onLinks() || f.Kind == Reconnect || f.Kind == Proxy {
			names = places
		}
		if err := f.validate(processes, names, replicas); err != nil {
			return fmt.Errorf("%w: fault %d (%q): %w", ErrConfig, i, f.Kind, err)
		}
	}
	return nil
}

func (f Fault) validate(processes, servers []string, replicas int) error {
	var process, server, byNth bool
	switch f.Kind {
	case Pause, Suspend, Crash, Reboot:
		process, byNth = true, true
	case Step, Rate:
		process, server = f.Server == "", f.Process == ""
	case Restart, Hang, Failover, Lag, Evict, Flush, Demote:
		server = true
	case Stall:
	case Lose:
		process, server, byNth = true, true, true
	case Cut, Reorder, Reconnect, SplitBrain, Proxy, Switch:
		process, server = true, true
	case Delay, Duplicate:
		process, server, byNth = true, true, true
	default:
		return fmt.Errorf("no such kind %q", f.Kind)
	}
	links := f.onLinks() || f.Kind == Reconnect
	switch {
	case process && f.Process != Any && !slices.Contains(processes, f.Process):
		return fmt.Errorf("its Process is %q, want one of %v or %q", f.Process, processes, Any)
	case server && f.Server != Any && !slices.Contains(servers, f.Server) && !(links && f.Server == Resource):
		return fmt.Errorf("its Server is %q, want one of %v or %q", f.Server, servers, Any)
	case !process && f.Process != "" || !server && f.Server != "":
		return fmt.Errorf("its Process is %q and its Server %q: it takes only one of the two, leave the other empty", f.Process, f.Server)
	case f.Nth != 0 && (!byNth || f.Nth < 0):
		return fmt.Errorf("its Nth is %d, want 0, or for a kind that happens at an operation 1 or more", f.Nth)
	case f.Op != "" && f.Nth == 0:
		return fmt.Errorf("its Op is %q, but no Nth says which one", f.Op)
	case f.Op == clockOp && f.Kind != Pause && f.Kind != Suspend:
		return fmt.Errorf("its Op is %q: only a %s or a %s can happen at a clock reading", f.Op, Pause, Suspend)
	case f.Op != clockOp && (f.Func != "" || f.Stale):
		return fmt.Errorf("its Func is %q and Stale %v: they need the Op %q", f.Func, f.Stale, clockOp)
	case strings.ContainsFunc(f.Func, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("its Func is %q, want a function's name", f.Func)
	case f.Op != "" && !slices.Contains(operations(), f.Op):
		return fmt.Errorf("its Op is %q, want one of %v", f.Op, operations())
	case f.At < 0 || f.At > longest || f.For < 0 || f.For > longest || f.By < -longest || f.By > longest:
		return fmt.Errorf("its At %v, For %v, By %v: want 0 (By: %v) to %v", f.At, f.For, f.By, -longest, longest)
	case f.By < 0 && f.Kind != Step:
		return fmt.Errorf("its By is %v, want 0 or more", f.By)
	case f.Kind == Rate && (f.PPM < -500_000 || f.PPM > 500_000):
		return fmt.Errorf("its PPM is %d, want -500000 to 500000", f.PPM)
	case (f.Kind == Lose || f.Kind == Duplicate || f.Kind == Switch) && (f.PPM < 0 || f.PPM > million):
		return fmt.Errorf("its PPM is %d, want 0 to %d", f.PPM, million)
	case f.Kind == Duplicate && f.Way != Both:
		return fmt.Errorf("its Way is %q: only requests arrive twice, leave it empty", f.Way)
	case f.Replica < 0 || f.Replica > max(1, replicas) && (f.Kind == Failover || f.Kind == SplitBrain) || f.Replica > replicas && f.Kind == Lag:
		return fmt.Errorf("its Replica is %d, want 0 to the number of Config.Replicas, %d", f.Replica, replicas)
	case !slices.Contains([]Way{Both, Requests, Replies}, f.Way):
		return fmt.Errorf("no such way %q", f.Way)
	case !slices.Contains([]Keep{KeepNothing, KeepSecond, KeepAll}, f.Keep):
		return fmt.Errorf("no such persistence %q", f.Keep)
	}
	return nil
}

// operations are the names of all operations, sorted.
func operations() []string {
	names := []string{"read", "write", "wait", clockOp}
	for op := wire.Acquire; op <= wire.Probe; op++ {
		names = append(names, op.String())
	}
	names = append(names, redismodel.Commands()...)
	slices.Sort(names)
	return names
}

// clockOp is the Op of a fault that happens at a clock reading.
const clockOp = "clock"

// maxClockFaults bounds the faults of a Schedule that fall at readings of the clock:
// the run is played once more for each.
const maxClockFaults = 64

// onLinks reports whether the fault affects messages for a while.
func (f Fault) onLinks() bool {
	switch f.Kind {
	case Cut, Lose, Delay, Reorder, Duplicate:
		return true
	}
	return false
}

// during reports whether a moment is in the time of a fault that lasts for For, or to the end
// of the run.
func (f Fault) during(now int64) bool {
	return now >= int64(f.At) && (f.For == 0 || now < int64(f.At+f.For))
}
