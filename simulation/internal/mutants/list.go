package mutants

// Group has the mutants of one kind of guarantee.
type Group struct {
	// Title names the kind, and Intro is a sentence that states it.
	Title, Intro string
	Mutants      []Mutant
}

// Groups returns all mutants, in the order in which to read their guarantees.
func Groups() []Group {
	return []Group{
		{"Time", "A holder never counts on a lease for longer than a quorum of the servers keeps its keys.", ofTime()},
		{"Votes and quorums", "At any time at most one client has the votes of a quorum for a key.", ofVotes()},
		{"Servers", "A vote counts only while the server that gave it is sure to remember it.", ofServers()},
		{"Tokens", "Each lease on a key gets a larger token than every earlier one.", ofTokens()},
		{"Extensions and hand-offs", "A lease that is extended, handed over or handed off still has one holder.", ofLeases()},
		{"Release and rollback", "What a lease or a lost round has set is deleted, and nothing else is.", ofReleases()},
		{"Liveness", "No caller waits longer than it must: not for a dead or late server, and not behind others without end.", ofLiveness()},
		{"Guards", "A resource refuses a holder whose lease is over.", ofGuards()},
		{"Errors", "An error says what is certain, and no answer does harm beyond its own command.", ofErrors()},
	}
}

// All returns every mutant.
func All() []Mutant {
	var all []Mutant
	for _, g := range Groups() {
		all = append(all, g.Mutants...)
	}
	return all
}

func scenario(id string) Detector { return Detector{Scenario: id} }

func searching(name string) Detector { return Detector{Search: name} }

func test(pkg, pattern string) Detector { return Detector{Package: pkg, Test: pattern} }

// contract runs contract.Check on an embedded server, which executes the Lua scripts.
// The simulation only has a model of them.
func contract() Detector { return test("./instance", "^TestContractMiniredis$") }

// guard runs fencing/guardtest on the in-memory guard.
func guard() Detector { return test("./fencing", "^TestMemory") }

// queueRules tries the rules of the wait queue in all orders of events.
func queueRules() Detector { return test("./quorum/internal/handoff", "^TestQueueInEveryOrder$") }

// at returns a mutant's only edit.
func at(marker, old, new string) []Edit { return []Edit{{marker, old, new}} }

// Searches returns the searches with random faults. The designs withstand these faults.
// Package matrix has the faults that break them.
func Searches() []Search {
	const n = 600
	return []Search{
		{Name: "messages", Workload: "mixed", Design: "default", Faults: []string{"cut", "lose", "reorder", "reconnect"}, Seeds: n},
		{Name: "servers", Workload: "mixed", Design: "default", Faults: []string{"hang", "restart", "failover", "crash", "reboot"}, Seeds: n},
		{Name: "clocks", Workload: "mixed", Design: "token-admit", Faults: []string{"pause", "step", "hang"}, Seeds: n},
		{Name: "pauses", Workload: "mixed", Design: "token-admit", Faults: []string{"pause", "crash", "cut"}, Seeds: n},
		// Dropped keys can cause two holders, but tokens keep their order.
		{Name: "memory", Workload: "mixed", Design: "token-admit", Faults: []string{"evict", "flush", "cut"}, Except: []string{"two holders", "validity beyond reality"}, Seeds: n},
		{Name: "cohorts", Workload: "crowd", Design: "token-admit", Faults: []string{"crash", "reboot", "pause", "hang", "restart", "cut", "lose", "step"}, Seeds: n / 4},
		// Handles are late, lost, repeated or sent to two receivers.
		{Name: "relay", Workload: "relay", Design: "token-admit", Faults: []string{"crash", "reboot", "pause", "hang", "restart", "proxy", "cut", "lose", "reorder", "delay"}, Seeds: n / 2},
		// Restarts that only the server reports. A vote lost during its round counts one
		// less, as in S7d.
		{Name: "between", Workload: "relay", Design: "default", Faults: []string{"proxy", "switch", "demote", "restart", "failover", "reconnect", "hang"}, Except: []string{"validity beyond reality"}, Seeds: n / 2},
	}
}
