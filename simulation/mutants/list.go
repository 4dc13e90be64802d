package mutants

import "slices"

// All is every mutant.
func All() []Mutant {
	return slices.Concat(ofTime(), ofVotes(), ofTokens(), ofExtensions(), ofOverload(), ofReleases(), ofCohorts(), ofServers(), ofHandles(), ofScripts(), ofErrors(), ofGuards())
}

// The judges.

func scenario(id string) Judge { return Judge{Scenario: id} }

func searching(name string) Judge { return Judge{Search: name} }

func test(pkg, pattern string) Judge { return Judge{Package: pkg, Test: pattern} }

// contract is quorumtest.Check on an embedded server, which runs the scripts: the
// simulation has a model of what they do.
func contract() Judge { return test("./instance", "^TestContractMiniredis$") }

// guard is fencing/guardtest on the guard that keeps its marks in memory.
func guard() Judge { return test("./fencing", "^TestMemory") }

// edit is a mutant's only edit.
func edit(file, old, new string) []Edit { return []Edit{{file, old, new}} }

// Searches are what is searched with random faults. Under these the designs hold: what
// breaks where they don't is in package matrix.
func Searches() []Search {
	const n = 600
	return []Search{
		{Name: "messages", Workload: "mixed", Design: "default", Faults: []string{"cut", "lose", "reorder", "reconnect"}, Seeds: n},
		{Name: "servers", Workload: "mixed", Design: "default", Faults: []string{"hang", "restart", "failover", "crash", "reboot"}, Seeds: n},
		{Name: "clocks", Workload: "mixed", Design: "token-admit", Faults: []string{"pause", "step", "hang"}, Seeds: n},
		{Name: "pauses", Workload: "mixed", Design: "token-admit", Faults: []string{"pause", "crash", "cut"}, Seeds: n},
		// Keys that are dropped can make two holders; the tokens are above that.
		{Name: "memory", Workload: "mixed", Design: "token-admit", Faults: []string{"evict", "flush", "cut"}, Except: []string{"two holders", "validity beyond reality"}, Seeds: n},
		{Name: "cohorts", Workload: "crowd", Design: "token-admit", Faults: []string{"crash", "reboot", "pause", "hang", "restart", "cut", "lose", "step"}, Seeds: n / 4},
		// Handles that are late, lost, repeated or sent to two receivers.
		{Name: "relay", Workload: "relay", Design: "token-admit", Faults: []string{"crash", "reboot", "pause", "hang", "restart", "proxy", "cut", "lose", "reorder", "delay"}, Seeds: n / 2},
		// Restarts that nothing tells of but the server. A vote that is lost while its
		// round is under way is one less, as in S7d.
		{Name: "between", Workload: "relay", Design: "default", Faults: []string{"proxy", "switch", "demote", "restart", "failover", "reconnect", "hang"}, Except: []string{"validity beyond reality"}, Seeds: n / 2},
		// Instances that are no Starters are asked on goroutines.
		{Name: "goroutines", Workload: "mixed", Design: "quarantine", Faults: []string{"cut", "lose", "hang", "restart"}, Seeds: n},
	}
}
