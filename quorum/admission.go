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
	timeout time.Duration // InstanceTimeout
	target  time.Duration // a round that takes no longer isn't late
	most    float64

	mu       sync.Mutex
	underWay int
	limit    float64       // of underWay
	sample   time.Duration // when the sample began, by the monotonic clock
	sampling bool          // there is a sample
	judged   bool          // it was found to be late already
	late     int           // how many samples in a row were late
	crowd    int           // how many rounds were under way during the sample, at most
	took     time.Duration // what the last late sample took, at least

	// What a round takes without a queue: what the quickest sample took, 0 before the first
	// that was won, and when that was found.
	quickest, foundAt time.Duration
}

const (
	// latePart is the part of InstanceTimeout from which on a round may be late. It leaves
	// room for the queue to grow until the limit is felt: what has waited for half of its
	// timeout is seldom worth sending.
	latePart = 4
	// lateFactor is how much longer than the quickest round a late one takes at least. On a
	// long way to the servers each round takes a good part of InstanceTimeout, and twice
	// that if it has to settle a token, though nothing waits in a queue.
	lateFactor = 3
	// quickestLife is for how long the quickest round is the measure. Then the way to the
	// servers may have become longer: a sample replaces it that had few others beside it,
	// so that it can't have waited for them.
	quickestLife = 30 * time.Second
	// hiccup is what the limit is left at by one late sample, which may come of a pause of
	// this process or of a server.
	hiccup = 64
	// leastRounds may always be under way.
	leastRounds = 16
)

func newAdmission(timeout time.Duration, maxInFlight int) *admission {
	most := float64(forWanted(maxInFlight))
	return &admission{timeout: timeout, target: timeout / latePart, most: most, limit: most}
}

// enter lets a round begin, and says whether it is the sample; or says why it may not
// begin.
func (a *admission) enter(now drift.Instant) (sample bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sampling {
		// Not only at its end: by then as many more would be under way.
		//guard:lateness-seen-early  a queue is noticed before the first round in it has ended
		a.judge(now.Mono-a.sample, false)
	}
	//guard:admission  no more rounds are begun than can be decided in time
	if float64(a.underWay) >= a.limit {
		return false, &overloadError{underWay: a.underWay, full: a.limit == a.most, took: a.took, bound: min(a.bound(), a.timeout)}
	}
	a.underWay++
	if a.sampling {
		a.crowd = max(a.crowd, a.underWay)
		return false, nil
	}
	a.sampling, a.judged, a.sample, a.crowd = true, false, now.Mono, a.underWay
	return true, nil
}

// leave takes in that a round was decided. Only one that was won or refused says how long
// answers take: another one may have failed at once.
func (a *admission) leave(sample bool, verdict error, now drift.Instant) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if sample {
		took, answered := now.Mono-a.sample, verdict == nil || verdict == ErrTaken
		a.sampling = false
		//guard:won-rounds-measure  only won rounds measure how fast the servers are: a refusal may come from the nearest
		if verdict == nil {
			a.measure(took, now.Mono)
		}
		//guard:timeouts-are-late  rounds that time out lower the limit, however far away the servers are
		a.judge(took, !answered && took >= a.timeout)
		//guard:failures-are-no-room  rounds that fail at once don't raise the limit
		if answered && !a.judged {
			//guard:limit-recovers  after an overload the limit rises again
			a.late, a.limit = 0, min(a.limit+a.limit/16, a.most)
		}
	}
	a.underWay--
}

// measure takes in what a sample took that was won. One that is refused says less, because
// fewer instances decide it, and perhaps only the nearest.
func (a *admission) measure(took, now time.Duration) {
	//guard:new-route-is-no-queue  servers that have become slower to reach don't count as overloaded forever
	if a.quickest == 0 || took <= a.quickest || a.crowd <= leastRounds && now-a.foundAt > quickestLife {
		//guard:far-away-is-no-queue  servers that are far away don't count as overloaded
		a.quickest, a.foundAt = max(took, 1), now
	}
}

// bound is what a late round takes at least. Before the first sample that was won nothing is
// known of the way to the servers: then a round is late that has outlasted its commands.
func (a *admission) bound() time.Duration {
	if a.quickest == 0 {
		return 2 * a.timeout
	}
	return max(a.target, lateFactor*a.quickest)
}

// judge lowers the limit if the sample is late, once. It is late if it timed out, however
// long the way is, or takes as long as only a queue explains. After the first late one no more
// rounds are let in than there are; after each further one in a row half as many. So the
// queue stops growing at once, a pause costs nobody a lock, and an overload is met within
// a few round trips. A limit that isn't nearly reached isn't lowered again: it isn't these
// rounds that are too many.
func (a *admission) judge(took time.Duration, timedOut bool) {
	if a.judged || !timedOut && (took <= a.target || took < a.bound()) {
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
	underWay    int
	full        bool // as many as MaxInFlight lets
	took, bound time.Duration
}

func (e *overloadError) Error() string {
	if e.full {
		return fmt.Sprintf("%v: %d rounds for locks are under way; try again later, or raise Config.MaxInFlight", ErrOverloaded, e.underWay)
	}
	return fmt.Sprintf("%v: %d rounds for locks are under way, and they took %v and more, where %v is too long for any more of them; try again later, or ask for fewer locks at once",
		ErrOverloaded, e.underWay, e.took.Round(time.Millisecond), e.bound)
}

func (e *overloadError) Unwrap() error { return ErrOverloaded }
