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

// step adds a step, or its server to a step about others.
func (t *Timeline) step(s Step) {
	if s.who != "" {
		s.Text = sentence(s.who, s.Text)
	}
	for i := range t.Steps {
		if o := &t.Steps[i]; s.on != nil && o.on != nil && o.Text == s.Text && (o.At-s.At).Abs() <= together {
			o.on, o.At = union(o.on, s.on...), max(o.At, s.At)
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
		slices.Sort(s.on)
		s.Text = strings.Join(append([]string{s.Text}, s.on...), " ")
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
	return a.who != "" && a.who == b.who && one == other
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
	gains := fmt.Sprintf("gains %d", f.PPM)
	if f.PPM < 0 {
		gains = fmt.Sprintf("loses %d", -f.PPM)
	}
	other = anyOf(other, "every server")
	switch f.Way {
	case fault.Requests:
		other += " (only requests)"
	case fault.Replies:
		other += " (only replies)"
	}
	return strings.NewReplacer("{for}", duration, "{how}", how, "{words}", details, "{other}", other,
		"{by}", signed(f.By), "{gains}", gains).Replace(f.Traits().Text)
}

// anyOf names a lane, or all lanes of a sort.
func anyOf(name, all string) string {
	if name == "*" || name == "" {
		return all
	}
	return name
}
