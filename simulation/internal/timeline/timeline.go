// Package timeline draws a simulated run: which process believed that it held a lock,
// which servers had its key, what reached the resource, and the faults and violations.
//
//	t := timeline.Of(result.Log)
//	err := t.Text(os.Stdout, "a title")
//	t.Small(&canvas, "a title")
//
// All times are true times from the start of the run. The output depends only
// on the log and the options.
package timeline

import (
	"cmp"
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

	Messages   []Message
	Events     []laneEvent
	Spans      []Span
	Beliefs    []belief
	Tenures    []Tenure
	Accesses   []access
	Violations []Violation
}

// Message is a request of a process and its result. Times of events that did not happen or
// are not in the log are never.
type Message struct {
	Process string
	Place   string // the server, or Resource
	Op      string

	Sent     time.Duration
	Arrived  time.Duration // executed, and answered
	Received time.Duration // the reply was received
	GaveUp   time.Duration // the process no longer waits
	Missed   time.Duration // the reply came after that
	Lost     fault.Way     // the direction in which it was lost
	Outcome  string        // "granted", "refused", "failed", ...; "" if unknown
	Line     int           // of its sending
}

// laneEvent is an event shown in one lane.
type laneEvent struct {
	record.Event
	Lane string
	Line int
}

// Span is an event with a duration.
type Span struct {
	Lane string `json:"lane"`
	// Kind is a fault.Kind.
	Kind string        `json:"kind"`
	From time.Duration `json:"from"`
	// Until is its end, or the Timeline's End if it did not end within the run.
	Until time.Duration `json:"until"`
	// Place and Way are the other end and the direction of a fault of links.
	Place string    `json:"place"`
	Way   fault.Way `json:"way"`
	Words string    `json:"words"`
	Line  int       `json:"line"`
}

// belief is a period in which a process believed that it held a lock: it had acquired the
// lock, had not released it, and validity remained by its own clocks.
type belief struct {
	Process string
	// Goroutine is the index of the process's goroutine, from 0.
	Goroutine int
	Key       string
	Token     fencing.Token
	From      time.Duration
	Until     time.Duration
	// End is how it ended: "released", "ran out", "crashed", or "" if the
	// log ends before.
	End  string
	Line int
}

// Tenure is a period in which a server had the key with a value of one process.
type Tenure struct {
	Server  string `json:"server"`
	Key     string `json:"key"`
	Process string `json:"process"`
	// From and Until bound it. Open: it does not end in the log.
	From  time.Duration `json:"from"`
	Until time.Duration `json:"until"`
	Open  bool          `json:"open"`
	// End is why it ended: "expired", "deleted", "overwritten", "restart" or "lost" (without a
	// command)
	End string `json:"end"`
	// Taker is the process that deleted it, if that was not its owner.
	Taker string `json:"taker"`
	Line  int    `json:"line"`
}

// access is an operation that the resource executed or refused.
type access struct {
	At        time.Duration
	Sent      time.Duration // never if the log doesn't say
	Process   string
	Goroutine int    // of the process, that asked
	Op        string // "read" or "write"
	Token     fencing.Token
	Refused   bool // by the guard
	// Repeated: it had been executed before, and was only answered.
	Repeated bool
	Version  int64
	Value    int64
	Line     int
}

// Violation is a finding of the checks.
type Violation struct {
	At   time.Duration
	Kind string
	Text string
	Line int
}

// Quorum returns a majority of the servers, whatever the processes assume.
func (t *Timeline) Quorum() int { return len(t.Servers)/2 + 1 }

// KeyPeriod is a period in which the same servers had a process's key.
type KeyPeriod struct {
	Process string
	Key     string
	From    time.Duration
	Until   time.Duration
	Servers []string // sorted
	Quorum  bool     // they are a quorum
}

// Truth returns which servers had a process's key, and when. Compared with Beliefs it shows
// errors of processes.
func (t *Timeline) Truth() []KeyPeriod {
	type attempt struct{ process, key string }
	var order []attempt
	tenures := map[attempt][]Tenure{}
	for _, n := range t.Tenures {
		a := attempt{n.Process, n.Key}
		if tenures[a] == nil {
			order = append(order, a)
		}
		if n.Until > n.From {
			tenures[a] = append(tenures[a], n)
		}
	}
	var all []KeyPeriod
	for _, a := range order {
		var edges []time.Duration
		for _, n := range tenures[a] {
			edges = append(edges, n.From, n.Until)
		}
		slices.Sort(edges)
		edges = slices.Compact(edges)
		for i := 1; i < len(edges); i++ {
			var servers []string
			for _, n := range tenures[a] {
				if n.From <= edges[i-1] && n.Until >= edges[i] && !slices.Contains(servers, n.Server) {
					servers = append(servers, n.Server)
				}
			}
			if len(servers) == 0 {
				continue
			}
			slices.Sort(servers)
			if last := len(all) - 1; last >= 0 && all[last].Until == edges[i-1] && all[last].Process == a.process &&
				all[last].Key == a.key && slices.Equal(all[last].Servers, servers) {
				all[last].Until = edges[i]
				continue
			}
			all = append(all, KeyPeriod{
				Process: a.process, Key: a.key, From: edges[i-1], Until: edges[i],
				Servers: servers, Quorum: len(servers) >= t.Quorum(),
			})
		}
	}
	slices.SortStableFunc(all, func(a, b KeyPeriod) int { return cmp.Compare(a.From, b.From) })
	return all
}

// overlap is a period in which two processes, or two goroutines of one, both believed that
// they held the same lock.
type overlap struct {
	Key    string
	First  string // who got it first: a process, or with a number one more of its goroutines
	Second string
	From   time.Duration
	Until  time.Duration
}

// Overlaps returns the periods in which two beliefs contradict each other.
func (t *Timeline) Overlaps() []overlap {
	var all []overlap
	for i, a := range t.Beliefs {
		for _, b := range t.Beliefs[i+1:] {
			from, until := max(a.From, b.From), min(a.Until, b.Until)
			if a.Key == b.Key && a.who() != b.who() && from < until {
				all = append(all, overlap{Key: a.Key, First: a.who(), Second: b.who(), From: from, Until: until})
			}
		}
	}
	return all
}

// tokens gives each token its shortest unique name, because tokens seeded from a clock have
// sixteen digits of which only the last few differ.
func (t *Timeline) tokens() func(fencing.Token) string {
	seen := map[fencing.Token]bool{}
	add := func(token fencing.Token) {
		if token != 0 {
			seen[token] = true
		}
	}
	for _, b := range t.Beliefs {
		add(b.Token)
	}
	for _, a := range t.Accesses {
		add(a.Token)
	}
	for _, m := range t.Events {
		add(m.Token)
	}
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

// watching reports whether a message only monitors a server and concerns no lock.
func (m Message) watching() bool {
	switch m.Op {
	case "probe", "tick", "time", "ping":
		return true
	}
	return false
}

// acquiring reports whether the message asks for a key.
func (m Message) acquiring() bool {
	switch m.Op {
	case "acquire", "set", "setnx", "setex", "psetex", "cas":
		return true
	}
	return false
}

// setting reports whether the message, if it succeeded, set a key to its sender's value.
func (m Message) setting() bool {
	switch m.Op {
	case "restore", "extend", "eval", "multi", "hset", "hsetnx", "hincrby":
		return true // assumed of scripts and transactions
	}
	return m.acquiring()
}

// deleting reports whether the message, if it succeeded, deleted a key.
func (m Message) deleting() bool {
	switch m.Op {
	case "release", "del", "getdel", "cad", "delex", "comparedel":
		return true
	}
	return false
}

// ok reports whether a command succeeded.
func (m Message) ok() bool {
	return m.Outcome == "granted" || m.Outcome == "ok"
}

// list joins names: "A", "A and B", "A, B and C".
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Further goroutines of a process have names of their own, see record.Who.

func (m laneEvent) who() string { return record.Who(m.Lane, m.Goroutine) }
func (b belief) who() string    { return record.Who(b.Process, b.Goroutine) }
func (a access) who() string    { return record.Who(a.Process, a.Goroutine) }

// processOf returns the process of a goroutine.
func processOf(who string) string {
	process, _, _ := strings.Cut(who, ".")
	return process
}

// severalGoroutines reports whether more than one goroutine of a process uses the lock.
func (t *Timeline) severalGoroutines() bool {
	for _, m := range t.Events {
		if m.Goroutine > 0 {
			return true
		}
	}
	return false
}

// Refuses reports whether the resource refuses an operation at a moment.
func (t *Timeline) Refuses(at time.Duration) bool {
	return slices.ContainsFunc(t.Accesses, func(a access) bool { return a.At == at && a.Refused })
}
