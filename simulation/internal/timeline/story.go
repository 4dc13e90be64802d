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

const (
	// late is the minimum delay of an operation, and of a refusal, that is mentioned.
	late = 100 * time.Millisecond
	// close is how far apart the same thing may happen on several servers to be one step.
	together = 50 * time.Millisecond
)

// Step is an event in the description of a run.
type Step struct {
	At time.Duration `json:"at"`
	// Text is a sentence. Alarm: it is a violation. Fault: it is a fault.
	Text  string `json:"text"`
	Alarm bool   `json:"alarm"`
	Fault bool   `json:"fault"`

	who  string   // the goroutine
	line int      // of the log, for the order within one moment
	on   []string // the servers with which the text ends
}

// Story describes the run: requests and replies, faults, beliefs and their durations, and
// what reached the resource. It omits the monitoring of servers.
func (t *Timeline) Story() []Step {
	s := story{t: t, token: t.tokens()}
	s.events()
	s.spans()
	s.ends()
	s.abandoned()
	s.accesses()
	for _, v := range t.Violations {
		text := strings.ToUpper(string(v.Violation.Kind))
		if !v.Violation.HasStack() && v.Violation.Text != "" {
			text += ": " + s.short(v.Violation.Text)
		}
		s.steps = append(s.steps, Step{At: v.At, Text: text, Alarm: true, line: v.line})
	}
	for i := range s.steps {
		step := &s.steps[i]
		slices.Sort(step.on)
		step.Text = strings.TrimSpace(step.Text + " " + strings.Join(step.on, " "))
	}
	slices.SortStableFunc(s.steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.line, b.line))
	})
	return repeated(s.steps)
}

type story struct {
	t     *Timeline
	token func(fencing.Token) string
	steps []Step
}

// on adds a step about a server, or the server to the step about others.
func (s *story) on(server string, step Step) {
	for i := range s.steps {
		o := &s.steps[i]
		if o.on != nil && o.Text == step.Text && (o.At-step.At).Abs() <= together {
			o.on, o.At, o.line = append(o.on, server), max(o.At, step.At), max(o.line, step.line)
			return
		}
	}
	step.on = []string{server}
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

func (s *story) events() {
	asked := map[string]int{} // the step in which a goroutine asks
	for _, m := range s.t.Events {
		who := m.who()
		text, fault := describe(m, s.token)
		if text == "" {
			continue
		}
		ask, again := asked[who]
		switch m.Kind {
		case record.Asked:
			asked[who] = len(s.steps)
		case record.Acquired, record.Refused:
			from := m.At
			if again {
				from = s.steps[ask].At
			}
			if again && m.Kind == record.Refused && m.At-from <= late && ask == len(s.steps)-1 {
				text = "asks for " + m.Key + " and " + text
				s.steps = s.steps[:ask]
			}
			text += s.votes(m, from)
			delete(asked, who)
		}
		s.steps = append(s.steps, Step{At: m.At, Text: sentence(who, text), Fault: fault, who: who, line: m.line})
	}
}

// votes lists the servers' replies that the process had received by the result, since it asked.
func (s *story) votes(result event, asked time.Duration) string {
	latest := map[string]message{}
	for _, m := range s.t.Messages {
		if m.Process == result.Process && m.acquiring() && m.Sent >= asked && m.Sent <= result.At {
			latest[m.Place] = m
		}
	}
	order := []string{"granted", "refused", "no reply yet"}
	by := map[string]string{}
	for _, server := range s.t.Servers {
		m, ok := latest[server]
		switch {
		case !ok:
		case m.Received == never || m.Received > result.At:
			by[order[2]] += " " + server
		case m.ok():
			by[order[0]] += " " + server
		default:
			by[order[1]] += " " + server
		}
	}
	var parts []string
	for _, what := range order {
		if by[what] != "" {
			parts = append(parts, what+by[what])
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

func (s *story) spans() {
	for _, span := range s.t.Spans {
		end, subject := span.Traits().End, span.subject()
		s.steps = append(s.steps, Step{At: span.From, Text: sentence(subject, span.fill(s.t.End)), Fault: true, line: span.line})
		if end != "" && span.Until < s.t.End {
			s.steps = append(s.steps, Step{At: span.Until, Text: sentence(subject, end), Fault: true, line: resumed})
		}
	}
}

// ends describes the ends of beliefs and of keys.
func (s *story) ends() {
	for _, b := range s.t.Beliefs {
		if b.End == "ran out" {
			s.steps = append(s.steps, Step{At: b.Until, line: b.line, Text: fmt.Sprintf("%s's validity of %s has ended", b.who(), named(b.event, s.token))})
		}
	}
	for _, n := range slices.SortedStableFunc(slices.Values(s.t.Tenures), func(a, b tenure) int { return cmp.Compare(a.Until, b.Until) }) {
		step := Step{At: n.Until, line: n.line}
		switch {
		case n.End == "expired":
			step.Text = fmt.Sprintf("%s's %s has expired on", n.Process, n.Key)
		case n.End == "deleted" && n.Taker == "":
			step.Text = fmt.Sprintf("%s's %s is deleted on", n.Process, n.Key)
		case n.End == "deleted":
			step.Text, step.Fault = fmt.Sprintf("%s DELETES ANOTHER'S %s on", n.Taker, n.Key), true
		default:
			continue
		}
		s.on(n.Server, step)
	}
}

// abandoned describes requests that their process gave up.
func (s *story) abandoned() {
	for _, m := range s.t.Messages {
		if m.GaveUp != never && !m.watching() {
			s.on(m.Place, Step{At: m.GaveUp, line: gaveUp, Text: fmt.Sprintf("%s stops waiting for an answer to its %s from", m.Process, m.Op)})
		}
	}
}

func (s *story) accesses() {
	for _, a := range s.t.Accesses {
		op := a.Kind.String()
		if a.Kind == record.Write {
			op = "WRITE"
		}
		text := fmt.Sprintf("%s's %s arrives", a.who(), op)
		if a.Sent != never && a.At-a.Sent > late {
			text += ", sent " + length(a.At-a.Sent) + " ago"
		}
		switch {
		case a.Words == "repeated":
			text += " again: answered, not executed again"
		case a.refused():
			text += ": REFUSED by the guard"
			if a.Token != 0 {
				text += ", token " + s.token(a.Token)
			}
		case a.Kind == record.Write:
			text += fmt.Sprintf(": value %d, version %d", a.Value, a.Version)
		default:
			text += fmt.Sprintf(": reads %d, version %d", a.Value, a.Version)
		}
		s.steps = append(s.steps, Step{At: a.At, Text: text, line: a.line})
	}
}

// repeated merges steps of a goroutine in a row into the last one, if they differ in brackets alone.
func repeated(steps []Step) (out []Step) {
	same := func(a, b Step) bool {
		one, _, _ := strings.Cut(a.Text, " (")
		other, _, _ := strings.Cut(b.Text, " (")
		return a.who != "" && a.who == b.who && one == other
	}
	for i := 0; i < len(steps); {
		n := 1
		for i+n < len(steps) && same(steps[i], steps[i+n]) {
			n++
		}
		last := steps[i+n-1]
		if n > 1 {
			last.Text += fmt.Sprintf(", %d times", n)
		}
		out, i = append(out, last), i+n
	}
	return out
}
