package quorum

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redlock/drift"
)

// admission limits the rounds for new locks that a Coordinator has under way. The others wait in a queue, in
// the order of arrival, and nothing is sent for them.
//
// More rounds than keep the servers busy give no more locks. They wait at the instances with their
// timeouts running. When these are over each vote must be deleted again, which costs more than the vote
// did, so that even the extensions of healthy leases come too late (see TestOverload in package instance).
// Measured with 1024 goroutines on five servers, all on two cores that other programs used, too: of rounds
// that only timeouts limited a fifth timed out, and of 128 at once one in a hundred, with more locks a second.
//
// How many keep the servers busy depends on how far away they are, which the quickest round shows. If
// rounds time out all the same, the limit is halved, like the window of a network protocol when a packet
// is lost. The measure is the same whether the servers, the network or this process can't keep up. One slow
// instance of five makes no difference, because the others decide the round. Extensions and releases
// aren't counted, and go first at each instance (Op.Held).
type admission struct {
	*env
	most int // that MaxInFlight allows

	mu       sync.Mutex
	underWay int
	limit    int             // of underWay; above that of the distance, unless rounds have timed out
	quickest time.Duration   // round that was won, 0 if none was
	waiting  []chan struct{} // closed when its turn has come; the first one has waited for longest

	// When the limit was last lowered, and last changed, by the monotonic clock.
	lowered, changed time.Duration
}

const (
	// leastRounds may always be under way, unless MaxInFlight is lower.
	leastRounds = 16
	// nearRounds keep servers busy that are near, and roundsPerSecond are the more for each second of distance.
	nearRounds, roundsPerSecond = 128, 10_000
	// tryFor is how long a try that doesn't wait for the lock waits for its turn, in InstanceTimeouts, and goes on if its
	// votes were split. The keys of a client that gave up are gone within two, unless it has crashed.
	tryFor = 6
)

// newAdmission makes an admission that never lets more rounds be under way than requests may be in
// flight.
func newAdmission(e *env) *admission {
	most := acquisitionsOf(e.cfg.Lab.MaxInFlight)
	return &admission{env: e, most: most, limit: most}
}

// admit waits until a round may begin. The error says why it may not. An urgent round doesn't wait, and one that is tried
// once doesn't wait for long.
func (a *admission) admit(ctx context.Context, urgent, once bool) error {
	turn := a.enter(urgent)
	if turn == nil {
		return nil
	}
	began := a.reader.Now()
	var over <-chan time.Time
	if once {
		over = a.clock.After(tryFor * a.cfg.InstanceTimeout)
	}
	err := &overloadError{}
	select {
	case <-turn:
		return nil
	case <-over:
	case <-ctx.Done():
		err.ended = ErrInterrupted
	case <-a.background.closing:
		err.ended = ErrClosed
	}
	err.underWay, err.waiting, err.full = a.giveUp(turn)
	err.waited = drift.Elapsed(began, a.reader.Now())
	return err
}

// enter lets a round begin, at once if it is urgent. It returns nil, or what is closed when the round's turn
// has come.
func (a *admission) enter(urgent bool) (turn chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if urgent || len(a.waiting) == 0 && a.underWay < a.room() {
		a.underWay++
		return nil
	}
	turn = make(chan struct{})
	a.waiting = append(a.waiting, turn)
	return turn
}

// giveUp takes a round out of the queue, also if its turn has come meanwhile.
func (a *admission) giveUp(turn chan struct{}) (underWay, waiting int, full bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := slices.Index(a.waiting, turn); i >= 0 {
		a.waiting = slices.Delete(a.waiting, i, i+1)
	} else {
		a.leaveLocked()
	}
	return a.underWay, len(a.waiting), a.room() == a.most
}

// room is how many rounds may be under way.
func (a *admission) room() int {
	return min(a.limit, nearRounds+int(a.quickest.Seconds()*roundsPerSecond))
}

// end ends a round. answered says that it was won or refused. If it wasn't won in time, half as many as
// are under way may be from then on. The limit isn't lowered again by those that were under way together
// with it, and by those that were answered it is raised once.
func (a *admission) end(won, answered bool, began, now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if took := max(now-began, 1); won && (a.quickest == 0 || took < a.quickest) {
		a.quickest = took
	}
	late := !won && now-began >= a.cfg.InstanceTimeout // a won one may have taken two, to settle its token
	switch {
	case late && began >= a.lowered:
		a.limit = max((min(a.room(), a.underWay)+1)/2, min(leastRounds, a.most))
		a.lowered, a.changed = now, now
	case answered && !late && began >= a.changed:
		a.limit, a.changed = min(a.limit+a.limit/16+1, a.most), now
	}
	a.leaveLocked()
}

// leaveLocked counts a round as ended, and lets those begin that have waited for longest.
func (a *admission) leaveLocked() {
	a.underWay--
	for len(a.waiting) > 0 && a.underWay < a.room() {
		a.underWay++
		close(a.waiting[0])
		a.waiting = a.waiting[1:]
	}
}

// overloadError says why a round was not begun. It is formatted only when it is read:
// there may be many when time is short.
type overloadError struct {
	underWay, waiting int
	full              bool          // as many as MaxInFlight allows
	waited            time.Duration // for its turn
	ended             error         // ErrInterrupted or ErrClosed, if that ended the wait
}

func (e *overloadError) Error() string {
	help := "ask for fewer locks at once"
	if e.full {
		help = "raise Config.Lab.MaxInFlight"
	}
	return fmt.Sprintf("%v: %d rounds for locks are under way, %d others wait, and this one's turn didn't come in %v; try again later, or %s",
		ErrOverloaded, e.underWay, e.waiting, e.waited.Round(time.Millisecond), help)
}

// inTime is the error if neither the caller nor Close ended the wait.
func (e *overloadError) inTime() error {
	over := *e
	over.ended = nil
	return &over
}

// Unwrap returns ErrOverloaded, and what ended the wait.
func (e *overloadError) Unwrap() []error {
	if e.ended == nil {
		return []error{ErrOverloaded}
	}
	return []error{e.ended, ErrOverloaded}
}
