package quorum

import (
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redlock/drift"
)

// admission bounds the rounds for new locks that a Coordinator has under way, by how long
// they take: the congestion window of a network protocol, with rounds for packets.
//
// Without a bound, an overload feeds itself. Rounds wait so long that their votes time
// out, and each of these must be deleted again, which costs more than the vote did. And
// what waits in the client takes processor time from extensions. So a round for which the
// servers have no time is refused before anything is sent, with ErrOverloaded: Acquire
// tries again after its usual pause, TryAcquire returns it. Extensions and releases aren't
// counted, and go first at each instance (Op.Held).
//
// What counts is the time until a round is decided. It is the same whether the servers,
// the network or this process can't keep up, and one slow instance of five doesn't matter,
// for a round is decided by the others.
//
// One round at a time is the sample, as one packet is timed in each round trip.
type admission struct {
	target time.Duration // a round that takes longer is late
	most   float64

	mu       sync.Mutex
	underWay int
	limit    float64       // of underWay
	sample   time.Duration // when the sample began, by the monotonic clock
	sampling bool          // there is a sample
	judged   bool          // it was found to be late already
	late     int           // how many samples in a row were late
	quickest time.Duration // what a sample took, target at the most
	took     time.Duration // what the last late sample took, at least
}

const (
	// latePart is the part of InstanceTimeout from which on a round is late. It leaves room
	// for the queue to grow until the limit is felt: what has waited for half of its
	// timeout is seldom worth sending.
	latePart = 4
	// lateFactor is how much longer than the quickest round a late one takes at least. On
	// a long way to the servers each round takes a good part of InstanceTimeout. It is
	// less than latePart: rounds that time out are late in any case.
	lateFactor = 3
	// hiccup is what the limit is left at by one late sample, which may come of a pause of
	// this process or of a server.
	hiccup = 64
	// leastRounds may always be under way.
	leastRounds = 16
)

func newAdmission(timeout time.Duration, maxInFlight int) *admission {
	most := float64(forWanted(maxInFlight))
	target := timeout / latePart
	return &admission{target: target, most: most, limit: most, quickest: target}
}

// enter lets a round begin, and says whether it is the sample; or says why it may not
// begin.
func (a *admission) enter(now drift.Instant) (sample bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sampling {
		// Not only at its end: by then as many more would be under way.
		a.judge(now.Mono - a.sample)
	}
	if float64(a.underWay) >= a.limit {
		return false, &overloadError{underWay: a.underWay, full: a.limit == a.most, took: a.took, target: a.target}
	}
	a.underWay++
	if a.sampling {
		return false, nil
	}
	a.sampling, a.judged, a.sample = true, false, now.Mono
	return true, nil
}

// leave takes in that a round was decided, and whether by answers: one that failed at once
// says nothing of how long they take.
func (a *admission) leave(sample, answered bool, now drift.Instant) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if sample {
		took := now.Mono - a.sample
		a.sampling = false
		if answered {
			a.quickest = min(a.quickest, took)
		}
		a.judge(took)
		if answered && !a.judged {
			a.late, a.limit = 0, min(a.limit+a.limit/16, a.most)
		}
	}
	a.underWay--
}

// judge lowers the limit if the sample is late, once. After the first late one no more
// rounds are let in than there are; after each further one in a row half as many. So the
// queue stops growing at once, a pause costs nobody a lock, and an overload is met within
// a few round trips. A limit that isn't nearly reached isn't lowered again: it isn't these
// rounds that are too many.
func (a *admission) judge(took time.Duration) {
	if a.judged || took <= a.target || took < lateFactor*a.quickest {
		return
	}
	a.judged, a.took = true, took
	a.late++
	underWay := float64(a.underWay)
	switch {
	case a.late == 1:
		a.limit = min(a.limit, max(underWay, hiccup))
	case 2*underWay >= a.limit:
		a.limit = min(a.limit, max(underWay/2, leastRounds))
	}
}

// overloadError says why a round was not begun. It is written out only when somebody reads
// it: there may be many of them, when time is short.
type overloadError struct {
	underWay     int
	full         bool // as many as MaxInFlight lets
	took, target time.Duration
}

func (e *overloadError) Error() string {
	if e.full {
		return fmt.Sprintf("%v: %d rounds for locks are under way; try again later, or raise Config.MaxInFlight", ErrOverloaded, e.underWay)
	}
	return fmt.Sprintf("%v: %d rounds for locks are under way, and they took %v and more, where %v is too long for any more of them; try again later, or ask for fewer locks at once",
		ErrOverloaded, e.underWay, e.took.Round(time.Millisecond), e.target)
}

func (e *overloadError) Unwrap() error { return ErrOverloaded }
