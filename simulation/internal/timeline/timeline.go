// Package timeline draws a simulated run: which process believed that it held a lock,
// which instances had its key, what reached the resource, and what went wrong.
//
//	t := timeline.Of(result.Log)
//	err := t.Text(os.Stdout, timeline.TextOptions{})
//	err = t.SVG(file, timeline.SVGOptions{})
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
	"github.com/redquorum/redlock/simulation"
)

// None is the time of an event that did not happen.
const None time.Duration = -1

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
	Marks      []Mark
	Spans      []Span
	Beliefs    []Belief
	Tenures    []Tenure
	Accesses   []Access
	Violations []Violation
}

// Message is a request of a process and its result. Times of events that did not happen or
// are not in the log are None.
type Message struct {
	Process string
	Place   string // the server, or Resource
	Op      string
	N       uint64 // counts the process's requests to the place

	Sent    time.Duration
	Arrived time.Duration  // carried out, and answered
	Heard   time.Duration  // the answer was taken in
	GaveUp  time.Duration  // the process waits no longer
	Missed  time.Duration  // the answer came after that
	Again   time.Duration  // a second copy was carried out
	Lost    simulation.Way // which of the two ways it was lost on
	Outcome string         // "granted", "refused", "failed", ...; "" if it isn't known
	Line    int            // of its sending
}

func plural(w simulation.Way) string {
	if w == simulation.Replies {
		return "replies"
	}
	return "requests"
}

// Mark is an event shown in one lane.
type Mark struct {
	simulation.Event
	Lane string
	Line int
}

// Span is an event with a duration.
type Span struct {
	Lane string
	// Kind is "pause", "suspend", "restart", "hang", "cut", "lose" or "delay".
	Kind string
	From time.Duration
	// Until is its end, or the Timeline's End if it did not end within the run.
	Until time.Duration
	// Known: the log has its duration. Otherwise Until is the first moment at which it
	// had certainly ended.
	Known bool
	// Place and Way are the other end and the direction of a fault of links.
	Place string
	Way   simulation.Way
	Words string
	Line  int
}

// Belief is a period in which a process believed that it held a lock: it had acquired the
// lock, had not released it, and validity remained by its own clocks.
type Belief struct {
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

// Tenure is a period in which an instance had the key with a value of one process.
type Tenure struct {
	Server  string
	Key     string
	Process string
	// From and Until bound it. Open: it does not end in the log.
	From  time.Duration
	Until time.Duration
	Open  bool
	// End is why it ended: "expired", "deleted", "overwritten", "restart" or "lost" (without a
	// command)
	End string
	// Taker is the process that deleted it, if that was not its owner.
	Taker string
	Line  int
}

// Access is an operation that the resource executed or refused.
type Access struct {
	At        time.Duration
	Sent      time.Duration // None if the log doesn't say
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

// Violation is the finding of a check.
type Violation struct {
	At   time.Duration
	Kind string
	Text string
	Line int
}

// Quorum returns the number of instances for a valid lock: a majority of the servers,
// whatever the processes assume.
func (t *Timeline) Quorum() int { return len(t.Servers)/2 + 1 }

// Keys returns the locks that processes asked for, in order of the first request.
func (t *Timeline) Keys() []string {
	var keys []string
	for _, m := range t.Marks {
		if m.Kind == simulation.Asked && !slices.Contains(keys, m.Key) {
			keys = append(keys, m.Key)
		}
	}
	return keys
}

// Stretch is a period in which the same instances had a process's key.
type Stretch struct {
	Process string
	Key     string
	From    time.Duration
	Until   time.Duration
	Servers []string // sorted
	Quorum  bool     // they are a quorum
}

// Truth says, for each process and key, on which instances its key stood and when. Beside Beliefs it shows where a process was wrong.
func (t *Timeline) Truth() []Stretch {
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
	var all []Stretch
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
			all = append(all, Stretch{
				Process: a.process, Key: a.key, From: edges[i-1], Until: edges[i],
				Servers: servers, Quorum: len(servers) >= t.Quorum(),
			})
		}
	}
	slices.SortStableFunc(all, func(a, b Stretch) int { return cmp.Compare(a.From, b.From) })
	return all
}

// Overlap is a period in which two processes, or two goroutines of one, both believed that
// they held the same lock.
type Overlap struct {
	Key    string
	First  string // who got it first: a process, or with a number one more of its goroutines
	Second string
	From   time.Duration
	Until  time.Duration
}

// Overlaps returns the periods in which two beliefs contradict each other.
func (t *Timeline) Overlaps() []Overlap {
	var all []Overlap
	for i, a := range t.Beliefs {
		for _, b := range t.Beliefs[i+1:] {
			from, until := max(a.From, b.From), min(a.Until, b.Until)
			if a.Key == b.Key && a.who() != b.who() && from < until {
				all = append(all, Overlap{Key: a.Key, First: a.who(), Second: b.who(), From: from, Until: until})
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
	for _, m := range t.Marks {
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

// tail is a token's last digits, with a mark that some are left out.
func tail(token fencing.Token, digits int) string {
	s := strconv.FormatUint(uint64(token), 10)
	if len(s) <= digits+1 {
		return s
	}
	return "…" + s[len(s)-digits:]
}

// stops reports whether the span is one in which its lane stands still.
func (s Span) stops() bool {
	switch s.Kind {
	case "pause", "suspend", "restart", "hang", "failover", "reboot":
		return true
	}
	return false
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

// setting reports whether the message, if it had its effect, gave a key its
// sender's value.
func (m Message) setting() bool {
	switch m.Op {
	case "restore", "extend", "eval", "multi", "hset", "hsetnx", "hincrby":
		return true // of scripts and transactions nobody knows better
	}
	return m.acquiring()
}

// deleting reports whether the message, if it had its effect, took a key away.
func (m Message) deleting() bool {
	switch m.Op {
	case "release", "del", "getdel", "cad", "delex", "comparedel":
		return true
	}
	return false
}

// ok reports whether a command had its effect.
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

// A process's further goroutines have names of their own, see simulation.Who.

func (m Mark) who() string   { return simulation.Who(m.Lane, m.Goroutine) }
func (b Belief) who() string { return simulation.Who(b.Process, b.Goroutine) }
func (a Access) who() string { return simulation.Who(a.Process, a.Goroutine) }

// processOf is the process that a goroutine belongs to.
func processOf(who string) string {
	process, _, _ := strings.Cut(who, ".")
	return process
}

// severalGoroutines reports whether more than one goroutine of a process uses the lock.
func (t *Timeline) severalGoroutines() bool {
	for _, m := range t.Marks {
		if m.Goroutine > 0 {
			return true
		}
	}
	return false
}
