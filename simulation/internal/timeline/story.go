package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/record"
)

// The lines of a pause's end and of giving up, which precede their consequences at the same
// moment. Lines of the log count from 1.
const (
	resumed = iota - 1
	gaveUp
)

// Step is an event in the description of a run.
type Step struct {
	At   time.Duration `json:"at"`
	Lane string        `json:"lane"`
	// Text is a sentence. Alarm: it is a violation. Fault: it is a fault.
	Text  string `json:"text"`
	Alarm bool   `json:"alarm"`
	Fault bool   `json:"fault"`

	who  string // the goroutine
	line int    // of the log, for the order within one moment
}

// Story describes the run: requests and replies, faults, beliefs and their durations, and
// what reached the resource. It omits the monitoring of servers.
func (t *Timeline) Story() []Step {
	s := story{t: t, token: t.tokens()}
	s.marks()
	s.spans()
	s.ends()
	s.abandoned()
	s.accesses()
	for _, v := range t.Violations {
		text := strings.ToUpper(v.Kind)
		if v.Text != "" {
			text += ": " + s.short(v.Text)
		}
		s.add(Step{At: v.At, Text: text, Alarm: true, line: v.Line})
	}
	slices.SortStableFunc(s.steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.line, b.line))
	})
	return repeated(folded(s.steps))
}

type story struct {
	t     *Timeline
	token func(fencing.Token) string
	steps []Step
}

func (s *story) add(step Step) {
	step.who = cmp.Or(step.who, step.Lane)
	s.steps = append(s.steps, step)
}

// short shortens the tokens in a text. Token 0 is none.
func (s *story) short(text string) string {
	text = strings.ReplaceAll(text, " (token 0)", "")
	for _, b := range s.t.Beliefs {
		if b.Token != 0 {
			text = strings.ReplaceAll(text, fmt.Sprint(b.Token), s.token(b.Token))
		}
	}
	return text
}

func (s *story) marks() {
	asked := map[string]laneEvent{} // by goroutine
	for _, m := range s.t.Events {
		who := m.who()
		text, fault := describe(m, s.token)
		if text == "" {
			continue
		}
		switch m.Kind {
		case record.Asked:
			asked[who] = m
		case record.Acquired, record.Refused:
			text += s.votes(asked[who], m)
		case record.Released:
			s.deletes(m)
		}
		s.add(Step{At: m.At, Lane: m.Lane, Text: sentence(who, text), Fault: fault, who: who, line: m.Line})
	}
}

// sentence puts a subject before a description.
func sentence(subject, text string) string {
	if strings.HasPrefix(text, ":") || strings.HasPrefix(text, "'s ") {
		return subject + text
	}
	return subject + " " + text
}

// votes lists the servers' replies that the process had received by the result.
func (s *story) votes(asked, result laneEvent) string {
	latest := map[string]Message{}
	for _, m := range s.t.Messages {
		if m.Process == result.Lane && m.acquiring() && m.Sent >= asked.At && m.Sent <= result.At {
			latest[m.Place] = m
		}
	}
	by := map[string][]string{}
	for _, server := range s.t.Servers {
		m, ok := latest[server]
		switch {
		case !ok:
		case m.Received == never || m.Received > result.At:
			by["no reply yet"] = append(by["no reply yet"], server)
		case m.ok():
			by["granted"] = append(by["granted"], server)
		default:
			by["refused"] = append(by["refused"], server)
		}
	}
	return tallied(by, []string{"granted", "refused", "no reply yet"})
}

// tallied returns " (granted A B; refused C)".
func tallied(by map[string][]string, order []string) string {
	var parts []string
	for _, what := range order {
		if len(by[what]) > 0 {
			parts = append(parts, what+" "+strings.Join(by[what], " "))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// deletes lists the servers on which the deletes of a release found something.
func (s *story) deletes(result laneEvent) {
	by := map[string][]string{}
	step := Step{Lane: result.Lane}
	for _, m := range s.t.Messages {
		if m.Process != result.Lane || !m.deleting() || m.Sent != result.At {
			continue
		}
		what := "not reached on"
		switch {
		case m.Arrived == never:
		case s.takes(m):
			by["another's"] = append(by["another's"], m.Place)
			fallthrough
		case m.ok():
			what = "deleted on"
		default:
			what = "no longer its own on"
		}
		by[what] = append(by[what], m.Place)
		if m.Arrived > step.At {
			step.At, step.line = m.Arrived, m.Line
		}
	}
	if step.At > 0 {
		text := tallied(by, []string{"deleted on", "no longer its own on", "not reached on"})
		step.Text = result.Lane + "'s key is " + strings.Trim(text, " ()")
		if others := by["another's"]; len(others) > 0 {
			step.Text, step.Fault = fmt.Sprintf("%s DELETES ANOTHER'S %s on %s", result.Lane, result.Key, strings.Join(others, " ")), true
		}
		s.add(step)
	}
}

// takes reports whether a delete deleted another process's key.
func (s *story) takes(m Message) bool {
	return slices.ContainsFunc(s.t.Tenures, func(n Tenure) bool {
		return n.Taker == m.Process && n.Server == m.Place && n.Until == m.Arrived
	})
}

func (s *story) spans() {
	for _, span := range s.t.Spans {
		t := span.traits()
		subject := span.subject()
		s.add(Step{At: span.From, Lane: span.Lane, Text: sentence(subject, span.fill(t.Text, s.t.End)), Fault: true, line: span.Line})
		if t.End != "" && span.Until < s.t.End {
			s.add(Step{At: span.Until, Lane: span.Lane, Text: sentence(subject, t.End), Fault: true, line: resumed})
		}
	}
}

// subject is the process, the server, or the server's replica that the span is about.
func (s Span) subject() string {
	if s.Kind == "lag" && s.Place != "" {
		return s.Lane + "'s " + s.Place
	}
	return anyOf(s.Lane, "every process")
}

// ends describes beliefs and keys that expire on their own, because the log does not.
func (s *story) ends() {
	for _, b := range s.t.Beliefs {
		if b.End == "ran out" {
			s.add(Step{At: b.Until, Lane: b.Process, line: b.Line, Text: fmt.Sprintf("%s's validity of %s has ended", b.who(), named(b.Key, b.Token, s.token))})
		}
	}
	// Keys of one attempt that expire within a moment are one step.
	var expired []Tenure
	for _, n := range s.t.Tenures {
		if n.End == "expired" {
			expired = append(expired, n)
		}
	}
	slices.SortStableFunc(expired, func(a, b Tenure) int { return cmp.Compare(a.Until, b.Until) })
	for len(expired) > 0 {
		first := expired[0]
		var servers []string
		var rest []Tenure
		last := first
		for _, n := range expired {
			if n.Process == first.Process && n.Key == first.Key && n.Until-first.Until <= 50*time.Millisecond {
				servers, last = append(servers, n.Server), n
			} else {
				rest = append(rest, n)
			}
		}
		slices.Sort(servers)
		s.add(Step{At: last.Until, Lane: first.Process, line: last.Line,
			Text: fmt.Sprintf("%s's %s has expired on %s", first.Process, first.Key, strings.Join(servers, " "))})
		expired = rest
	}
}

// abandoned describes requests that their process gave up: those of one kind and time in one step.
func (s *story) abandoned() {
	type group struct {
		process, op string
		at          time.Duration
	}
	var order []group
	places := map[group][]string{}
	for _, m := range s.t.Messages {
		g := group{m.Process, m.Op, m.GaveUp}
		if m.GaveUp == never || m.watching() {
			continue
		}
		if places[g] == nil {
			order = append(order, g)
		}
		places[g] = append(places[g], m.Place)
	}
	for _, g := range order {
		slices.Sort(places[g])
		s.add(Step{At: g.at, Lane: g.process, line: gaveUp, Text: fmt.Sprintf("%s stops waiting for an answer from %s (%s)", g.process, list(places[g]), g.op)})
	}
}

// late is the minimum delay of an operation that is mentioned.
const late = 100 * time.Millisecond

func (s *story) accesses() {
	for _, a := range s.t.Accesses {
		text := fmt.Sprintf("%s's %s arrives", a.who(), a.Op)
		if a.Op == "write" {
			text = fmt.Sprintf("%s's WRITE arrives", a.who())
		}
		if a.Sent != never && a.At-a.Sent > late {
			text += ", sent " + length(a.At-a.Sent) + " ago"
		}
		switch {
		case a.Repeated:
			text += " again: answered, not executed again"
		case a.Refused:
			text += ": REFUSED by the guard"
			if a.Token != 0 {
				text += ", token " + s.token(a.Token)
			}
		case a.Op == "write":
			text += fmt.Sprintf(": value %d, version %d", a.Value, a.Version)
		default:
			text += fmt.Sprintf(": reads %d, version %d", a.Value, a.Version)
		}
		s.add(Step{At: a.At, Lane: a.Process, Text: text, line: a.Line})
	}
}

// folded merges a request with its immediate refusal, and a series of these with the same
// result.
func folded(steps []Step) []Step {
	var out []Step
	for i := 0; i < len(steps); {
		n := 0
		for i+2*n+1 < len(steps) && try(steps[i+2*n], steps[i+2*n+1]) &&
			steps[i+2*n].who == steps[i].who && outcome(steps[i+2*n+1].Text) == outcome(steps[i+1].Text) {
			n++
		}
		if n == 0 {
			out = append(out, steps[i])
			i++
			continue
		}
		last := steps[i+2*n-1]
		if n == 1 {
			last.Text = steps[i].Text + " and" + strings.TrimPrefix(last.Text, last.who)
			out, i = append(out, last), i+2
			continue
		}
		last.Text = fmt.Sprintf("%s asks %d times and %s", last.who, n, outcome(strings.TrimPrefix(last.Text, last.who+" ")))
		out = append(out, last)
		i += 2 * n
	}
	return out
}

// repeated merges equal steps of a process in a row into the last one.
func repeated(steps []Step) []Step {
	var out []Step
	for i := 0; i < len(steps); {
		n := 1
		for i+n < len(steps) && !steps[i].Alarm && steps[i+n].Lane == steps[i].Lane && steps[i+n].Text == steps[i].Text {
			n++
		}
		if n < 3 {
			out = append(out, steps[i:i+n]...)
		} else {
			last := steps[i+n-1]
			last.Text += fmt.Sprintf(", %d times", n)
			out = append(out, last)
		}
		i += n
	}
	return out
}

// try reports whether two steps are a process's request and its refusal.
func try(a, b Step) bool {
	return a.who == b.who && strings.HasPrefix(a.Text, a.who+" asks ") && strings.HasPrefix(b.Text, b.who+" is refused")
}

// outcome returns a refusal without the votes.
func outcome(text string) string {
	before, _, _ := strings.Cut(text, " (")
	return before
}
