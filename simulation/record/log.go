// Package record is what happened in a run: a Log of Events, among them the violations that the
// checks found. Its text, the history of the clients, the counters and the pictures are views of
// it. It knows no clock, no server and no network.
package record

import (
	"iter"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/fault"
)

// Log is all events of a run, in order. The text, the history, the counts, the violations
// and the pictures are derived from it.
type Log []*Event

// All is the events in order.
func (l Log) All() iter.Seq[*Event] { return slices.Values(l) }

// Who names a goroutine of a process: "c1" is its first goroutine, "c1.1" the first
// goroutine started by Client.Go.
func Who(process string, goroutine int) string {
	if goroutine == 0 {
		return process
	}
	return process + "." + strconv.Itoa(goroutine)
}

// Add appends an event. The caller fills in its other fields.
func (l *Log) Add(at time.Duration, kind EventKind, process, place string) *Event {
	e := &Event{At: at, Kind: kind, Process: process, Place: place}
	*l = append(*l, e)
	return e
}

// Event is one event. Its Kind determines which fields are used.
type Event struct {
	At   time.Duration // true time
	Kind EventKind
	// Process and Place say where it happened. Place is a server or the Resource. The second server at
	// an address has the name of the first with a ' or a ~, in what it does (Voted, Answered), but not
	// in what is sent to it. A link fault has the patterns of both.
	Process, Place string
	// Goroutine is the goroutine's number in its process, see simulation.Client.Goroutine.
	Goroutine int
	// N numbers the process's requests to the place. Op is what a request asks for.
	N  uint64
	Op string
	// Key and Token are the lease's. Lease is its number, from 1, in the order of
	// acquisition, 0 if there is none. Validity is what the client was told, or how long
	// the votes of a server are ignored.
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
	// Keys is the keys that a command, or something else, has changed.
	Keys []KeyState

	Fault     *fault.Fault
	Violation *Violation
	Change    *Change // of Voted, Answered and Acquired; nil if it is about no lock
	Truth     *Truth  // of Acquired, Extended, Looked, Believed and Refused; nil if nothing is known
}

// Truth is what clients can't know, and the simulation does. The checks compare it with what
// clients were told. The text of the log leaves it out.
type Truth struct {
	// Until is the true time at which the holder's clocks will end its lease, if they go on as
	// they do now.
	Until time.Duration
	// Have is how many servers have the lease's key until then, and Forgot how many others have
	// lost data since the lease was requested. Quorum is how many must have it, and Servers
	// how many should; 0 if that is unknown.
	Have, Forgot, Quorum, Servers int
	// Also is the other keys that were asked for in the same request (Refused), and Hindered the
	// last moment at which the process couldn't have got the lock, because it was paused or
	// too few servers were well.
	Also     []string
	Hindered time.Duration
}

// KeyState is a key on a server: its expiry in true time if nothing changes, or Gone, or
// Forever.
type KeyState struct {
	Key   string
	Until time.Duration
}

// The values of KeyState.Until without an expiry.
const (
	Gone    time.Duration = -1
	Forever time.Duration = math.MaxInt64
)

// Change is what a request of the library left of its locks on a server. If a lease was acquired, it has only the
// Value. The text of the log leaves it out.
type Change struct {
	// Value is the round's.
	Value string
	Locks []LockState // on the server, if it is about a request
}

// LockState is a lock on a server: its value, "" if the key is free, and its counter, 0 if there is none.
type LockState struct {
	Key, Value string
	Counter    fencing.Token
}

// History is what clients did and were told, and what the resource executed for them.
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
