// Package cleanup repeats deletes that an instance has not confirmed.
package cleanup

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"
	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/background"
	"github.com/redquorum/redlock/quorum/internal/presence"
	"github.com/redquorum/redlock/quorum/wire"
)

// Config is what a Queue needs from its instance. All fields are required.
type Config struct {
	// Delete sends one delete and waits for the vote, under a timeout of its own.
	Delete func(key string, also []string, value string) wire.Vote
	// Permanent reports whether waiting can't cure an error.
	Permanent func(error) bool

	Clock  clock.Clock
	Reader *drift.Reader
	Group  *background.Group

	// Max is the number of pending deletes at which the Queue is full.
	Max int
	// Window is the length of a quarantine: a key that was there when the server answered
	// has expired a Window later.
	Window time.Duration
}

// Queue has the pending deletes of one instance. A SET without an answer may be in the
// socket buffer of a hung server, which carries it out with its full TTL when it continues.
// Then a key is there that belongs to nobody, and if that happens on a majority of the
// instances nobody can lock for a TTL (scenarios S9, S9b). So a delete is kept and sent
// again if it was not answered, or if it found nothing although a SET may still arrive.
//
// Invariant: no delete is dropped whose key may still be there. The queue stays bounded
// because an instance with a full queue is not asked for votes (see Full).
type Queue struct {
	cfg Config

	count      atomic.Int64 // len(pending), readable without the lock
	lastAnswer atomic.Int64 // when the instance last answered any request, by the monotonic clock

	mu      sync.Mutex
	pending []*pendingDelete
	failure error         // of the last delete that failed, until one is answered
	running bool          // the goroutine runs
	silent  bool          // the instance didn't answer, and the goroutine pauses
	wake    chan struct{} // ends a pause
}

// pendingDelete is one delete.
type pendingDelete struct {
	key, value string
	also       []string // the other keys
	// state is what may be there or may still arrive. While a SET may still arrive, the
	// delete isn't done when it finds nothing, nor when it finds the key of another SET.
	state         presence.State
	due           time.Duration // not to be sent before
	pause         time.Duration // until the next try
	firstAnswered time.Duration // when the instance first answered it, 0 before
	firstFailed   time.Duration // when it first failed since the instance was last silent, 0 if it didn't
	lastTried     bool          // it was sent for the last time, because the Coordinator closes
}

const (
	// silentMin and silentMax bound the pauses between tries while an instance is silent:
	// silentMax is the longest time for which a key without an owner stays on a server that
	// continues.
	silentMin = 20 * time.Millisecond
	silentMax = 250 * time.Millisecond
	// repeatMin is the first pause after a delete that found nothing. It doubles.
	repeatMin = 20 * time.Millisecond
	// atOnce bounds the deletes that are sent together to an instance that answers again.
	atOnce = 16
)

// New returns an empty Queue.
func New(cfg Config) *Queue { return &Queue{cfg: cfg, wake: make(chan struct{}, 1)} }

// Full returns an error if so many deletes are pending that the instance should not be asked
// for anything that may have to be deleted. The error says why the deletes fail. If the
// instance can't delete at all, no waiting helps.
func (q *Queue) Full() error {
	n := q.count.Load()
	//guard:pending-is-bounded  an instance with too many pending deletes gets nothing new to delete
	if n < int64(q.cfg.Max) {
		return nil
	}
	q.mu.Lock()
	failure := q.failure
	q.mu.Unlock()
	if failure == nil {
		return fmt.Errorf("%w: %d deletes are pending; wait for it, or raise Config.MaxPendingDeletes", wire.ErrOverloaded, n)
	}
	return fmt.Errorf("%w: %d deletes are pending, and the last one failed: %w", wire.ErrOverloaded, n, failure)
}

// Answered notes that the instance has just answered a request.
func (q *Queue) Answered(now time.Duration) {
	q.lastAnswer.Store(int64(now))
	if q.count.Load() == 0 {
		return
	}
	q.mu.Lock()
	silent := q.silent
	q.mu.Unlock()
	if silent {
		q.notify()
	}
}

func (q *Queue) notify() {
	select {
	case q.wake <- struct{}{}:
	default: // it was notified already
	}
}

// Add adds a delete of a value from a key, and from others also.
func (q *Queue) Add(key string, also []string, value string, state presence.State) {
	now := q.cfg.Reader.Now().Mono
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending = append(q.pending, &pendingDelete{key: key, also: also, value: value, state: state, due: now + repeatMin, pause: repeatMin})
	q.count.Store(int64(len(q.pending)))
	if q.running {
		q.notify() // it may be in a long pause for older deletes
		return
	}
	// Also while the Coordinator closes: the last pass is part of closing.
	q.running = true
	q.cfg.Group.Go(q.run)
}

// run sends deletes until none is pending. After the Coordinator was closed it makes one
// last pass over the whole queue and ends.
func (q *Queue) run() {
	pause := silentMin
	for {
		closing := q.cfg.Group.Closed()
		now := q.cfg.Reader.Now().Mono
		q.mu.Lock()
		if len(q.pending) == 0 {
			q.running = false
			q.mu.Unlock()
			return
		}
		due, next := q.dueLocked(now, closing)
		q.silent = false
		q.mu.Unlock()

		if len(due) == 0 {
			q.pauseFor(next-now, false)
			continue
		}
		answered := q.send(due)
		if closing {
			if q.lastPass(due) {
				return
			}
			continue
		}
		if answered {
			pause = silentMin
			continue
		}
		q.pauseFor(pause, true)
		pause = min(2*pause, silentMax)
	}
}

// lastPass notes that it was these deletes' last turn, because the Coordinator closes, and drops
// them. If the instance was silent, only the first of them was sent. It reports whether none is
// left: what was added meanwhile has yet to be tried.
func (q *Queue) lastPass(due []*pendingDelete) (done bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, d := range due {
		d.lastTried = true
	}
	//guard:last-pass-tries-all  a delete that becomes pending during the last pass of Close is tried, too
	q.pending = slices.DeleteFunc(q.pending, func(d *pendingDelete) bool { return d.lastTried })
	q.count.Store(int64(len(q.pending)))
	q.running = len(q.pending) > 0
	return !q.running
}

// dueLocked returns the deletes to send now. If there are none, next is when the first will
// be due.
func (q *Queue) dueLocked(now time.Duration, all bool) (due []*pendingDelete, next time.Duration) {
	next = q.pending[0].due
	for _, d := range q.pending {
		if all || d.due <= now {
			due = append(due, d)
		}
		next = min(next, d.due)
	}
	return due, next
}

// send sends one delete first, and only if the instance answers the others, several at a
// time. It reports whether the instance answers.
func (q *Queue) send(due []*pendingDelete) bool {
	if !q.sendOne(due[0]) {
		return false
	}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, d := range due[1:] {
		group.Go(func() error {
			q.sendOne(d)
			return nil
		})
	}
	_ = group.Wait() // no error is ever returned
	return true
}

func (q *Queue) sendOne(d *pendingDelete) bool {
	vote := q.cfg.Delete(d.key, d.also, d.value)
	now := q.cfg.Reader.Now().Mono
	q.mu.Lock()
	defer q.mu.Unlock()
	done, answered := q.note(d, vote, now)
	q.failure = vote.Err
	if done || !answered {
		q.pending = slices.DeleteFunc(q.pending, func(other *pendingDelete) bool { return other == d })
	}
	if !done && !answered {
		// The next try is another delete's: a server that is too far away carries them out, though
		// it never answers in time.
		q.pending = append(q.pending, d)
	}
	q.count.Store(int64(len(q.pending)))
	return answered
}

// note takes in the answer to a delete. It reports whether the delete is done, and whether
// the instance answers at all.
func (q *Queue) note(d *pendingDelete, vote wire.Vote, now time.Duration) (done, answered bool) {
	switch {
	case vote.Outcome != wire.Failed:
		d.state = d.state.After(wire.Release, vote)
		//guard:delete-repeated  a pending delete that found nothing is repeated while the SET may still arrive
		if d.state.Absent() {
			return true, true
		}
		// Nothing is there any more, but a SET may still arrive: from another socket of a
		// server that has just continued, or from a slow network. The delete is repeated,
		// less and less often, until a key that was there at the first answer has expired.
		if d.firstAnswered == 0 {
			d.firstAnswered = now
		}
		d.due = now + d.pause
		d.pause *= 2
		return now-d.firstAnswered >= q.cfg.Window, true
	case vote.Unsent || errors.Is(vote.Err, wire.ErrTimeout):
		d.firstFailed = 0
		//guard:silence-keeps-delete  a delete stays pending for as long as the instance is silent
		return false, false
	default:
		// There are two cases. The server answers, but rejects this delete (NOPERM,
		// READONLY): then others may be sent meanwhile, and this one is done when a key that
		// was there at the first rejection has expired. Not sooner, because a server that
		// hung until then has only now carried out the SET. Or the connection broke, or a
		// proxy in front of the server closed it, which is no answer of the server: so the
		// server must have answered another request since, unless the error is permanent.
		if d.firstFailed == 0 {
			d.firstFailed = now
		}
		d.due = now + silentMax
		last := time.Duration(q.lastAnswer.Load())
		//guard:proxy-is-no-answer  a delete stays pending although a proxy closes connections
		return now-d.firstFailed >= q.cfg.Window && (last > d.firstFailed || q.cfg.Permanent(vote.Err)), true
	}
}

// pauseFor waits for t, or until the Queue is notified or the Coordinator closes. silent
// says that an answer to any request ends the pause.
func (q *Queue) pauseFor(t time.Duration, silent bool) {
	q.mu.Lock()
	q.silent = silent
	q.mu.Unlock()
	select {
	case <-q.cfg.Clock.After(t):
	case <-q.wake:
	case <-q.cfg.Group.Closing():
	}
}
