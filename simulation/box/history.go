package box

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/check"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// What is written to a history.
const (
	wasAsked    = "asked"    // a client is about to ask for the lock
	wasAcquired = "acquired" // it has the lock
	wasDenied   = "denied"   // it does not get the lock
	wasValid    = "valid"    // it has found its lease valid
	wasOver     = "over"     // it has found its lease over, or told that it is lost
	wasReleased = "released" // it is about to release
	wasRead     = "read"     // the resource executed a read
	wasWritten  = "written"  // the resource executed a write
	wasStale    = "refused"  // the resource refused a write because of its token
	wasDead     = "dead"     // the client was killed
	wasFault    = "fault"    // a step that isn't a client's
	wasSaid     = "said"     // another answer of a client
)

// Entry is a line of a history.
type Entry struct {
	// Seq counts the entries from 1. An action ended before any entry with a larger number was
	// written.
	Seq int `json:"seq"`
	// Began is the number of entries at its beginning. Actions up to that number had ended
	// before.
	Began  int    `json:"began,omitempty"`
	Client string `json:"client,omitempty"`
	// Lease counts the client's leases, from 1.
	Lease int    `json:"lease,omitempty"`
	What  string `json:"what"`
	Token uint64 `json:"token,omitempty"`
	// Value is what was read or written. Version counts the writes before this one, as its writer
	// read it. Found is the actual number.
	Value   int `json:"value,omitempty"`
	Version int `json:"version,omitempty"`
	Found   int `json:"found,omitempty"`
	// Words has details.
	Words string `json:"words,omitempty"`
	// At is when it was written, from the play's beginning. Nothing is concluded from it.
	At time.Duration `json:"at_ns"`
}

// findingsIn returns what follows from a history's order. That a write was executed late is no
// sign of a second holder: no lock can prevent a pause between the check and the write.
func findingsIn(history []Entry) (findings []Finding) {
	log := recordOf(history)
	events := slices.Collect(log.All())
	for _, f := range check.Violations(log, check.Rules{}) {
		shown := events[f.Event]
		if f.Kind == record.TwoHolders && shown.Kind != record.Looked {
			continue
		}
		text := words.Replace(f.Text)
		findings = append(findings, Finding{Kind: Kind(f.Kind), Seq: int(shown.N), Text: text})
	}
	return findings
}

// words are what is said of a play with one lock, and of clients without tokens.
var words = strings.NewReplacer(" (token 0)", "", ` of "`+recordKey+`"`, "", ` wrote "`+recordKey+`"`, " wrote", strconv.Quote(recordKey), "the lock")

// Record is the play's history as a record of package record, in which N is the number of an entry.
// It has no Truth: nothing is known of the clients' clocks.
func (p Play) Record() record.Log { return recordOf(p.History) }

// Moment is the time of an entry in a Record. What began after an entry began before the next one.
func Moment(seq int) time.Duration { return time.Duration(2 * seq) }

func recordOf(history []Entry) record.Log {
	r := recorder{leases: map[leaseName]int{}}
	for _, e := range history {
		r.take(e)
	}
	slices.SortStableFunc(r.events, func(a, b record.Event) int { return cmp.Compare(a.At, b.At) })
	return record.Log{r.events}
}

// recorder makes events of entries. The leases of a client are told apart as if each had a goroutine
// of its own.
type recorder struct {
	leases map[leaseName]int
	events []record.Event
}

type leaseName struct {
	client string
	lease  int
}

func (r *recorder) take(e Entry) {
	began, ended := Moment(e.Began)+1, Moment(e.Seq)
	name := leaseName{e.Client, e.Lease}
	add := func(at time.Duration, kind record.EventKind) *record.Event {
		r.events = append(r.events, record.Event{
			At: at, Kind: kind, Process: e.Client, Goroutine: max(0, e.Lease-1), N: uint64(e.Seq), Key: recordKey, Lease: r.leases[name], Token: fencing.Token(e.Token),
		})
		return &r.events[len(r.events)-1]
	}
	// access is a request to the resource, and its effect.
	access := func(kind record.EventKind, version int, words string) {
		add(began, record.Sent).Place = fault.Resource
		took := add(ended, kind)
		took.Place, took.Version, took.AsOf, took.Value, took.Words = fault.Resource, uint64(version), uint64(e.Version), int64(e.Value), words
		add(ended, record.Received).Place = fault.Resource
	}
	switch e.What {
	case wasAcquired:
		add(began, record.Asked)
		r.leases[name] = len(r.leases) + 1
		add(ended, record.Acquired)
	case wasDead:
		add(ended, record.Crashed)
	}
	if r.leases[name] == 0 {
		return // the rest is about leases
	}
	switch e.What {
	case wasValid: // the client believes so from before it looked
		add(began, record.Looked).Validity = 1
	case wasOver, wasReleased:
		add(ended, record.Released)
	case wasRead:
		access(record.Read, e.Version, "")
	case wasWritten:
		access(record.Write, e.Found+1, "")
	case wasStale:
		access(record.Write, 0, "refused")
	}
}

// recordKey is the lock in a record.
const recordKey = "k"
