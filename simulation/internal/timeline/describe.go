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

// momentary describes a fault that has no duration. It is empty for others, which are spans,
// and for crashes, which have a mark of their own.
func momentary(f *fault.Fault) string {
	switch f.Kind {
	case fault.Step:
		if f.By == 0 {
			return "'s clock JUMPS"
		}
		return "'s clock JUMPS by " + signed(f.By)
	case fault.Rate:
		if f.PPM == 0 {
			return "'s clock changes its rate"
		}
		return fmt.Sprintf("'s clock now gains %+d ppm", f.PPM)
	case fault.Flush:
		return "is FLUSHED"
	case fault.Evict:
		return "EVICTS a key"
	}
	if _, isSpan := spanKinds[string(f.Kind)]; isSpan || f.Kind == fault.Crash {
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
