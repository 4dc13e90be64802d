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

// Of returns the timeline of a run.
func Of(log record.Log) *Timeline {
	r := &reader{
		t:        &Timeline{},
		messages: map[call]int{}, tenures: map[place]int{}, down: map[string]int{}, last: map[place]string{}, beliefs: map[int]int{},
	}
	number := 0
	for e := range log.All() {
		switch e.Kind {
		case record.Counted: // no event
		case record.Believed:
			r.renewed(entry{e, number})
		default:
			number++
			r.take(entry{e, number})
			r.t.End = max(r.t.End, e.At)
		}
	}
	r.finish()
	return r.t
}

// entry is an event with the number of its line.
type entry struct {
	*record.Event
	number int
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

func (r *reader) take(e entry) {
	switch e.Kind {
	case record.Found:
		v := Violation{At: e.At, Kind: string(e.Violation.Kind), Line: e.number}
		if !e.Violation.HasStack() {
			v.Text = e.Violation.Text
		}
		r.t.Violations = append(r.t.Violations, v)
	case record.Suffered:
		r.suffers(e)
	case record.Read, record.Write:
		r.access(e)
	case record.Voted, record.Answered:
		r.answered(e)
	case record.Back:
		r.lane(&r.t.Servers, e.Place)
		r.mark(e, e.Place)
		if i, ok := r.down[e.Place]; ok {
			r.t.Spans[i].Until = e.At
			delete(r.down, e.Place)
		}
	case record.KeyChanged:
		r.keyChanged(e)
	case record.Sent:
		r.sent(e)
	default:
		switch e.Kind.Where() {
		case record.OfServer:
			r.mark(e, e.Place)
		case record.OfMessage:
			r.fate(e)
		default:
			r.process(e)
		}
	}
}

func (r *reader) lane(lanes *[]string, name string) {
	if !slices.Contains(*lanes, name) {
		*lanes = append(*lanes, name)
	}
}

func (r *reader) mark(e entry, lane string) *laneEvent {
	r.t.Events = append(r.t.Events, laneEvent{Event: *e.Event, Lane: lane, Line: e.number})
	m := &r.t.Events[len(r.t.Events)-1]
	m.Validity = max(0, m.Validity)
	return m
}

// process adds an event of a process.
func (r *reader) process(e entry) {
	r.lane(&r.t.Processes, e.Process)
	r.mark(e, e.Process)
	switch e.Kind {
	case record.Crashed:
		r.crashes(e)
	case record.Acquired:
		r.acquired(e)
	case record.Looked, record.Extended:
		r.renewed(e)
	case record.Released, record.HandedOff:
		if i, ok := r.beliefs[e.Lease]; ok {
			r.t.Beliefs[i].end(e.At, e.Kind.String())
		}
	}
}

func (e entry) call() call { return call{e.Process, e.Place, e.N} }

// sent adds a message.
func (r *reader) sent(e entry) {
	r.lane(&r.t.Processes, e.Process)
	if e.Place == fault.Resource {
		r.t.UsesResource = true
	} else {
		r.lane(&r.t.Servers, e.Place)
	}
	r.messages[e.call()] = len(r.t.Messages)
	r.t.Messages = append(r.t.Messages, Message{
		Process: e.Process, Place: e.Place, Op: e.Op, Sent: e.At,
		Arrived: never, Received: never, GaveUp: never, Missed: never, Line: e.number,
	})
}

// fate adds the result of a message.
func (r *reader) fate(e entry) {
	i, ok := r.messages[e.call()]
	if !ok {
		return // it was never sent
	}
	switch m := &r.t.Messages[i]; e.Kind {
	case record.Received:
		m.Received = e.At
	case record.GaveUp, record.CutOff:
		m.GaveUp = e.At
	case record.Ignored:
		m.Missed = e.At
	case record.RequestLost:
		m.Lost = fault.Requests
	case record.ReplyLost:
		m.Lost = fault.Replies
	}
}

// suffers adds a fault of a process, a server or a link.
func (r *reader) suffers(e entry) {
	f := e.Fault
	s := Span{Lane: e.Process + e.Place, Kind: string(f.Kind), From: e.At, Until: forever, Words: faultWords(e), Line: e.number}
	if f.For > 0 {
		s.Until = e.At + min(f.For, forever)
	}
	if e.Process != "" && e.Place != "" {
		s.Lane, s.Place, s.Way = e.Process, e.Place, f.Way
		r.t.Spans = append(r.t.Spans, s)
		return
	}
	r.mark(e, s.Lane)
	if f.Kind == fault.Lag && f.Replica != 0 {
		s.Place = fmt.Sprint("replica ", f.Replica)
	}
	if f.Kind == fault.Reboot {
		r.crashes(e)
	}
	if t := f.Traits(); t.Lasts() {
		if t.Where == fault.OnServer && f.Kind != fault.Lag {
			r.down[s.Lane] = len(r.t.Spans)
		}
		r.t.Spans = append(r.t.Spans, s)
	}
	if e.Place != "" {
		r.lane(&r.t.Servers, e.Place)
		if f.Kind == fault.Restart && f.Keep == fault.KeepNothing {
			r.restarted(e)
		}
		return
	}
	r.lane(&r.t.Processes, e.Process)
}

// faultWords describes a fault without its time and place.
func faultWords(e entry) string {
	var words []string
	f := e.Fault
	if f.Kind == fault.SplitBrain && f.Process != "" {
		words = append(words, f.Process+" still reaches the old master")
	}
	if f.By != 0 {
		words = append(words, "by "+signed(f.By))
	}
	if f.PPM != 0 {
		words = append(words, fmt.Sprintf("%+d ppm", f.PPM))
	}
	switch f.Keep {
	case fault.KeepSecond:
		words = append(words, "keeps all but the last second")
	case fault.KeepAll:
		words = append(words, "keeps all")
	}
	if f.Frozen {
		words = append(words, "its clocks stand still")
	}
	return strings.Join(words, ", ")
}

// restarted ends the tenures of a server. The log has a KeyChanged for each key that comes
// back.
func (r *reader) restarted(e entry) {
	for at := range r.tenures {
		if at.server == e.Place {
			r.close(at, e.At, "restart")
		}
	}
}

// keyChanged changes a key's end without a command.
func (r *reader) keyChanged(e entry) {
	r.lane(&r.t.Servers, e.Place)
	for _, k := range e.Keys {
		at := place{e.Place, k.Key}
		if k.Until != record.Gone {
			r.stands(e, at, r.last[at], k.Until)
			continue
		}
		r.mark(e, e.Place).Key = k.Key
		r.close(at, e.At, "lost")
	}
}

// answered adds a command that a server has executed.
func (r *reader) answered(e entry) {
	r.lane(&r.t.Servers, e.Place)
	done := Message{Op: e.Op, Outcome: voted(e)}
	if m := r.request(e); m != nil {
		m.arrives(e.At, done.Outcome)
	}
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

// arrives records the execution of a message, if it isn't a repeated one.
func (m *Message) arrives(at time.Duration, outcome string) {
	if m.Arrived == never {
		m.Arrived, m.Outcome = at, outcome
	}
}

// request returns the message that a server answers, nil if it was never sent. The old master of a
// split server has a ' after its name, and a server that an address leads to a ~.
func (r *reader) request(e entry) *Message {
	i, ok := r.messages[call{e.Process, strings.TrimRight(e.Place, "'~"), e.N}]
	if !ok {
		return nil
	}
	return &r.t.Messages[i]
}

// voted returns a command's outcome. Commands that reply with a number had an effect if it
// is positive.
func voted(e entry) string {
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
func (r *reader) stands(e entry, at place, process string, until time.Duration) {
	until = min(until, forever)
	if i, ok := r.tenures[at]; ok {
		n := &r.t.Tenures[i]
		if n.Process == process && n.Until > e.At {
			n.Until, n.Open = until, false
			return
		}
		r.close(at, e.At, "overwritten")
	}
	process = cmp.Or(process, "?")
	r.tenures[at], r.last[at] = len(r.t.Tenures), process
	r.t.Tenures = append(r.t.Tenures, Tenure{Server: at.server, Key: at.key, Process: process, From: e.At, Until: until, Line: e.number})
}

// close ends the current tenure, if it has not expired before.
func (r *reader) close(at place, now time.Duration, why string) {
	i, ok := r.tenures[at]
	if !ok {
		return
	}
	delete(r.tenures, at)
	n := &r.t.Tenures[i]
	if n.Until <= now && !n.Open {
		n.End = "expired"
		return
	}
	n.Until, n.Open, n.End = now, false, why
}

// access adds an operation at the resource.
func (r *reader) access(e entry) {
	r.t.UsesResource = true
	a := access{
		At: e.At, Sent: never, Process: e.Process, Goroutine: e.Goroutine, Op: e.Kind.String(), Token: e.Token,
		Refused: e.Words == "refused", Repeated: e.Words == "repeated", Version: int64(e.Version), Value: e.Value, Line: e.number,
	}
	if i, ok := r.messages[e.call()]; ok {
		m := &r.t.Messages[i]
		a.Sent = m.Sent
		m.arrives(e.At, "ok")
		if a.Refused {
			m.Outcome = "refused"
		}
	}
	r.t.Accesses = append(r.t.Accesses, a)
}

// acquired begins a belief.
func (r *reader) acquired(e entry) {
	r.beliefs[e.Lease] = len(r.t.Beliefs)
	r.t.Beliefs = append(r.t.Beliefs, belief{
		Process: e.Process, Goroutine: e.Goroutine, Key: e.Key, Token: e.Token, From: e.At, Until: e.believed(), Line: e.number,
	})
}

// believed is how long the holder believes in its lease, by its own clocks.
func (e entry) believed() time.Duration {
	if e.Truth == nil {
		return e.At // nothing is known
	}
	return min(max(e.At, e.Truth.Until), forever)
}

// renewed is a check or an extension of a lease, or a change of its holder's clocks. If the belief
// had ended, and the holder was told a validity, a new one begins.
func (r *reader) renewed(e entry) {
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
		again := *b
		again.From, again.Until, again.End, again.Line = e.At, e.believed(), "", e.number
		r.beliefs[e.Lease] = len(r.t.Beliefs)
		r.t.Beliefs = append(r.t.Beliefs, again)
	}
}

// crashes ends all beliefs of a process.
func (r *reader) crashes(e entry) {
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
			n.Until, n.Open = t.End, true
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
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// forever is later than every time in a log. Adding to it does not overflow.
const forever = time.Duration(math.MaxInt64 / 2)
