package cells

import (
	"fmt"
	"slices"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/record"
)

// Expectation is the expected result of a cell, and why.
type Expectation struct {
	// Broken says that a violation is allowed: the design can break. Otherwise one violation
	// is too many.
	Broken bool
	// Only are the kinds of violations that may be found. Empty: all but those that no fault
	// excuses: a run that doesn't end, leaked goroutines, a panic.
	Only []record.ViolationKind
	// Within is the number of runs in which a violation must be found. 0: few runs show one,
	// and none is required.
	Within int
	Why    string
}

// String says how many runs are expected to break the lock, and why. It is about many runs, not
// about the one that it may stand beside.
func (e Expectation) String() string {
	how := "many runs break this lock"
	switch {
	case !e.Broken:
		how = "no run should break this lock"
	case e.Within == 0:
		how = "few runs break this lock"
	}
	return how + ", because " + e.Why
}

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
func (e Expectation) Allows(kind record.ViolationKind) bool {
	if len(e.Only) == 0 {
		return e.Broken && !slices.Contains(inexcusable, kind)
	}
	return e.Broken && slices.Contains(e.Only, kind)
}

// inexcusable are the kinds that show a failure of the code, not of the lock.
var inexcusable = []record.ViolationKind{record.Stuck, record.LeftOver, record.Panicked, record.Unsimulated}

// beliefs are the kinds of violations in what holders believe. A design whose resource
// checks tokens does not promise what holders believe, only that the data stay correct.
var beliefs = []record.ViolationKind{record.TwoHolders, record.Overvalued}

// Harms reports whether a kind of violation counts in a cell. A lease with a validity beyond
// its servers' keys is not counted there, because locks on one server have one in nearly
// every run. Cell.Overvalued counts it for all designs.
func Harms(d designs.Design, kind record.ViolationKind) bool {
	return kind != record.Overvalued && Promised(d, kind)
}

// Promised reports whether a violation breaks what a design promises.
func Promised(d designs.Design, kind record.ViolationKind) bool {
	return !d.Fenced() || !slices.Contains(beliefs, kind)
}

// soon is Expectation.Within unless it is set.
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

// rule is an expectation for several cells. Later rules override earlier ones.
type rule struct {
	faults  []string // nil: all
	designs []string
	Expectation
}

func never(why string) Expectation { return Expectation{Why: why} }

func rarely(why string, only ...record.ViolationKind) Expectation {
	return Expectation{Broken: true, Only: only, Why: why}
}

func surely(why string, only ...record.ViolationKind) Expectation {
	return Expectation{Broken: true, Only: only, Within: soon, Why: why}
}

// within is the expectation with more runs, or fewer.
func (e Expectation) within(runs int) Expectation {
	e.Within = runs
	return e
}

var (
	setnx    = []string{"setnx"}
	expiring = []string{"setnx-expire", "setpx-del", "setpx-cad", "tair-cas", "replica-async", "wait-one", "wait-some", "wait-late", "semisync"}
	// acknowledged is a lock that waits for all replicas that may take over, and waiting
	// are those that wait for any replica. Both count from before the SET.
	acknowledged = []string{"wait-one"}
	waiting      = append(slices.Clone(acknowledged), "wait-some")
	// counting are locks on one server with tokens, and a resource that checks them on
	// writes.
	counting = []string{"token-after", "token-current"}
	redlock  = []string{"redlock"}
	// voting are locks on a majority without tokens.
	voting   = []string{"redlock", "quarantine", "topup"}
	library  = []string{"default"}
	writes   = []string{"token-write"}
	admits   = []string{"token-admit"}
	knows    = []string{"idempotent"}
	naive    = []string{"token-naive-max"}
	minting  = slices.Concat(library, writes, admits, knows)
	unfenced = slices.Concat(voting, library)
	majority = slices.Concat(unfenced, writes, admits, knows)
	watching = []string{"topup", "default"}

	harm      = []record.ViolationKind{record.TwoHolders, record.StaleWrite, record.LostUpdate}
	belief    = []record.ViolationKind{record.TwoHolders, record.Overvalued}
	anything  = append(slices.Clone(harm), record.Overvalued)
	liveness  = []record.ViolationKind{record.NeverFree, record.NoProgress}
	apart     = append(slices.Clone(anything), record.TokenOrder)
	dataAlone = []record.ViolationKind{record.StaleWrite, record.LostUpdate}
)

// rules are the claims that the matrix tests.
var rules = []rule{
	// One server.
	{nil, setnx, surely("a key without an expiry stays if its holder does not release it")},
	{nil, expiring, rarely("the validity counts from the reply, without an allowance: the server forgets the lease earlier than its holder, by the time that the reply took", harm...)},
	{nil, waiting, rarely("the validity counts from before the SET, but without an allowance for clocks", harm...)},
	{[]string{"hang", "cut", "lose", "delay"}, expiring, rarely("work outlasts leases as without a fault, and a client that waits for seconds for each lost reply makes no progress", append(slices.Clone(harm), record.NoProgress)...)},
	{[]string{"pause", "suspend"}, expiring, surely("a holder that is stopped between the check of its lease and its write is late with any lock", harm...)},
	{[]string{"delay-write"}, expiring, surely("a delayed write overwrites the next holder's data with any lock", harm...)},
	{[]string{"duplicate-write"}, expiring, surely("a write that is carried out twice undoes the writes in between", harm...)},
	{[]string{"step-server"}, expiring, surely("the server's clock is the only one that counts the TTL", harm...)},
	{[]string{"rate"}, expiring, surely("a server with a fast clock forgets early, and there is no allowance for it", harm...)},
	{[]string{"restart-empty", "restart-1sec", "evict", "flush"}, expiring, surely("the server is the only one that knew of the lock", harm...)},
	{[]string{"failover"}, expiring, surely("the new master has not received the lock: the wait was for another replica, or for none", harm...)},
	{[]string{"failover"}, []string{"wait-late"}, surely("the lease counts from the end of the WAIT: the server forgets the key before the holder does", harm...)},
	{[]string{"split-brain"}, expiring, surely("the old and the new master do not have each other's keys", harm...)},
	{[]string{"failover", "split-brain"}, acknowledged, never("every replica that may take over has the key, the old master has no replica left that could acknowledge, and the lease counts from before the SET")},
	{[]string{"all"}, expiring, surely("each of these faults alone breaks it")},
	{nil, []string{"setpx-del"}, surely("a release after the lease has expired deletes the next holder's lock", harm...)},
	{nil, []string{"setnx-expire"}, surely("a release after the lease has expired deletes the next holder's lock; and if the EXPIRE is lost, the lock is held forever", append(slices.Clone(harm), liveness...)...)},
	{[]string{"all"}, []string{"setpx-del", "setnx-expire"}, surely("each of these faults alone breaks it")},

	// Tokens on one server.
	{nil, counting, rarely("the validity counts from the reply; if tokens order the holders at all, then only their writes", dataAlone...)},
	{[]string{"hang", "cut", "lose", "delay"}, counting, rarely("work outlasts leases as without a fault, and a client that waits for seconds for each lost reply makes no progress", append(slices.Clone(dataAlone), record.NoProgress)...)},
	{[]string{"pause", "suspend"}, counting, surely("a late holder has the larger token, or the same as the next holder", dataAlone...)},
	{[]string{"delay-write", "duplicate-write"}, counting, surely("reads are not checked: a late write comes between the next holder's read and write", dataAlone...)},
	{[]string{"split-brain"}, counting, surely("the old and the new master count separately", dataAlone...)},
	{[]string{"restart-empty", "restart-1sec", "failover", "evict", "flush"}, counting, rarely("the counter is lost with the lock and starts again", dataAlone...)},
	{[]string{"restart-empty", "restart-1sec", "flush"}, counting, surely("the counter is lost with the lock and starts again", dataAlone...)},
	{[]string{"all"}, counting, rarely("each of these faults alone breaks it")},

	// A majority.
	{nil, majority, never("two majorities share a server, which votes once; the time counts from before the first command, by two clocks and with an allowance, and a client that is not sure gives the lock up")},
	{[]string{"pause", "suspend", "step-server", "evict"}, slices.Concat(admits, knows), never("the resource sees a holder's token before the holder reads, and refuses smaller tokens from then on, whoever believes that it holds the lock")},
	{[]string{"delay-write", "duplicate-write"}, knows, never("the resource recognises repeated writes, and refuses a holder's writes that arrive out of order")},
	{[]string{"pause", "suspend"}, unfenced, surely("a holder that is stopped between the check of its lease and its write is late with any lock", anything...)},
	{[]string{"pause", "suspend"}, writes, surely("a late write comes between the next holder's read and write", dataAlone...)},
	{[]string{"delay-write"}, unfenced, surely("a delayed write overwrites the next holder's data with any lock", harm...)},
	{[]string{"duplicate-write"}, unfenced, surely("a write that is carried out twice undoes the writes in between", harm...)},
	{[]string{"delay-write", "duplicate-write"}, writes, surely("a late write comes between the next holder's read and write", dataAlone...)},
	{[]string{"delay-write", "duplicate-write"}, admits, surely("a holder's own write arrives late or twice, with the same token as its other writes", record.LostUpdate)},
	{[]string{"step-server"}, []string{"redlock", "quarantine"}, surely("servers whose clocks jump forget a lease early, and no client watches their clocks", anything...)},
	{[]string{"step-server"}, watching, rarely("a jump during a round is detected after it; no other client gets the lock until the servers that jumped vote again", record.Overvalued)},
	{[]string{"rate"}, unfenced, surely("the allowance covers one percent; and servers whose clocks are found to be off do not vote, never again if they stay off", append(slices.Clone(anything), liveness...)...)},
	{[]string{"rate"}, slices.Concat(writes, admits, knows), rarely("servers whose clocks are found to be off do not vote, never again if they stay off", liveness...)},
	{[]string{"restart-empty", "restart-1sec", "failover"}, redlock, surely("servers that have restarted vote a second time", anything...)},
	{[]string{"split-brain"}, unfenced, surely("if a majority needs the servers that split, each side has one, and the new masters vote after their quarantine", apart...).within(400)},
	{[]string{"split-brain"}, redlock, surely("a server that has split votes twice", apart...)},
	{[]string{"split-brain"}, slices.Concat(writes, admits, knows), rarely("each side has a majority and counts separately: their tokens are not ordered", append(slices.Clone(dataAlone), record.TokenOrder)...)},
	{[]string{"restart-1sec", "failover"}, minting, never("servers that have restarted do not vote until every lease that they may have forgotten has expired, and a counter from another run of its server is first raised to the clock: tokens rise even if all counters have lost their last values")},
	{[]string{"evict"}, unfenced, rarely("evicted keys free their servers' votes; a lease on five servers survives two", anything...)},
	{[]string{"evict"}, redlock, surely("evicted keys free their servers' votes, and no key is restored", harm...)},
	{[]string{"flush"}, redlock, surely("a flushed server votes again: no client looks for its mark", anything...)},
	{[]string{"flush"}, slices.Concat(voting[1:], library), rarely("a majority may be flushed after it granted and before its answers arrive; no other client gets the lock until the flushed servers vote again", record.Overvalued)},
	{[]string{"evict"}, writes, rarely("there are two holders, and reads are not checked", dataAlone...)},
	{[]string{"all"}, unfenced, surely("these include pauses, late writes and flushed servers").within(400)},
	{[]string{"all"}, slices.Concat(writes, admits), rarely("these include late and repeated writes, and clocks that stay off")},
	{[]string{"all"}, knows, rarely("these include clocks that stay off, and clocks that are set back when all counters are lost", append(slices.Clone(liveness), record.TokenOrder)...)},

	// The largest of several counters that are not synchronized.
	{nil, naive, rarely("the server that two majorities share need not be the one with the largest counter", append(slices.Clone(dataAlone), append(slices.Clone(liveness), record.TokenOrder)...)...)},
	{[]string{"pause", "suspend", "restart-empty", "split-brain", "evict", "flush", "delay-write", "duplicate-write"}, naive, surely("the server that two majorities share need not be the one with the largest counter, and reads are not checked", append(slices.Clone(dataAlone), record.TokenOrder)...)},

	// Flaws that break columns in which the other designs hold. A column that breaks no
	// design would prove nothing.
	{[]string{"slow"}, []string{"half-quorum"}, surely("two halves of the servers count as two majorities")},
	{[]string{"cut", "hang"}, []string{"half-quorum"}, surely("two halves of the servers count as two majorities")},
	{[]string{"slow"}, []string{"setex"}, surely("SETEX overwrites: every client that asks gets the lock")},
	{[]string{"slow"}, []string{"same-value"}, surely("a release after the lease has expired deletes the next holder's lock, which has the same value", harm...)},
	{[]string{"duplicate-write"}, []string{"repeats-only"}, rarely("the resource recognises repeated writes", harm...)},
	{[]string{"delay-write"}, []string{"repeats-only"}, surely("a late write is no repetition", harm...)},
	{[]string{"step-client"}, []string{"wall-clock", "expire-at"}, surely("it uses only the wall clock", anything...)},
	{[]string{"rate-small"}, []string{"no-drift"}, surely("there is no allowance for the servers' clocks", belief...)},
	{[]string{"hang", "cut", "lose", "delay"}, []string{"late-start"}, surely("the time counts from the replies, which are late", anything...)},
	{[]string{"cut", "lose"}, []string{"no-timeout"}, surely("it waits forever for a lost reply", record.Stuck)},
}
