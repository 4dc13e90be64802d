package timeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// forever is later than every time in a log. Adding to it does not overflow.
const forever = time.Duration(math.MaxInt64 / 2)

// Of returns the timeline of a run.
func Of(log record.Log) *Timeline {
	r := &reader{
		t:        &Timeline{},
		messages: map[call]int{}, tenures: map[place]int{}, down: map[string]int{}, last: map[place]string{}, beliefs: map[int]int{},
	}
	line := 0
	for e := range log.All() {
		if e.Kind == record.Counted { // no event
			continue
		}
		if e.Kind != record.Believed {
			line++
			r.t.End = max(r.t.End, e.At)
		}
		lane := e.Process
		if e.Kind.Where() == record.OfServer {
			lane = cmp.Or(e.Place, e.Process)
		}
		r.take(event{e, lane, line})
	}
	r.finish()
	return r.t
}

// reader builds a Timeline.
type reader struct {
	t *Timeline

	messages map[call]int     // the index of a call's message
	tenures  map[place]int    // the index of the current tenure
	down     map[string]int   // the index of the span that a server's Back ends
	last     map[place]string // the last process that had a key
	beliefs  map[int]int      // the index of a lease's latest belief
}

type call struct {
	process, place string
	n              uint64
}

type place struct {
	server, key string
}

func (r *reader) take(e event) {
	switch e.Kind {
	case record.Found:
		r.t.Violations = append(r.t.Violations, e)
	case record.Believed:
		r.renewed(e)
	case record.Suffered:
		r.suffers(e)
	case record.Read, record.Write:
		r.access(e)
	case record.Voted, record.Answered:
		r.answered(e)
	case record.Back:
		r.event(e)
		if i, ok := r.down[e.Place]; ok {
			r.t.Spans[i].Until = e.At
			delete(r.down, e.Place)
		}
	case record.KeyChanged:
		r.keyChanged(e)
	case record.Sent:
		r.sent(e)
	default:
		if e.Kind.Where() == record.OfMessage {
			r.fate(e)
		} else {
			r.event(e)
			r.held(e)
		}
	}
}

// event adds an event of a process or a server.
func (r *reader) event(e event) {
	if e.lane == e.Process {
		lane(&r.t.Processes, e.lane)
	} else {
		lane(&r.t.Servers, e.lane)
	}
	r.t.Events = append(r.t.Events, e)
}

func lane(lanes *[]string, name string) {
	if !slices.Contains(*lanes, name) {
		*lanes = append(*lanes, name)
	}
}

// held changes what a process believes.
func (r *reader) held(e event) {
	switch e.Kind {
	case record.Crashed:
		r.crashes(e)
	case record.Acquired:
		r.believes(e, e)
	case record.Looked, record.Extended:
		r.renewed(e)
	case record.Released, record.HandedOff:
		if i, ok := r.beliefs[e.Lease]; ok {
			r.t.Beliefs[i].end(e.At, e.Kind.String())
		}
	}
}

func (e event) call() call { return call{e.Process, e.Place, e.N} }

// sent adds a message.
func (r *reader) sent(e event) {
	lane(&r.t.Processes, e.Process)
	if e.Place == fault.Resource {
		r.t.UsesResource = true
	} else {
		lane(&r.t.Servers, e.Place)
	}
	r.messages[e.call()] = len(r.t.Messages)
	r.t.Messages = append(r.t.Messages, message{Process: e.Process, Place: e.Place, Op: e.Op, Sent: e.At, Received: never, GaveUp: never})
}

// fate adds the result of a message.
func (r *reader) fate(e event) {
	i, ok := r.messages[e.call()]
	if !ok {
		return // it was never sent
	}
	switch m := &r.t.Messages[i]; e.Kind {
	case record.Received:
		m.Received = e.At
	case record.GaveUp, record.CutOff:
		m.GaveUp = e.At
	}
}

// suffers adds a fault of a process, a server or a link.
func (r *reader) suffers(e event) {
	f, t := e.Fault, e.Fault.Traits()
	s := span{Fault: f, Lane: e.lane, From: e.At, Until: forever, line: e.line}
	if f.For > 0 {
		s.Until = e.At + min(f.For, forever)
	}
	if e.Process != "" && e.Place != "" {
		s.Lane, s.Place = e.Process, e.Place
		r.t.Spans = append(r.t.Spans, s)
		return
	}
	r.event(e)
	if f.Kind == fault.Lag && f.Replica != 0 {
		s.Place = fmt.Sprint("replica ", f.Replica)
	}
	if f.Kind == fault.Reboot {
		r.crashes(e)
	}
	if t.Lasts() {
		if t.Where == fault.OnServer && f.Kind != fault.Lag {
			r.down[s.Lane] = len(r.t.Spans)
		}
		r.t.Spans = append(r.t.Spans, s)
	}
	if f.Kind == fault.Restart && f.Keep == fault.KeepNothing {
		for at := range r.tenures { // the log has a KeyChanged for each key that comes back
			if at.server == e.Place {
				r.close(at, e.At, "restart")
			}
		}
	}
}

// keyChanged changes a key's end without a command.
func (r *reader) keyChanged(e event) {
	lane(&r.t.Servers, e.Place)
	for _, k := range e.Keys {
		at := place{e.Place, k.Key}
		if k.Until != record.Gone {
			r.stands(e, at, r.last[at], k.Until)
			continue
		}
		of := *e.Event
		of.Key = k.Key
		r.event(event{&of, e.lane, e.line})
		r.close(at, e.At, "lost")
	}
}

// answered adds a command that a server has executed. The old master of a split server has a ' after
// its name, and a server that an address leads to a ~.
func (r *reader) answered(e event) {
	lane(&r.t.Servers, e.Place)
	done := message{Op: e.Op, Outcome: voted(e)}
	r.arrives(call{e.Process, strings.TrimRight(e.Place, "'~"), e.N}, done.Outcome)
	for _, k := range e.Keys {
		at := place{e.Place, k.Key}
		i, stood := r.tenures[at]
		switch {
		case k.Until == record.Gone || done.ok() && done.deleting():
			if stood && r.t.Tenures[i].Process != e.Process && r.t.Tenures[i].Until > e.At {
				r.t.Tenures[i].Taker = e.Process
			}
			r.close(at, e.At, "deleted")
		case done.ok() && done.setting():
			r.stands(e, at, e.Process, k.Until)
		case stood:
			r.stands(e, at, r.t.Tenures[i].Process, k.Until)
		}
	}
}

// arrives records the execution of a message, if it isn't a repeated one, and returns when it was
// sent.
func (r *reader) arrives(c call, outcome string) time.Duration {
	i, ok := r.messages[c]
	if !ok {
		return never
	}
	m := &r.t.Messages[i]
	m.Outcome = cmp.Or(m.Outcome, outcome)
	return m.Sent
}

// voted returns a command's outcome. Commands that reply with a number had an effect if it
// is positive.
func voted(e event) string {
	switch {
	case e.Words == "null" || e.Words == "int" && e.Value <= 0:
		return "refused"
	case e.Words == "error":
		return "failed"
	case e.Words == "int":
		return "ok"
	}
	outcome, _, _ := strings.Cut(e.Words, " ")
	return outcome
}

// stands sets a key's value and expiry from now on.
func (r *reader) stands(e event, at place, process string, until time.Duration) {
	until = min(until, forever)
	if i, ok := r.tenures[at]; ok {
		n := &r.t.Tenures[i]
		if n.Process == process && n.Until > e.At {
			n.Until = until
			return
		}
		r.close(at, e.At, "overwritten")
	}
	process = cmp.Or(process, "?")
	r.tenures[at], r.last[at] = len(r.t.Tenures), process
	r.t.Tenures = append(r.t.Tenures, tenure{Server: at.server, Key: at.key, Process: process, From: e.At, Until: until, line: e.line})
}

// close ends the current tenure, if it has not expired before.
func (r *reader) close(at place, now time.Duration, why string) {
	i, ok := r.tenures[at]
	if !ok {
		return
	}
	delete(r.tenures, at)
	n := &r.t.Tenures[i]
	if n.Until <= now {
		n.End = "expired"
		return
	}
	n.Until, n.End = now, why
}

// access adds an operation at the resource.
func (r *reader) access(e event) {
	r.t.UsesResource = true
	outcome := "ok"
	if e.Words == "refused" {
		outcome = e.Words
	}
	r.t.Accesses = append(r.t.Accesses, access{e, r.arrives(e.call(), outcome)})
}

// believed is how long the holder believes in its lease, by its own clocks.
func (e event) believed() time.Duration {
	if e.Truth == nil {
		return e.At // nothing is known
	}
	return min(max(e.At, e.Truth.Until), forever)
}

// believes begins a belief of a lease that was acquired.
func (r *reader) believes(acquired, now event) {
	of := *acquired.Event
	of.At = now.At
	r.beliefs[of.Lease] = len(r.t.Beliefs)
	r.t.Beliefs = append(r.t.Beliefs, belief{event: event{&of, acquired.lane, now.line}, Until: now.believed()})
}

// renewed is a check or an extension of a lease, or a change of its holder's clocks. If the belief
// had ended, and the holder was told a validity, a new one begins.
func (r *reader) renewed(e event) {
	i, ok := r.beliefs[e.Lease]
	if !ok || r.t.Beliefs[i].End != "" || e.Truth == nil {
		return
	}
	b := &r.t.Beliefs[i]
	if b.Until >= e.At {
		b.Until = e.believed()
		return
	}
	if e.Validity > 0 {
		b.End = "ran out"
		r.believes(b.event, e)
	}
}

// crashes ends all beliefs of a process.
func (r *reader) crashes(e event) {
	for i := range r.t.Beliefs {
		if b := &r.t.Beliefs[i]; b.Process == e.Process {
			b.end(e.At, "crashed")
		}
	}
}

// end ends a belief, if it has not ended before.
func (b *belief) end(at time.Duration, why string) {
	switch {
	case b.End != "":
	case b.Until <= at:
		b.End = "ran out"
	default:
		b.Until, b.End = at, why
	}
}

// finish truncates everything at the end of the log.
func (r *reader) finish() {
	t := r.t
	for i := range t.Beliefs {
		b := &t.Beliefs[i]
		if b.Until > t.End {
			b.Until = t.End
		} else if b.End == "" {
			b.End = "ran out"
		}
	}
	for i := range t.Tenures {
		n := &t.Tenures[i]
		if n.Until > t.End {
			n.Until = t.End
		} else if n.End == "" {
			n.End = "expired"
		}
	}
	for i := range t.Spans {
		t.Spans[i].Until = min(t.Spans[i].Until, t.End)
	}
	slices.SortFunc(t.Processes, byLength)
	slices.SortFunc(t.Servers, byLength)
}

// byLength puts c2 before c10, and the witness last.
func byLength(a, b string) int {
	return cmp.Or(len(a)-len(b), strings.Compare(a, b))
}
