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
	Counted  // see Log.Counts
	eventKinds
)
