package simulation

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"math"
	"strconv"
	"time"

	"github.com/redquorum/redlock/fencing"
)

// Log is everything that happened in a run, in order, in pieces: so it grows without being
// copied. The text, the history, the counts, the violations and the pictures are read from
// it.
type Log [][]Event

// All is the events in order.
func (l Log) All() iter.Seq[*Event] {
	return func(yield func(*Event) bool) {
		for _, piece := range l {
			for i := range piece {
				if !yield(&piece[i]) {
					return
				}
			}
		}
	}
}

// Event is one thing that happened. Its Kind says which fields mean something.
type Event struct {
	At   time.Duration // true time
	Kind EventKind
	// Process and Place say where it happened. Place is a server, by the name that the
	// process has for it, or the Resource. A fault of links has both, as its patterns.
	Process, Place string
	// Goroutine is which of the process's own it was, see Client.Goroutine.
	Goroutine int
	// N numbers the process's requests to the place. Op is what a request asks for.
	N  uint64
	Op string
	// Key and Token are the lease's. Lease is its number, from 1, in the order of
	// acquisition, 0 if there is none. Validity is what the client was told.
	Key      string
	Token    fencing.Token
	Lease    int
	Validity time.Duration
	// Version and Value are the resource's after a Read or a Write, AsOf the version
	// that a Write replaces. Value is also the number with which a command was answered.
	Version, AsOf uint64
	Value         int64
	// Words is an outcome, an error, a note, or what was counted.
	Words string
	// Keys is what has become of keys.
	Keys []KeyState

	Fault     *Fault
	Violation *Violation
}

// KeyState is a key as a server has it: until when, in true time as things stand, or Gone,
// or Forever.
type KeyState struct {
	Key      string
	Database int
	Until    time.Duration
}

// The ends of keys that have no end.
const (
	Gone    time.Duration = gone
	Forever time.Duration = math.MaxInt64
)

// EventKind is what happened.
type EventKind uint8

// The kinds.
const (
	// What clients did and were told: the history. A Read or a Write is written down when
	// the Resource carries it out, or doesn't: then Words says "refused" or "repeated".
	Asked EventKind = iota
	Acquired
	Refused
	Extended
	Looked
	Released
	HandedOff
	Crashed
	Noted
	Read
	Write

	// What else processes did.
	Started
	Ended
	Distrusted // the library takes no votes from Place for Validity
	LetterSent // to the process in Words
	LetterTaken

	// Requests and their answers.
	Sent
	RequestLost
	RequestRepeated // a second copy has arrived
	Voted           // the server has carried out a command of the library
	Answered        // the same for other commands, or with an error
	ReplyLost
	Heard
	GaveUp
	CutOff // with the connection
	Ignored

	// Notifications of waiters.
	NotificationSent
	NotificationLost // also when it was sent
	Notified
	SubscriptionLost

	// What else happened to servers and processes.
	Suffered // a fault; Words is the reading of a clock at which it came
	Back     // from a restart, a hang, ...
	FellBack // semi-synchronous replication is asynchronous for now
	KeyChanged

	Found   // a violation
	Counted // something without a line of its own, see Counters
	eventKinds
)

// A kind's name, and the words of its line where they are others.
var eventNames = [eventKinds]string{
	Asked: "asked", Acquired: "acquired", Refused: "refused", Extended: "extended", Looked: "looked", Released: "released",
	HandedOff: "handed off", Crashed: "crashed", Noted: "noted", Read: "read", Write: "write", Started: "starts", Ended: "ends",
	Distrusted: "distrusts", LetterSent: "sends", LetterTaken: "takes a letter", Sent: "sent", RequestLost: "loses",
	RequestRepeated: "again", Voted: "voted", Answered: "answered", ReplyLost: "loses", Heard: "hears", GaveUp: "gives up",
	CutOff: "is cut off", Ignored: "ignores", NotificationSent: "calls", NotificationLost: "calls", Notified: "called by",
	SubscriptionLost: "cannot hear", Suffered: "suffers", Back: "is back", FellBack: "falls back", KeyChanged: "has",
	Found: "VIOLATION", Counted: "counted",
}

// String is the kind in a word or two.
func (k EventKind) String() string { return eventNames[k] }

// event writes down that something happens now. What it returns is to be filled in.
func (w *world) event(kind EventKind, process, place string) *Event {
	last := len(w.log) - 1
	if last < 0 || len(w.log[last]) == cap(w.log[last]) {
		last++
		// 32 events, 64, and then always 128: larger pieces would leave more memory empty.
		w.log = append(w.log, make([]Event, 0, 32<<min(last, 2)))
	}
	w.log[last] = append(w.log[last], Event{At: time.Duration(w.now.Load()), Kind: kind, Process: process, Place: place})
	return &w.log[last][len(w.log[last])-1]
}

// message writes down what becomes of a call.
func (w *world) message(kind EventKind, c *call) *Event {
	e := w.event(kind, c.p.name, c.placeName())
	e.N = c.seq
	return e
}

// answered writes down how a server has answered a call.
func (s *server) answered(kind EventKind, c *call, op, outcome string) *Event {
	e := s.w.event(kind, c.p.name, s.name)
	e.N, e.Op, e.Words = c.seq, op, outcome
	return e
}

// count writes down something that a check depends on.
func (w *world) count(what string) { w.event(Counted, "", "").Words = what }

// History is what clients did and were told, and what the resource carried out for them.
func (l Log) History() []Event {
	var history []Event
	for e := range l.All() {
		if e.Kind < Read || (e.Kind == Read || e.Kind == Write) && e.Words == "" {
			history = append(history, *e)
		}
	}
	return history
}

// Violations is what the checks found.
func (l Log) Violations() []Violation {
	var found []Violation
	for e := range l.All() {
		if e.Kind == Found {
			found = append(found, *e.Violation)
		}
	}
	return found
}

// Counts says how often things happened that a check depends on. That one found nothing
// proves nothing where what it looks for never came near.
func (l Log) Counts() map[string]int {
	var kinds [eventKinds]int
	votes, counts := map[[2]string]int{}, make(map[string]int, 32)
	for e := range l.All() {
		switch e.Kind {
		case Counted:
			counts[e.Words]++
		case Voted:
			votes[[2]string{e.Op, e.Words}]++
		case Refused:
			counts[noLease+e.Words]++
		case Read, Write:
			if what := useCounts[[2]string{e.Kind.String(), e.Words}]; what != "" {
				counts[what]++
			}
		default:
			kinds[e.Kind]++
		}
	}
	for kind, n := range kinds {
		if what := kindCounts[kind]; n > 0 && what != "" {
			counts[what] = n
		}
	}
	for vote, n := range votes {
		counts[vote[0]+" "+vote[1]] = n
	}
	return counts
}

// String is the log as text, a line for each event: the true time in milliseconds, who,
// and what. Two runs are the same if their texts are.
func (l Log) String() string { return string(l.text()) }

// Digest is the text's SHA-256 in hexadecimal digits.
func (l Log) Digest() string {
	sum := sha256.Sum256(l.text())
	return hex.EncodeToString(sum[:])
}

func (l Log) text() []byte {
	text := make(textLine, 0, 6000*len(l))
	for e := range l.All() {
		if e.Kind != Counted {
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
	t = strconv.AppendInt(t, int64(e.At)/million, 10)
	// The digit before the fraction's six is a one, so that zeros are kept; the point
	// takes its place.
	point := len(t)
	t = strconv.AppendInt(t, int64(e.At)%million+million, 10)
	t[point] = '.'
	name := e.Kind.String()
	switch e.Kind {
	case Crashed:
		return t.s(e.Process, "crashes")
	case Started, Ended, LetterTaken:
		return t.s(e.Process, name)
	case Back, FellBack:
		return t.s(e.Place, name)
	case LetterSent:
		return t.s(e.Process, name, e.Words, "a letter")
	case Distrusted:
		return t.s(e.Process, name, e.Place).n("for", int64(e.Validity))
	case Sent:
		return t.s(e.Process, e.Op).nth(e.Place, e.N)
	case RequestLost, Heard, GaveUp, CutOff, Ignored:
		return t.s(e.Process, name).nth(e.Place, e.N)
	case RequestRepeated, ReplyLost:
		return t.s(e.Place, name).nth(e.Process, e.N)
	case Voted, Answered:
		t = t.s(e.Place, e.Op).nth(e.Process, e.N)
		if e.Words == "int" {
			t = t.n("int", e.Value)
		} else {
			t = t.s(e.Words)
		}
		return e.keys(t.some("token", int64(e.Token)))
	case KeyChanged:
		return e.keys(t.s(e.Place, name))
	case NotificationSent:
		return t.s(e.Place, name, e.Process).named("key", e.Key)
	case NotificationLost:
		return t.s(e.Place, name, e.Process).named("key", e.Key).s("lost")
	case Notified:
		return t.s(e.Process, name, e.Place).named("key", e.Key)
	case SubscriptionLost:
		return t.s(e.Process, name, e.Place)
	case Read, Write:
		t = t.s(e.Place, name).nth(e.Process, e.N).some("goroutine", int64(e.Goroutine)).n("token", int64(e.Token))
		if e.Words != "" {
			return t.s(e.Words)
		}
		return t.n("version", int64(e.Version)).n("value", e.Value)
	case Suffered:
		return e.suffered(t)
	case Found:
		t = t.s(name, string(e.Violation.Kind))
		if e.Violation.HasStack() { // stacks differ from run to run
			return t
		}
		return t.s(e.Violation.Text)
	default:
		return e.recorded(t.s(e.Process, name))
	}
}

// recorded adds what a client did or was told.
func (e *Event) recorded(t textLine) textLine {
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
		t = t.named("key", k.Key).some("database", int64(k.Database))
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

// suffered adds a fault, with all that it is made of.
func (e *Event) suffered(t textLine) textLine {
	f, who := e.Fault, e.Process+e.Place
	if e.Process != "" && e.Place != "" {
		who = e.Process + "-" + e.Place
	}
	t = t.s(who, e.Kind.String(), string(f.Kind)).some("for", int64(f.For)).some("by", int64(f.By)).some("ppm", f.PPM).some("replica", int64(f.Replica))
	if f.Kind == SplitBrain {
		t = t.someWord("process", f.Process)
	}
	t = t.someWord("way", string(f.Way)).someWord("keep", string(f.Keep)).someWord("key", f.Key).someWord("reading", e.Words)
	if f.Stale {
		t = t.s("stale")
	}
	if f.Frozen {
		t = t.s("frozen")
	}
	if f.Shuffled {
		t = t.s("shuffled")
	}
	return t
}
