package record

import (
	"crypto/sha256"
	"encoding/hex"
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

// kinds has all that depends on an event's kind alone: its name, which is also a word of its line;
// the line, nil if it has none; what it is about; and the counter of its events.
var kinds = [eventKinds]struct {
	name    string
	line    func(t textLine, e *Event, name string) textLine
	where   Where
	counter string
}{
	Asked:     {"asked", recorded, OfProcess, ""},
	Acquired:  {"acquired", recorded, OfProcess, "a lease was acquired"},
	Refused:   {"refused", recorded, OfProcess, ""},
	Extended:  {"extended", recorded, OfProcess, "a lease was extended"},
	Looked:    {"looked", recorded, OfProcess, ""},
	Released:  {"released", recorded, OfProcess, ""},
	HandedOff: {"handed off", recorded, OfProcess, "a lease was handed off"},
	Crashed: {"crashed", func(t textLine, e *Event, _ string) textLine {
		return t.s(e.Process, "crashes")
	}, OfProcess, "a process crashed"},
	Noted: {"noted", recorded, OfProcess, ""},
	Read:  {"read", used, OfMessage, ""},
	Write: {"write", used, OfMessage, ""},

	Started: {"starts", ofProcess, OfProcess, ""},
	Ended:   {"ends", ofProcess, OfProcess, ""},
	Quarantined: {"quarantines", func(t textLine, e *Event, name string) textLine {
		return withPlace(t, e, name).n("for", int64(e.Validity))
	}, OfProcess, ""},
	LetterSent: {"sends", func(t textLine, e *Event, name string) textLine {
		return t.s(e.Process, name, e.Words, "a letter")
	}, OfProcess, ""},
	LetterTaken: {"takes a letter", ofProcess, OfProcess, ""},

	Sent: {"sent", func(t textLine, e *Event, _ string) textLine {
		return t.s(e.Process, e.Op).nth(e.Place, e.N)
	}, OfMessage, ""},
	RequestLost:       {"loses", atProcess, OfMessage, "a request was lost"},
	RequestDuplicated: {"duplicate", atServer, OfMessage, "a request arrived twice"},
	Voted:             {"voted", answered, OfMessage, ""},
	Answered:          {"answered", answered, OfMessage, ""},
	ReplyLost:         {"loses", atServer, OfMessage, "a reply was lost"},
	Received:          {"receives", atProcess, OfMessage, ""},
	GaveUp:            {"gives up", atProcess, OfMessage, "a call timed out"},
	CutOff:            {"is cut off", atProcess, OfMessage, ""},
	Ignored:           {"ignores", atProcess, OfMessage, "a reply came too late"},

	NotificationSent: {"notifies", notifies, OfServer, ""},
	NotificationLost: {"notifies", func(t textLine, e *Event, name string) textLine {
		return notifies(t, e, name).s("lost")
	}, OfServer, "a notification was lost"},
	Notified: {"notified by", func(t textLine, e *Event, name string) textLine {
		return withPlace(t, e, name).named("key", e.Key)
	}, OfProcess, "a waiter was notified"},
	SubscriptionLost: {"loses subscription to", withPlace, OfProcess, "a subscription was lost"},

	Suffered: {"suffers", suffered, OfServer, ""},
	Back:     {"is back", ofServer, OfServer, ""},
	FellBack: {"falls back", ofServer, OfServer, "semi-synchronous replication fell back"},
	KeyChanged: {"has", func(t textLine, e *Event, name string) textLine {
		return e.keys(t.s(e.Place, name))
	}, OfServer, ""},

	Found: {"VIOLATION", func(t textLine, e *Event, name string) textLine {
		t = t.s(name, string(e.Violation.Kind))
		if e.Violation.HasStack() { // stacks differ from run to run
			return t
		}
		return t.s(e.Violation.Text)
	}, OfProcess, ""},
	Believed: {"believes", nil, OfProcess, ""},
	Counted:  {"counted", nil, OfProcess, ""},
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
	text := make(textLine, 0, 3000*len(l))
	for e := range l.All() {
		if kinds[e.Kind].line != nil {
			text = append(e.line(text), '\n')
		}
	}
	return text
}

// textLine is a text whose last line grows word by word.
type textLine []byte

func (t textLine) s(words ...string) textLine {
	for _, word := range words {
		t = append(append(t, ' '), word...)
	}
	return t
}

func (t textLine) named(name, word string) textLine {
	return append(append(t.s(name), '='), word...)
}

func (t textLine) n(name string, n int64) textLine {
	return strconv.AppendInt(append(t.s(name), '='), n, 10)
}

// nth adds the name of the n-th request of a process to one place.
func (t textLine) nth(name string, n uint64) textLine {
	return strconv.AppendUint(append(t.s(name), '#'), n, 10)
}

// some adds a number that isn't 0, and someWord a word that isn't empty.
func (t textLine) some(name string, n int64) textLine {
	if n == 0 {
		return t
	}
	return t.n(name, n)
}

func (t textLine) someWord(name, word string) textLine {
	if word == "" {
		return t
	}
	return t.named(name, word)
}

// line adds the event to a text.
func (e *Event) line(t textLine) textLine {
	t = strconv.AppendInt(t, int64(e.At)/int64(time.Millisecond), 10)
	// The digit before the fraction's six is a one, so that zeros are kept; the point
	// takes its place.
	point := len(t)
	t = strconv.AppendInt(t, int64(e.At%time.Millisecond+time.Millisecond), 10)
	t[point] = '.'
	return kinds[e.Kind].line(t, e, e.Kind.String())
}

// ofProcess is the line of what happened to a process, and ofServer to a server.
func ofProcess(t textLine, e *Event, name string) textLine { return t.s(e.Process, name) }
func ofServer(t textLine, e *Event, name string) textLine  { return t.s(e.Place, name) }

// atProcess is the line of what happened to a request at its process, and atServer at its place.
func atProcess(t textLine, e *Event, name string) textLine {
	return t.s(e.Process, name).nth(e.Place, e.N)
}

func atServer(t textLine, e *Event, name string) textLine {
	return t.s(e.Place, name).nth(e.Process, e.N)
}

// withPlace is the line of what a process has with a place.
func withPlace(t textLine, e *Event, name string) textLine { return t.s(e.Process, name, e.Place) }

// notifies is the line of a notification from a place to a process.
func notifies(t textLine, e *Event, name string) textLine {
	return t.s(e.Place, name, e.Process).named("key", e.Key)
}

// answered is the line of a command that a server has carried out.
func answered(t textLine, e *Event, _ string) textLine {
	t = t.s(e.Place, e.Op).nth(e.Process, e.N)
	if e.Words == "int" {
		t = t.n("int", e.Value)
	} else {
		t = t.s(e.Words)
	}
	return e.keys(t.some("token", int64(e.Token)))
}

// used is the line of an operation at the resource.
func used(t textLine, e *Event, name string) textLine {
	t = t.s(e.Place, name).nth(e.Process, e.N).some("goroutine", int64(e.Goroutine)).n("token", int64(e.Token))
	if e.Words != "" {
		return t.s(e.Words)
	}
	return t.n("version", int64(e.Version)).n("value", e.Value)
}

// recorded is the line of what a client did or was told.
func recorded(t textLine, e *Event, name string) textLine {
	t = t.s(e.Process, name)
	if e.Key != "" {
		t = t.s(e.Key)
	}
	if e.Kind == Extended {
		t = t.n("token", int64(e.Token))
	} else {
		t = t.some("token", int64(e.Token))
	}
	t = t.some("goroutine", int64(e.Goroutine))
	if e.Kind == Acquired || e.Kind == Looked || e.Kind == Extended {
		t = t.n("validity", int64(e.Validity))
	}
	if e.Words != "" {
		t = t.s(e.Words)
	}
	return t
}

func (e *Event) keys(t textLine) textLine {
	for _, k := range e.Keys {
		t = t.named("key", k.Key)
		switch k.Until {
		case Gone:
			t = t.s("gone")
		case Forever:
			t = t.s("until=ever")
		default:
			t = t.n("until", int64(k.Until))
		}
	}
	return t
}

// suffered is the line of a fault, with all that it is made of.
func suffered(t textLine, e *Event, name string) textLine {
	f, who := e.Fault, e.Process+e.Place
	if e.Process != "" && e.Place != "" {
		who = e.Process + "-" + e.Place
	}
	t = t.s(who, name, string(f.Kind)).some("for", int64(f.For)).some("by", int64(f.By)).some("ppm", f.PPM).some("replica", int64(f.Replica))
	if f.Kind == fault.SplitBrain {
		t = t.someWord("process", f.Process)
	}
	t = t.someWord("way", string(f.Way)).someWord("keep", string(f.Keep)).someWord("key", f.Key)
	if f.Frozen {
		t = t.s("frozen")
	}
	return t
}
