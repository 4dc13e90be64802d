package matrix

import (
	"fmt"
	"slices"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
)

// Likelihood is how often a violation is expected in a cell.
type Likelihood int

const (
	// Never: the design holds, and one violation is one too many.
	Never Likelihood = iota
	// Rarely: it can break, but a run that shows it is rare. Nothing is demanded.
	Rarely
	// Surely: it breaks, and enough runs must show it.
	Surely
)

// Expectation is what must come of a cell, and why.
type Expectation struct {
	Likelihood
	// Only are the kinds of violations that may be found, where it isn't Never. Empty:
	// any but those that no fault excuses: a run that doesn't end, goroutines that are
	// left, a panic.
	Only []simulation.ViolationKind
	// Within is, for Surely, after how many runs a violation must have been found.
	Within int
	Why    string
}

// String is "never", "rarely" or "surely".
func (l Likelihood) String() string { return [...]string{"never", "rarely", "surely"}[l] }

// String says what is expected, and why.
func (e Expectation) String() string { return fmt.Sprintf("%v, because %s", e.Likelihood, e.Why) }

// Check says which violation of what a design promises was not expected in a run.
func (e Expectation) Check(r simulation.Result, d designs.Design) error {
	for _, kind := range r.Kinds() {
		if Promised(d, kind) && !e.Allows(kind) {
			return fmt.Errorf("%s was not expected: %v", kind, e)
		}
	}
	return nil
}

// Allows reports whether a kind of violation may be found.
func (e Expectation) Allows(kind simulation.ViolationKind) bool {
	if len(e.Only) == 0 {
		return e.Likelihood != Never && !slices.Contains(inexcusable, kind)
	}
	return e.Likelihood != Never && slices.Contains(e.Only, kind)
}

// inexcusable are the kinds that say that the code failed, not the lock.
var inexcusable = []simulation.ViolationKind{simulation.Stuck, simulation.LeftOver, simulation.Panicked, simulation.Unsimulated}

// soon is Expectation.Within unless something else is said.
const soon = 100

// ExpectationOf gives the expectation of a cell, false if there is none.
func ExpectationOf(fault, design string) (Expectation, bool) {
	var found Expectation
	known := false
	for _, r := range rules {
		if slices.Contains(r.designs, design) && (r.faults == nil || slices.Contains(r.faults, fault)) {
			found, known = r.Expectation, true
		}
	}
	return found, known
}

// expectedOf lists the faults for which a design has an expectation.
func expectedOf(design string) []string {
	var names []string
	for _, f := range Faults() {
		if _, ok := ExpectationOf(f.Name, design); ok {
			names = append(names, f.Name)
		}
	}
	return names
}

// rule is an expectation for several cells. Later rules go before earlier ones.
type rule struct {
	faults  []string // nil: all
	designs []string
	Expectation
}

func never(why string) Expectation { return Expectation{Why: why} }

func rarely(why string, only ...simulation.ViolationKind) Expectation {
	return Expectation{Likelihood: Rarely, Only: only, Why: why}
}

func surely(why string, only ...simulation.ViolationKind) Expectation {
	return Expectation{Likelihood: Surely, Only: only, Within: soon, Why: why}
}

// within is the expectation with more runs, or fewer.
func (e Expectation) within(runs int) Expectation {
	e.Within = runs
	return e
}

var (
	setnx    = []string{"setnx"}
	expiring = []string{"setnx-expire", "setpx-del", "setpx-cad", "tair-cas", "replica-async", "wait-one", "wait-all", "wait-some", "wait-late", "semisync"}
	// acknowledged are locks that every replica which may take over has acknowledged, and
	// waiting those that wait for any; both count from before the SET.
	acknowledged = []string{"wait-one", "wait-all"}
	waiting      = append(slices.Clone(acknowledged), "wait-some")
	// counting are locks on one server with tokens, and a resource that looks at them
	// on writes.
	counting = []string{"token-after", "token-current"}
	redlock  = []string{"redlock"}
	// voting is the library without tokens, feature after feature.
	voting   = []string{"redlock", "quarantine", "monitor", "topup"}
	library  = []string{"default"}
	writes   = []string{"token-write"}
	admits   = []string{"token-admit"}
	knows    = []string{"idempotent"}
	naive    = []string{"token-naive-max"}
	minting  = slices.Concat(library, writes, admits, knows)
	unfenced = slices.Concat(voting, library)
	majority = slices.Concat(unfenced, writes, admits, knows)
	watching = []string{"monitor", "topup", "default"}

	harm      = []simulation.ViolationKind{simulation.TwoHolders, simulation.StaleWrite, simulation.LostUpdate}
	belief    = []simulation.ViolationKind{simulation.TwoHolders, simulation.Overvalued}
	anything  = append(slices.Clone(harm), simulation.Overvalued)
	liveness  = []simulation.ViolationKind{simulation.NeverFree, simulation.NoProgress}
	apart     = append(slices.Clone(anything), simulation.TokenOrder)
	dataAlone = []simulation.ViolationKind{simulation.StaleWrite, simulation.LostUpdate}
)

// rules is what is expected, and why. It is the claim that the matrix is about.
var rules = []rule{
	// One server.
	{nil, setnx, surely("a key without an expiry stays when its holder doesn't release it")},
	{nil, expiring, rarely("the validity counts from the answer, without an allowance: for the time that the answer took the server has forgotten a lease that its holder still has", harm...)},
	{nil, waiting, rarely("the validity counts from before the SET, but without an allowance for clocks", harm...)},
	{[]string{"hang", "cut", "lose", "delay"}, expiring, rarely("as ever; and who waits for seconds for an answer that was lost, again and again, doesn't get on", append(slices.Clone(harm), simulation.NoProgress)...)},
	{[]string{"pause", "suspend"}, expiring, surely("a holder that is stopped between its look at the lease and its write is late, whatever the lock", harm...)},
	{[]string{"delay-write"}, expiring, surely("a write that is late on its way finds the next holder's data, whatever the lock", harm...)},
	{[]string{"duplicate-write"}, expiring, surely("a write that is carried out a second time undoes what came between", harm...)},
	{[]string{"step-server"}, expiring, surely("the server's clock is the only one that counts the TTL", harm...)},
	{[]string{"rate"}, expiring, surely("a server whose clock is fast forgets early, and nothing is allowed for it", harm...)},
	{[]string{"restart-empty", "restart-1sec", "evict", "flush"}, expiring, surely("the server is the only one that knew of the lock", harm...)},
	{[]string{"failover"}, expiring, surely("the replica that takes over hasn't heard of the lock, or another one had when it was waited for", harm...)},
	{[]string{"failover"}, []string{"wait-late"}, surely("the lease counts from after the WAIT: the server forgets the key before the holder does", harm...)},
	{[]string{"split-brain"}, expiring, surely("the old master and the new one know nothing of each other's keys", harm...)},
	{[]string{"failover", "split-brain"}, acknowledged, never("whichever replica takes over has the key, an old master has none left that could acknowledge, and the lease counts from before the SET")},
	{[]string{"all"}, expiring, surely("each of these things breaks it alone")},
	{nil, []string{"setpx-del"}, surely("a release that comes after the lease's end deletes the next holder's lock", harm...)},
	{nil, []string{"setnx-expire"}, surely("a release that comes after the lease's end deletes the next holder's lock; and the lock is held for ever if the EXPIRE doesn't come", append(slices.Clone(harm), liveness...)...)},
	{[]string{"all"}, []string{"setpx-del", "setnx-expire"}, surely("each of these things breaks it alone")},

	// Tokens that are none, on one server.
	{nil, counting, rarely("the validity counts from the answer; the token orders holders, if it does, for the resource's writes alone", dataAlone...)},
	{[]string{"hang", "cut", "lose", "delay"}, counting, rarely("as ever; and who waits for seconds for an answer that was lost, again and again, doesn't get on", append(slices.Clone(dataAlone), simulation.NoProgress)...)},
	{[]string{"pause", "suspend"}, counting, surely("a holder that is late has the larger token, or the next holder's", dataAlone...)},
	{[]string{"delay-write", "duplicate-write"}, counting, surely("reads aren't checked: a late write slips in between the next holder's read and its write", dataAlone...)},
	{[]string{"split-brain"}, counting, surely("the old master and the new one count each for itself", dataAlone...)},
	{[]string{"restart-empty", "restart-1sec", "failover", "evict", "flush"}, counting, rarely("the counter is lost with the lock, and begins anew", dataAlone...)},
	{[]string{"restart-empty", "restart-1sec", "flush"}, counting, surely("the counter is lost with the lock, and begins anew", dataAlone...)},
	{[]string{"all"}, counting, rarely("each of these things breaks it alone")},

	// A majority.
	{nil, majority, never("of two majorities one server votes for one alone, the time counts from before the first command, by two clocks and with an allowance, and who isn't sure gives the lock up")},
	{[]string{"pause", "suspend", "step-server", "evict"}, slices.Concat(admits, knows), never("the resource sees a holder's token before it reads, and refuses what comes later with a smaller one, whoever believes to have the lock")},
	{[]string{"delay-write", "duplicate-write"}, knows, never("the resource knows each write again, and refuses a holder's own that come out of order")},
	{[]string{"pause", "suspend"}, unfenced, surely("a holder that is stopped between its look at the lease and its write is late, whatever the lock", anything...)},
	{[]string{"pause", "suspend"}, writes, surely("a late write slips in between the next holder's read and its write", dataAlone...)},
	{[]string{"delay-write"}, unfenced, surely("a write that is late on its way finds the next holder's data, whatever the lock", harm...)},
	{[]string{"duplicate-write"}, unfenced, surely("a write that is carried out a second time undoes what came between", harm...)},
	{[]string{"delay-write", "duplicate-write"}, writes, surely("a late write slips in between the next holder's read and its write", dataAlone...)},
	{[]string{"delay-write", "duplicate-write"}, admits, surely("a write of its own comes late, or again: a holder's token is no larger than its own", simulation.LostUpdate)},
	{[]string{"step-server"}, []string{"redlock", "quarantine"}, surely("servers whose clocks jump forget a lease early, and nobody looks at their clocks", anything...)},
	{[]string{"step-server"}, watching, rarely("a jump in the midst of a round is seen when it is over; until the servers that jumped vote again nobody else gets the lock", simulation.Overvalued)},
	{[]string{"rate"}, unfenced, surely("the allowance is for a hundredth; and servers whose clocks are seen to be off don't vote, for ever if these stay off", append(slices.Clone(anything), liveness...)...)},
	{[]string{"rate"}, slices.Concat(writes, admits, knows), rarely("servers whose clocks are seen to be off don't vote, for ever if these stay off", liveness...)},
	{[]string{"restart-empty", "restart-1sec", "failover"}, redlock, surely("servers that came up again vote a second time", anything...)},
	{[]string{"split-brain"}, unfenced, surely("where servers that a majority can't do without split, each side has a majority, and the new masters vote once their quarantine is over", apart...).within(400)},
	{[]string{"split-brain"}, redlock, surely("a server that is two votes twice", apart...)},
	{[]string{"split-brain"}, slices.Concat(writes, admits, knows), rarely("each side has a majority, and counts for itself: tokens of the two aren't ordered", append(slices.Clone(dataAlone), simulation.TokenOrder)...)},
	{[]string{"restart-1sec", "failover"}, minting, never("servers that came up again don't vote before what they forgot is over, and a counter that comes from another run of its server is lifted to the clock first: tokens rise also where all have lost the ends of theirs")},
	{[]string{"evict"}, unfenced, rarely("keys that are dropped free their servers' votes; a lease on five survives two", harm...)},
	{[]string{"evict"}, redlock, surely("keys that are dropped free their servers' votes, and nothing is put back", harm...)},
	{[]string{"flush"}, redlock, surely("a server that is flushed votes again, and nobody looks whether its mark is gone", anything...)},
	{[]string{"evict"}, writes, rarely("two holders, and reads that nobody checks", dataAlone...)},
	{[]string{"all"}, unfenced, surely("pauses, late writes and flushed servers are among these").within(400)},
	{[]string{"all"}, slices.Concat(writes, admits), rarely("late and repeated writes are among these, and clocks that stay off")},
	{[]string{"all"}, knows, rarely("clocks that stay off are among these, and clocks that are set back where all counters are lost", append(slices.Clone(liveness), simulation.TokenOrder)...)},

	// The largest of counters that nobody brings together.
	{nil, naive, rarely("the server that two majorities share needn't be the one with the largest counter", append(slices.Clone(dataAlone), append(slices.Clone(liveness), simulation.TokenOrder)...)...)},
	{[]string{"pause", "suspend", "restart-empty", "split-brain", "cut", "lose", "evict", "flush", "delay-write", "duplicate-write"}, naive, surely("the server that two majorities share needn't be the one with the largest counter, and reads aren't checked", append(slices.Clone(dataAlone), simulation.TokenOrder)...)},

	// Flaws, where they are what breaks a column in which others hold: a column that
	// breaks nobody would prove nothing.
	{[]string{"slow"}, []string{"half-quorum"}, surely("two halves of the servers are two majorities")},
	{[]string{"cut", "hang"}, []string{"half-quorum"}, surely("as ever: two halves")},
	{[]string{"slow"}, []string{"setex"}, surely("SETEX overwrites: whoever asks gets the lock")},
	{[]string{"slow"}, []string{"same-value"}, surely("a release that comes after the lease's end deletes the next holder's lock, which has the same value", harm...)},
	{[]string{"duplicate-write"}, []string{"repeats-only"}, rarely("the resource knows each write again", harm...)},
	{[]string{"delay-write"}, []string{"repeats-only"}, surely("a write that is late is no repetition", harm...)},
	{[]string{"failover"}, []string{"wait-long"}, surely("the lease counts from after the WAIT, which may outlast it", append(slices.Clone(harm), simulation.NoProgress)...)},
	{[]string{"step-client"}, []string{"wall-clock", "expire-at"}, surely("the wall clock is all that it goes by", anything...)},
	{[]string{"rate-small"}, []string{"no-drift"}, surely("no allowance for the servers' clocks", belief...)},
	{[]string{"hang", "cut", "lose", "delay"}, []string{"late-start"}, surely("the time counts from the answers, which are late", anything...)},
	{[]string{"cut", "lose"}, []string{"no-timeout"}, surely("waits for an answer that was lost, for ever", simulation.Stuck)},
	{[]string{"slow", "restart-kept", "crash"}, []string{"sets-differ"}, surely("clients that don't agree on the servers have majorities that don't meet", harm...)},
}
