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
func describe(m laneEvent, token func(fencing.Token) string) (text string, fault bool) {
	lease := named(m.Key, m.Token, token)
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
func named(key string, token fencing.Token, short func(fencing.Token) string) string {
	if token == 0 {
		return key
	}
	return key + ", token " + short(token)
}

// reason returns an error's text without the package's name.
func reason(words string) string {
	if _, text, ok := strings.Cut(words, ": "); ok {
		return text
	}
	return words
}

// momentary describes a fault that has no duration. It is empty for others, which are spans.
func momentary(f *fault.Fault) string {
	t := f.Traits()
	if t.Lasts() {
		return ""
	}
	return strings.NewReplacer("{by}", signed(f.By), "{ppm}", fmt.Sprintf("%+d", f.PPM)).Replace(t.Text)
}

// traits are those of the span's fault.
func (s Span) traits() fault.Traits {
	t, _ := fault.Kind(s.Kind).Traits()
	return t
}

// fill fills in a text.
func (s Span) fill(text string, end time.Duration) string {
	duration, how := "", ""
	if s.Until < end {
		duration = " for " + length(s.Until-s.From)
	}
	if s.Words != "" {
		how = " (" + s.Words + ")"
	}
	other := anyOf(s.Place, "every server")
	switch s.Way {
	case fault.Requests:
		other += " (only requests)"
	case fault.Replies:
		other += " (only replies)"
	}
	return strings.NewReplacer("{for}", duration, "{how}", how, "{words}", s.Words, "{other}", other).Replace(text)
}

// anyOf names a lane, or all lanes of a sort.
func anyOf(name, all string) string {
	if name == "*" || name == "" {
		return all
	}
	return name
}
