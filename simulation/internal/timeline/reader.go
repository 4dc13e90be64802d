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

// late is the minimum delay of an operation, and of a refusal, that is mentioned.
const late = 100 * time.Millisecond

// Of returns the timeline of a run.
func Of(log record.Log) *Timeline {
	r := &reader{
		Timeline: &Timeline{token: tokens(log)},
		requests: map[request]*message{}, votes: map[request]*message{}, asked: map[string]int{},
		leases: map[int]*belief{}, keys: map[place]*tenure{}, last: map[place]string{}, split: map[string]time.Duration{},
	}
	for e := range log.All() { // a server has a lane only if somebody uses it
		if slices.Contains([]record.EventKind{record.Sent, record.Voted, record.Answered, record.KeyChanged}, e.Kind) && e.Place != fault.Resource {
			r.Servers = union(r.Servers, e.Place)
		}
	}
	slices.SortFunc(r.Servers, byLength)
	for e := range log.All() {
		if e.Kind != record.Counted && e.Kind != record.Believed {
			r.End = max(r.End, e.At)
		}
		r.take(e)
	}
	r.finish()
	return r.Timeline
}

// reader builds a Timeline.
type reader struct {
	*Timeline

	requests map[request]*message
	votes    map[request]*message     // the last request of a process for a key, by server
	asked    map[string]int           // the step in which a goroutine asks for a lock
	leases   map[int]*belief          // the latest belief in each
	keys     map[place]*tenure        // the current ones
	last     map[place]string         // the last process that had a key
	split    map[string]time.Duration // the end of each old master
}

// request is a request of a process to a server or the resource.
type request struct {
	process, place string
	n              uint64
}

// message is a request and its answer, as far as they are known.
type message struct {
	op       string
	sent     time.Duration
	outcome  string // of the server: "granted" or "refused"
	received bool   // the process has the reply
}

type place struct {
	server, key string
}

// The commands, by what they do.
var (
	watching  = []string{"probe", "tick", "time", "ping"} // they concern no lock
	acquiring = []string{"acquire", "set", "setnx", "setex", "psetex", "cas"}
	// setting are the others that set a key to their sender's value. Scripts and transactions are assumed to.
	setting  = []string{"restore", "extend", "eval", "multi", "hset", "hsetnx", "hincrby"}
	deleting = []string{"release", "del", "getdel", "cad", "delex"}
)

func requestOf(e *record.Event) request { return request{e.Process, e.Place, e.N} }

// laneOf is the process or the server that an event is about.
func (r *reader) laneOf(e *record.Event) string {
	if e.Kind.Where() == record.OfServer && e.Place != "" {
		return e.Place
	}
	r.Processes = union(r.Processes, e.Process)
	return e.Process
}

func (r *reader) take(e *record.Event) {
	known := e.Place == "" || e.Place == fault.Any || e.Place == fault.Resource || slices.Contains(r.Servers, e.Place)
	if e.Kind.Where() == record.OfServer && !known {
		return // nobody uses the server
	}
	switch e.Kind {
	case record.Found:
		if !slices.ContainsFunc(r.violations, func(v *record.Event) bool { return v.Violation.Kind == e.Violation.Kind }) {
			r.violations = append(r.violations, e)
		}
		r.step(Step{At: e.At, Text: r.violated(e), Alarm: true})
	case record.Believed:
		r.renewed(e)
	case record.Suffered:
		r.suffers(e)
	case record.Read, record.Write:
		r.access(e)
	case record.Voted, record.Answered:
		r.answered(e)
	case record.KeyChanged:
		r.keyChanged(e)
	case record.Sent:
		r.sent(e)
	case record.Received:
		if m := r.requests[requestOf(e)]; m != nil {
			m.received = true
		}
	case record.GaveUp, record.CutOff:
		if m := r.requests[requestOf(e)]; m != nil && !slices.Contains(watching, m.op) {
			r.step(Step{At: e.At, Text: fmt.Sprintf("stops waiting for an answer to its %s from {on}", m.op), lane: e.Process, who: []string{e.Process}, on: []string{e.Place}})
		}
	default:
		if e.Kind.Where() != record.OfMessage && e.Kind != record.Counted {
			r.tell(e, r.laneOf(e))
		}
	}
}

// tell takes an event of a process or a server, and adds its step, if there are words for it.
func (r *reader) tell(e *record.Event, lane string) {
	who := record.Who(lane, e.Goroutine)
	lease := named(e.Key, r.token(e.Token))
	text, brief, bad := "", "", false
	switch e.Kind {
	case record.Asked:
		text = "asks for " + e.Key
		r.asked[who] = len(r.Steps)
	case record.Acquired:
		text = "GETS " + lease + ", valid for " + length(e.Validity) + r.voted(e, who)
		delete(r.asked, who)
		r.believes(belief{Process: e.Process, Key: e.Key, who: who, token: e.Token, lease: e.Lease}, e)
	case record.Refused:
		text = "is refused: " + reason(e.Words)
		votes := r.voted(e, who)
		if i, ok := r.asked[who]; ok && e.At-r.Steps[i].At <= late {
			text, r.Steps[i].Text = "asks for "+e.Key+" and "+text, ""
		}
		text += votes
		delete(r.asked, who)
	case record.Looked:
		r.renewed(e)
		text = "checks its lease: nothing left"
		if e.Validity > 0 {
			text = "checks its lease: " + length(e.Validity) + " left"
		}
	case record.Extended:
		r.renewed(e)
		text = "extends " + lease + ": valid for " + length(e.Validity)
	case record.Released, record.HandedOff:
		text = "releases " + lease
		if e.Kind == record.HandedOff {
			text = "HANDS OFF " + lease
		}
		if b := r.leases[e.Lease]; b != nil {
			r.end(b, e.At)
		}
	case record.Noted:
		text = ": " + e.Words
	case record.Quarantined:
		text = "quarantines " + e.Place
		if e.Validity > 0 {
			text += " for " + length(e.Validity)
		}
	case record.FellBack:
		text, bad = "no longer waits for its replicas", true
	case record.NotificationLost:
		text, bad = "notifies "+e.Process+", and the notification is lost", true
	case record.Notified:
		text = "is notified by " + e.Place
	case record.SubscriptionLost:
		text, bad = "loses its subscription at "+e.Place, true
	case record.Crashed:
		text, brief, bad = "CRASHES", ": CRASH", true
		r.crashes(e)
	case record.Back:
		text, bad = "is back", true
		for _, s := range r.stops {
			if s.lane == e.Place {
				s.until = min(s.until, e.At)
			}
		}
	default:
		return
	}
	r.step(Step{At: e.At, Text: text, brief: brief, Fault: bad, lane: lane, who: []string{who}})
}

// voted lists the servers' replies that the process has received by now, since it asked.
func (r *reader) voted(e *record.Event, who string) string {
	since := e.At
	if i, ok := r.asked[who]; ok {
		since = r.Steps[i].At
	}
	by := map[string][]string{}
	for _, server := range r.Servers {
		switch m := r.votes[request{e.Process, server, 0}]; {
		case m == nil || m.sent < since:
		case !m.received:
			by["no reply yet"] = append(by["no reply yet"], server)
		default:
			by[m.outcome] = append(by[m.outcome], server)
		}
	}
	var parts []string
	for _, what := range []string{"granted", "refused", "no reply yet"} {
		if len(by[what]) > 0 {
			parts = append(parts, what+" "+strings.Join(by[what], " "))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// sent adds a message.
func (r *reader) sent(e *record.Event) {
	r.Processes = union(r.Processes, e.Process)
	m := &message{op: e.Op, sent: e.At}
	r.requests[requestOf(e)] = m
	if slices.Contains(acquiring, m.op) {
		r.votes[request{e.Process, e.Place, 0}] = m
	}
}

// suffers adds a fault of a process, a server or a link.
func (r *reader) suffers(e *record.Event) {
	f, traits := e.Fault, e.Fault.Traits()
	lane, on := e.Process, []string{anyOf(e.Place, "every server")}
	if e.Process == "" || e.Place == "" { // it isn't a link
		lane, on = r.laneOf(e), nil
	}
	who, until := []string{anyOf(lane, "every process")}, forever
	if f.For > 0 {
		until = e.At + min(f.For, forever)
	}
	text, brief := wordsOf(f)
	if traits.Stops {
		r.stop(lane, e.At, until)
	}
	if traits.Stops && traits.Where == fault.OnProcess {
		brief = ""
	}
	if text != "" { // that of a crash is its event's
		r.step(Step{At: e.At, Text: text, brief: brief, Fault: true, lane: lane, who: who, on: on})
	}
	if f.For > 0 && traits.End != "" {
		r.step(Step{At: until, Text: traits.End, Fault: true, lane: lane, who: who})
	}
	switch {
	case f.Kind == fault.Reboot:
		r.crashes(e)
	case f.Kind == fault.SplitBrain:
		r.splits(e, until)
	case f.Kind == fault.Restart && f.Keep == fault.KeepNothing:
		for _, n := range r.tenures { // the log has a KeyChanged for each key that comes back
			if at := (place{n.server, n.key}); n.server == e.Place && r.keys[at] == n {
				r.close(at, e.At)
			}
		}
	}
}

// splits begins an old master, with the keys of the processes that still reach it, unless the server is down or
// has one. The log has only changes.
func (r *reader) splits(e *record.Event, until time.Duration) {
	old := e.Place + "'"
	if e.At < r.split[old] || !slices.Contains(r.Servers, old) ||
		slices.ContainsFunc(r.stops, func(s *stop) bool { return s.lane == e.Place && e.At < s.until }) {
		return
	}
	r.split[old] = until
	for _, n := range slices.Clone(r.tenures) {
		if n.server == e.Place && r.keys[place{n.server, n.key}] == n && n.until > e.At && fault.Matches(e.Fault.Process, n.process) {
			r.stands(e, place{old, n.key}, n.process, n.until)
		}
	}
}

// stop adds a stop. Stops of a lane that overlap are one.
func (r *reader) stop(lane string, from, until time.Duration) {
	for _, s := range r.stops {
		if s.lane == lane && from <= s.until {
			s.until = max(s.until, until)
			return
		}
	}
	r.stops = append(r.stops, &stop{lane, from, until})
}

// keyChanged changes a key's end without a command.
func (r *reader) keyChanged(e *record.Event) {
	for _, k := range e.Keys {
		at := place{e.Place, k.Key}
		if k.Until != record.Gone {
			r.stands(e, at, r.last[at], k.Until)
			continue
		}
		r.step(Step{At: e.At, Text: k.Key + " is gone from {on}", Fault: true, lane: e.Place, on: []string{e.Place}})
		r.close(at, e.At)
	}
}

// answered adds a command that a server has executed. The old master of a split server has a ' after
// its name, and a server that an address leads to a ~.
func (r *reader) answered(e *record.Event) {
	ok, outcome := succeeded(e), "refused"
	if ok {
		outcome = "granted"
	}
	if m := r.requests[request{e.Process, configured(e.Place), e.N}]; m != nil {
		m.outcome = cmp.Or(m.outcome, outcome) // its second copy changes nothing
	}
	for _, k := range e.Keys {
		at := place{e.Place, k.Key}
		n := r.keys[at]
		switch {
		case k.Until == record.Gone || ok && slices.Contains(deleting, e.Op):
			switch {
			case !r.close(at, e.At):
			case n.process == e.Process:
				r.step(Step{At: e.At, Text: "'s " + n.key + " is deleted on {on}", who: []string{n.process}, on: []string{n.server}})
			default:
				r.step(Step{At: e.At, Text: "DELETES ANOTHER'S " + n.key + " on {on}", Fault: true, lane: e.Process, who: []string{e.Process}, on: []string{n.server}})
			}
		case ok && (slices.Contains(acquiring, e.Op) || slices.Contains(setting, e.Op)):
			r.stands(e, at, e.Process, k.Until)
		case n != nil:
			r.stands(e, at, n.process, k.Until)
		}
	}
}

// succeeded reports whether a command had an effect. Those that reply with a number had one if it is positive.
func succeeded(e *record.Event) bool {
	if e.Words == "int" {
		return e.Value > 0
	}
	outcome, _, _ := strings.Cut(e.Words, " ")
	return outcome == "granted" || outcome == "ok"
}

// stands sets a key's value and expiry from now on.
func (r *reader) stands(e *record.Event, at place, process string, until time.Duration) {
	until = min(until, forever)
	if n := r.keys[at]; n != nil {
		if n.process == process && n.until > e.At {
			n.until = until
			return
		}
		r.close(at, e.At)
	}
	n := &tenure{at.server, at.key, cmp.Or(process, "?"), e.At, until}
	r.keys[at], r.last[at] = n, n.process
	r.tenures = append(r.tenures, n)
}

// close ends the current tenure. It reports false if there is none, or if it has expired before.
func (r *reader) close(at place, now time.Duration) bool {
	n := r.keys[at]
	if n == nil {
		return false
	}
	delete(r.keys, at)
	if n.until <= now {
		r.expired(n)
		return false
	}
	n.until = now
	return true
}

func (r *reader) expired(n *tenure) {
	r.step(Step{At: n.until, Text: "'s " + n.key + " has expired on {on}", who: []string{n.process}, on: []string{n.server}})
}

// access adds an operation at the resource, and its step.
func (r *reader) access(e *record.Event) {
	r.accesses = append(r.accesses, e)
	op := e.Kind.String()
	if e.Kind == record.Write {
		op = "WRITE"
	}
	text := "'s " + op + " arrives"
	if m := r.requests[requestOf(e)]; m != nil && e.At-m.sent > late {
		text += ", sent " + length(e.At-m.sent) + " ago"
	}
	switch {
	case e.Words == "repeated":
		text += " again: answered, not executed again"
	case refused(e):
		text += ": REFUSED by the guard"
		if e.Token != 0 {
			text += ", token " + r.token(e.Token)
		}
	case e.Kind == record.Write:
		text += fmt.Sprintf(": value %d, version %d", e.Value, e.Version)
	default:
		text += fmt.Sprintf(": reads %d, version %d", e.Value, e.Version)
	}
	r.step(Step{At: e.At, Text: text, lane: e.Process, who: []string{who(e)}})
}

// refused reports whether the resource's guard has refused an operation.
func refused(e *record.Event) bool { return e.Words == "refused" }

// believed is how long the holder believes in its lease, by its own clocks.
func believed(e *record.Event) time.Duration {
	if e.Truth == nil {
		return e.At // nothing is known
	}
	return min(max(e.At, e.Truth.Until), forever)
}

// believes begins a belief of a lease.
func (r *reader) believes(b belief, e *record.Event) {
	b.From, b.Until, b.ended = e.At, believed(e), false
	r.leases[b.lease] = &b
	r.Beliefs = append(r.Beliefs, &b)
}

// renewed is a check or an extension of a lease, or a change of its holder's clocks. If the belief
// had ended, and the holder was told a validity, a new one begins.
func (r *reader) renewed(e *record.Event) {
	b := r.leases[e.Lease]
	switch {
	case b == nil || b.ended || e.Truth == nil:
	case b.Until >= e.At:
		b.Until = believed(e)
	case e.Validity > 0:
		r.ranOut(b)
		r.believes(*b, e)
	}
}

// crashes ends all beliefs of a process.
func (r *reader) crashes(e *record.Event) {
	for _, b := range r.Beliefs {
		if b.Process == e.Process {
			r.end(b, e.At)
		}
	}
}

// end ends a belief, if it has not ended before.
func (r *reader) end(b *belief, at time.Duration) {
	switch {
	case b.ended:
	case b.Until <= at:
		r.ranOut(b)
	default:
		b.Until, b.ended = at, true
	}
}

func (r *reader) ranOut(b *belief) {
	b.ended = true
	r.step(Step{At: b.Until, Text: "'s validity of " + named(b.Key, r.token(b.token)) + " has ended", lane: b.Process, who: []string{b.who}})
}

// finish truncates everything at the end of the log.
func (r *reader) finish() {
	for _, b := range r.Beliefs {
		if b.Until > r.End {
			b.Until = r.End
		} else {
			r.end(b, r.End)
		}
	}
	for _, n := range r.tenures {
		if r.keys[place{n.server, n.key}] == n && n.until <= r.End {
			r.expired(n)
		}
		n.until = min(n.until, r.End)
	}
	for _, s := range r.stops {
		s.until = min(s.until, r.End)
	}
	slices.SortFunc(r.Processes, byLength)
	r.finishSteps()
}

// byLength puts c2 before c10, and the witness last.
func byLength(a, b string) int {
	return cmp.Or(len(a)-len(b), strings.Compare(a, b))
}
