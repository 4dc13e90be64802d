package timeline

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

const (
	// late is the minimum delay of an operation, and of a refusal, that is mentioned.
	late = 100 * time.Millisecond
	// together is how far apart the same thing may happen on several servers to be one step.
	together = 50 * time.Millisecond
)

// Step is an event in the description of a run.
type Step struct {
	At time.Duration `json:"at"`
	// Text is a sentence. Alarm: it is a violation. Fault: it is a fault.
	Text  string `json:"text"`
	Alarm bool   `json:"alarm"`
	Fault bool   `json:"fault"`

	lane string   // the process or the server that does it, if it does anything
	who  string   // the subject, with which the text begins
	on   []string // the servers with which the text ends
}

// step adds a step, or its server to a step about others.
func (r *reader) step(s Step) {
	if s.who != "" {
		s.Text = sentence(s.who, s.Text)
	}
	for i := range r.Steps {
		if o := &r.Steps[i]; s.on != nil && o.on != nil && o.Text == s.Text && (o.At-s.At).Abs() <= together {
			o.on, o.At = union(o.on, s.on), max(o.At, s.At)
			return
		}
	}
	r.Steps = append(r.Steps, s)
}

// finishSteps completes the steps and puts them in order.
func (r *reader) finishSteps() {
	for _, b := range r.Beliefs {
		for _, gap := range r.gaps(b) {
			r.step(Step{At: gap.from, Text: fmt.Sprintf("too few servers have %s's %s, for %s", b.who, b.Key, length(gap.until-gap.from))})
		}
	}
	r.Steps = slices.DeleteFunc(r.Steps, func(s Step) bool { return s.Text == "" || s.At > r.End })
	for i := range r.Steps {
		s := &r.Steps[i]
		slices.Sort(s.on)
		s.Text = strings.Join(append([]string{s.Text}, s.on...), " ")
	}
	slices.SortStableFunc(r.Steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
}

// Story is the run's steps, without repetitions: steps of one subject in a row that differ in brackets alone
// are the last of them.
func (t *Timeline) Story() (out []Step) {
	for i := 0; i < len(t.Steps); {
		n := 1
		for i+n < len(t.Steps) && same(t.Steps[i], t.Steps[i+n]) {
			n++
		}
		last := t.Steps[i+n-1]
		if n > 1 {
			last.Text += fmt.Sprintf(", %d times", n)
		}
		out, i = append(out, last), i+n
	}
	return out
}

func same(a, b Step) bool {
	one, _, _ := strings.Cut(a.Text, " (")
	other, _, _ := strings.Cut(b.Text, " (")
	return a.who != "" && a.who == b.who && one == other
}

// tell takes an event of a process or a server, and adds its step, if there are words for it.
func (r *reader) tell(e *record.Event, lane string) {
	who := record.Who(lane, e.Goroutine)
	lease := named(e.Key, r.token(e.Token))
	text, bad := "", false
	switch e.Kind {
	case record.Asked:
		text = "asks for " + e.Key
		r.asked[who] = len(r.Steps)
		r.asks = append(r.asks, e)
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
	case record.LetterSent:
		text = ": sends " + e.Words + " a letter"
	case record.LetterTaken:
		text = ": takes a letter"
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
		text, bad = "CRASHES", true
		r.faults = append(r.faults, faultText{e.At, []string{e.Process}, " crashes", nil})
		r.crashes(e)
	case record.Back:
		text, bad = "is back", true
		if s := r.down[e.Place]; s != nil {
			s.until = e.At
			delete(r.down, e.Place)
		}
	default:
		return
	}
	r.step(Step{At: e.At, Text: text, Fault: bad, lane: lane, who: who})
}

// voted lists the servers' replies that the process has received by now, since it asked.
func (r *reader) voted(e *record.Event, who string) string {
	since := e.At
	if i, ok := r.asked[who]; ok {
		since = r.Steps[i].At
	}
	by := map[string][]string{}
	for _, server := range slices.SortedFunc(slices.Values(r.Servers), byLength) {
		switch m := r.votes[request{e.Process, server, 0}]; {
		case m == nil || m.sent < since:
		case !m.received:
			by["no reply yet"] = append(by["no reply yet"], server)
		case m.ok():
			by["granted"] = append(by["granted"], server)
		default:
			by["refused"] = append(by["refused"], server)
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

// arrive adds the step of an operation at the resource, and of the request with which it was sent.
func (r *reader) arrive(e *record.Event, m *message) {
	op := e.Kind.String()
	if e.Kind == record.Write {
		op = "WRITE"
	}
	text := "'s " + op + " arrives"
	if m != nil && e.At-m.sent > late {
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
	r.step(Step{At: e.At, Text: text, lane: e.Process, who: record.Who(e.Process, e.Goroutine)})
}

// durations are those in the texts of violations.
var durations = regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?(ns|µs|ms|s)\b`)

// violated describes a violation, with short tokens and durations. Token 0 is none.
func (t *Timeline) violated(e *record.Event) string {
	kind, text := strings.ToUpper(string(e.Violation.Kind)), e.Violation.Text
	if e.Violation.HasStack() || text == "" {
		return kind
	}
	text = strings.ReplaceAll(text, " (token 0)", "")
	for _, b := range t.Beliefs {
		if b.token != 0 {
			text = strings.ReplaceAll(text, fmt.Sprint(b.token), t.token(b.token))
		}
	}
	return kind + ": " + durations.ReplaceAllStringFunc(text, func(found string) string {
		d, _ := time.ParseDuration(found) // of that form
		return length(d)
	})
}

// named is "k, token …825".
func named(key, token string) string {
	if token == "" {
		return key
	}
	return key + ", token " + token
}

// reason returns an error's text without the package's name.
func reason(words string) string {
	if _, text, ok := strings.Cut(words, ": "); ok {
		return text
	}
	return words
}

// sentence puts a subject before a description.
func sentence(subject, text string) string {
	if strings.HasPrefix(text, ":") || strings.HasPrefix(text, "'s ") {
		return subject + text
	}
	return subject + " " + text
}

// wordsOf describes a fault without its subject. other is the other end of a link.
func wordsOf(f *fault.Fault, other string) string {
	var words []string
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
	details, how, duration := strings.Join(words, ", "), "", ""
	if details != "" {
		how = " (" + details + ")"
	}
	if f.For > 0 {
		duration = " for " + length(f.For)
	}
	other = anyOf(other, "every server")
	switch f.Way {
	case fault.Requests:
		other += " (only requests)"
	case fault.Replies:
		other += " (only replies)"
	}
	return strings.NewReplacer("{for}", duration, "{how}", how, "{words}", details, "{other}", other,
		"{by}", signed(f.By), "{ppm}", fmt.Sprintf("%+d", f.PPM)).Replace(f.Traits().Text)
}

// anyOf names a lane, or all lanes of a sort.
func anyOf(name, all string) string {
	if name == "*" || name == "" {
		return all
	}
	return name
}

// who names the goroutine of an event of a process, see record.Who.
func who(e *record.Event) string { return record.Who(e.Process, e.Goroutine) }
