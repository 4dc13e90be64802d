// Package fault is what can go wrong in a run, as plain data: to processes, servers, clocks and
// the messages between them. A simulation.Schedule is a list of Faults.
package fault

import "time"

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
	// Failover ends Server and promotes a replica after For. With simulation.Config.Replicas it is
	// the one with the number Replica (0 means 1), with the data that had reached it. In
	// any case it has no more than Server had By ago.
	Failover Kind = "failover"
	// SplitBrain is an immediate Failover after which the old master continues for For (0:
	// to the end of the run): Process reaches it on new connections, the others reach the
	// replica. Then it is demoted, and its own changes are lost.
	SplitBrain Kind = "split-brain"
	// Lag delays the changes that Server makes within For on their way to Replica (0: to
	// all replicas): by By, or until the end of For if By is 0. Without By and For they
	// never arrive.
	Lag Kind = "lag"
	// Evict drops Key from Server, as a full memory or an operator does. Key is a lock's
	// key, or "{k}" for the counter of the resource k. If it is empty, a random one of these is dropped.
	Evict Kind = "evict"
	// Flush drops all data of Server: FLUSHALL.
	Flush Kind = "flush"
	// Reboot is Crash, and Process restarts its workload after For, with a new
	// Coordinator that knows nothing of its earlier leases.
	Reboot Kind = "reboot"
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
	// Switch points Server's address, for Process, at another server for For (0: to the end
	// of the run). The other server has been up as long as the first, has its own data, and
	// is named with a tilde ("A~"). Process's connections break, and its new ones lead to the
	// other server. SplitBrain and Switch don't combine on one server.
	Switch Kind = "switch"
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
	// With Nth, the fault happens at Process's Nth operation (from 1) of the kind Op: to its
	// messages, or before the operation takes effect. Code between two operations takes no
	// virtual time, so no At falls between a check of the lease and the next write, but Nth can.
	Nth int `json:"nth,omitempty"`
	// Op is the kind of operation that Nth counts: the name of a wire.Op, "read", "write",
	// or a Redis command in lower case. Empty: all of them.
	Op string `json:"op,omitempty"`

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
}

// Keep says which data a server keeps over a Restart.
type Keep string

// The kinds of persistence.
const (
	// KeepNothing: no persistence.
	KeepNothing Keep = ""
	// KeepSecond: an append-only file that is synced once a second.
	KeepSecond Keep = "second"
	// KeepAll: an append-only file that is synced before each answer.
	KeepAll Keep = "all"
)

// Until is the last moment whose commands are on disk now.
func (k Keep) Until(now int64) int64 {
	switch k {
	case KeepAll:
		return now
	case KeepSecond:
		return now - now%int64(time.Second)
	default:
		return -1
	}
}

// Names for Fault.Process and Fault.Server, in addition to those of processes ("c1", "c2",
// ...) and servers ("A", "B", ...).
const (
	// Any is every process, or every server. The resource is none of these.
	Any = "*"
	// Resource is the protected resource, as a destination of messages.
	Resource = "resource"
)

// Matches reports whether a pattern includes a name.
func Matches(pattern, name string) bool { return pattern == name || pattern == Any && name != Resource }

// During reports whether a moment is in the time of a fault that lasts for For, or to the end
// of the run.
func (f Fault) During(now int64) bool {
	return now >= int64(f.At) && (f.For == 0 || now < int64(f.At+f.For))
}
