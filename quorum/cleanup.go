package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/quorum/wire"
)

// cleanup has the pending deletes of one instance. A SET without an answer may be in the
// socket buffer of a hung server, which carries it out with its full TTL when it continues.
// Then a key is there that belongs to nobody, and if that happens on a majority of the
// instances nobody can lock for a TTL (scenarios S9, S9b). So a delete is kept and sent
// again if it was not answered, or if it found nothing although a SET may still arrive.
//
// Invariant: no delete is dropped whose key may still be there. The cleanup stays bounded
// because an instance with a full one is not asked for votes (see full).
type cleanup struct {
	m      *member
	window time.Duration // the length of a quarantine: a key that was there when the server answered has expired by then

	size       atomic.Int64 // len(pending), readable without the lock
	lastAnswer atomic.Int64 // when the instance last answered any request, by the monotonic clock

	mu      sync.Mutex
	pending []*pendingDelete
	failure error         // of the last delete that failed, until one is answered
	running bool          // the goroutine runs
	silent  bool          // the instance didn't answer, and the goroutine pauses
	wake    chan struct{} // ends a pause
}

// pendingDelete is one delete. While a SET may still arrive, it isn't done when it finds nothing, nor
// when it finds the key of another SET.
type pendingDelete struct {
	value         *valueState
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

// full returns an error if so many deletes are pending that the instance should not be asked
// for anything that may have to be deleted. The error says why the deletes fail. If the
// instance can't delete at all, no waiting helps.
func (cl *cleanup) full() error {
	n := cl.size.Load()
	//guard:pending-is-bounded  an instance with too many pending deletes gets nothing new to delete
	if n < int64(cl.m.c.cfg.MaxPendingDeletes) {
		return nil
	}
	cl.mu.Lock()
	failure := cl.failure
	cl.mu.Unlock()
	if failure == nil {
		return fmt.Errorf("%w: %d deletes are pending; wait for it, or raise Config.MaxPendingDeletes", ErrOverloaded, n)
	}
	return fmt.Errorf("%w: %d deletes are pending, and the last one failed: %w", ErrOverloaded, n, failure)
}

// instanceAnswered notes that the instance has just answered a request.
func (cl *cleanup) instanceAnswered(now time.Duration) {
	cl.lastAnswer.Store(int64(now))
	if cl.size.Load() == 0 {
		return
	}
	cl.mu.Lock()
	silent := cl.silent
	cl.mu.Unlock()
	if silent {
		cl.notify()
	}
}

func (cl *cleanup) notify() {
	select {
	case cl.wake <- struct{}{}:
	default: // it was notified already
	}
}

// add adds the delete of a value.
func (cl *cleanup) add(v *valueState) {
	now := cl.m.c.reader.Now().Mono
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.pending = append(cl.pending, &pendingDelete{value: v, due: now + repeatMin, pause: repeatMin})
	cl.size.Store(int64(len(cl.pending)))
	if cl.running {
		cl.notify() // it may be in a long pause for older deletes
		return
	}
	// Also while the Coordinator closes: the last pass is part of closing.
	cl.running = true
	cl.m.c.background.spawn(cl.run)
}

// run sends deletes until none is pending. After the Coordinator was closed it makes one
// last pass over all of them and ends.
func (cl *cleanup) run() {
	pause := silentMin
	for {
		closing := cl.m.c.background.isClosed()
		now := cl.m.c.reader.Now().Mono
		cl.mu.Lock()
		if len(cl.pending) == 0 {
			cl.running = false
			cl.mu.Unlock()
			return
		}
		due, next := cl.dueLocked(now, closing)
		cl.silent = false
		cl.mu.Unlock()

		if len(due) == 0 {
			cl.pauseFor(next-now, false)
			continue
		}
		answered := cl.send(due)
		if closing {
			if cl.lastPass(due) {
				return
			}
			continue
		}
		if answered {
			pause = silentMin
			continue
		}
		cl.pauseFor(pause, true)
		pause = min(2*pause, silentMax)
	}
}

// lastPass notes that it was these deletes' last turn, because the Coordinator closes, and drops
// them. If the instance was silent, only the first of them was sent. It reports whether none is
// left: what was added meanwhile has yet to be tried.
func (cl *cleanup) lastPass(due []*pendingDelete) (done bool) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for _, d := range due {
		d.lastTried = true
	}
	//guard:last-pass-tries-all  a delete that becomes pending during the last pass of Close is tried, too
	cl.pending = slices.DeleteFunc(cl.pending, func(d *pendingDelete) bool {
		if d.lastTried {
			d.value.deletionEnds(cl.m.index)
		}
		return d.lastTried
	})
	cl.size.Store(int64(len(cl.pending)))
	cl.running = len(cl.pending) > 0
	return !cl.running
}

// dueLocked returns the deletes to send now. If there are none, next is when the first will
// be due.
func (cl *cleanup) dueLocked(now time.Duration, all bool) (due []*pendingDelete, next time.Duration) {
	next = cl.pending[0].due
	for _, d := range cl.pending {
		if all || d.due <= now {
			due = append(due, d)
		}
		next = min(next, d.due)
	}
	return due, next
}

// send sends one delete first, and only if the instance answers the others, several at a
// time. It reports whether the instance answers.
func (cl *cleanup) send(due []*pendingDelete) bool {
	if !cl.sendOne(due[0]) {
		return false
	}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, d := range due[1:] {
		group.Go(func() error {
			cl.sendOne(d)
			return nil
		})
	}
	_ = group.Wait() // no error is ever returned
	return true
}

func (cl *cleanup) sendOne(d *pendingDelete) bool {
	//guard:pending-delete-of-all  a pending delete is about all keys of the lease
	vote := cl.m.ask(context.Background(), d.value.deleteRequest()).Vote
	now := cl.m.c.reader.Now().Mono
	cl.mu.Lock()
	defer cl.mu.Unlock()
	done, answered := cl.noteAnswer(d, vote, now)
	cl.failure = vote.Err
	if done || !answered {
		cl.pending = slices.DeleteFunc(cl.pending, func(other *pendingDelete) bool { return other == d })
	}
	if done {
		d.value.deletionEnds(cl.m.index)
	}
	if !done && !answered {
		// The next try is another delete's: a server that is too far away carries them out, though
		// it never answers in time.
		cl.pending = append(cl.pending, d)
	}
	cl.size.Store(int64(len(cl.pending)))
	return answered
}

// noteAnswer takes in the answer to a delete. It reports whether the delete is done, and whether
// the instance answers at all.
func (cl *cleanup) noteAnswer(d *pendingDelete, vote wire.Vote, now time.Duration) (done, answered bool) {
	switch {
	case vote.Outcome != wire.Failed:
		//guard:delete-repeated  a pending delete that found nothing is repeated while the SET may still arrive
		if d.value.noteAnswer(cl.m.index, wire.Release, vote).Absent() {
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
		return now-d.firstAnswered >= cl.window, true
	case vote.Unsent || errors.Is(vote.Err, ErrTimeout):
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
		last := time.Duration(cl.lastAnswer.Load())
		//guard:proxy-is-no-answer  a delete stays pending although a proxy closes connections
		return now-d.firstFailed >= cl.window && (last > d.firstFailed || permanent(vote.Err)), true
	}
}

// pauseFor waits for t, or until the cleanup is notified or the Coordinator closes. silent
// says that an answer to any request ends the pause.
func (cl *cleanup) pauseFor(t time.Duration, silent bool) {
	cl.mu.Lock()
	cl.silent = silent
	cl.mu.Unlock()
	select {
	case <-cl.m.c.clock.After(t):
	case <-cl.wake:
	case <-cl.m.c.background.closing:
	}
}
