package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
)

// Where says what an event is about, and with that where a timeline shows it.
type Where uint8

// The places.
const (
	OfProcess Where = iota
	OfServer
	OfMessage // to or from a place
)

// kinds has all that depends on an event's kind alone: its name; its line, empty if it has none, in which
// a word with a $ stands for a part of the event, see Event.word; what it is about; and the counter of
// its events.
var kinds = [eventKinds]struct {
	name, line string
	where      Where
	counter    string
}{
	Asked:     {"asked", "$process asked$lease$words", OfProcess, ""},
	Acquired:  {"acquired", "$process acquired$lease$validity$words", OfProcess, "a lease was acquired"},
	Refused:   {"refused", "$process refused$lease$words", OfProcess, ""},
	Extended:  {"extended", "$process extended$lease$validity$words", OfProcess, "a lease was extended"},
	Looked:    {"looked", "$process looked$lease$validity$words", OfProcess, ""},
	Released:  {"released", "$process released$lease$words", OfProcess, ""},
	HandedOff: {"handed off", "$process handed off$lease$words", OfProcess, "a lease was handed off"},
	Crashed:   {"crashed", "$process crashes", OfProcess, "a process crashed"},
	Noted:     {"noted", "$process noted$lease$words", OfProcess, ""},
	Read:      {"read", "$place read $process#$n$goroutine$access", OfMessage, ""},
	Write:     {"write", "$place write $process#$n$goroutine$access", OfMessage, ""},

	Started:     {"starts", "$process starts", OfProcess, ""},
	Ended:       {"ends", "$process ends", OfProcess, ""},
	Quarantined: {"quarantines", "$process quarantines $place for=$for", OfProcess, ""},

	Sent:              {"sent", "$process $op $place#$n", OfMessage, ""},
	RequestLost:       {"loses", "$process loses $place#$n", OfMessage, "a request was lost"},
	RequestDuplicated: {"duplicate", "$place duplicate $process#$n", OfMessage, "a request arrived twice"},
	Voted:             {"voted", "$place $op $process#$n$outcome$token$keys", OfMessage, ""},
	Answered:          {"answered", "$place $op $process#$n$outcome$token$keys", OfMessage, ""},
	ReplyLost:         {"loses", "$place loses $process#$n", OfMessage, "a reply was lost"},
	Received:          {"receives", "$process receives $place#$n", OfMessage, ""},
	GaveUp:            {"gives up", "$process gives up $place#$n", OfMessage, "a call timed out"},
	CutOff:            {"is cut off", "$process is cut off $place#$n", OfMessage, ""},
	Ignored:           {"ignores", "$process ignores $place#$n", OfMessage, "a reply came too late"},

	NotificationSent: {"notifies", "$place notifies $process key=$key", OfServer, ""},
	NotificationLost: {"notifies", "$place notifies $process key=$key lost", OfServer, "a notification was lost"},
	Notified:         {"notified by", "$process notified by $place key=$key", OfProcess, "a waiter was notified"},
	SubscriptionLost: {"loses subscription to", "$process loses subscription to $place", OfProcess, "a subscription was lost"},

	Suffered:   {"suffers", "$victim suffers$fault", OfServer, ""},
	Back:       {"is back", "$place is back", OfServer, ""},
	FellBack:   {"falls back", "$place falls back", OfServer, "semi-synchronous replication fell back"},
	KeyChanged: {"has", "$place has$keys", OfServer, ""},

	Found:    {"VIOLATION", "VIOLATION$violation", OfProcess, ""},
	Believed: {"believes", "", OfProcess, ""},
	Counted:  {"counted", "", OfProcess, ""},
}

// String is the kind in a word or two.
func (k EventKind) String() string { return kinds[k].name }

// Where is what events of the kind are about.
func (k EventKind) Where() Where { return kinds[k].where }

// String is the log as text, with a line for each event: the true time in milliseconds, the
// actor and the action. Two runs are the same if their texts are.
func (l Log) String() string { return string(l.text()) }

// Digest is the text's SHA-256 in hexadecimal digits.
func (l Log) Digest() string {
	sum := sha256.Sum256(l.text())
	return hex.EncodeToString(sum[:])
}

func (l Log) text() []byte {
	text := make([]byte, 0, 50*len(l))
	for e := range l.All() {
		if kinds[e.Kind].line != "" {
			text = append(e.line(text), '\n')
		}
	}
	return text
}

// line adds the event to a text.
func (e *Event) line(t []byte) []byte {
	t = fmt.Appendf(t, "%d.%06d ", e.At/time.Millisecond, e.At%time.Millisecond)
	return append(t, os.Expand(kinds[e.Kind].line, e.word)...)
}

// word is what a word of a line stands for. A part that may be missing begins with a space.
func (e *Event) word(name string) string {
	switch name {
	case "process":
		return e.Process
	case "place":
		return e.Place
	case "n":
		return strconv.FormatUint(e.N, 10)
	case "op":
		return e.Op
	case "key":
		return e.Key
	case "for":
		return strconv.FormatInt(int64(e.Validity), 10)
	case "words":
		return word("", e.Words)
	case "goroutine":
		return number("goroutine", int64(e.Goroutine))
	case "token":
		return number("token", int64(e.Token))
	case "validity":
		return fmt.Sprintf(" validity=%d", e.Validity)
	case "lease":
		return word("", e.Key) + number("token", int64(e.Token)) + number("goroutine", int64(e.Goroutine))
	case "access":
		if e.Words != "" {
			return fmt.Sprintf(" token=%d %s", e.Token, e.Words)
		}
		return fmt.Sprintf(" token=%d version=%d value=%d", e.Token, e.Version, e.Value)
	case "outcome":
		if e.Words == "int" {
			return fmt.Sprintf(" int=%d", e.Value)
		}
		return " " + e.Words
	case "keys":
		return e.keys()
	case "victim":
		if e.Process != "" && e.Place != "" {
			return e.Process + "-" + e.Place
		}
		return e.Process + e.Place
	case "fault":
		return suffered(e.Fault)
	default: // violation
		if e.Violation.HasStack() { // stacks differ from run to run
			return " " + string(e.Violation.Kind)
		}
		return fmt.Sprintf(" %s %s", e.Violation.Kind, e.Violation.Text)
	}
}

// word is a word that isn't empty, and number a number that isn't 0.
func word(name, word string) string {
	if word == "" {
		return ""
	}
	return " " + name + word
}

func number(name string, n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" %s=%d", name, n)
}

func (e *Event) keys() (text string) {
	for _, k := range e.Keys {
		switch k.Until {
		case Gone:
			text += fmt.Sprintf(" key=%s gone", k.Key)
		case Forever:
			text += fmt.Sprintf(" key=%s until=ever", k.Key)
		default:
			text += fmt.Sprintf(" key=%s until=%d", k.Key, k.Until)
		}
	}
	return text
}

// suffered is a fault with all that it is made of.
func suffered(f *fault.Fault) string {
	text := " " + string(f.Kind) + number("for", int64(f.For)) + number("by", int64(f.By)) + number("ppm", f.PPM) + number("replica", int64(f.Replica))
	if f.Kind == fault.SplitBrain {
		text += word("process=", f.Process)
	}
	text += word("way=", string(f.Way)) + word("keep=", string(f.Keep)) + word("key=", f.Key)
	if f.Frozen {
		text += " frozen"
	}
	return text
}
