package live

import (
	"cmp"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation/check"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// finding is a violation in a ledger.
type finding struct {
	Kind record.ViolationKind `json:"kind"`
	// Seq is the entry that shows it.
	Seq  int    `json:"seq"`
	Text string `json:"text"`
}

// findingsIn returns the violations in a ledger, of the kinds that can be detected outside
// the simulation.
func findingsIn(entries []entry, rules check.Rules) []finding {
	log := recordOf(entries)
	events := slices.Collect(log.All())
	var findings []finding
	for _, e := range entries {
		switch e.What {
		case wasStarved:
			findings = append(findings, finding{record.NoProgress, e.Seq, e.Who + ": " + e.Words})
		case wasBlocked:
			findings = append(findings, finding{record.NeverFree, e.Seq, e.Who + ": " + e.Words})
		}
	}
	for _, f := range check.Violations(log, rules) {
		findings = append(findings, finding{f.Kind, int(events[f.Event].N), f.Text})
	}
	slices.SortStableFunc(findings, func(a, b finding) int { return a.Seq - b.Seq })
	return findings
}

// kindsOf returns the kinds of findings, sorted and each once.
func kindsOf(findings []finding) []record.ViolationKind {
	var kinds []record.ViolationKind
	for _, f := range findings {
		kinds = append(kinds, f.Kind)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// The times in a record of a ledger are the numbers of entries: what began after an entry began
// before the next one.
func beganAt(seq int) time.Duration { return time.Duration(2*seq) + 1 }
func endedAt(seq int) time.Duration { return time.Duration(2 * seq) }

// recordOf converts a ledger to a record. It has no Truth: nothing is known of the clients' clocks. N
// is the number of the entry. The leases of a client are told apart as if each had a goroutine of its
// own.
func recordOf(entries []entry) record.Log {
	type leaseName struct {
		who   string
		lease int
	}
	leases := map[leaseName]int{}
	var events []record.Event
	for _, e := range entries {
		name := leaseName{e.Who, e.Lease}
		event := record.Event{
			At: endedAt(e.Seq), Process: e.Who, Goroutine: max(0, e.Lease-1), N: uint64(e.Seq), Key: key, Lease: leases[name], Token: e.Token,
		}
		add := func(at time.Duration, kind record.EventKind) *record.Event {
			event := event
			event.At, event.Kind = at, kind
			events = append(events, event)
			return &events[len(events)-1]
		}
		// access is a request to the resource, and its effect.
		access := func(kind record.EventKind, version uint64, words string) {
			add(beganAt(e.Began), record.Sent).Place = fault.Resource
			took := add(endedAt(e.Seq), kind)
			took.Place, took.Version, took.AsOf, took.Value, took.Words = fault.Resource, version, e.Version, e.Value, words
			add(endedAt(e.Seq), record.Received).Place = fault.Resource
		}
		switch e.What {
		case wasAcquired:
			leases[name] = len(leases) + 1
			add(beganAt(e.Began), record.Asked)
			add(endedAt(e.Seq), record.Acquired).Lease = leases[name]
		case wasKilled:
			add(endedAt(e.Seq), record.Crashed)
		}
		if event.Lease == 0 {
			continue // the rest is about leases
		}
		switch e.What {
		case wasValid: // it believes so from before it looked
			add(beganAt(e.Began), record.Looked).Validity = 1
		case wasOver, wasReleased:
			add(endedAt(e.Seq), record.Released)
		case wasRead:
			access(record.Read, e.Version, "")
		case wasWritten:
			access(record.Write, e.Found+1, "")
		case wasStale:
			access(record.Write, 0, "refused")
		}
	}
	slices.SortStableFunc(events, func(a, b record.Event) int { return cmp.Compare(a.At, b.At) })
	return record.Log{events}
}
