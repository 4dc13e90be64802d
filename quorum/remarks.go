package quorum

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// remarksOn says what an operator should know of how a server is set up, and may have intended.
// watched says that restarts are watched.
func remarksOn(id wire.Identity, watched bool) []string {
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
	for _, h := range id.Hidden {
		notes = append(notes, "hidden: "+h)
	}
	return notes
}

// remarksOnAll remarks on all servers together: on their number, and on two whose clocks certainly
// differ by more than Fence.Ahead. Leases don't depend on that, but the order of tokens does: new and
// lost counters start from the clocks.
func remarksOnAll(all []InstanceReport, ahead time.Duration) []string {
	var notes []string
	if n := len(all); n%2 == 0 {
		notes = append(notes, fmt.Sprintf("%d instances survive no more failures than %d do, and need one more grant", n, n-1))
	} else if n == 1 {
		notes = append(notes, "one instance has no redundancy: its failure is the lock's")
	}
	known := slices.DeleteFunc(slices.Clone(all), func(r InstanceReport) bool { return r.ClockUncertainty == 0 })
	if len(known) == 0 {
		return notes
	}
	least := func(r InstanceReport) time.Duration { return r.ClockOffset - r.ClockUncertainty }
	most := func(r InstanceReport) time.Duration { return r.ClockOffset + r.ClockUncertainty }
	first := slices.MaxFunc(known, func(a, b InstanceReport) int { return cmp.Compare(least(a), least(b)) })
	last := slices.MinFunc(known, func(a, b InstanceReport) int { return cmp.Compare(most(a), most(b)) })
	apart := least(first) - most(last)
	if apart <= ahead {
		return notes
	}
	return append(notes, fmt.Sprintf("the clock of %s is at least %v ahead of that of %s, more than half of MaxTTL (%v): a counter that starts from the one is refused by the other (ErrTokenRace), and after both lost their counters tokens could fall; set the clocks, with the servers stopped, and keep them by a time service",
		first.Name, apart.Round(time.Millisecond), last.Name, ahead))
}
