package timeline

import (
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation"
)

// description describes an event without naming its subject.
type description struct {
	text  string // for the story
	label string // for drawings
	fault bool
}

// describe describes a mark. A part without words is omitted.
func describe(m laneEvent, token func(fencing.Token) string) description {
	lease := m.Key // "k, token …825"
	if m.Token != 0 {
		lease += ", token " + token(m.Token)
	}
	switch m.Kind {
	case simulation.Asked:
		return description{text: "asks for " + m.Key, label: "asks for " + m.Key}
	case simulation.Acquired:
		return description{text: "GETS " + lease + ", valid for " + length(m.Validity), label: "GETS " + m.Key}
	case simulation.Refused:
		return description{text: "is refused: " + reason(m.Words), label: "refused: " + strings.TrimPrefix(reason(m.Words), "lock is ")}
	case simulation.Looked:
		left := length(m.Validity)
		if m.Validity <= 0 {
			left = "nothing"
		}
		return description{text: "checks its lease: " + left + " left", label: "checks: " + left + " left"}
	case simulation.Extended:
		return description{text: "extends " + lease + ": valid for " + length(m.Validity), label: "extended to " + length(m.Validity)}
	case simulation.Released:
		return description{text: "releases " + lease, label: "releases " + m.Key}
	case simulation.HandedOff:
		return description{text: "HANDS OFF " + lease, label: "hands off " + m.Key}
	case simulation.Noted:
		return description{text: ": " + m.Words, label: m.Words}
	case simulation.Quarantined:
		d := description{text: "quarantines " + m.Place, label: "quarantines " + m.Place}
		if m.Validity > 0 {
			d.text += " for " + length(m.Validity)
		}
		return d
	case simulation.FellBack:
		return description{text: "no longer waits for its replicas", label: "no longer waits for replicas", fault: true}
	case simulation.NotificationSent: // the story has its arrival
		return description{label: "notifies " + m.Process}
	case simulation.NotificationLost:
		return description{text: "notifies " + m.Process + ", and the notification is lost", label: "notifies " + m.Process + ", in vain", fault: true}
	case simulation.Notified:
		return description{text: "is notified by " + m.Place, label: "is notified"}
	case simulation.SubscriptionLost:
		return description{text: "loses its subscription at " + m.Place, label: "loses a subscription", fault: true}
	case simulation.Crashed:
		return description{text: "CRASHES", label: "CRASHES", fault: true}
	case simulation.Back:
		return description{text: "is back", label: "is back", fault: true}
	case simulation.KeyChanged:
		return description{text: "no longer has " + m.Key, label: "no longer has " + m.Key, fault: true}
	case simulation.Suffered:
		text := momentary(m.Fault)
		return description{text: text, label: strings.TrimPrefix(text, "'s "), fault: true}
	}
	return description{}
}

// reason returns an error's text without the package's name.
func reason(words string) string {
	if _, text, ok := strings.Cut(words, ": "); ok {
		return text
	}
	return words
}

// momentary describes a fault that has no duration. It is empty for others, which are spans,
// and for crashes, which have a mark of their own.
func momentary(f *simulation.Fault) string {
	switch f.Kind {
	case simulation.Step:
		if f.By == 0 {
			return "'s clock JUMPS"
		}
		return "'s clock JUMPS by " + signed(f.By)
	case simulation.Rate:
		if f.PPM == 0 {
			return "'s clock changes its rate"
		}
		return fmt.Sprintf("'s clock now gains %+d ppm", f.PPM)
	case simulation.Flush:
		return "is FLUSHED"
	case simulation.Evict:
		return "EVICTS a key"
	}
	if _, isSpan := spanKinds[string(f.Kind)]; isSpan || f.Kind == simulation.Crash {
		return ""
	}
	return "suffers " + strings.ToUpper(string(f.Kind))
}

// spanKind is how a kind of span is described. Texts have no subject. In them {for} is the
// duration, {how} the details in brackets, {words} the details, and {other} the other end of
// a link. word is on pictures; it is empty if they don't show it.
type spanKind struct {
	text, end, word string
	// stops: the lane stands still.
	stops bool
}

// spanKinds are the spans of a process or a server.
var spanKinds = map[string]spanKind{
	"pause":       {text: "is PAUSED{for}", end: "runs again", word: "paused", stops: true},
	"suspend":     {text: "is SUSPENDED{for}{how}", end: "runs again", word: "suspended", stops: true},
	"reboot":      {text: "CRASHES and is down{for}, then restarted", word: "down", stops: true},
	"restart":     {text: "CRASHES and is down{for}{how}", word: "restarts", stops: true},
	"hang":        {text: "HANGS{for}", word: "hangs", stops: true},
	"failover":    {text: "FAILS OVER to a replica{how}", word: "fails over", stops: true},
	"split-brain": {text: "SPLITS: a replica takes over, and {words}{for}", end: "'s old master is demoted", word: "splits"},
	"demote":      {text: "is DEMOTED{for}, and comes back without its data as the same run ID", word: "is demoted"},
	"stall":       {text: "'s messages are HELD BACK{for}", word: "messages held back"},
	"lag":         {text: "LAGS{for}{how}", word: "lags"},
}

// linkKinds are the spans of links.
var linkKinds = map[string]spanKind{
	"cut":       {text: "is CUT OFF from {other}{for}", word: "cut off from"},
	"lose":      {text: "loses messages with {other}{for}{how}", word: "loses messages with"},
	"delay":     {text: "is slow to reach {other}{for}{how}", word: "slow to reach"},
	"reconnect": {text: "loses its connection to {other}"},
	"proxy":     {text: "is behind a PROXY before {other}{for}"},
	"switch":    {text: "reaches ANOTHER server than {other} on new connections{for}{how}"},
}

// kind returns how the span is described.
func (s Span) kind() spanKind {
	if k, ok := spanKinds[s.Kind]; ok {
		return k
	}
	if k, ok := linkKinds[s.Kind]; ok {
		return k
	}
	return spanKind{text: "suffers " + strings.ToUpper(s.Kind) + "{for}{how}"}
}

// fill fills in a text.
func (s Span) fill(text string, end time.Duration) string {
	duration, how := "", ""
	if s.Known && s.Until < end {
		duration = " for " + length(s.Until-s.From)
	}
	if s.Words != "" {
		how = " (" + s.Words + ")"
	}
	other := anyOf(s.Place, "every server")
	switch s.Way {
	case simulation.Requests:
		other += " (only requests)"
	case simulation.Replies:
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
