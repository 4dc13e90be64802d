package cells

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/record"
)

// Expectation is what a cell may show, and why.
type Expectation struct {
	// May are the kinds of violations that may be found. None: no run may break the lock.
	May []record.ViolationKind
	Why string
}

// String is about many runs, not about the one that it may stand beside.
func (e Expectation) String() string {
	if len(e.May) == 0 {
		return "no run should break this lock, because " + e.Why
	}
	return "some runs may break this lock, because " + e.Why
}

// Check says which violation of what a design promises was not expected in a run.
func (e Expectation) Check(r simulation.Result, d designs.Design) error {
	for _, kind := range r.Kinds() {
		if Promised(d, kind) && !slices.Contains(e.May, kind) {
			return fmt.Errorf("%s was not expected: %v", kind, e)
		}
	}
	return nil
}

// Harms reports whether a kind of violation counts in a cell. A lease with a validity beyond
// its servers' keys is not counted there, because locks on one server have one in nearly
// every run. Cell.Overvalued counts it for all designs.
func Harms(d designs.Design, kind record.ViolationKind) bool {
	return kind != record.Overvalued && Promised(d, kind)
}

// Promised reports whether a violation breaks what a design promises. A design whose resource
// checks tokens does not promise what holders believe, only that the data stay correct.
func Promised(d designs.Design, kind record.ViolationKind) bool {
	return !d.Fenced() || !slices.Contains(belief, kind)
}

// ExpectationOf gives the expectation of a cell, false if there is none.
func ExpectationOf(fault, design string) (want Expectation, known bool) {
	for _, r := range rules {
		if slices.Contains(strings.Fields(r.designs), design) && (r.faults == "" || slices.Contains(strings.Fields(r.faults), fault)) {
			want, known = Expectation{r.may, r.why}, true
		}
	}
	return want, known
}

// rule is an expectation for several cells. Names are separated by spaces. Later rules override earlier ones.
type rule struct {
	faults, designs string // no faults: all
	may             []record.ViolationKind
	why             string
}

// Groups of designs.
const (
	expiring = "setnx-expire setpx-del setpx-cad tair-cas replica-async wait-one wait-some semisync"
	// library is this one without tokens. fenced has a resource that checks them.
	library  = "topup default"
	fenced   = "token-write token-admit idempotent"
	unfenced = "redlock " + library
	majority = unfenced + " " + fenced
)

// Kinds of violations.
var (
	never      []record.ViolationKind
	data       = []record.ViolationKind{record.StaleWrite, record.LostUpdate}
	harm       = plus(data, record.TwoHolders)
	belief     = []record.ViolationKind{record.TwoHolders, record.Overvalued}
	overvalued = []record.ViolationKind{record.Overvalued}
	anything   = plus(harm, record.Overvalued)
	liveness   = []record.ViolationKind{record.NeverFree, record.NoProgress}
	// all of them but those that show a failure of the code, not of the lock: a run that doesn't end, goroutines
	// that are left, a panic.
	all = plus(anything, record.TokenOrder, record.NeverFree, record.NoProgress)
)

func plus(kinds []record.ViolationKind, more ...record.ViolationKind) []record.ViolationKind {
	return slices.Concat(kinds, more)
}

// rules are the claims that the matrix tests.
var rules = []rule{
	// Without a fault, and where no later rule says otherwise.
	{"", "setnx", all, "a key without an expiry stays if its holder does not release it"},
	{"", expiring, harm, "the validity counts from the reply, without an allowance: the server forgets the lease earlier than its holder, by the time that the reply took"},
	{"", "wait-one wait-some", harm, "the validity counts from before the SET, but without an allowance for clocks"},
	{"", "token-after", data, "the validity counts from the reply; if tokens order the holders at all, then only their writes"},
	{"", majority, never, "two majorities share a server, which votes once; the time counts from before the first command, by two clocks and with an allowance, and a client that is not sure gives the lock up"},
	{"", "token-naive-max", plus(data, record.TokenOrder, record.NeverFree, record.NoProgress), "the server that two majorities share need not be the one with the largest counter, and reads are not checked"},

	// Clients, and the resource.
	{"pause suspend", expiring + " " + unfenced, anything, "a holder that is stopped between the check of its lease and its write is late with any lock"},
	{"pause suspend", "token-after", data, "a late holder has the larger token, or the same as the next holder"},
	{"pause suspend", "token-write", data, "a late write comes between the next holder's read and write"},
	{"pause suspend step-server evict", "token-admit idempotent", never, "the resource sees a holder's token before the holder reads, and refuses smaller tokens from then on, whoever believes that it holds the lock"},
	{"delay-write", expiring + " " + unfenced, harm, "a delayed write overwrites the next holder's data with any lock"},
	{"duplicate-write", expiring + " " + unfenced, harm, "a write that is carried out twice undoes the writes in between"},
	{"delay-write duplicate-write", "token-after token-write", data, "reads are not checked: a late write comes between the next holder's read and write"},
	{"delay-write duplicate-write", "token-admit", []record.ViolationKind{record.LostUpdate}, "a holder's own write arrives late or twice, with the same token as its other writes"},
	{"delay-write duplicate-write", "idempotent", never, "the resource recognises repeated writes, and refuses a holder's writes that arrive out of order"},

	// Links.
	{"hang cut lose delay", expiring, plus(harm, record.NoProgress), "work outlasts leases as without a fault, and a client that waits for seconds for each lost reply makes no progress"},
	{"hang cut lose delay", "token-after", plus(data, record.NoProgress), "work outlasts leases as without a fault, and a client that waits for seconds for each lost reply makes no progress"},

	// Servers.
	{"step-server", expiring, harm, "the server's clock is the only one that counts the TTL"},
	{"step-server", "redlock", anything, "servers whose clocks jump forget a lease early, and no client watches their clocks"},
	{"step-server", library, overvalued, "a jump during a round is detected after it; no other client gets the lock until the servers that jumped vote again"},
	{"rate", expiring, harm, "a server with a fast clock forgets early, and there is no allowance for it"},
	{"rate", "redlock", plus(anything, liveness...), "the allowance covers one percent, and no client watches the servers' clocks"},
	{"rate", library, plus(anything, liveness...), "the allowance covers one percent; and servers whose clocks are found to be off do not vote, never again if they stay off"},
	{"rate", fenced, liveness, "servers whose clocks are found to be off do not vote, never again if they stay off"},
	{"restart-empty restart-1sec evict flush", expiring, harm, "it is the only server that is asked for the lock"},
	{"restart-empty restart-1sec failover evict flush", "token-after", data, "the counter is lost with the lock and starts again"},
	{"restart-empty restart-1sec failover", "redlock", anything, "servers that have restarted vote a second time"},
	{"restart-1sec failover", library + " " + fenced, never, "servers that have restarted do not vote until every lease that they may have forgotten has expired, and a counter from another run of its server is first raised to the clock: tokens rise even if all counters have lost their last values"},
	{"failover", expiring, harm, "the new master has not received the lock: the wait was for another replica, or for none"},
	{"split-brain", expiring, harm, "the old and the new master do not have each other's keys"},
	{"failover split-brain", "wait-one", never, "every replica that may take over has the key, the old master has no replica left that could acknowledge, and the lease counts from before the SET"},
	{"split-brain", "token-after", data, "the old and the new master count separately"},
	{"split-brain", "redlock", anything, "a server that has split votes twice"},
	{"split-brain", library, plus(anything, record.TokenOrder), "if a majority needs the servers that split, each side has one, and the new masters vote after their quarantine"},
	{"split-brain", fenced, plus(data, record.TokenOrder), "each side has a majority and counts separately: their tokens are not ordered"},
	{"evict", unfenced, anything, "evicted keys free their servers' votes; a lease on five servers survives two"},
	{"evict", "token-write", data, "there are two holders, and reads are not checked"},
	{"flush", "redlock", anything, "a flushed server votes again: no client looks for its mark"},
	{"flush", library, overvalued, "a majority may be flushed after it granted and before its answers arrive; no other client gets the lock until the flushed servers vote again"},

	// In any case.
	{"", "setpx-del", harm, "a release after the lease has expired deletes the next holder's lock"},
	{"", "setnx-expire", plus(harm, liveness...), "a release after the lease has expired deletes the next holder's lock; and if the EXPIRE is lost, the lock is held forever"},
	{"all", expiring + " token-after", all, "each of these faults alone breaks it"},
	{"all", "redlock", all, "these include pauses, late writes and flushed servers"},
	{"all", library, all, "these include pauses, late writes and servers that split"},
	{"all", "token-write token-admit", all, "these include late and repeated writes, and clocks that stay off"},
	{"all", "idempotent", plus(liveness, record.TokenOrder), "these include clocks that stay off, and clocks that are set back when all counters are lost"},

	// Flaws that break columns in which the other designs hold. A column that breaks no
	// design would prove nothing.
	{"slow", "setex", all, "SETEX overwrites: every client that asks gets the lock"},
	{"slow", "same-value", harm, "a release after the lease has expired deletes the next holder's lock, which has the same value"},
	{"duplicate-write", "repeats-only", harm, "the resource recognises repeated writes"},
	{"delay-write", "repeats-only", harm, "a late write is no repetition"},
	{"step-client", "wall-clock expire-at", anything, "it uses only the wall clock"},
	{"rate-small", "no-drift", belief, "there is no allowance for the servers' clocks"},
	{"hang cut lose delay", "late-start", anything, "the time counts from the replies, which are late"},
	{"cut lose", "no-timeout", []record.ViolationKind{record.Stuck}, "it waits forever for a lost reply"},
}
