package instance

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// callQueue holds the calls that wait to be sent, first come, first served within each
// rank. The pipe's lock guards it.
//
// Calls about leases that are held go before acquisitions, however long those have waited:
// a lease that is extended too late is lost, a lock that is acquired later is only later.
// So an extension waits for the batch in flight and for other extensions, and for nothing
// else.
//
// Held leases don't starve acquisitions while the server keeps up. A lease has at most one
// request at a time at an instance, and is extended a few times in its TTL. There are no
// more releases and raises than acquisitions, because each follows one. If the extensions
// alone are as much as the server can carry out, it cannot keep more leases, and no more
// should be granted.
//
// The order of the requests about one lease doesn't depend on this queue: each is sent
// after the one before has ended.
type callQueue [ranks][]*call

// The ranks, in the order in which calls are sent.
const (
	// rankKeep: requests that keep a lease, and a Probe, because such a request may have to
	// wait for it.
	rankKeep = iota
	// rankRelease: a release, which may be one of many after lost rounds.
	rankRelease
	// rankAcquire: an acquisition, or a hint.
	rankAcquire
	ranks
)

func (c *call) rank() int {
	switch {
	case c.probing:
		return rankKeep
	case !c.req.Op.Held():
		//guard:acquisitions-last  at each instance extensions go before acquisitions
		return rankAcquire
	//guard:extensions-first  at each instance extensions go before releases
	case c.req.Op == wire.Release:
		return rankRelease
	default:
		return rankKeep
	}
}

func (q *callQueue) len() int {
	return len(q[rankKeep]) + len(q[rankRelease]) + len(q[rankAcquire])
}

func (q *callQueue) add(c *call) { q[c.rank()] = append(q[c.rank()], c) }

// addFirst puts calls that have to be sent again in front of their ranks, in order.
func (q *callQueue) addFirst(calls []*call) {
	for _, c := range slices.Backward(calls) {
		q[c.rank()] = slices.Insert(q[c.rank()], 0, c)
	}
}

// take moves calls to the next batch, in order, up to maxBatch. With replicas to wait for it
// takes only calls that have to be replicated, or only calls that don't.
func (q *callQueue) take(calls []*call, replicated bool) []*call {
	for rank, queue := range q {
		rest := queue[:0]
		for _, c := range queue {
			apart := len(calls) > 0 && replicated && c.writes() != calls[0].writes()
			if apart || len(calls) == maxBatch {
				rest = append(rest, c)
				continue
			}
			calls = append(calls, c)
		}
		clear(queue[len(rest):])
		q[rank] = rest
	}
	return calls
}

// takeAll empties the queue.
func (q *callQueue) takeAll() []*call {
	all := slices.Concat(q[:]...)
	*q = callQueue{}
	return all
}

func (q *callQueue) remove(c *call) {
	q[c.rank()] = slices.DeleteFunc(q[c.rank()], func(other *call) bool { return other == c })
}

// dropStale drops calls that are not worth sending any more, see call.stale.
func (q *callQueue) dropStale(now time.Time) {
	stale := func(c *call) bool { return !c.stale.IsZero() && now.After(c.stale) }
	for rank, queue := range q {
		if len(queue) > 0 && stale(queue[0]) {
			q[rank] = slices.DeleteFunc(queue, stale)
		}
	}
}

// dropDone drops calls whose vote was given.
func (q *callQueue) dropDone() {
	for rank, queue := range q {
		q[rank] = slices.DeleteFunc(queue, func(c *call) bool { return c.state == done })
	}
}
