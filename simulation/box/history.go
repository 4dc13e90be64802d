package box

import (
	"cmp"
	"fmt"
	"regexp"
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
	wasAsked    = "asks for the lock"
	wasAcquired = "has the lock"
	wasDenied   = "doesn't get the lock"
	wasValid    = "finds its lease valid"
	wasOver     = "finds its lease over" // or told that it is lost
	wasReleased = "asks to release"
	wasRead     = "read"    // the resource executed a read
	wasWritten  = "wrote"   // the resource executed a write
	wasStale    = "refused" // the resource refused a read or write because of its token
	wasDead     = "is killed"
	wasFault    = "fault" // a step that isn't a client's
	wasSaid     = "says"  // another answer of a client
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

// Details are what an entry has beside its client and What.
func (e Entry) Details() string {
	var all []string
	if e.Lease > 1 {
		all = append(all, fmt.Sprintf("lease %d", e.Lease))
	}
	if e.Token > 0 {
		all = append(all, fmt.Sprintf("token %d", e.Token))
	}
	if e.What == wasRead || e.What == wasWritten {
		all = append(all, fmt.Sprintf("value %d", e.Value))
	}
	if e.Words != "" {
		all = append(all, e.Words)
	}
	return strings.Join(all, ", ")
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
		text := laterLease.ReplaceAllString(versions.ReplaceAllString(words.Replace(f.Text), unread), "$1 (lease $2)")
		findings = append(findings, Finding{Kind: Kind(f.Kind), Seq: int(shown.N), Text: text})
	}
	return findings
}

// What a record's words mean in a play. Versions say nothing to a reader of a play with two writes.
var (
	laterLease = regexp.MustCompile(`\b(c\d)\.(\d+)`)
	versions   = regexp.MustCompile(` as of version \d+ over version \d+`)
)

const unread = " on top of a write that it had not read"

// words are what is said of a play with one lock, and of clients without tokens.
var words = strings.NewReplacer(" (token 0)", "", ` of "`+recordKey+`"`, "", ` wrote "`+recordKey+`"`, " wrote", "had used it", "had used the resource", strconv.Quote(recordKey), "the lock")

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

// recorder makes events of entries. The leases of a client are told apart as if each after the first had
// a goroutine of its own.
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
	name, goroutine := leaseName{e.Client, e.Lease}, 0
	if e.Lease > 1 {
		goroutine = e.Lease
	}
	add := func(at time.Duration, kind record.EventKind) *record.Event {
		r.events = append(r.events, record.Event{
			At: at, Kind: kind, Process: e.Client, Goroutine: goroutine, N: uint64(e.Seq), Key: recordKey, Lease: r.leases[name], Token: fencing.Token(e.Token),
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
