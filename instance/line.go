package instance

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// line is the queue of calls that wait to be sent: one part for each rank, each first
// come, first served. The pipe's lock guards it.
//
// What is held goes before what is wanted, however long that has waited: a lease that is
// extended too late is lost, and a lock that is taken later is only later. So an extension
// waits for the exchange under way and for other extensions, and for nothing else.
//
// What is held doesn't starve what is wanted while the server keeps up. A lease has one
// command at a time at an instance, and is extended a few times in its TTL. Each release
// and each raise follows an acquisition that was sent: there are no more of them than of
// those. What is left over is for acquisitions. If nothing is, because the extensions alone
// are as much as the server can carry out, no more leases can be kept, and none should be
// taken.
//
// The order of the commands about one lease doesn't depend on this: the next is started
// when the one before has ended.
type line struct {
	queues [ranks][]*call
}

// The ranks, in the order in which calls are sent.
const (
	// keeping: to keep what is held, and a Probe, which that may have to wait for.
	keeping = iota
	// freeing: a release, which may be one of many after rounds that were lost.
	freeing
	// wanting: an acquisition, or a hint.
	wanting
	ranks
)

func (c *call) rank() int {
	switch {
	case c.probing:
		return keeping
	case !c.cmd.Op.Held():
		//guard:acquisitions-last  at each instance extensions go before acquisitions
		return wanting
	//guard:extensions-first  at each instance extensions go before releases
	case c.cmd.Op == wire.Release:
		return freeing
	default:
		return keeping
	}
}

func (l *line) len() int {
	n := 0
	for _, queue := range l.queues {
		n += len(queue)
	}
	return n
}

// keeping is how many wait to keep what is held.
func (l *line) keeping() int { return len(l.queues[keeping]) }

// wanted is how many wait for what isn't held.
func (l *line) wanted() int { return len(l.queues[wanting]) }

func (l *line) add(c *call) {
	queue := &l.queues[c.rank()]
	*queue = append(*queue, c)
}

// putBack puts calls that have to be sent again in front, in their order.
func (l *line) putBack(calls []*call) {
	if len(calls) == 0 {
		return
	}
	var front line
	for _, c := range calls {
		front.add(c)
	}
	for rank, queue := range l.queues {
		l.queues[rank] = append(front.queues[rank], queue...)
	}
}

// take moves calls to an exchange's, in order, up to maxBatch. If alike, it takes only
// those that have to be replicated, or only those that don't.
func (l *line) take(calls []*call, alike bool) []*call {
	for rank, queue := range l.queues {
		rest := queue[:0]
		for _, c := range queue {
			apart := alike && len(calls) > 0 && c.writes() != calls[0].writes()
			if apart || len(calls) == maxBatch {
				rest = append(rest, c)
			} else {
				calls = append(calls, c)
			}
		}
		clear(queue[len(rest):])
		l.queues[rank] = rest
	}
	return calls
}

// takeAll empties the line.
func (l *line) takeAll() []*call {
	all := slices.Concat(l.queues[:]...)
	*l = line{}
	return all
}

func (l *line) remove(c *call) {
	queue := &l.queues[c.rank()]
	if i := slices.Index(*queue, c); i >= 0 {
		*queue = slices.Delete(*queue, i, i+1)
	}
}

// dropStale drops what isn't worth sending any more, see call.stale.
func (l *line) dropStale(now time.Time) {
	for rank, queue := range l.queues {
		if len(queue) > 0 && queue[0].isStale(now) {
			l.queues[rank] = slices.DeleteFunc(queue, func(c *call) bool { return c.isStale(now) })
		}
	}
}

func (c *call) isStale(now time.Time) bool { return !c.stale.IsZero() && now.After(c.stale) }

// dropEnded drops what nobody waits for any more.
func (l *line) dropEnded() {
	for rank, queue := range l.queues {
		l.queues[rank] = slices.DeleteFunc(queue, func(c *call) bool { return c.stage == ended })
	}
}
