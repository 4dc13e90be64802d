//go:build unix

package box

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/check"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// history is what happens in a play, as a record of package record, in which Op is what a text says of an
// event, if anything. It has no Truth: nothing is known of the clients' clocks.
type history struct {
	began  time.Time
	log    *record.Log
	events uint64
	leases int
}

// recordKey is the lock in a record.
const recordKey = "k"

// findsOver is the Op of an event in which a client says that its lease is over.
const findsOver = "finds its lease over"

// note adds an event. N counts the events.
func (h *history) note(client string, kind record.EventKind, op, words string) *record.Event {
	h.events++
	e := h.log.Add(time.Since(h.began), kind, client, "")
	e.N, e.Key, e.Op, e.Words = h.events, recordKey, op, words
	return e
}

// of adds an event of a client's lease.
func (h *history) of(c *client, kind record.EventKind, op, words string) *record.Event {
	e := h.note(c.name, kind, op, words)
	e.Lease, e.Goroutine, e.Token = c.lease, goroutine(c.leases), fencing.Token(c.token)
	return e
}

// goroutine tells the leases of a client apart, as if each after the first had a goroutine of its own.
func goroutine(lease int) int {
	if lease < 2 {
		return 0
	}
	return lease
}

// access notes that a client sends a read or a write, and returns the event in which it is executed.
func (h *history) access(c *client, kind record.EventKind, op string) record.Event {
	sent := h.of(c, record.Sent, "", "")
	sent.Place = fault.Resource
	e := *sent
	e.Kind, e.Op = kind, op
	return e
}

// executed notes that the resource has executed an access, or refused it.
func (h *history) executed(e record.Event) {
	if e.Words != "" {
		e.Op = e.Words
	}
	noted := h.note(e.Process, e.Kind, "", "")
	e.At = noted.At
	*noted = e
}

// findingsIn returns what follows from a history's order. That a write was executed late is no
// sign of a second holder: no lock can prevent a pause between the check and the write.
func findingsIn(log record.Log) (findings []Finding) {
	found := check.Violations(log, check.Rules{})
	both := slices.ContainsFunc(found, func(f check.Found) bool { return f.Kind == record.TwoHolders })
	for _, f := range found {
		text, seq := f.Text, f.Event+1
		for _, words := range wordings {
			text = words.of.ReplaceAllString(text, words.says)
		}
		text = strings.ReplaceAll(text, "WRITER", lastWriter(log, f.Event))
		if both { // then the writer may be right, and the later lease wrong
			text = strings.Replace(text, "wrote too late", "wrote while both held the lock", 1)
		}
		for i, e := range log[:f.Event] {
			who := record.Who(e.Process, e.Goroutine)
			if f.Kind != record.TwoHolders || e.Kind != record.Acquired || !strings.Contains(e.Words, longerThanTTL) || !strings.Contains(f.Text, who+" (token ") {
				continue
			}
			text += fmt.Sprintf("; %s got it %s: counted from there, its lease was over", who, e.Words)
			if e.Process != log[f.Event].Process { // then what shows it isn't what is wrong
				seq = i + 1
			}
		}
		findings = append(findings, Finding{Kind: Kind(f.Kind), Seq: seq, Text: text})
	}
	return findings
}

// lastWriter is the client of the last write before an event.
func lastWriter(log record.Log, event int) string {
	for _, e := range slices.Backward(slices.Collect(log.All())[:event]) {
		if e.Kind == record.Write && e.Words != refused {
			return e.Process
		}
	}
	return ""
}

// wordings are what the texts of a record's checks say of a play, which has one lock, and clients that may have no
// tokens. They name who did it and whom it hurt. Versions say nothing to a reader of a play with two writes.
var wordings = []struct {
	of   *regexp.Regexp
	says string
}{
	{regexp.MustCompile(` \(token 0\)`), ""},
	{regexp.MustCompile(`\b(c\d)\.(\d+)`), "$1 (lease $2)"},
	{regexp.MustCompile(` valid of "k" after (.+) had got it`), " valid, though $1 had got the lock later"},
	{regexp.MustCompile(` wrote "k" after (.+) had used it`), " wrote too late: $1, with a later lease, had used the resource"},
	{regexp.MustCompile(` wrote "k" as of version \d+ over version \d+`), " wrote on top of a write of WRITER that it had not read"},
	{regexp.MustCompile(` of "k"`), ""},
	{regexp.MustCompile(`"k"`), "the lock"},
}
