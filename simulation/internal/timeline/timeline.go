// Package timeline shows a simulated run: which process believed that it held a lock, which servers
// had its key, what reached the resource, and the faults and violations. A drawing shows them beside
// each other, and a text one after the other.
//
//	t := timeline.Of(result.Log)
//	t.Draw(&canvas)
//	t.Text(os.Stdout, "a title")
//
// All times are true times from the start of the run. The output depends only on the log and the
// options.
package timeline

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/record"
)

// Timeline is a run as recorded in its log. Slices are in the order of the log, except for Steps.
type Timeline struct {
	// Processes and Servers are the names of the lanes: all in the log, of the servers those that got a request.
	Processes, Servers []string
	// End is the time of the last event.
	End time.Duration
	// Steps are the run in sentences, in the order of time.
	Steps []Step

	Beliefs    []*belief
	tenures    []*tenure
	accesses   []*record.Event // executed or refused by the resource
	violations []*record.Event // the first of each kind
	stops      []*stop
	token      func(fencing.Token) string // see tokens
}

// Step is an event in the description of a run.
type Step struct {
	At time.Duration `json:"at"`
	// Text is a sentence. Alarm: it is a violation. Fault: it is a fault.
	Text  string `json:"text"`
	Alarm bool   `json:"alarm"`
	Fault bool   `json:"fault"`

	brief   string   // what a drawing says about a fault, "" if its lane shows it
	lane    string   // the process or the server that does it, if it does anything
	who, on []string // the subjects, with which the text begins, and the servers that are its {on}
}

// belief is a period in which a process believed that it held a lock: it had acquired the lock, had
// not released it, and validity remained by its own clocks.
type belief struct {
	Process, Key string
	who          string // the goroutine, see record.Who
	token        fencing.Token
	lease        int
	From, Until  time.Duration
	ended        bool
}

// tenure is a period in which a server had the key with a value of one process.
type tenure struct {
	server, key, process string
	from, until          time.Duration
}

// stop is a period in which a process or a server stood still.
type stop struct {
	lane        string
	from, until time.Duration
}

// period is a period of time.
type period struct{ from, until time.Duration }

// configured is the name in the configuration of a server, of its old master (') or of another server at its address (~).
func configured(server string) string { return strings.TrimRight(server, "'~") }

// gaps returns the periods of a belief in which fewer than a quorum of the configured servers had its holder's
// key, whatever the processes assume. Of two masters either counts: a key is on an old one only if its holder reaches that.
func (t *Timeline) gaps(b *belief) (list []period) {
	edges, servers := []time.Duration{b.From, b.Until}, map[string]bool{}
	for _, n := range t.tenures {
		for _, at := range []time.Duration{n.from, n.until} {
			if at > b.From && at < b.Until {
				edges = append(edges, at)
			}
		}
	}
	for _, name := range t.Servers {
		servers[configured(name)] = true
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	for i := 1; i < len(edges); i++ {
		from, until, have := edges[i-1], edges[i], map[string]bool{}
		for _, n := range t.tenures {
			if n.process == b.Process && n.key == b.Key && n.from <= from && n.until >= until {
				have[configured(n.server)] = true
			}
		}
		switch last := len(list) - 1; {
		case len(have) > len(servers)/2:
		case last >= 0 && list[last].until == from:
			list[last].until = until
		default:
			list = append(list, period{from, until})
		}
	}
	return list
}

// tokens gives each token a short name, because tokens seeded from a clock have sixteen digits of which only the
// last few differ: as many as their largest difference has, and three at least. Token 0 has none.
func tokens(log record.Log) func(fencing.Token) string {
	var least, most fencing.Token = math.MaxUint64, 0
	for e := range log.All() {
		if e.Token != 0 {
			least, most = min(least, e.Token), max(most, e.Token)
		}
	}
	digits := max(3, len(strconv.FormatUint(uint64(most-least), 10)))
	return func(token fencing.Token) string {
		switch s := strconv.FormatUint(uint64(token), 10); {
		case token == 0:
			return ""
		case len(s) <= digits+1:
			return s
		default:
			return "…" + s[len(s)-digits:]
		}
	}
}

// Held is a moment at which a process holds a lock: soon after the first lease was granted, or soon after
// most scenarios begin if none was.
func (t *Timeline) Held() time.Duration {
	const soon, begin = 100 * time.Millisecond, time.Second
	if len(t.Beliefs) == 0 {
		return begin + soon
	}
	first := t.Beliefs[0]
	return (first.From + min(soon, (first.Until-first.From)/2)).Round(100 * time.Microsecond)
}

// list joins names: "A", "A and B", "A, B and C".
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// who names the goroutine of an event of a process, see record.Who.
func who(e *record.Event) string { return record.Who(e.Process, e.Goroutine) }

// union is the names with others that aren't among them.
func union(names []string, others ...string) []string {
	for _, name := range others {
		if !slices.Contains(names, name) {
			names = append(slices.Clone(names), name)
		}
	}
	return names
}
