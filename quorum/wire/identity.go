package wire

import (
	"strings"
	"time"
)

// What Identity.Role may be, beside "slave".
const (
	RoleMaster   = "master"
	RoleSentinel = "sentinel"
	// RoleCluster is a node of a cluster, whatever else it is.
	RoleCluster = "cluster"
)

// Identity is what a server says of itself.
type Identity struct {
	// RunID names the server's process: another one after each restart, and no two
	// servers share one. Empty if hidden.
	RunID string

	// ReplID is the replication ID: a server has another one after each restart and
	// after each promotion, and shares it with its replicas. Empty if hidden.
	ReplID string

	// Promoted says that the server may have taken over from another one during this
	// run, or resumed another one's history, and doesn't tell when. Served tells when
	// clients first found it so.
	Promoted bool

	// Uptime is how long the server has been up, by its own clock, in whole
	// seconds, rounded down. Negative if hidden.
	Uptime time.Duration

	// Served is how long this instance's name is known to have led to the present run of
	// the server, by the server's own clock. The first client that probes a master under
	// the name leaves a mark there, which names the run; Served is the mark's age, so it
	// is zero for the client that leaves it. A client that found another run under the
	// name before leaves the mark anew. Zero also if the server is a master that can't
	// write now. Negative if no mark can be kept: Hidden says why, if it is a master.
	Served time.Duration

	// Epoch names the mark: it is when the mark was left, by the server's clock, in
	// microseconds since 1970. It goes on where the replication ID alone changes and the
	// server forgot nothing, as with its first replica. Empty if there is no mark.
	Epoch string

	// Role is RoleMaster, or what else the server is: RoleSentinel, RoleCluster,
	// "slave". Only a master votes. Empty if hidden.
	Role string

	// Vouched says that whoever set up the instance vouches for this run: the
	// server came up with all the votes that were ever given.
	Vouched bool

	// Persistence describes in words what the server keeps over a restart:
	// "none", "rdb", "aof everysec", "aof always", "aof no". Empty if hidden.
	Persistence string

	// Eviction is the policy for a full memory ("noeviction" is the safe one:
	// any other may drop a lock). Empty if hidden.
	Eviction string

	// Server and Version name the software ("redis", "7.0.15").
	Server, Version string

	// Dialect names the commands that this instance is spoken to with.
	Dialect string

	// Clock is the server's wall clock between the start and the end of the
	// probe; zero if hidden.
	Clock time.Time

	// Hidden lists what the server would not tell, and why.
	Hidden []string
}

// Run names the run of the server for Request.Run: from its start or its promotion
// on, for as long as it is a master and its mark stays. It is the replication ID, and behind
// an @ the epoch, where a mark is kept. Empty if it is hidden, or the server is a
// replica, which shares its master's replication ID.
//
// The replication ID will do, because a master draws a new one at its start and at
// its promotion (Redis: changeReplicationId, shiftReplicationId in replication.c;
// "Replication ID explained" in the Redis document "Redis replication"). The epoch tells
// what it can't: that the data is gone, and that the name has led elsewhere meanwhile.
func (id Identity) Run() Run {
	if id.Role != "" && id.Role != RoleMaster {
		return ""
	}
	return RunOf(id.ReplID, id.Epoch)
}

// Run names one run of a server: its replication ID, followed by @ and the epoch of its
// mark if it has one. Empty if it is hidden.
type Run string

// RunOf is the run with this replication ID and this epoch; either may be empty.
func RunOf(replID, epoch string) Run {
	if replID == "" || epoch == "" {
		return Run(replID)
	}
	return Run(replID + "@" + epoch)
}

// ReplID is the replication ID.
func (r Run) ReplID() string {
	id, _, _ := strings.Cut(string(r), "@")
	return id
}

// Epoch is the epoch of the mark, empty without one.
func (r Run) Epoch() string {
	_, epoch, _ := strings.Cut(string(r), "@")
	return epoch
}

func (r Run) orHidden() Run {
	if r == "" {
		return "hidden"
	}
	return r
}

// Known is what a client knows of the servers that it took for the instance before: zero
// if it has not looked yet.
type Known struct {
	// RunID and Run are the Identity's of the server that it found when it last looked.
	RunID string
	Run   Run

	// Lately says that the server answered in that run less than a minute ago. So a second
	// replication ID, which a promotion leaves behind, would still be there.
	Lately bool

	// Marked says that the server that it found then had a mark, or got one.
	Marked bool

	// Voter is the run ID of the server whose vote counted last, and Ago how long ago, at
	// least, that vote was asked for. If nothing that it was good for can last, or no vote
	// has counted, Voter is empty and Ago is years.
	Voter string
	Ago   time.Duration
}
