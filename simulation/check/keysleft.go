package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// keyOn is a key on a server.
type keyOn struct{ server, key string }

// link is a process and a server that it asks.
type link struct{ process, server string }

// call is the n-th request on a link.
type call struct {
	link
	n uint64
}

// KeysLeft finds keys that a client left on a server: it lost the round or released the lease, and when it
// ends, quiet later or more, a server still has the round's key. A client that crashed can't delete its
// keys. One that was paused may end before it has deleted them, because everything is due when it goes on.
// When a client ends, its coordinator is closed, which sends a pending delete once more and then gives it up.
// So a key may stay where two deletes were lost.
func KeysLeft(log record.Log, ended, quiet time.Duration) []record.Violation {
	values := map[keyOn]string{}          // that the servers have
	by := map[string]string{}             // the process of each value
	leases := map[int]string{}            // the value of each lease
	held := map[string]bool{}             // values of leases
	over := map[string]time.Duration{}    // when a process lost its last round or released its last lease
	paused := map[string]bool{}           // processes
	endedAt := map[string]time.Duration{} // when it ended, if nothing stopped it
	asked := map[call]string{}            // what each request asked for
	lost := map[link]int{}                // deletes without an answer
	for e := range log.All() {
		switch e.Kind {
		case record.Voted, record.Answered:
			if e.Change == nil {
				continue
			}
			for _, l := range e.Change.Locks {
				values[keyOn{e.Place, l.Key}] = l.After.Value
			}
			by[e.Change.Value] = e.Process
		case record.Acquired:
			leases[e.Lease], held[e.Change.Value] = e.Change.Value, true
		case record.Released:
			over[e.Process] = e.At
			delete(held, leases[e.Lease])
		case record.Refused:
			over[e.Process] = e.At
		case record.Ended:
			if !paused[e.Process] {
				endedAt[e.Process] = e.At
			}
		case record.Sent:
			asked[call{link{e.Process, e.Place}, e.N}] = e.Op
		case record.GaveUp:
			if l := (link{e.Process, e.Place}); asked[call{l, e.N}] == "release" {
				lost[l]++
			}
		case record.Suffered:
			paused[e.Process] = paused[e.Process] || e.Fault.Kind == fault.Pause
		}
	}
	var found []record.Violation
	for _, at := range slices.SortedFunc(maps.Keys(values), func(a, b keyOn) int {
		return cmp.Or(strings.Compare(a.server, b.server), strings.Compare(a.key, b.key))
	}) {
		value := values[at]
		p := by[value]
		since, tried := over[p]
		if value != "" && !held[value] && tried && endedAt[p] >= since+quiet && lost[link{p, at.server}] < 2 {
			found = append(found, record.Violation{Kind: record.KeyLeft, At: ended, Text: fmt.Sprintf("%s has ended, and left %q on %s", p, at.key, at.server)})
		}
	}
	return found
}
