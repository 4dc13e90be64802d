package quorum

import (
	"context"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// Waiters of different processes meet at one instance, the same for all: there
// each process puts itself in line (Enlist), and a release that reaches that
// instance calls the first in line. So one process wakes at a time, in the order
// in which they came, and no herd; a lock that nobody waits for costs one look at an
// empty line, on one of the instances. There is no mark to leave with a holder, no
// broadcast, and nothing to expire but the line itself.
//
// The instance is the first in the key's order that answers. Processes that
// disagree on which one that is miss each other's calls until they agree, and
// poll. So do those who wait for a holder that lacks the key there, because another
// one's was there first: the key is free in that place, so nobody stands in line for
// it, and the holder has nothing to release there.
//
// A call says nothing about the lock: it only ends a sleep sooner, and whoever is
// called asks for votes like anybody else.

// meetingPlace is the instance at which those who wait for the key meet.
func (c *core) queueInstance(key string) int {
	prefix := hashOf(hashOf(hashStart, key), "\x00")
	best, first := -1, -1
	var bestRank, firstRank uint64
	for i, m := range c.members {
		rank := hashOf(prefix, m.name)
		if first < 0 || rank < firstRank {
			first, firstRank = i, rank
		}
		if !m.silent.Load() && (best < 0 || rank < bestRank) {
			best, bestRank = i, rank
		}
	}
	if best < 0 {
		return first
	}
	return best
}

// wakesAt is the instance on which a release is to call a waiter, -1 if none can.
func (c *core) notifiesAt(key string) int {
	if i := c.queueInstance(key); c.subscribers[i] != nil {
		return i
	}
	return -1
}

// canCall reports whether every instance can call waiters. Where one can't, other
// processes may have to find the lock free by polling: then it is set free after
// each turn.
func (c *core) canNotify() bool {
	for _, h := range c.subscribers {
		if h == nil {
			return false
		}
	}
	return true
}

// hearing keeps an Ear open at one instance while somebody of this process waits
// there, and for some time after.
type subscriber struct {
	c        *core
	index    int
	member   *member
	notifier wire.Notifier

	mu        sync.Mutex
	users     int                      // who wait
	used      time.Duration            // when the last of them left, by the monotonic clock
	running   bool                     // its goroutine runs
	address   string                   // of the Ear, empty while there is none
	told      bool                     // that nobody can be called here
	dequeuing map[string]chan struct{} // keys of whose lines a Withdraw is under way; closed at its end
}

const (
	// lingerFor is how long an Ear is kept that nobody uses.
	subscriptionIdleFor = 10 * time.Second

	// reopenMin and reopenMax bound the pauses between tries to open one.
	resubscribeMin = 50 * time.Millisecond
	resubscribeMax = 10 * time.Second
)

func newSubscribers(c *core, instances []wire.Instance) []*subscriber {
	hearings := make([]*subscriber, len(instances))
	for i, inst := range instances {
		if listener, ok := inst.(wire.Notifier); ok && c.cfg.Notifications == On {
			hearings[i] = &subscriber{c: c, index: i, member: c.members[i], notifier: listener}
		}
	}
	return hearings
}

// use has the Ear opened, if it isn't, and kept open until leave.
func (h *subscriber) use() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users++
	if !h.running {
		h.running = true
		h.c.background.startStanding(h.keep)
	}
}

func (h *subscriber) leave() {
	now := h.c.reader.Now().Mono
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users--
	h.used = now
}

// open gives the address to be called by, empty if there is none now.
func (h *subscriber) currentAddress() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.address
}

// keep opens an Ear, and another one when it is lost, until nobody needs it.
func (h *subscriber) keep() {
	pause := resubscribeMin
	for {
		h.mu.Lock()
		if h.users == 0 || h.c.closed() {
			h.running = false
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
		ear, err := h.subscribe()
		if err == nil {
			pause = resubscribeMin
			if idle := h.serve(ear); idle {
				continue
			}
		} else if permanent(err) {
			h.tell(err)
			pause = resubscribeMax
		}
		select {
		case <-h.c.clock.After(pause):
		case <-h.c.background.done:
		}
		pause = min(2*pause, resubscribeMax)
	}
}

func (h *subscriber) subscribe() (wire.Subscription, error) {
	ctx, cancel := h.c.clock.WithTimeout(context.Background(), max(h.member.timeout, verifyTimeout))
	defer cancel()
	finished := make(chan struct{})
	defer close(finished)
	go func() {
		select {
		case <-h.c.background.done:
			cancel()
		case <-finished:
		}
	}()
	return h.notifier.Subscribe(ctx)
}

// serve takes in calls until the Ear is lost, or wasn't used for long, which it
// reports, or the Coordinator is closed.
func (h *subscriber) serve(ear wire.Subscription) (idle bool) {
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		for {
			key, err := ear.Next()
			if err != nil {
				return
			}
			if !h.c.queues.notified(key, h.index) {
				// Whoever waited has gone. The next one is called instead.
				h.c.dequeue(key, position{Server: h.index, Address: ear.Address()})
			}
		}
	}()
	run := h.run()
	h.setAddress(ear.Address())
	defer func() {
		h.setAddress("")
		_ = ear.Close() // nothing depends on how it ends
		<-lost
	}()
	for {
		select {
		case <-lost:
			return false
		case <-h.c.background.done:
			return false
		case <-h.c.clock.After(subscriptionIdleFor):
			if h.idle() {
				return true
			}
			// The address may lead to another server, which notifies nobody here.
			//guard:notified-by-voters  waiters are notified by the server that votes
			if h.run() != run {
				return false
			}
		}
	}
}

// run is the server's run that the last probe found.
func (h *subscriber) run() wire.Run { return h.member.standing(h.c.reader.Now()).run }

func (h *subscriber) setAddress(address string) {
	h.mu.Lock()
	h.address = address
	h.mu.Unlock()
	h.c.queues.changed(h.index)
}

func (h *subscriber) idle() bool {
	now := h.c.reader.Now().Mono
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.users == 0 && now-h.used >= subscriptionIdleFor
}

// tell tells once why nobody can be called at this instance.
func (h *subscriber) tell(err error) {
	h.mu.Lock()
	told := h.told
	h.told = true
	h.mu.Unlock()
	if cannotNotify := h.c.cfg.Hooks.CannotNotify; !told && cannotNotify != nil {
		cannotNotify(CannotNotifyEvent{Instance: h.member.name, Err: err})
	}
}

// enlist asks for a place in the line at this instance. It reports whether the
// waiter has one, and whether the key was free.
func (h *subscriber) enqueue(ctx context.Context, key, address string, front, yield bool) (placed, free bool) {
	h.mu.Lock()
	leaving := h.dequeuing[key]
	h.mu.Unlock()
	if leaving != nil {
		<-leaving // soon: it is under a time-out
	}
	w := wire.Waiter{Key: key, Address: address, Front: front, Yield: yield, TTL: h.c.queueTTL()}
	ballot := h.member.askBy(ctx, wire.Enqueue, func(timeout time.Duration, to wire.Receiver) { h.notifier.Enqueue(w, timeout, to) })
	if err := ballot.Vote.Err; err != nil && permanent(err) {
		h.tell(err)
	}
	return ballot.Vote.Outcome == wire.Granted, ballot.Vote.Outcome == wire.Refused
}

// lineTTL is how long a line is kept after the last one joined it: longer than
// anybody stands in it without looking at the lock.
func (c *core) queueTTL() time.Duration {
	return max(time.Minute, 2*c.cfg.MaxTTL, 2*c.cfg.BackoffMax).Truncate(time.Millisecond)
}

// withdraw gives up a place, in the background. Nobody of this process takes a new
// one in that line before.
func (c *core) dequeue(key string, p position) {
	if p.Address == "" {
		return
	}
	h, done := c.subscribers[p.Server], make(chan struct{})
	h.mu.Lock()
	if h.dequeuing == nil {
		h.dequeuing = make(map[string]chan struct{})
	}
	before := h.dequeuing[key]
	h.dequeuing[key] = done
	h.mu.Unlock()
	c.background.start(func() {
		if before != nil {
			<-before
		}
		// Whatever comes of it: a call for who is gone is one lost call.
		w := wire.Waiter{Key: key, Address: p.Address}
		h.member.askBy(context.Background(), wire.Dequeue, func(timeout time.Duration, to wire.Receiver) { h.notifier.Dequeue(w, timeout, to) })
		h.mu.Lock()
		if h.dequeuing[key] == done {
			delete(h.dequeuing, key)
		}
		h.mu.Unlock()
		close(done)
	})
}

const hashStart uint64 = 14695981039346656037

// hashOf is FNV-1a, spelled out: package hash/fnv allocates.
func hashOf(sum uint64, text string) uint64 {
	for i := range len(text) {
		sum = (sum ^ uint64(text[i])) * 1099511628211
	}
	return sum
}
