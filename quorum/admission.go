package quorum

import (
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// admission limits the rounds for new locks that a Coordinator has under way, by how long
// they take. It is the congestion window of a network protocol, with rounds for packets.
//
// Without a limit an overload feeds itself. Rounds wait so long that their votes time out,
// and each of these must be deleted again, which costs more than the vote did. And waiting
// rounds take processor time from extensions. So a round for which the servers have no time
// is refused before anything is sent, with ErrOverloaded: Acquire tries again after its usual
// pause, TryAcquire returns it. Extensions and releases aren't counted, and go first at each
// instance (Op.Held).
//
// The measure is the time until a round is decided. It is the same whether the servers, the
// network or this process can't keep up. One slow instance of five makes no difference,
// because the others decide the round.
//
// One round at a time is the sample, as a network protocol times one packet in each round
// trip.
type admission struct {
	timeout time.Duration // InstanceTimeout
	target  time.Duration // a round that takes no longer isn't late
	most    float64

	mu       sync.Mutex
	underWay int
	limit    float64       // of underWay
	sample   time.Duration // when the sample began, by the monotonic clock
	sampling bool          // there is a sample
	lateSeen bool          // it was found to be late already
	late     int           // how many samples in a row were late
	crowd    int           // the most rounds that were under way during the sample
	took     time.Duration // the least that the last late sample took

	// The time of a round that does not wait in a queue: that of the quickest sample that
	// was won, 0 before the first, and when it was found.
	quickest, foundAt time.Duration
}

const (
	// latePart is the part of InstanceTimeout from which on a round may be late. The queue
	// can still grow until the limit has an effect: a request that has waited for half of
	// its timeout is seldom worth sending.
	latePart = 4
	// lateFactor is how much longer than the quickest round a late one takes at least. Where
	// the servers are far away each round takes a good part of InstanceTimeout, and twice
	// that if it has to settle a token, although nothing waits in a queue.
	lateFactor = 3
	// quickestFor is how long the quickest round is the measure. After that the servers may
	// have become slower to reach, so a sample replaces it. That sample must have had few
	// others beside it, so that it can't have waited for them.
	quickestFor = 30 * time.Second
	// hiccup is the lowest limit after a single late sample, which may come from a pause of
	// this process or of a server.
	hiccup = 64
	// leastRounds may always be under way.
	leastRounds = 16
)

// newAdmission makes an admission that never lets more rounds be under way than requests may be in
// flight.
func newAdmission(timeout time.Duration, maxInFlight int) *admission {
	most := float64(acquisitionsOf(maxInFlight))
	return &admission{timeout: timeout, target: timeout / latePart, most: most, limit: most}
}

// enter admits a round, and reports whether it is the sample. The error says why the round
// is not admitted.
func (a *admission) enter(now drift.Instant) (sample bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sampling {
		// Not only at its end: by then as many more would be under way.
		//guard:lateness-seen-early  a queue is noticed before the first round in it has ended
		a.check(now.Mono-a.sample, false)
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
	a.sampling, a.lateSeen, a.sample, a.crowd = true, false, now.Mono, a.underWay
	return true, nil
}

// end ends a round. answered says that it was won or refused; only such a round shows how
// long answers take, because another one may have failed at once.
func (a *admission) end(sample, won, answered bool, now drift.Instant) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if sample {
		took := now.Mono - a.sample
		a.sampling = false
		//guard:won-rounds-measure  only won rounds measure how fast the servers are: a refusal may come from the nearest
		if won {
			a.measure(took, now.Mono)
		}
		//guard:timeouts-are-late  rounds that time out lower the limit, however far away the servers are
		a.check(took, !answered && took >= a.timeout)
		//guard:failures-are-no-room  rounds that fail at once don't raise the limit
		if answered && !a.lateSeen {
			//guard:limit-recovers  after an overload the limit rises again
			a.late, a.limit = 0, min(a.limit+a.limit/16, a.most)
		}
	}
	a.underWay--
}

// measure updates the quickest round from a sample that was won. A sample that was refused
// says less, because fewer instances decide it, and perhaps only the nearest.
func (a *admission) measure(took, now time.Duration) {
	//guard:new-route-is-no-queue  servers that have become slower to reach don't count as overloaded forever
	if a.quickest == 0 || took <= a.quickest || a.crowd <= leastRounds && now-a.foundAt > quickestFor {
		//guard:far-away-is-no-queue  servers that are far away don't count as overloaded
		a.quickest, a.foundAt = max(took, 1), now
	}
}

// bound is the least that a late round takes. Before the first sample that was won nothing
// is known of the distance to the servers: then a round is late that has outlasted its
// commands.
func (a *admission) bound() time.Duration {
	if a.quickest == 0 {
		return 2 * a.timeout
	}
	return max(a.target, lateFactor*a.quickest)
}

// check lowers the limit, once, if the sample is late: it timed out, or it takes so long
// that only a queue explains it. After the first late sample no further rounds are admitted
// beside those under way, and after each further one in a row half as many. So the queue
// stops growing at once, a single pause costs nobody a lock, and the limit meets an overload
// within a few round trips. A limit that isn't nearly reached isn't lowered again, because
// these rounds are not the cause.
func (a *admission) check(took time.Duration, timedOut bool) {
	if a.lateSeen || !timedOut && (took <= a.target || took < a.bound()) {
		return
	}
	a.lateSeen, a.took = true, took
	a.late++
	underWay := float64(a.underWay)
	switch {
	case a.late == 1:
		a.limit = min(a.limit, max(underWay, hiccup))
	case 2*underWay >= a.limit:
		a.limit = min(a.limit, max(underWay/2, leastRounds))
	}
}

// overloadError says why a round was not admitted. It is formatted only when it is read:
// there may be many when time is short.
type overloadError struct {
	underWay    int
	full        bool // as many as MaxInFlight allows
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

// inFlight bounds the unanswered requests to one instance. A quarter of most is kept for
// Op.Held: however many acquisitions are unanswered, a lease can be extended and released. It
// isn't safe for concurrent use.
type inFlight struct{ most, n int }

// enter counts one more request, or says why there is no room for it.
func (f *inFlight) enter(op wire.Op) error {
	most := f.most
	//guard:in-flight-for-the-held  acquisitions leave a part of MaxInFlight free for extensions and releases
	if !op.Held() {
		most = acquisitionsOf(most)
	}
	if f.n >= most {
		return fmt.Errorf("%w: %d requests to this instance are unanswered; wait for it, or raise Config.MaxInFlight", ErrOverloaded, f.n)
	}
	f.n++
	return nil
}

// acquisitionsOf is the part of MaxInFlight for requests that are not about a key that the
// client has set before.
func acquisitionsOf(maxInFlight int) int { return maxInFlight - maxInFlight/4 }
