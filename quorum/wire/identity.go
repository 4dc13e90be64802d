package wire

import (
	"strconv"
	"strings"
	"time"
)

// Values of Identity.Role, beside "slave".
const (
	RoleMaster   = "master"
	RoleSentinel = "sentinel"
	// RoleCluster is a node of a cluster, whatever else it is.
	RoleCluster = "cluster"
)

// Identity is what a server says about itself.
type Identity struct {
	// RunID names the server's process. It changes with each restart, and no two servers
	// share one. Empty if hidden.
	RunID string

	// ReplID is the replication ID. It changes with each restart and each promotion, and when
	// a master gets its first replica. A server shares it with its replicas. Empty if hidden.
	ReplID string

	// Promoted says that the server may have taken over from another one during this run,
	// or resumed another one's history, and does not say when. Served says when clients
	// first saw it in this run.
	Promoted bool

	// Uptime is how long the server has been up by its own clock, in whole seconds, rounded
	// down. Negative if hidden.
	Uptime time.Duration

	// Served is how long the instance's name is known to have led to the present run of the
	// server, by the server's clock. The first client that probes a master under the name
	// writes a mark there, which names the run. Served is the age of the mark, so it is
	// zero for the client that writes it. A client writes the mark anew if another server's vote
	// counted for it after the mark was written (see Known). Zero also if the server is a master
	// that cannot write now. Negative if no mark can be kept; for a master, Hidden says why.
	Served time.Duration

	// Mark is the text of the mark, which names the run for as long as the name leads to it:
	// an ID of the run, the mark's epoch (the time at which it was written, by the server's clock, in
	// microseconds since 1970), and the set of instances that clients use. Empty if there is none.
	Mark Run

	// Role is RoleMaster, or what else the server is: RoleSentinel, RoleCluster, "slave".
	// Only a master votes. Empty if hidden.
	Role string

	// Deployment is what the instance is if it isn't one server: RoleSentinel, a master with
	// replicas under Sentinel, or RoleCluster, one slot of a Cluster. Then the other fields are
	// about the server that is the master now.
	Deployment string

	// Vouched says that whoever set up the instance vouches for this run: the server came
	// up with every vote that was ever given.
	Vouched bool

	// InProcess says that the server is inside the client's process: no other process sees its
	// locks, and they end with it.
	InProcess bool

	// Persistence says what the server keeps over a restart: "none", "rdb",
	// "aof everysec", "aof always" or "aof no". Empty if hidden.
	Persistence string

	// Eviction is the policy for a full memory. Only "noeviction" is safe: any other may
	// drop a lock. Empty if hidden.
	Eviction string

	// Server and Version name the software ("redis", "7.0.15").
	Server, Version string

	// Clock is the server's wall clock between the start and the end of the probe. Zero if
	// hidden.
	Clock time.Time

	// Hidden lists what the server would not tell, and why.
	Hidden []string

	// Refuses says why the server would refuse a vote at the time of the probe, although it may
	// vote: its memory is full, or it takes no writes. Nil if it would grant one, or if that is
	// unknown.
	Refuses error

	// CannotNotify says that the server cannot notify processes that wait, although the
	// instance is a Notifier. Their queues are then kept on other servers of the set.
	CannotNotify bool
}

// Run is the present run of the server, for Request.Run: it lasts from the server's start
// or promotion for as long as it is a master and its mark stays. Empty if it is hidden, or
// if the server is a replica, which shares its master's replication ID.
//
// The replication ID names it, because a master draws a new one at its start and at its
// promotion (Redis: changeReplicationId and shiftReplicationId in replication.c;
// "Replication ID explained" in the Redis document "Redis replication"). The mark adds what
// the replication ID cannot tell: that the data was lost, or that the name has led to
// another server in between.
func (id Identity) Run() Run {
	switch {
	case id.Role != "" && id.Role != RoleMaster || id.ReplID == "":
		return ""
	case id.Mark != "":
		return id.Mark
	}
	return Run(id.ReplID)
}

// Epoch is the epoch of the mark, empty without one.
func (id Identity) Epoch() string { return id.Mark.Epoch() }

// Run names one run of a server. It is the text of the server's mark, or the replication ID of a
// server that keeps none. Empty if it is hidden.
//
//	5f3c0e...@1790000000000000 prod@7 N=5 Q=3 MaxTTL=30s
type Run string

// MarkOf is the text of a mark: for the run with this ID, with this epoch, and with this set, which
// may be empty.
func MarkOf(id, epoch, set string) Run { return Run(id + "@" + epoch + " " + set) }

// ReplID is the replication ID.
func (r Run) ReplID() string {
	id, _, _ := strings.Cut(string(r), "@")
	return id
}

// Epoch is the epoch of the mark, empty without one.
func (r Run) Epoch() string {
	_, rest, _ := strings.Cut(string(r), "@")
	epoch, _, _ := strings.Cut(rest, " ")
	return epoch
}

// Set is the text of the set in the mark, empty without one.
func (r Run) Set() string {
	_, set, _ := strings.Cut(string(r), " ")
	return set
}

// SameAs reports whether both name one run, whatever set is in the mark.
func (r Run) SameAs(other Run) bool {
	mine, _, _ := strings.Cut(string(r), " ")
	theirs, _, _ := strings.Cut(string(other), " ")
	return mine == theirs
}

// Since is when the run's mark was written, by the server's clock: the data is as old as that, or older.
// It is the zero time without a mark.
func (r Run) Since() time.Time {
	micros, err := strconv.ParseInt(r.Epoch(), 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(micros)
}

func (r Run) orHidden() Run {
	if r == "" {
		return "hidden"
	}
	return r
}

// Known is what a client knows about the servers that the instance's name has led to. Zero
// if it has not probed any of them yet.
type Known struct {
	// Set is the set of instances that the client uses. The zero Set isn't compared with the
	// mark's.
	Set Set

	// RunID and Epoch are what the last probe found.
	RunID string
	Epoch string

	// Voter is the run ID of the server whose vote counted last, and Ago is the least time
	// since that vote was asked for. Both are zero if no vote has counted, or if every lease
	// that rests on such a vote has expired.
	Voter string
	Ago   time.Duration
}
