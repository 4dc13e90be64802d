package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation"
)

// Step is an event in the description of a run.
type Step struct {
	At   time.Duration
	Lane string
	// Text is a sentence without its subject's time. Alarm marks what a check
	// has found, Fault what went wrong in the world.
	Text  string
	Alarm bool
	Fault bool

	who  string // the goroutine whose it is
	line int    // of the log, to order what happens at one moment
}

// Story describes the run: requests and replies, faults, beliefs and their durations, and
// what reached the resource. It omits the monitoring of servers.
func (t *Timeline) Story() []Step {
	s := story{t: t, token: t.tokens()}
	s.marks()
	s.spans()
	s.ends()
	s.silences()
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
	if step.who == "" {
		step.who = step.Lane
	}
	s.steps = append(s.steps, step)
}

// short writes the tokens in a text by their short names. Token 0 is none.
func (s *story) short(text string) string {
	text = strings.ReplaceAll(text, " (token 0)", "")
	for _, b := range s.t.Beliefs {
		if b.Token != 0 {
			text = strings.ReplaceAll(text, fmt.Sprint(b.Token), s.token(b.Token))
		}
	}
	return text
}

// named is "k, token …825".
func (s *story) named(key string, token fencing.Token) string {
	if token == 0 {
		return key
	}
	return key + ", token " + s.token(token)
}

func (s *story) marks() {
	asked := map[string]Mark{} // by goroutine: what it waits for
	for _, m := range s.t.Marks {
		who := m.who()
		step := Step{At: m.At, Lane: m.Lane, who: who, line: m.Line}
		switch m.Kind {
		case simulation.Started, simulation.Ended, simulation.NotificationSent: // of a call that arrives there is a mark of its own
			continue
		case simulation.Asked:
			asked[who] = m
			step.Text = who + " asks for " + m.Key
		case simulation.Acquired:
			step.Text = fmt.Sprintf("%s GETS %s, valid for %s%s", who, s.named(m.Key, m.Token), length(m.Validity), s.votes(asked[who], m))
		case simulation.Refused:
			step.Text = fmt.Sprintf("%s is refused: %s%s", who, reason(m.Words), s.votes(asked[who], m))
		case simulation.Looked:
			step.Text = fmt.Sprintf("%s looks: %s left", who, length(m.Validity))
			if m.Validity <= 0 {
				step.Text = who + " looks: nothing left"
			}
		case simulation.Extended:
			step.Text = fmt.Sprintf("%s extends %s: valid for %s", who, s.named(m.Key, m.Token), length(m.Validity))
		case simulation.Released:
			step.Text = fmt.Sprintf("%s releases %s", who, s.named(m.Key, m.Token))
			s.deletes(m)
		case simulation.HandedOff:
			step.Text = fmt.Sprintf("%s HANDS OFF %s", who, s.named(m.Key, m.Token))
		case simulation.Noted:
			step.Text = who + ": " + m.Words
		case simulation.Quarantined:
			step.Text = who + " distrusts " + m.Place
			if m.Validity > 0 {
				step.Text += " for " + length(m.Validity)
			}
		case simulation.FellBack:
			step.Text, step.Fault = m.Lane+" no longer waits for its replicas", true
		case simulation.NotificationLost:
			step.Text, step.Fault = fmt.Sprintf("%s calls %s, and the call is lost", m.Lane, m.Process), true
		case simulation.Notified:
			step.Text = fmt.Sprintf("%s is called by %s", m.Lane, m.Place)
		case simulation.SubscriptionLost:
			step.Text, step.Fault = fmt.Sprintf("%s loses the connection by which %s calls it", m.Lane, m.Place), true
		case simulation.Crashed:
			step.Text, step.Fault = m.Lane+" CRASHES", true
		case simulation.Back:
			step.Text, step.Fault = m.Lane+" is back", true
		case simulation.KeyChanged:
			step.Text, step.Fault = fmt.Sprintf("%s has %s no more", m.Lane, m.Key), true
		case simulation.Suffered:
			step.Text, step.Fault = suffering(m), true
			if step.Text == "" {
				continue // a Span, or said by its own mark
			}
		}
		s.add(step)
	}
}

// reason returns an error's text without the package's name.
func reason(words string) string {
	if _, text, ok := strings.Cut(words, ": "); ok {
		return text
	}
	return words
}

// suffering describes an instantaneous fault.
func suffering(m Mark) string {
	switch m.Fault.Kind {
	case simulation.Pause, simulation.Suspend, simulation.Restart, simulation.Hang, simulation.Crash, simulation.Reboot, simulation.Failover, simulation.SplitBrain, simulation.Lag, simulation.Demote:
		return "" // told as a Span, or by a mark of its own
	case simulation.Step:
		if m.Fault.By == 0 {
			return m.Lane + "'s clock JUMPS"
		}
		return fmt.Sprintf("%s's clock JUMPS by %s", m.Lane, signed(m.Fault.By))
	case simulation.Rate:
		if m.Fault.PPM == 0 {
			return m.Lane + "'s clock changes its rate"
		}
		return fmt.Sprintf("%s's clock now gains %+d ppm", m.Lane, m.Fault.PPM)
	case simulation.Flush:
		return m.Lane + " is FLUSHED"
	case simulation.Evict:
		return m.Lane + " EVICTS a key"
	default:
		return fmt.Sprintf("%s suffers %s", m.Lane, strings.ToUpper(string(m.Fault.Kind)))
	}
}

// votes says who granted what was asked, as far as the process had heard when it
// was told.
func (s *story) votes(asked, told Mark) string {
	latest := map[string]Message{}
	for _, m := range s.t.Messages {
		if m.Process == told.Lane && m.acquiring() && m.Sent >= asked.At && m.Sent <= told.At {
			latest[m.Place] = m
		}
	}
	by := map[string][]string{}
	for _, server := range s.t.Servers {
		m, ok := latest[server]
		switch {
		case !ok:
		case m.Heard == None || m.Heard > told.At:
			by["not heard"] = append(by["not heard"], server)
		case m.ok():
			by["granted"] = append(by["granted"], server)
		default:
			by["refused"] = append(by["refused"], server)
		}
	}
	return tallied(by, []string{"granted", "refused", "not heard"})
}

// tallied is " (granted A B; refused C)".
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

// deletes tells on which servers the deletes that a release sends found something.
func (s *story) deletes(told Mark) {
	by := map[string][]string{}
	step := Step{Lane: told.Lane}
	for _, m := range s.t.Messages {
		if m.Process != told.Lane || !m.deleting() || m.Sent != told.At {
			continue
		}
		what := "not reached on"
		switch {
		case m.Arrived == None:
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
		step.Text = told.Lane + "'s key is " + strings.Trim(text, " ()")
		if others := by["another's"]; len(others) > 0 {
			step.Text, step.Fault = fmt.Sprintf("%s DELETES ANOTHER'S %s on %s", told.Lane, told.Key, strings.Join(others, " ")), true
		}
		s.add(step)
	}
}

// takes reports whether a delete took away another process's key.
func (s *story) takes(m Message) bool {
	return slices.ContainsFunc(s.t.Tenures, func(n Tenure) bool {
		return n.Taker == m.Process && n.Server == m.Place && n.Until == m.Arrived
	})
}

func (s *story) spans() {
	for _, span := range s.t.Spans {
		step := Step{At: span.From, Lane: span.Lane, Fault: true, line: span.Line}
		end := Step{At: span.Until, Lane: span.Lane, Fault: true, line: resumed}
		lasting := ""
		if span.Known && span.Until < s.t.End {
			lasting = " for " + length(span.Until-span.From)
		}
		more := ""
		if span.Words != "" {
			more = " (" + span.Words + ")"
		}
		switch span.Kind {
		case "pause":
			step.Text, end.Text = span.Lane+" is PAUSED"+lasting, span.Lane+" runs again"
		case "suspend":
			step.Text, end.Text = span.Lane+" is SUSPENDED"+lasting+more, span.Lane+" runs again"
		case "restart":
			step.Text = span.Lane + " CRASHES and is down" + lasting + more
		case "reboot":
			step.Text = span.Lane + " CRASHES, and starts anew after " + length(span.Until-span.From)
		case "failover":
			step.Text = span.Lane + " FAILS OVER to a replica" + more
		case "split-brain":
			step.Text, end.Text = span.Lane+" SPLITS: a replica takes over, and "+span.Words+lasting, "the old "+span.Lane+" is demoted"
		case "demote":
			step.Text = span.Lane + " is DEMOTED" + lasting + ", and comes back without its data as the same run ID"
		case "hang":
			step.Text = span.Lane + " HANGS" + lasting
		case "lag":
			step.Text = span.lane() + " LAGS" + lasting + more
		case "reconnect":
			step.Text = s.cut(span, "losing its connection to")
		case "cut":
			step.Text = s.cut(span, "CUT OFF from") + lasting
		case "lose":
			step.Text = s.cut(span, "losing messages with") + lasting + more
		case "delay":
			step.Text = s.cut(span, "slow to reach") + lasting + more
		case "proxy":
			step.Text = s.cut(span, "behind a PROXY before") + lasting
		case "switch":
			step.Text = s.cut(span, "led ELSEWHERE by new connections than to") + lasting + more
		default:
			step.Text = fmt.Sprintf("%s suffers %s%s%s", span.Lane, strings.ToUpper(span.Kind), lasting, more)
		}
		s.add(step)
		if end.Text != "" && span.Until < s.t.End {
			s.add(end)
		}
	}
}

// lane is what a span of a server is about: the server, or a replica of it.
func (s Span) lane() string {
	if s.Place == "" {
		return s.Lane
	}
	return s.Lane + "'s " + s.Place
}

func (s *story) cut(span Span, what string) string {
	name := func(lane, all string) string {
		if lane == "*" || lane == "" {
			return all
		}
		return lane
	}
	text := fmt.Sprintf("%s is %s %s", name(span.Lane, "every process"), what, name(span.Place, "every server"))
	if span.Way != simulation.Both {
		text += " (only " + plural(span.Way) + ")"
	}
	return text
}

// ends describes beliefs and keys that expire on their own, because the log does not.
func (s *story) ends() {
	for _, b := range s.t.Beliefs {
		if b.End == "ran out" {
			s.add(Step{At: b.Until, Lane: b.Process, line: b.Line, Text: fmt.Sprintf("%s's validity of %s is over", b.who(), s.named(b.Key, b.Token))})
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

// silences describes abandoned requests.
func (s *story) silences() {
	type moment struct {
		process, op string
		at          time.Duration
	}
	var order []moment
	places := map[moment][]string{}
	for _, m := range s.t.Messages {
		if m.GaveUp == None || m.watching() {
			continue
		}
		at := moment{m.Process, m.Op, m.GaveUp}
		if places[at] == nil {
			order = append(order, at)
		}
		places[at] = append(places[at], m.Place)
	}
	for _, at := range order {
		slices.Sort(places[at])
		s.add(Step{At: at.at, Lane: at.process, line: gaveUp,
			Text: fmt.Sprintf("%s waits no longer for %s (%s)", at.process, list(places[at]), at.op)})
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
		if a.Sent != None && a.At-a.Sent > late {
			text += ", sent " + length(a.At-a.Sent) + " ago"
		}
		switch {
		case a.Repeated:
			text += " once more: answered, not carried out again"
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

// folded makes one step of a question and the refusal that follows at once, and of
// many of these in a row that all ended alike.
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

// repeated makes one step, the last, of what a process does many times in a row.
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

// try reports whether two steps are a process's question and its refusal.
func try(a, b Step) bool {
	return a.who == b.who && strings.HasPrefix(a.Text, a.who+" asks ") && strings.HasPrefix(b.Text, b.who+" is refused")
}

// outcome is a refusal without who voted how.
func outcome(text string) string {
	before, _, _ := strings.Cut(text, " (")
	return before
}
