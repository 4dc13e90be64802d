package quorum

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/quorum/wire"
)

// deletes are the values that this Coordinator is deleting from one server.
//
// A SET without an answer may be in the socket buffer of a hung server, which carries it out with its full TTL
// when it continues. Then a key is there that belongs to nobody, and if that happens on a majority of the
// servers nobody can lock for a TTL (scenarios S9, S9b). So a delete stays pending, and is sent again, if it was
// not answered, or if it found nothing although a SET may still arrive.
//
// Invariant: no delete is dropped whose key may still be there. The deletes stay bounded, because a server with too
// many of them is not asked for votes (see full).
//
// Each later acquisition under the same keys deletes these values first, in the same step (wire.Request.Delete).
// Otherwise a client on a slow network would be refused by its own earlier SETs: each of its deletes would come
// after its next SET.
type deletes struct {
	*env
	ask    func(*wire.Request) Ballot // the server
	window time.Duration              // the length of a quarantine: a key that was there when the server answered has expired by then

	early      atomic.Int64 // values in byKey, readable without the lock
	size       atomic.Int64 // len(pending), likewise
	lastAnswer atomic.Int64 // when the server last answered any request, by the monotonic clock

	mu      sync.Mutex          // taken after a value's
	byKey   map[string][]string // the values that acquisitions delete first, the latest last
	pending []*pendingDelete
	failure error         // of the last delete that failed, until one is answered
	running bool          // the goroutine runs
	silent  bool          // the server didn't answer, and the goroutine pauses
	wake    chan struct{} // ends a pause
}

func newDeletes(e *env, ask func(*wire.Request) Ballot) *deletes {
	return &deletes{env: e, ask: ask, window: e.cfg.quarantine(), wake: make(chan struct{}, 1)}
}

// deletable is a value, as its pending delete knows it.
type deletable interface {
	// deletedAgain takes in the answer to the pending delete on server i. It reports whether nothing is there nor can
	// arrive.
	deletedAgain(i int, vote wire.Vote) (absent bool)
	// deletionEnds takes in the end of the pending delete on server i.
	deletionEnds(i int)
}

// pendingDelete is one delete. While a SET may still arrive, it isn't done when it finds nothing, nor
// when it finds the key of another SET.
type pendingDelete struct {
	of            deletable
	server        int
	req           *wire.Request
	due           time.Duration // not to be sent before
	pause         time.Duration // until the next try
	firstAnswered time.Duration // when the server first answered it, 0 before
	firstFailed   time.Duration // when it first failed since the server was last silent, 0 if it didn't
	lastTried     bool          // it was sent for the last time, because the Coordinator closes
}

const (
	// silentMin and silentMax bound the pauses between tries while a server is silent:
	// silentMax is the longest time for which a key without an owner stays on a server that
	// continues.
	silentMin = 20 * time.Millisecond
	silentMax = 250 * time.Millisecond
	// repeatMin is the first pause after a delete that found nothing. It doubles.
	repeatMin = 20 * time.Millisecond
	// atOnce bounds the deletes that are sent together to a server that answers again.
	atOnce = 16
	// mostDeleted bounds the values that one acquisition deletes.
	mostDeleted = 8
)

// full returns an error if so many deletes are pending that the server should not be asked
// for anything that may have to be deleted. The error says why the deletes fail. If the
// server can't delete at all, no waiting helps.
func (d *deletes) full() error {
	n := d.size.Load()
	if n < int64(d.cfg.Lab.MaxPendingDeletes) {
		return nil
	}
	d.mu.Lock()
	failure := d.failure
	d.mu.Unlock()
	if failure == nil {
		return fmt.Errorf("%w: too many pending deletes (%d); wait until the server answers, or raise Config.Lab.MaxPendingDeletes", ErrOverloaded, n)
	}
	return fmt.Errorf("%w: too many pending deletes (%d), of which the last one failed: %w", ErrOverloaded, n, failure)
}

// before is the values that an acquisition deletes first: the latest under its keys, but not its own, whose round
// may be lost before its request is sent.
func (d *deletes) before(req *wire.Request) []string {
	if d.early.Load() == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []string
	for _, key := range req.Keys {
		for _, text := range d.byKey[key] {
			if text != req.Value && !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
	}
	return found[max(0, len(found)-mostDeleted):]
}

// addEarly adds a value under the keys that acquisitions delete first.
func (d *deletes) addEarly(keys keys, value string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byKey == nil {
		d.byKey = make(map[string][]string)
	}
	for _, key := range keys {
		d.byKey[key] = append(d.byKey[key], value)
	}
	d.early.Add(1)
}

// add adds a pending delete of a value on server i.
func (d *deletes) add(of deletable, i int, req *wire.Request) {
	due := d.reader.Now().Mono + repeatMin
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending = append(d.pending, &pendingDelete{of: of, server: i, req: req, due: due, pause: repeatMin})
	d.size.Store(int64(len(d.pending)))
	if d.running {
		d.notify() // it may be in a long pause for older deletes
		return
	}
	// Also while the Coordinator closes: the last pass is part of closing.
	d.running = true
	d.background.spawn(d.run)
}

// forget removes a value that acquisitions delete first.
func (d *deletes) forget(keys keys, value string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range keys {
		left := slices.DeleteFunc(d.byKey[key], func(text string) bool { return text == value })
		if d.byKey[key] = left; len(left) == 0 {
			delete(d.byKey, key)
		}
	}
	d.early.Add(-1)
}

// serverAnswered notes that the server has just answered a request.
func (d *deletes) serverAnswered(now time.Duration) {
	d.lastAnswer.Store(int64(now))
	if d.size.Load() == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.silent {
		d.notify()
	}
}

func (d *deletes) notify() {
	select {
	case d.wake <- struct{}{}:
	default: // it was notified already
	}
}

// run sends pending deletes until there is none. After the Coordinator was closed it makes one
// last pass over all of them and ends.
func (d *deletes) run() {
	pause := silentMin
	for {
		closing := d.closed()
		now := d.reader.Now().Mono
		d.mu.Lock()
		if len(d.pending) == 0 {
			d.running = false
			d.mu.Unlock()
			return
		}
		due, next := d.dueLocked(now, closing)
		d.silent = false
		d.mu.Unlock()

		if len(due) == 0 {
			d.pauseFor(next-now, false)
			continue
		}
		answers := d.sendAll(due)
		switch {
		case closing:
			d.dropTried(due)
		case answers:
			pause = silentMin
		default:
			d.pauseFor(pause, true)
			pause = min(2*pause, silentMax)
		}
	}
}

// dropTried drops deletes that had their last turn, because the Coordinator closes. If the server was silent, only
// the first of them was sent. What was added meanwhile has yet to be tried.
func (d *deletes) dropTried(due []*pendingDelete) {
	d.mu.Lock()
	for _, p := range due {
		p.lastTried = true
	}
	var tried []*pendingDelete
	d.pending = slices.DeleteFunc(d.pending, func(p *pendingDelete) bool {
		if p.lastTried {
			tried = append(tried, p)
		}
		return p.lastTried
	})
	d.size.Store(int64(len(d.pending)))
	d.mu.Unlock()
	for _, p := range tried {
		p.of.deletionEnds(p.server)
	}
}

// dueLocked returns the deletes to send now. If there are none, next is when the first will
// be due.
func (d *deletes) dueLocked(now time.Duration, all bool) (due []*pendingDelete, next time.Duration) {
	next = d.pending[0].due
	for _, p := range d.pending {
		if all || p.due <= now {
			due = append(due, p)
		}
		next = min(next, p.due)
	}
	return due, next
}

// sendAll sends one delete first, and only if the server answers the others, several at a
// time. It reports whether the server answers.
func (d *deletes) sendAll(due []*pendingDelete) bool {
	if !d.send(due[0]) {
		return false
	}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, p := range due[1:] {
		group.Go(func() error {
			d.send(p)
			return nil
		})
	}
	_ = group.Wait() // no error is ever returned
	return true
}

func (d *deletes) send(p *pendingDelete) bool {
	vote := d.ask(p.req).Vote
	now := d.reader.Now().Mono
	done, answered := d.judge(p, vote, now)
	if done {
		p.of.deletionEnds(p.server)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failure = vote.Err
	if done || !answered {
		d.pending = slices.DeleteFunc(d.pending, func(other *pendingDelete) bool { return other == p })
	}
	if !done && !answered {
		// The next try is another delete's: a server that is too far away carries them out, though
		// it never answers in time.
		d.pending = append(d.pending, p)
	}
	d.size.Store(int64(len(d.pending)))
	return answered
}

// judge takes in the answer to a pending delete. It reports whether the delete is done, and whether
// the server answers at all.
func (d *deletes) judge(p *pendingDelete, vote wire.Vote, now time.Duration) (done, answered bool) {
	switch {
	case vote.Outcome != wire.Failed:
		//guard:delete-repeated  a pending delete that found nothing is repeated while the SET may still arrive
		if p.of.deletedAgain(p.server, vote) {
			return true, true
		}
		// Nothing is there any more, but a SET may still arrive: from another socket of a
		// server that has just continued, or from a slow network. The delete is repeated,
		// less and less often, until a key that was there at the first answer has expired.
		if p.firstAnswered == 0 {
			p.firstAnswered = now
		}
		p.due = now + p.pause
		p.pause *= 2
		return now-p.firstAnswered >= d.window, true
	case vote.Unsent || errors.Is(vote.Err, ErrTimeout):
		p.firstFailed = 0
		//guard:silence-keeps-delete  a delete stays pending for as long as the instance is silent
		return false, false
	default:
		// There are two cases. The server answers, but rejects this delete (NOPERM,
		// READONLY): then others may be sent meanwhile, and this one is done when a key that
		// was there at the first rejection has expired. Not sooner, because a server that
		// hung until then has only now carried out the SET. Or the connection broke, or a
		// proxy in front of the server closed it, which is no answer of the server: so the
		// server must have answered another request since, unless the error is permanent.
		if p.firstFailed == 0 {
			p.firstFailed = now
		}
		p.due = now + silentMax
		last := time.Duration(d.lastAnswer.Load())
		// A proxy that closes connections is no answer of the server.
		return now-p.firstFailed >= d.window && (last > p.firstFailed || permanent(vote.Err)), true
	}
}

// pauseFor waits for t, or until it is notified or the Coordinator closes. silent
// says that an answer to any request ends the pause.
func (d *deletes) pauseFor(t time.Duration, silent bool) {
	d.mu.Lock()
	d.silent = silent
	d.mu.Unlock()
	select {
	case <-d.clock.After(t):
	case <-d.wake:
	case <-d.background.closing:
	}
}
