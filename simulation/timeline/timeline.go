// Package timeline reads the trace of a simulated run and draws it: who believed
// that it held a lock, on which instances that was true, what reached the resource,
// and where it broke. It works from the trace's text alone, so that a trace from a
// file, or from another machine, gives the same picture.
//
//	t, err := timeline.Parse(result.Trace)
//	err = t.Text(os.Stdout, timeline.TextOptions{})
//	err = t.SVG(file, timeline.SVGOptions{})
//
// All times are true times from the start of the run. The output is a function of
// the trace and the options: same bytes for the same trace.
package timeline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Resource is the lane of what the locks protect.
const Resource = "resource"

// None is a time at which something didn't happen.
const None time.Duration = -1

// Timeline is a run as its trace tells it. Slices are in the order of the trace.
type Timeline struct {
	// Processes and Servers are the lanes, by name: all that the trace speaks of.
	// UsesResource reports whether anything was done at the resource.
	Processes    []string `json:"processes"`
	Servers      []string `json:"servers"`
	UsesResource bool     `json:"uses_resource"`
	// End is the time of the last line.
	End time.Duration `json:"end_ns"`

	Messages   []Message   `json:"messages"`
	Marks      []Mark      `json:"marks"`
	Spans      []Span      `json:"spans"`
	Beliefs    []Belief    `json:"beliefs"`
	Tenures    []Tenure    `json:"tenures"`
	Accesses   []Access    `json:"accesses"`
	Violations []Violation `json:"violations"`

	// Unknown is the lines that weren't understood: of a later version, or torn.
	Unknown []UnknownLine `json:"unknown,omitempty"`
}

// UnknownLine is a line of the trace that wasn't understood.
type UnknownLine struct {
	Number int    `json:"number"` // from 1
	Text   string `json:"text"`
}

// Message is one request of a process and what became of it. Times are None for
// what didn't happen, or isn't in the trace.
type Message struct {
	Process string `json:"process"`
	Place   string `json:"place"` // the server, or Resource
	Op      string `json:"op"`
	N       uint64 `json:"n"` // counts the process's requests to the place
	Key     string `json:"key,omitempty"`

	Sent    time.Duration `json:"sent_ns"`
	Arrived time.Duration `json:"arrived_ns"`  // carried out, and answered
	Heard   time.Duration `json:"heard_ns"`    // the answer was taken in
	GaveUp  time.Duration `json:"gave_up_ns"`  // the process waits no longer
	Missed  time.Duration `json:"missed_ns"`   // the answer came after that
	Again   time.Duration `json:"again_ns"`    // a second copy was carried out
	Lost    Way           `json:"lost"`        // which of the two ways it was lost on
	Outcome string        `json:"outcome"`     // "granted", "refused", "failed", ...; "" if it isn't known
	Token   uint64        `json:"token"`       // that the answer carried, 0: none
	Line    int           `json:"line_number"` // of its sending
}

// Way is a direction of messages.
type Way string

// The ways.
const (
	Neither Way = ""
	Request Way = "request"
	Reply   Way = "reply"
)

func (w Way) plural() string {
	if w == Reply {
		return "replies"
	}
	return "requests"
}

// MarkKind is what happened at a Mark.
type MarkKind string

// The kinds.
const (
	Started   MarkKind = "starts"
	Ended     MarkKind = "ends"
	Crashed   MarkKind = "crashes"
	Asked     MarkKind = "asked"
	Acquired  MarkKind = "acquired"
	Refused   MarkKind = "refused"
	Looked    MarkKind = "looked"
	Extended  MarkKind = "extended"
	Released  MarkKind = "released"
	HandedOff MarkKind = "handed off"
	Noted     MarkKind = "noted"
	Distrusts MarkKind = "distrusts"  // the library takes no votes from a server for a while
	Suffered  MarkKind = "suffers"    // a fault, whatever its length
	Back      MarkKind = "is back"    // a server after a restart or a hang
	Gone      MarkKind = "key gone"   // a key, without a command that deleted it
	FellBack  MarkKind = "falls back" // a server no longer waits for its replicas

	Calls    MarkKind = "calls"       // a server calls a process that waits, named in Words
	CallLost MarkKind = "calls lost"  // the same, and the call gets lost
	Called   MarkKind = "called by"   // a process hears the call of the server in Words
	Deafened MarkKind = "cannot hear" // its connection for calls from the server in Words has broken
)

// Mark is something that happened in one lane at one moment.
type Mark struct {
	At   time.Duration `json:"at_ns"`
	Lane string        `json:"lane"`
	// Goroutine is which of a process's own it was, 0 for its first.
	Goroutine int           `json:"goroutine,omitempty"`
	Kind      MarkKind      `json:"kind"`
	Key       string        `json:"key,omitempty"`
	Token     uint64        `json:"token,omitempty"`
	Validity  time.Duration `json:"validity_ns,omitempty"`
	// Words is the fault's kind, the reason of a refusal, a note, ...
	Words string `json:"words,omitempty"`
	// By and PPM are how far, or how fast, a clock was moved.
	By   time.Duration `json:"by_ns,omitempty"`
	PPM  int64         `json:"ppm,omitempty"`
	Line int           `json:"line_number"`
}

// Span is something that lasted.
type Span struct {
	Lane string `json:"lane"`
	// Kind is "pause", "suspend", "restart", "hang", "cut", "lose" or "delay".
	Kind string        `json:"kind"`
	From time.Duration `json:"from_ns"`
	// Until is its end, and the Timeline's End where it had none within the run.
	Until time.Duration `json:"until_ns"`
	// Known reports whether the trace says how long it lasted. Where it doesn't,
	// Until is the first moment at which it was surely over.
	Known bool `json:"known"`
	// Place and Way are the other end and the direction of a fault of links.
	Place string `json:"place,omitempty"`
	Way   Way    `json:"way,omitempty"`
	Words string `json:"words,omitempty"`
	Line  int    `json:"line_number"`
}

// Belief is a stretch of time in which a process believed that it held a lock: it
// had been told so, had not released it, and by its own clocks validity was left.
type Belief struct {
	Process string `json:"process"`
	// Goroutine is which of the process's own believed it, 0 for its first.
	Goroutine int           `json:"goroutine,omitempty"`
	Key       string        `json:"key"`
	Token     uint64        `json:"token"`
	From      time.Duration `json:"from_ns"`
	Until     time.Duration `json:"until_ns"`
	// End is how it ended: "released", "ran out", "crashed", or "" if the
	// trace ends before.
	End  string `json:"end"`
	Line int    `json:"line_number"`
}

// Tenure is a stretch of time in which an instance had the key with a value of one
// process.
type Tenure struct {
	Server  string `json:"server"`
	Key     string `json:"key"`
	Process string `json:"process"`
	// From and Until bound it. Open says that nothing in the trace ends it.
	From  time.Duration `json:"from_ns"`
	Until time.Duration `json:"until_ns"`
	Open  bool          `json:"open,omitempty"`
	// End is why it ended: "expired", "deleted", "overwritten", "restart" or "lost" (without a
	// command)
	End string `json:"end"`
	// Taker is who deleted it, if that is another process than the one whose it
	// was.
	Taker string `json:"taker,omitempty"`
	Line  int    `json:"line_number"`
}

// Access is an operation as the resource carried it out, or refused it.
type Access struct {
	At        time.Duration `json:"at_ns"`
	Sent      time.Duration `json:"sent_ns"` // None if the trace doesn't say
	Process   string        `json:"process"`
	Goroutine int           `json:"goroutine,omitempty"` // of the process, that asked
	Op        string        `json:"op"`                  // "read" or "write"
	Key       string        `json:"key,omitempty"`
	Token     uint64        `json:"token"`
	Refused   bool          `json:"refused"` // by the guard
	// Repeated says that it had been carried out before, and was only answered.
	Repeated bool  `json:"repeated,omitempty"`
	Version  int64 `json:"version"`
	Value    int64 `json:"value"`
	Line     int   `json:"line_number"`
}

// Violation is what a check found.
type Violation struct {
	At   time.Duration `json:"at_ns"`
	Kind string        `json:"kind"`
	Text string        `json:"text"`
	Line int           `json:"line_number"`
}

// Quorum is how many instances make a lock true: a majority of the servers,
// whatever the processes think.
func (t *Timeline) Quorum() int { return len(t.Servers)/2 + 1 }

// Keys lists the locks that processes asked for, in the order of asking.
func (t *Timeline) Keys() []string {
	var keys []string
	for _, m := range t.Marks {
		if m.Kind == Asked && !slices.Contains(keys, m.Key) {
			keys = append(keys, m.Key)
		}
	}
	return keys
}

// Stretch is a stretch of time in which the same instances had a process's key.
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

// Overlap is a stretch of time in which two processes, or two goroutines of one, both
// believed that they held one lock.
type Overlap struct {
	Key    string
	First  string // who got it first: a process, or with a number one more of its goroutines
	Second string
	From   time.Duration
	Until  time.Duration
}

// Overlaps lists the stretches in which two beliefs contradict each other.
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

// tokens gives each token a name that is as short as it can be, since tokens that
// are seeded from a clock have sixteen digits of which the last few differ.
func (t *Timeline) tokens() func(uint64) string {
	seen := map[uint64]bool{}
	add := func(token uint64) {
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
	return func(token uint64) string {
		if token == 0 {
			return ""
		}
		return tail(token, digits)
	}
}

// tail is a token's last digits, with a mark that some are left out.
func tail(token uint64, digits int) string {
	s := strconv.FormatUint(token, 10)
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

// watching reports whether a message only looks after the servers: it says nothing
// of a lock.
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
