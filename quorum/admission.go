package quorum

import (
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// admission limits the rounds for new locks that a Coordinator has under way. It is the window of a
// network protocol that lowers its rate when packets are lost, with rounds for packets.
//
// Without it an overload feeds itself, and nothing else ends it: rounds wait so long that their votes
// time out, each of these must be deleted again, which costs more than the vote did, and so even the
// extensions of healthy leases come too late (see TestOverload in package instance). So a round for
// which the servers have no time is refused before anything is sent, with ErrOverloaded: Acquire tries
// again after its usual pause, TryAcquire returns it. Extensions and releases aren't counted, and go
// first at each instance (Op.Held).
//
// The measure is whether rounds time out. It is the same whether the servers, the network or this
// process can't keep up, and however far away the servers are. One slow instance of five makes no
// difference, because the others decide the round.
type admission struct {
	timeout time.Duration // InstanceTimeout
	most    float64

	mu       sync.Mutex
	underWay int
	limit    float64 // of underWay

	// When the limit was last lowered, and last changed, by the monotonic clock.
	lowered, changed time.Duration
}

// leastRounds may always be under way.
const leastRounds = 16

// newAdmission makes an admission that never lets more rounds be under way than requests may be in
// flight.
func newAdmission(timeout time.Duration, maxInFlight int) *admission {
	most := float64(acquisitionsOf(maxInFlight))
	return &admission{timeout: timeout, most: most, limit: most}
}

// enter admits a round. The error says why it is not admitted.
func (a *admission) enter() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	//guard:admission  no more rounds are begun than can be decided in time
	if float64(a.underWay) >= a.limit {
		return &overloadError{underWay: a.underWay, full: a.limit == a.most}
	}
	a.underWay++
	return nil
}

// end ends a round. answered says that it was won or refused. If it wasn't won in time, half as many as
// are under way may be from then on. The limit isn't lowered again by those that were under way together
// with it, and by those that were answered it is raised once.
func (a *admission) end(won, answered bool, began, now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	late := !won && now-began >= a.timeout // a won one may have taken two, to settle its token
	switch {
	case late && began >= a.lowered:
		a.limit = max(min(a.limit, float64(a.underWay))/2, leastRounds)
		a.lowered, a.changed = now, now
	case answered && !late && began >= a.changed:
		//guard:limit-recovers  after an overload the limit rises again
		a.limit, a.changed = min(a.limit+a.limit/16, a.most), now
	}
	a.underWay--
}

// overloadError says why a round was not admitted. It is formatted only when it is read:
// there may be many when time is short.
type overloadError struct {
	underWay int
	full     bool // as many as MaxInFlight allows
}

func (e *overloadError) Error() string {
	if e.full {
		return fmt.Sprintf("%v: %d rounds for locks are under way; try again later, or raise Config.MaxInFlight", ErrOverloaded, e.underWay)
	}
	return fmt.Sprintf("%v: %d rounds for locks are under way, and with more of them they timed out; try again later, or ask for fewer locks at once", ErrOverloaded, e.underWay)
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
