// Package admission limits how many rounds for new locks are under way.
package admission

import (
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// Limiter limits the rounds for new locks that a Coordinator has under way, by how long
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
type Limiter struct {
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

// New returns a Limiter that never lets more rounds be under way than may be InFlight.
func New(timeout time.Duration, maxInFlight int) *Limiter {
	most := float64(acquisitionsOf(maxInFlight))
	return &Limiter{timeout: timeout, target: timeout / latePart, most: most, limit: most}
}

// Enter admits a round, and reports whether it is the sample. The error says why the round
// is not admitted.
func (l *Limiter) Enter(now drift.Instant) (sample bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sampling {
		// Not only at its end: by then as many more would be under way.
		//guard:lateness-seen-early  a queue is noticed before the first round in it has ended
		l.check(now.Mono-l.sample, false)
	}
	//guard:admission  no more rounds are begun than can be decided in time
	if float64(l.underWay) >= l.limit {
		return false, &overloadError{underWay: l.underWay, full: l.limit == l.most, took: l.took, bound: min(l.bound(), l.timeout)}
	}
	l.underWay++
	if l.sampling {
		l.crowd = max(l.crowd, l.underWay)
		return false, nil
	}
	l.sampling, l.lateSeen, l.sample, l.crowd = true, false, now.Mono, l.underWay
	return true, nil
}

// Leave ends a round. answered says that it was won or refused; only such a round shows how
// long answers take, because another one may have failed at once.
func (l *Limiter) Leave(sample, won, answered bool, now drift.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sample {
		took := now.Mono - l.sample
		l.sampling = false
		//guard:won-rounds-measure  only won rounds measure how fast the servers are: a refusal may come from the nearest
		if won {
			l.measure(took, now.Mono)
		}
		//guard:timeouts-are-late  rounds that time out lower the limit, however far away the servers are
		l.check(took, !answered && took >= l.timeout)
		//guard:failures-are-no-room  rounds that fail at once don't raise the limit
		if answered && !l.lateSeen {
			//guard:limit-recovers  after an overload the limit rises again
			l.late, l.limit = 0, min(l.limit+l.limit/16, l.most)
		}
	}
	l.underWay--
}

// measure updates the quickest round from a sample that was won. A sample that was refused
// says less, because fewer instances decide it, and perhaps only the nearest.
func (l *Limiter) measure(took, now time.Duration) {
	//guard:new-route-is-no-queue  servers that have become slower to reach don't count as overloaded forever
	if l.quickest == 0 || took <= l.quickest || l.crowd <= leastRounds && now-l.foundAt > quickestFor {
		//guard:far-away-is-no-queue  servers that are far away don't count as overloaded
		l.quickest, l.foundAt = max(took, 1), now
	}
}

// bound is the least that a late round takes. Before the first sample that was won nothing
// is known of the distance to the servers: then a round is late that has outlasted its
// commands.
func (l *Limiter) bound() time.Duration {
	if l.quickest == 0 {
		return 2 * l.timeout
	}
	return max(l.target, lateFactor*l.quickest)
}

// check lowers the limit, once, if the sample is late: it timed out, or it takes so long
// that only a queue explains it. After the first late sample no further rounds are admitted
// beside those under way, and after each further one in a row half as many. So the queue
// stops growing at once, a single pause costs nobody a lock, and the limit meets an overload
// within a few round trips. A limit that isn't nearly reached isn't lowered again, because
// these rounds are not the cause.
func (l *Limiter) check(took time.Duration, timedOut bool) {
	if l.lateSeen || !timedOut && (took <= l.target || took < l.bound()) {
		return
	}
	l.lateSeen, l.took = true, took
	l.late++
	underWay := float64(l.underWay)
	switch {
	case l.late == 1:
		l.limit = min(l.limit, max(underWay, hiccup))
	case 2*underWay >= l.limit:
		l.limit = min(l.limit, max(underWay/2, leastRounds))
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
		return fmt.Sprintf("%v: %d rounds for locks are under way; try again later, or raise Config.MaxInFlight", wire.ErrOverloaded, e.underWay)
	}
	return fmt.Sprintf("%v: %d rounds for locks are under way, and they took %v and more, where %v is too long for any more of them; try again later, or ask for fewer locks at once",
		wire.ErrOverloaded, e.underWay, e.took.Round(time.Millisecond), e.bound)
}

func (e *overloadError) Unwrap() error { return wire.ErrOverloaded }
