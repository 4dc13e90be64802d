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

// debts are the deletes that one instance is owed. A SET whose answer never came
// may be waiting in the socket buffer of a hung server, which will run it with
// its full TTL when it wakes up; then a key stands there that nobody owns, and
// on a majority of instances nobody can lock for a TTL (scenarios S9, S9b). So a
// delete that could not be delivered, or that found nothing where a SET may
// still arrive, is kept and sent again.
//
// Invariant: nothing is dropped that may still be there. The list is bounded by
// asking an instance for no more votes while its list is full (see full).
type debts struct {
	member *member
	bg     *background
	max    int
	window time.Duration // a quarantine: a key that stood when the server answered is gone this much later

	count atomic.Int64 // len(list), readable without the lock
	last  atomic.Int64 // when the instance last answered anything, by the monotonic clock

	mu      sync.Mutex
	list    []*debt
	failure error // of the last delete that failed, until one is answered
	running bool
	resting bool          // the instance didn't answer, the collector waits
	wake    chan struct{} // tells the collector that the instance answers
}

// debt is one delete.
type debt struct {
	key, value string
	// left is what may be there or may still come: while a SET may still
	// arrive, a delete that finds nothing doesn't settle the debt at once, nor
	// does one that finds another SET's.
	left  knownState
	due   time.Duration // not before
	gap   time.Duration // until the next try
	first time.Duration // when the instance first answered, 0 before
	erred time.Duration // when it first failed, since it was last silent; 0 if it didn't
	tried bool          // for the last time
}

const (
	// restMin and restMax bound the pauses between tries while an instance is
	// silent: the last one is how late the dead key of a server that wakes up
	// may be deleted.
	restMin = 20 * time.Millisecond
	restMax = 250 * time.Millisecond
	// chaseMin is the first pause after a delete that found nothing; it doubles.
	chaseMin = 20 * time.Millisecond
	// collectors bounds the deletes sent at once to an instance that came back.
	collectors = 16
)

func newDebts(m *member, bg *background, max int, window time.Duration) *debts {
	return &debts{member: m, bg: bg, max: max, window: window, wake: make(chan struct{}, 1)}
}

// full is not nil if the instance is owed so much that it should not be asked for
// anything that may have to be deleted. It says why the deletes fail: where it is
// that the instance can't delete, no waiting for it helps.
func (d *debts) full() error {
	n := d.count.Load()
	//guard:pending-is-bounded  an instance with too many pending deletes gets nothing new to delete
	if n < int64(d.max) {
		return nil
	}
	d.mu.Lock()
	failure := d.failure
	d.mu.Unlock()
	if failure == nil {
		return fmt.Errorf("%w: %d deletes are pending; wait for it, or raise Config.MaxPendingDeletes", ErrOverloaded, n)
	}
	return fmt.Errorf("%w: %d deletes are pending, and the last one failed: %w", ErrOverloaded, n, failure)
}

// answered tells the collector that the instance has just answered something.
func (d *debts) answered(now time.Duration) {
	d.last.Store(int64(now))
	if d.count.Load() == 0 {
		return
	}
	d.mu.Lock()
	resting := d.resting
	d.mu.Unlock()
	if resting {
		d.wakeUp()
	}
}

func (d *debts) wakeUp() {
	select {
	case d.wake <- struct{}{}:
	default: // it is told already
	}
}

// owe adds a delete.
func (d *debts) owe(key, value string, left knownState) {
	now := d.member.reader.Now().Mono
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, &debt{key: key, value: value, left: left, due: now + chaseMin, gap: chaseMin})
	d.count.Store(int64(len(d.list)))
	if d.running {
		// It may be pausing for an older debt that isn't due for long.
		d.wakeUp()
		return
	}
	// Owned by the Coordinator even while it closes: the last pass is part of
	// closing.
	d.running = true
	d.bg.start(d.collect)
}

// collect delivers until nothing is owed. After the Coordinator was closed it
// makes one last pass over the whole list and ends.
func (d *debts) collect() {
	rest := restMin
	for {
		closing := isClosed(d.bg.done)
		now := d.member.reader.Now().Mono
		d.mu.Lock()
		if len(d.list) == 0 {
			d.running = false
			d.mu.Unlock()
			return
		}
		due, next := d.dueLocked(now, closing)
		d.resting = false
		d.mu.Unlock()

		if len(due) == 0 {
			d.pause(next-now, false)
			continue
		}
		answered := d.deliver(due)
		if closing {
			if d.lastTried(due) {
				return
			}
			continue
		}
		if answered {
			rest = restMin
			continue
		}
		d.pause(rest, true)
		rest = min(2*rest, restMax)
	}
}

// lastTried notes that these have had their last try, because the Coordinator closes. It
// reports whether all have; then the list is given up. What was added meanwhile has yet
// to be tried.
func (d *debts) lastTried(due []*debt) (all bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, debt := range due {
		debt.tried = true
	}
	//guard:last-pass-tries-all  a delete that becomes pending during the last pass of Close is tried, too
	d.list = slices.DeleteFunc(d.list, func(debt *debt) bool { return debt.tried })
	d.count.Store(int64(len(d.list)))
	d.running = len(d.list) > 0
	return !d.running
}

// dueLocked picks the debts to deliver now; if there are none, next says when.
func (d *debts) dueLocked(now time.Duration, all bool) (due []*debt, next time.Duration) {
	next = d.list[0].due
	for _, debt := range d.list {
		if all || debt.due <= now {
			due = append(due, debt)
		}
		next = min(next, debt.due)
	}
	return due, next
}

// deliver sends the deletes: one first, and the others, several at a time, only
// if the instance answers. It reports whether it does.
func (d *debts) deliver(due []*debt) bool {
	if !d.deliverOne(due[0]) {
		return false
	}
	var group errgroup.Group
	group.SetLimit(collectors)
	for _, debt := range due[1:] {
		group.Go(func() error {
			d.deliverOne(debt)
			return nil
		})
	}
	_ = group.Wait() // no error is ever returned
	return true
}

func (d *debts) deliverOne(one *debt) bool {
	ballot := d.member.ask(context.Background(), wire.Request{Op: wire.Release, Key: one.key, Value: one.value})
	now := d.member.reader.Now().Mono
	d.mu.Lock()
	defer d.mu.Unlock()
	settled, answered := one.judge(ballot.Vote, now, d.window, time.Duration(d.last.Load()))
	d.failure = ballot.Vote.Err
	if settled {
		d.list = slices.DeleteFunc(d.list, func(other *debt) bool { return other == one })
		d.count.Store(int64(len(d.list)))
	}
	return answered
}

// judge takes in the answer to a delete and says whether the debt is settled. last is
// when the instance last answered anything.
func (debt *debt) judge(vote wire.Vote, now, window, last time.Duration) (settled, answered bool) {
	switch {
	case vote.Outcome != wire.Failed:
		debt.left = debt.left.after(wire.Release, vote)
		//guard:delete-repeated  a pending delete that found nothing is repeated while the SET may still arrive
		if debt.left.absent() {
			return true, true
		}
		// Nothing there any more, but a SET may come yet: from another socket of a
		// server that has just woken up, or from a slow network. Look again,
		// less and less often, until whatever stood at the first answer has
		// expired by itself.
		if debt.first == 0 {
			debt.first = now
		}
		debt.due = now + debt.gap
		debt.gap *= 2
		return now-debt.first >= window, true
	case vote.Unsent || errors.Is(vote.Err, ErrTimeout):
		debt.erred = 0
		//guard:silence-keeps-delete  a delete stays pending for as long as the instance is silent
		return false, false
	default:
		// Either the server answers, but not to this (NOPERM, READONLY): then others
		// may be delivered meanwhile, and this one is settled when what stood at its
		// first answer has expired; not sooner, because a server that slept until then
		// has only now run the SET. Or the connection broke, or a proxy in front of
		// the server closed it, which is no answer of the server: so it must have
		// answered something else since, unless the error is for good.
		if debt.erred == 0 {
			debt.erred = now
		}
		debt.due = now + restMax
		//guard:proxy-is-no-answer  a delete stays pending although a proxy closes connections
		return now-debt.erred >= window && (last > debt.erred || permanent(vote.Err)), true
	}
}

// pause waits, no longer than d, and not beyond the Coordinator's end. Resting
// says that it may be cut short when the instance answers somebody.
func (d *debts) pause(t time.Duration, resting bool) {
	d.mu.Lock()
	d.resting = resting
	d.mu.Unlock()
	select {
	case <-d.member.clock.After(t):
	case <-d.wake:
	case <-d.bg.done:
	}
}
