package quorum

import (
	"context"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/fencing"
)

// Instance is one independent master, and the only door through which this
// package reaches a server: package instance implements it on go-redis, package
// simulation on a server in virtual time, and quorumtest.Check holds both to
// this contract.
//
// Methods are called from many goroutines at once.
type Instance interface {
	// Name names the instance in errors, hooks and reports. It never changes,
	// and no two instances of one Coordinator share it.
	Name() string

	// Send sends one command to the server and returns without waiting for the
	// answer, so that an Instance may send the commands of many callers together.
	// The vote is given to to: exactly once, when the server has answered or soon
	// after the timeout, whichever is first, and perhaps before Send returns. A vote
	// that failed because of the timeout has an error that Is
	// context.DeadlineExceeded, and says (Vote.Unsent) if the command was not sent by
	// then; it never is, in that case.
	//
	// timeout is above zero, and counts by the Instance's own clock.
	//
	// Send sends the command at most once: a SET NX that is sent again is refused by
	// its own first copy. It never panics and never blocks, whatever the server does.
	// SendBlocking makes it out of a client that blocks.
	Send(cmd Command, timeout time.Duration, to Receiver)

	// Probe asks the server who it is and how it is set up. It writes one thing there,
	// the mark that Identity.Served tells of; before is what the client knew of the server
	// that the name led to. What the server doesn't tell (an account without the right to ask, say) is left zero and
	// listed in Identity.Hidden; an error means that it didn't answer, or that
	// it can't be an instance at all.
	Probe(ctx context.Context, before Known) (Identity, error)

	// ConnLife is for how long after its name has come to lead to another server
	// commands may still be sent to the server before: because connections stay open, or
	// because something in between does the same. It never changes. 0 if the name never
	// moves.
	//
	// A vote that was got in this time stands for a TTL, while others already count from
	// when they first saw the new server. So the Coordinator refuses a TTL that is longer
	// than MaxTTL less the longest ConnLife.
	ConnLife() time.Duration
}

// Listener is what an Instance may be, too: one whose server calls those who wait
// for a lock when it is released. Waiters for locks on other instances poll.
//
// A call ends a sleep sooner, and that is all: whoever is called asks for the lock
// like anybody else. No call that is lost, late, doubled or made up can make two
// holders, and a lost one costs no more than the pause until the next poll.
type Listener interface {
	Instance

	// Listen opens a way for calls from the server. It returns when calls are
	// heard, or soon after ctx has ended, which has no meaning for the Ear.
	Listen(ctx context.Context) (Ear, error)
}

// Ear hears the calls of one server, until it is closed or loses its connection.
type Ear interface {
	// Address is what the server calls it by: printable ASCII without spaces, at
	// most 64 bytes, and another one for each Ear.
	Address() string

	// Hear waits for the next call and gives the key that was released. It is
	// called by one goroutine at a time. An error is final: the Ear was closed,
	// or its connection broke, and calls may have been lost.
	Hear() (key string, err error)

	// Close ends Hear, also one that is under way, and gives up the connection.
	Close() error
}

// Receiver is given the vote on a command that was sent.
type Receiver interface {
	// Receive is called on a goroutine that other votes wait for: it doesn't
	// block. It may send further commands.
	Receive(vote Vote)
}

// ReceiverFunc is a function that is a Receiver.
type ReceiverFunc func(Vote)

// Receive calls f.
func (f ReceiverFunc) Receive(vote Vote) { f(vote) }

// SendBlocking is Instance.Send for a client that blocks. It calls do on a goroutine of
// its own, under a context that ends after the timeout by clk (nil: the real clock). do
// returns soon after that, whatever the server does, and the goroutine ends with it.
func SendBlocking(clk clock.Clock, do func(context.Context, Command) Vote, cmd Command, timeout time.Duration, to Receiver) {
	if clk == nil {
		clk = clock.New()
	}
	ctx, cancel := clk.WithTimeout(context.Background(), timeout)
	go func() {
		defer cancel()
		to.Receive(do(ctx, cmd))
	}()
}

// Op is what a Command asks for.
type Op uint8

// The operations. Each is atomic on the server.
const (
	// Acquire sets the key to the value with the TTL if the key doesn't exist:
	// SET key value NX PX ttl. With Command.Fence it also raises the resource's
	// counter by one (and Command.Spare), in the same atomic step, and the vote
	// carries the counter. It fails, and sets nothing, if the counter would be further
	// ahead of the server's clock than Command.Ahead.
	//
	// With Command.Replace a key that holds that value counts as free: it is
	// overwritten in the same step, and Vote.Replaced says that it was.
	//
	// Granted: set. Refused: the key exists, or another Set was seen.
	Acquire Op = iota + 1

	// Raise lifts the resource's counter to Command.Token if it is lower, but
	// only while the key holds the value.
	//
	// Granted: the key holds the value, and the counter is at least the token.
	// Refused: the key is gone or somebody else's; nothing was changed. Failed, and
	// nothing was changed: the counter would have to be lifted further ahead of the
	// server's clock than Command.Ahead.
	Raise

	// Extend sets the key's remaining time to the TTL if it holds the value.
	//
	// Granted: it did. Refused: the key is gone or somebody else's.
	Extend

	// Restore puts a running lease back on an instance that lacks it: it sets
	// the key if it doesn't exist, and lifts the counter to Command.Token.
	//
	// Granted: set now, or the key held the value already. Refused: somebody
	// else's key. Failed, and nothing was changed: as with Raise.
	Restore

	// Release deletes the key if it holds the value. With Command.Wake it also
	// calls the first waiter in the key's line (see Enlist) who can still be
	// reached, if the key is free now.
	//
	// Granted: deleted. Refused: the key was gone or somebody else's. Either way
	// Vote.Woke says whether somebody was called.
	Release

	// Look reads and changes nothing.
	//
	// Granted: the key is free. Refused: it is held; the vote carries Holder
	// and Remaining. Either way the vote carries the counter in Token, 0 if
	// there is none.
	Look

	// Tick asks for the server's clock alone.
	//
	// Granted: the vote carries Clock.
	Tick

	// Enlist puts Command.Waiter into the line of those who wait for the key: at
	// its end, or in front with Command.Front. Who stands there already keeps the
	// place. The line is kept for Command.TTL from now. It is no part of the
	// lock: nothing is granted by it, and losing it costs a wake-up.
	//
	// Granted: in the line. Refused: the key is free, so no release is to be
	// waited for, and the waiter is not in the line; never with Command.Yield.
	Enlist

	// Withdraw takes Command.Waiter out of the line. If it isn't there any more,
	// because it was called, and the key is free, the next one is called instead.
	//
	// Granted: it was there. Refused: it wasn't.
	Withdraw

	// Probing is no command: it stands for Instance.Probe in errors.
	Probing
)

var opNames = [...]string{Acquire: "acquire", Raise: "raise", Extend: "extend", Restore: "restore", Release: "release", Look: "look", Tick: "tick", Enlist: "enlist", Withdraw: "withdraw", Probing: "probe"}

// String names the operation in lower case.
func (op Op) String() string {
	if op == 0 || int(op) >= len(opNames) {
		return fmt.Sprintf("op(%d)", uint8(op))
	}
	return opNames[op]
}

// Held reports whether the command is about a key that was set before, to keep it or to
// give it back (Raise, Extend, Restore, Release), and not about one that is wanted. Where
// commands wait for a server, these go first: a lease that is extended too late is lost.
func (op Op) Held() bool { return op >= Raise && op <= Release }

// Command is one request to one instance. Its fields are valid whenever this
// package sends it: an Instance need not check them again.
type Command struct {
	Op Op

	// Key is the resource's name and the lock's key on the server: 1 to MaxKey
	// bytes, no NUL and no braces. Empty for Tick.
	Key string

	// Value is what the key is set to or compared with: this round's own random
	// value. Empty for Look and Tick.
	Value string

	// TTL is how long the key lives (Acquire, Extend, Restore), or the line
	// (Enlist): whole milliseconds, at least one.
	TTL time.Duration

	// Token is the token that Raise and Restore lift the counter to.
	Token fencing.Token

	// Fence asks Acquire, Restore and Look to keep or read the resource's
	// counter. Without it Acquire is the bare SET NX PX of the Redis document.
	Fence bool

	// CounterTTL is how long the resource's counter lives after this command at
	// least (Acquire, Raise, Restore with Fence): whole milliseconds. An Instance
	// may keep it for half as long again, so as not to write that with each grant.
	CounterTTL time.Duration

	// Spare is how many tokens Acquire with Fence reserves beside its own, for the
	// successors of its holder: zero or more. The counter is raised by 1+Vote.Spare in
	// the same step, and the vote carries the last of them. Vote.Spare is Spare, or fewer,
	// so that reserved tokens never lift the counter above the server's clock, in
	// microseconds since 1970.
	Spare int

	// Ahead is how far a counter may be ahead of the server's clock, with the counter
	// read as microseconds since 1970 (Acquire and Restore with Fence, Raise): whole
	// microseconds, above zero. A server that would have to count or lift further fails
	// with a *CounterError and does nothing.
	Ahead time.Duration

	// Run names the server that is asked, and the run of it, by Identity.Run as the
	// last Probe found it: for Acquire, Raise, Extend, Restore and Tick. A server
	// that isn't in this run, or isn't a master, does nothing and answers with a
	// *RunError. It compares in the same atomic step in which it carries out the
	// command, so that no proxy, no address that moves and no restart can come
	// between. Empty if the run is hidden or not watched: then any server will do.
	//
	// A server that was restarted or promoted may have an older counter than it, or
	// its predecessor, gave tokens from. So Acquire with Fence first raises a counter
	// that was last granted from in another run, or in none that is known, to the
	// server's clock. With an empty Run it goes on from what it finds.
	Run string

	// Set is the client's idea of the set of instances. Acquire with Fence is
	// refused with a *SetMismatchError by an instance on which this resource
	// was last locked under another one.
	Set Set

	// Replace is a value that Acquire may overwrite as if the key were free: that of
	// the caller's own last round, which was lost and may have left the key behind, or
	// that of a lease that was handed off and is resumed. Empty otherwise. For an
	// Acquire without Fence it takes a script; where an instance of the set is no
	// Listener, it is sent only to resume a lease.
	Replace string

	// Wake asks Release to call the first waiter in the key's line. Only sent to
	// an instance that is a Listener.
	Wake bool

	// Waiter is who is put into the line or taken out (Enlist, Withdraw): the
	// Address of an Ear on the same server.
	Waiter string

	// Front asks Enlist for the first place: the waiter was called, and came too
	// late. Yield asks for a place though the key is free: somebody else was called,
	// and is let in first.
	Front, Yield bool

	// Clock asks for the server's clock in Vote.Clock.
	Clock bool
}

// Outcome is an instance's answer. There are three, and they stay three: what
// failed is unknown, not refused.
type Outcome uint8

// The outcomes.
const (
	// Failed: no answer, or none that can be counted. The command may have
	// been carried out, may still be, or never was (see Vote.Unsent).
	Failed Outcome = iota
	// Granted: the server did what it was asked.
	Granted
	// Refused: the server certainly did not, and changed nothing.
	Refused
)

// String names the outcome in lower case.
func (o Outcome) String() string {
	switch o {
	case Granted:
		return "granted"
	case Refused:
		return "refused"
	default:
		return "failed"
	}
}

// NoExpiry in Vote.Remaining says that the key has no time to live at all: not
// this library's doing, and nothing but an operator will free it.
const NoExpiry time.Duration = -1

// Vote is one instance's answer to one command.
type Vote struct {
	Outcome Outcome

	// Token is the resource's counter: after the increment for an Acquire that
	// was granted with Fence, as it stands for Look. 0 otherwise.
	Token fencing.Token

	// Spare is how many of Command.Spare tokens were reserved (Acquire with Fence,
	// granted): they are Token and those right below it, down to Token-Spare, which is
	// the vote's first.
	Spare int

	// Remaining is how long the key that stands in the way has to live
	// (Acquire and Look, refused): 0 if the server didn't say, NoExpiry if it
	// lives for ever.
	Remaining time.Duration

	// Holder is the value that the key has (Look, refused).
	Holder string

	// Replaced says that the key held Command.Replace and was overwritten
	// (Acquire, granted).
	Replaced bool

	// Woke says that a waiter was called (Release with Wake, Withdraw).
	Woke bool

	// Clock is the server's wall clock at some moment between the command's
	// arrival and its answer; zero if it wasn't asked for or not told.
	Clock time.Time

	// Unsent says of a failed vote that the command was certainly not carried out
	// and never will be: it didn't reach the server (its connection was refused,
	// say), or the server turned it down before it began. There is nothing to undo.
	Unsent bool

	// Err says why a vote failed, or why it was refused where that isn't for
	// the key's sake (*SetMismatchError). Nil for a granted one.
	Err error
}

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

// Run names the run of the server for Command.Run: from its start or its promotion
// on, for as long as it is a master and its mark stays. It is the replication ID, and behind
// an @ the epoch, where a mark is kept. Empty if it is hidden, or the server is a
// replica, which shares its master's replication ID.
//
// The replication ID will do, because a master draws a new one at its start and at
// its promotion (Redis: changeReplicationId, shiftReplicationId in replication.c;
// "Replication ID explained" in the Redis document "Redis replication"). The epoch tells
// what it can't: that the data is gone, and that the name has led elsewhere meanwhile.
func (id Identity) Run() string {
	if id.Role != "" && id.Role != "master" {
		return ""
	}
	if id.ReplID == "" || id.Epoch == "" {
		return id.ReplID
	}
	return id.ReplID + "@" + id.Epoch
}

// Known is what a client knows of the servers that it took for the instance before: zero
// if it has not looked yet.
type Known struct {
	// RunID and Run are the Identity's of the server that it found when it last looked.
	RunID, Run string

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
