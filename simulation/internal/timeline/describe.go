package timeline

import (
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// describe describes an event without naming its subject, "" if the story has no words for it.
func describe(m event, token func(fencing.Token) string) (text string, fault bool) {
	lease := named(m, token)
	switch m.Kind {
	case record.Asked:
		return "asks for " + m.Key, false
	case record.Acquired:
		return "GETS " + lease + ", valid for " + length(m.Validity), false
	case record.Refused:
		return "is refused: " + reason(m.Words), false
	case record.Looked:
		if m.Validity <= 0 {
			return "checks its lease: nothing left", false
		}
		return "checks its lease: " + length(m.Validity) + " left", false
	case record.Extended:
		return "extends " + lease + ": valid for " + length(m.Validity), false
	case record.Released:
		return "releases " + lease, false
	case record.HandedOff:
		return "HANDS OFF " + lease, false
	case record.Noted:
		return ": " + m.Words, false
	case record.LetterSent:
		return ": sends " + m.Words + " a letter", false
	case record.LetterTaken:
		return ": takes a letter", false
	case record.Quarantined:
		if m.Validity > 0 {
			return "quarantines " + m.Place + " for " + length(m.Validity), false
		}
		return "quarantines " + m.Place, false
	case record.FellBack:
		return "no longer waits for its replicas", true
	case record.NotificationLost:
		return "notifies " + m.Process + ", and the notification is lost", true
	case record.Notified:
		return "is notified by " + m.Place, false
	case record.SubscriptionLost:
		return "loses its subscription at " + m.Place, true
	case record.Crashed:
		return "CRASHES", true
	case record.Back:
		return "is back", true
	case record.KeyChanged:
		return "no longer has " + m.Key, true
	case record.Suffered:
		return momentary(m.Fault), true
	}
	return "", false
}

// named is "k, token …825".
func named(e event, short func(fencing.Token) string) string {
	if e.Token == 0 {
		return e.Key
	}
	return e.Key + ", token " + short(e.Token)
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

// momentary describes a fault that has no duration. It is empty for others, which are spans.
func momentary(f *fault.Fault) string {
	t := f.Traits()
	if t.Lasts() {
		return ""
	}
	return strings.NewReplacer("{by}", signed(f.By), "{ppm}", fmt.Sprintf("%+d", f.PPM)).Replace(t.Text)
}

// subject is the process, the server, or the server's replica that the span is about.
func (s span) subject() string {
	if s.Kind == fault.Lag && s.Place != "" {
		return s.Lane + "'s " + s.Place
	}
	return anyOf(s.Lane, "every process")
}

// fill describes a fault with a duration, without its subject.
func (s span) fill(end time.Duration) string {
	duration, how, words := "", "", s.words()
	if s.Until < end {
		duration = " for " + length(s.Until-s.From)
	}
	if words != "" {
		how = " (" + words + ")"
	}
	other := anyOf(s.Place, "every server")
	switch s.Way {
	case fault.Requests:
		other += " (only requests)"
	case fault.Replies:
		other += " (only replies)"
	}
	return strings.NewReplacer("{for}", duration, "{how}", how, "{words}", words, "{other}", other).Replace(s.Traits().Text)
}

// words describes a fault without its time and place.
func (s span) words() string {
	var words []string
	if s.Kind == fault.SplitBrain && s.Process != "" {
		words = append(words, s.Process+" still reaches the old master")
	}
	if s.By != 0 {
		words = append(words, "by "+signed(s.By))
	}
	if s.PPM != 0 {
		words = append(words, fmt.Sprintf("%+d ppm", s.PPM))
	}
	switch s.Keep {
	case fault.KeepSecond:
		words = append(words, "keeps all but the last second")
	case fault.KeepAll:
		words = append(words, "keeps all")
	}
	if s.Frozen {
		words = append(words, "its clocks stand still")
	}
	return strings.Join(words, ", ")
}

// anyOf names a lane, or all lanes of a sort.
func anyOf(name, all string) string {
	if name == "*" || name == "" {
		return all
	}
	return name
}
