package designs

import (
	"strings"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// Recipe is a lock in Redis's own commands, on one server or on a majority. The zero values of the fields
// after Extend and Release are what the Redis document has. Each of these fields is something that an
// implementation does otherwise.
type Recipe struct {
	// Acquire, Extend and Release are sent to each server. Without commands an operation
	// always succeeds.
	Acquire, Extend, Release []Command
	// Majority sends to all servers at once, waits for all replies, and needs those of a majority. Default:
	// the first server alone.
	Majority bool

	// Lasts says that the lock has no expiry.
	Lasts bool
	// Value is the value of all locks. Default: a random one for each try.
	Value string
	// ReuseValue draws the value once for all tries of an Acquire: the rollback of one try may
	// reach a server after the SET of the next one (S9m).
	ReuseValue bool
	// Every is a fixed pause between the tries of an Acquire, which then has no bound (S12, S33).
	// Default: a random pause, and quorum.Config's MaxTries and MaxWait.
	Every time.Duration

	// ReleaseGranted rolls a lost try back only where it was granted: a server whose reply was
	// lost keeps the key for a TTL (S10).
	ReleaseGranted bool
	// NoTimeout waits for each server's reply without a bound (S27).
	NoTimeout bool
	// QuorumOfReachable takes a majority of the servers that replied as a quorum (X2).
	QuorumOfReachable bool

	// LateStart counts the validity from the last reply, rather than from before the first command
	// was sent, and so grants and extends a lock that has already expired (S3).
	LateStart bool
	// Elapsed measures the validity. Default: the larger of the times that both clocks show, as in the library.
	Elapsed func(since, now drift.Instant) time.Duration
	// NoDrift makes no allowance for clocks that run at different rates (S6b).
	NoDrift bool
	// ExtendSets extends by setting the key where it is missing, and doesn't check its own
	// deadline first: a lock that expired long ago comes back (S11a).
	ExtendSets bool

	// LargestReply makes the largest reply to the last command of Acquire the lease's token.
	LargestReply bool
	// Token, if set, fetches a token when the resource is used first: a number.
	Token Command
}

func monotonic(since, now drift.Instant) time.Duration { return now.Mono - since.Mono }
func wall(since, now drift.Instant) time.Duration      { return now.Wall.Sub(since.Wall) }

// Command is a command with its arguments. These words stand for what the lock has:
//
//	KEY      its key
//	VALUE    its value
//	MS       its TTL in milliseconds
//	SECONDS  its TTL in seconds, rounded up
//	UNTIL    the end of a TTL from now, in milliseconds by the client's wall clock
//	COUNTER  the key of the resource's counter
type Command []string

// Commands are commands that are sent one after the other, each if the one before it has
// succeeded: with the reply OK, with a positive number, or with the lock's value. A semicolon
// separates them.
func Commands(text string) []Command {
	var all []Command
	for one := range strings.SplitSeq(text, ";") {
		all = append(all, strings.Fields(one))
	}
	return all
}

// with returns a changed recipe.
func with(r Recipe, change func(*Recipe)) Recipe {
	change(&r)
	return r
}

// Apply makes a Config's processes use the recipe, and a resource without a guard.
func (r Recipe) Apply(cfg *simulation.Config) { LockBy(r.locker)(cfg) }

// OnOneServer configures processes to use the recipe on the first server, as the code of articles does: the
// validity counts from the reply, by the monotonic clock and without an allowance, and nothing is rolled back
// whose reply was lost.
func OnOneServer(r Recipe) func(*simulation.Config) {
	r.LateStart = true
	return fromBefore(r).Apply
}

// fromBefore is the recipe on one server with a validity that counts from before the first command.
func fromBefore(r Recipe) Recipe {
	r.Elapsed, r.NoDrift, r.ReleaseGranted = monotonic, true, true
	return r
}

// OnMajority configures processes to use the Redis document's Redlock, with a change if there is one.
func OnMajority(change func(*Recipe)) func(*simulation.Config) {
	r := correct
	r.Majority = true
	if change != nil {
		change(&r)
	}
	return r.Apply
}

// Commands of several recipes.
var (
	setNXPX = Commands("SET KEY VALUE NX PX MS")
	expire  = Commands("EXPIRE KEY SECONDS")
	del     = Commands("DEL KEY")
)

// correct is the Redis document's correct implementation with a single instance.
var correct = Recipe{
	Acquire: setNXPX,
	Extend:  []Command{{"EVAL", redismodel.CompareExpire, "1", "KEY", "VALUE", "MS"}},
	Release: []Command{{"EVAL", redismodel.CompareDel, "1", "KEY", "VALUE"}},
}
