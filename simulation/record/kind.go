package record

// EventKind is what happened.
type EventKind uint8

// The kinds.
const (
	// The history: what clients did and were told. A Read or a Write is logged when the
	// Resource executes it or not; in the latter case, Words says "refused" or "repeated".
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
	Quarantined // the library takes no votes from Place for Validity
	LetterSent  // to the process in Words
	LetterTaken

	// Requests and their answers.
	Sent
	RequestLost
	RequestDuplicated // a second copy has arrived
	Voted             // the server has carried out a command of the library
	Answered          // the same for other commands, or with an error
	ReplyLost
	Received
	GaveUp
	CutOff // with the connection
	Ignored

	// Notifications of waiters.
	NotificationSent
	NotificationLost // it was sent, and won't arrive
	Notified
	SubscriptionLost

	// What else happened to servers and processes.
	Suffered // a fault
	Back     // from a restart, a hang, ...
	FellBack // semi-synchronous replication is asynchronous for now
	KeyChanged

	Found // a violation
	// These have no line in the text.
	Believed // a clock of Process has changed, and with it how long it believes in Lease
	Counted  // see Counters
	eventKinds
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
