// Package advice has the remarks that Verify makes on servers: what an operator should know, and
// may have intended.
package advice

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// Server remarks on how a server is set up. watched says that restarts are watched.
func Server(id wire.Identity, watched bool) []string {
	var notes []string
	if id.Persistence != "" && id.Persistence != "aof always" {
		notes = append(notes, fmt.Sprintf("persistence is %s: a restart may lose votes, and counters that tokens come from", id.Persistence))
	}
	if watched && id.Served < 0 && id.Run() != "" {
		notes = append(notes, "no mark can be kept on it: a client that starts will not notice that its name led to another server a moment ago; allow its user the key of the mark (instance.MarkKey)")
		if id.Promoted {
			notes = append(notes, "it was promoted, or took up an older server's history: a client that starts waits for MaxTTL before it counts its votes")
		}
	}
	notes = append(notes, id.Lacks...)
	for _, h := range id.Hidden {
		notes = append(notes, "hidden: "+h)
	}
	return notes
}

// Clock is what is known of a server's clock: how far it is ahead of the client's, give or take
// the uncertainty. That is 0 if nothing is known.
type Clock struct {
	Server              string
	Offset, Uncertainty time.Duration
}

func (c Clock) least() time.Duration { return c.Offset - c.Uncertainty }
func (c Clock) most() time.Duration  { return c.Offset + c.Uncertainty }

// Servers remarks on all servers together, with a clock for each: on their number, and on two
// whose clocks certainly differ by more than Fence.Ahead. Leases don't depend on that, but the
// order of tokens does: new and lost counters start from the clocks.
func Servers(clocks []Clock, ahead time.Duration) []string {
	var notes []string
	if n := len(clocks); n%2 == 0 {
		notes = append(notes, fmt.Sprintf("%d instances survive no more failures than %d do, and need one more grant", n, n-1))
	} else if n == 1 {
		notes = append(notes, "one instance has no redundancy: its failure is the lock's")
	}
	known := slices.DeleteFunc(slices.Clone(clocks), func(c Clock) bool { return c.Uncertainty == 0 })
	if len(known) == 0 {
		return notes
	}
	first := slices.MaxFunc(known, func(a, b Clock) int { return cmp.Compare(a.least(), b.least()) })
	last := slices.MinFunc(known, func(a, b Clock) int { return cmp.Compare(a.most(), b.most()) })
	apart := first.least() - last.most()
	if apart <= ahead {
		return notes
	}
	return append(notes, fmt.Sprintf("the clock of %s is at least %v ahead of that of %s, more than half of MaxTTL (%v): a counter that starts from the one is refused by the other (ErrTokenRace), and after both lost their counters tokens could fall; set the clocks, with the servers stopped, and keep them by a time service",
		first.Server, apart.Round(time.Millisecond), last.Server, ahead))
}
