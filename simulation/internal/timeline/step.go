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

// together is how far apart the same thing may happen on several servers to be one step.
const together = 50 * time.Millisecond

// step adds a step, or its servers to the same step about others, or its subjects to the same fault of others.
func (t *Timeline) step(s Step) {
	for i := range t.Steps {
		o := &t.Steps[i]
		if o.Text != s.Text || (o.At-s.At).Abs() > together {
			continue
		}
		same := slices.Equal(o.who, s.who)
		if same && s.on != nil || s.brief != "" && slices.Equal(o.on, s.on) {
			o.who, o.on, o.At = union(o.who, s.who...), union(o.on, s.on...), max(o.At, s.At)
			return
		}
	}
	t.Steps = append(t.Steps, s)
}

// finishSteps completes the steps and puts them in order.
func (t *Timeline) finishSteps() {
	for _, b := range t.Beliefs {
		for _, gap := range t.gaps(b) {
			t.step(Step{At: gap.from, Text: fmt.Sprintf("too few servers have %s's %s, for %s", b.who, b.Key, length(gap.until-gap.from))})
		}
	}
	t.Steps = slices.DeleteFunc(t.Steps, func(s Step) bool { return s.Text == "" || s.At > t.End })
	for i := range t.Steps {
		s := &t.Steps[i]
		who := list(s.who)
		if len(s.who) > 2 && slices.Equal(slices.Sorted(slices.Values(s.who)), t.Servers) {
			who = "every server"
		}
		slices.Sort(s.on)
		on := strings.Join(s.on, " ")
		s.Text = strings.ReplaceAll(sentence(who, s.Text), "{on}", on)
		if s.brief != "" {
			s.brief = strings.ReplaceAll(sentence(who, s.brief), "{on}", on)
		}
	}
	slices.SortStableFunc(t.Steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
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
	return a.who != nil && slices.Equal(a.who, b.who) && one == other
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
	if subject == "" || strings.HasPrefix(text, ":") || strings.HasPrefix(text, "'s ") {
		return subject + text
	}
	return subject + " " + text
}

// wordsOf describes a fault after its subjects, in full and without details.
func wordsOf(f *fault.Fault) (text, brief string) {
	var words []string
	if f.Kind == fault.SplitBrain && f.Process != "" {
		words = append(words, f.Process+" still reaches the old master")
	}
	if f.Replica != 0 {
		words = append(words, fmt.Sprintf("replica %d", f.Replica))
	}
	if f.By != 0 {
		words = append(words, "by "+signed(f.By))
	}
	if f.PPM != 0 {
		words = append(words, percent(f.PPM)+" of them")
	}
	switch f.Way {
	case fault.Requests:
		words = append(words, "only requests")
	case fault.Replies:
		words = append(words, "only replies")
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
	how, duration := "", ""
	if len(words) > 0 {
		how = " (" + strings.Join(words, ", ") + ")"
	}
	if f.For > 0 {
		duration = " for " + length(f.For)
	}
	gains := "gains " + percent(f.PPM)
	if f.PPM < 0 {
		gains = "loses " + percent(-f.PPM)
	}
	text = strings.NewReplacer("{by}", signed(f.By), "{gains}", gains).Replace(f.Traits().Text)
	return strings.NewReplacer("{for}", duration, "{how}", how).Replace(text), strings.NewReplacer("{for}", "", "{how}", "").Replace(text)
}

// anyOf names a lane, or all lanes of a sort.
func anyOf(name, all string) string {
	if name == "*" || name == "" {
		return all
	}
	return name
}
