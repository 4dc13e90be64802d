// Package timeline shows a simulated run: which process believed that it held a lock, which servers
// had its key, what reached the resource, and the faults and violations. A drawing shows them beside
// each other, and a text one after the other.
//
//	t := timeline.Of(result.Log)
//	t.Draw(&canvas, "a title")
//	err := t.Text(os.Stdout, "a title")
//
// All times are true times from the start of the run. The output depends only on the log and the
// options.
package timeline

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// never is the time of an event that did not happen.
const never time.Duration = -1

// Timeline is a run as recorded in its log. Slices are in the order of the log.
type Timeline struct {
	// Processes and Servers are the names of the lanes: all those in the log.
	// UsesResource: the log has operations at the resource.
	Processes    []string
	Servers      []string
	UsesResource bool
	// End is the time of the last event.
	End time.Duration

	Messages   []message
	Events     []event // of processes and servers
	Violations []event
	Spans      []span
	Beliefs    []belief
	Tenures    []tenure
	Accesses   []access
}

// event is an event of the log.
type event struct {
	*record.Event
	lane string
	line int // of the log, for the order within one moment
}

// message is a request of a process and its result. Times of events that did not happen or are not
// in the log are never.
type message struct {
	Process, Place, Op string
	Sent               time.Duration
	Received           time.Duration // the reply was received
	GaveUp             time.Duration // the process no longer waits
	Outcome            string        // "granted", "refused", "failed", ...; "" if unknown
}

// span is a fault with a duration.
type span struct {
	*fault.Fault
	Lane string
	From time.Duration
	// Until is its end, or the Timeline's End if it did not end within the run.
	Until time.Duration
	// Place is the other end of a fault of links, or the server's replica.
	Place string
	line  int
}

// belief is a period in which a process believed that it held a lock: it had acquired the
// lock, had not released it, and validity remained by its own clocks.
type belief struct {
	event // its beginning
	Until time.Duration
	// End is how it ended: "released", "ran out", "crashed", or "" if the
	// log ends before.
	End string
}

// tenure is a period in which a server had the key with a value of one process.
type tenure struct {
	Server, Key, Process string
	From, Until          time.Duration
	// End is why it ended: "expired", "deleted", "overwritten", "restart" or "lost" (without a
	// command); "" if it does not end in the log.
	End string
	// Taker is the process that deleted it, if that was not its owner.
	Taker string
	line  int
}

// access is an operation that the resource executed or refused.
type access struct {
	event
	Sent time.Duration // never if the log doesn't say
}

func (a access) refused() bool { return a.Words == "refused" } // by the guard

// period is a period of time.
type period struct{ from, until time.Duration }

// gaps returns the periods of a belief in which fewer than a quorum of the servers had its holder's
// key, whatever the processes assume.
func (t *Timeline) gaps(b belief) (list []period) {
	edges := []time.Duration{b.At, b.Until}
	for _, n := range t.Tenures {
		for _, at := range []time.Duration{n.From, n.Until} {
			if at > b.At && at < b.Until {
				edges = append(edges, at)
			}
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	for i := 1; i < len(edges); i++ {
		from, until, have := edges[i-1], edges[i], map[string]bool{}
		for _, n := range t.Tenures {
			if n.Process == b.Process && n.Key == b.Key && n.From <= from && n.Until >= until {
				have[n.Server] = true
			}
		}
		switch last := len(list) - 1; {
		case len(have) > len(t.Servers)/2:
		case last >= 0 && list[last].until == from:
			list[last].until = until
		default:
			list = append(list, period{from, until})
		}
	}
	return list
}

// overlap is a period in which two processes, or two goroutines of one, both believed that
// they held the same lock.
type overlap struct {
	first, second belief
	period
}

// overlaps returns the periods in which two beliefs contradict each other.
func (t *Timeline) overlaps() (all []overlap) {
	for i, a := range t.Beliefs {
		for _, b := range t.Beliefs[i+1:] {
			both := period{max(a.At, b.At), min(a.Until, b.Until)}
			if a.Key == b.Key && a.who() != b.who() && both.from < both.until {
				all = append(all, overlap{a, b, both})
			}
		}
	}
	return all
}

// tokens gives each token its shortest unique name, because tokens seeded from a clock have
// sixteen digits of which only the last few differ. Token 0 has none.
func (t *Timeline) tokens() func(fencing.Token) string {
	seen := map[fencing.Token]bool{}
	for _, m := range t.Events {
		seen[m.Token] = true
	}
	for _, a := range t.Accesses {
		seen[a.Token] = true
	}
	delete(seen, 0)
	digits := 3
	for ; digits < 20; digits++ {
		short := map[string]bool{}
		for token := range seen {
			short[tail(token, digits)] = true
		}
		if len(short) == len(seen) {
			break
		}
	}
	return func(token fencing.Token) string {
		if token == 0 {
			return ""
		}
		return tail(token, digits)
	}
}

// tail returns a token's last digits, after an ellipsis.
func tail(token fencing.Token, digits int) string {
	s := strconv.FormatUint(uint64(token), 10)
	if len(s) <= digits+1 {
		return s
	}
	return "…" + s[len(s)-digits:]
}

// Held is a moment at which a process holds a lock: soon after the first lease was granted, or soon after
// most scenarios begin if none was.
func (t *Timeline) Held() time.Duration {
	const soon, begin = 100 * time.Millisecond, time.Second
	if len(t.Beliefs) == 0 {
		return begin + soon
	}
	first := t.Beliefs[0]
	return (first.At + min(soon, (first.Until-first.At)/2)).Round(100 * time.Microsecond)
}

// watching reports whether a message only monitors a server and concerns no lock.
func (m message) watching() bool {
	return slices.Contains([]string{"probe", "tick", "time", "ping"}, m.Op)
}

// acquiring reports whether the message asks for a key.
func (m message) acquiring() bool {
	return slices.Contains([]string{"acquire", "set", "setnx", "setex", "psetex", "cas"}, m.Op)
}

// setting reports whether the message, if it succeeded, set a key to its sender's value. Scripts and
// transactions are assumed to.
func (m message) setting() bool {
	return m.acquiring() || slices.Contains([]string{"restore", "extend", "eval", "multi", "hset", "hsetnx", "hincrby"}, m.Op)
}

// deleting reports whether the message, if it succeeded, deleted a key.
func (m message) deleting() bool {
	return slices.Contains([]string{"release", "del", "getdel", "cad", "delex", "comparedel"}, m.Op)
}

// ok reports whether a command succeeded.
func (m message) ok() bool { return m.Outcome == "granted" || m.Outcome == "ok" }

// list joins names: "A", "A and B", "A, B and C".
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// who names the goroutine, see record.Who.
func (e event) who() string { return record.Who(e.lane, e.Goroutine) }
