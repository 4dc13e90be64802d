package quorum

import (
	"context"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum/internal/rendezvous"
	"github.com/redquorum/redlock/quorum/wire"
)

// Processes that wait for a key queue at one instance, the same for all of them. A release
// that reaches that instance notifies the first in the queue. So one process wakes at a
// time, in the order of arrival. A lock that no process waits for costs one look at an empty
// queue, on one instance. Nothing is stored for a holder, nothing is broadcast, and only the
// queue itself expires.
//
// The instance is the first in the key's order that answers. Processes that disagree on it
// miss each other's notifications until they agree, and poll meanwhile. A process also polls
// if the holder lacks the key on that instance, because another client's key was there
// first: the key is free there, so the process can't queue, and the release finds nothing.
//
// A notification says nothing about the lock. It only ends a pause, and the notified process
// asks for votes like any other.

// queueInstance is the instance at which processes queue for the key.
func (c *core) queueInstance(key string) int { return rendezvous.First(key, memberOrder{c}) }

// memberOrder makes the members rendezvous.Instances.
type memberOrder struct{ c *core }

func (o memberOrder) N() int { return len(o.c.members) }

func (o memberOrder) Instance(i int) (name string, silent bool) {
	return o.c.members[i].name, o.c.members[i].silent.Load()
}

// notifiesAt is the instance on which a release is to notify a waiter, -1 if it can't.
func (c *core) notifiesAt(key string) int {
	if i := c.queueInstance(key); c.subscribers[i] != nil {
		return i
	}
	return -1
}

// canNotify reports whether every instance can notify waiters. If one can't, other processes
// may have to find the lock free by polling, so it is deleted after each turn.
func (c *core) canNotify() bool {
	for _, s := range c.subscribers {
		if s == nil {
			return false
		}
	}
	return true
}

// subscriber keeps a Subscription at one instance while goroutines of this process wait
// there, and for some time after.
type subscriber struct {
	c        *core
	index    int
	member   *member
	notifier wire.Notifier

	mu        sync.Mutex
	users     int                      // goroutines that wait
	used      time.Duration            // when the last of them left, by the monotonic clock
	running   bool                     // the goroutine that keeps the Subscription runs
	address   string                   // of the Subscription, empty while there is none
	reported  bool                     // that this instance cannot notify
	dequeuing map[string]chan struct{} // keys with a Dequeue under way; closed at its end
}

const (
	// subscriptionIdleFor is how long a Subscription is kept that nothing uses.
	subscriptionIdleFor = 10 * time.Second

	// resubscribeMin and resubscribeMax bound the pauses between tries to subscribe.
	resubscribeMin = 50 * time.Millisecond
	resubscribeMax = 10 * time.Second
)

func newSubscribers(c *core, instances []wire.Instance) []*subscriber {
	all := make([]*subscriber, len(instances))
	for i, inst := range instances {
		if notifier, ok := inst.(wire.Notifier); ok && c.cfg.Notifications == On {
			all[i] = &subscriber{c: c, index: i, member: c.members[i], notifier: notifier}
		}
	}
	return all
}

// use keeps a Subscription open until leave.
func (s *subscriber) use() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users++
	if !s.running {
		s.running = true
		s.c.background.GoStanding(s.keep)
	}
}

func (s *subscriber) leave() {
	now := s.c.reader.Now().Mono
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	s.used = now
}

// currentAddress is the address of the Subscription, empty if there is none now.
func (s *subscriber) currentAddress() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

// keep subscribes, again after each loss, until no goroutine uses it.
func (s *subscriber) keep() {
	pause := resubscribeMin
	for {
		s.mu.Lock()
		if s.users == 0 || s.c.closed() {
			s.running = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		subscription, err := s.subscribe()
		if err == nil {
			pause = resubscribeMin
			if idle := s.serve(subscription); idle {
				continue
			}
		} else if permanent(err) {
			s.report(err)
			pause = resubscribeMax
		}
		select {
		case <-s.c.clock.After(pause):
		case <-s.c.background.Closing():
		}
		pause = min(2*pause, resubscribeMax)
	}
}

func (s *subscriber) subscribe() (wire.Subscription, error) {
	ctx, cancel := s.c.clock.WithTimeout(context.Background(), max(s.member.timeout, verifyTimeout))
	defer cancel()
	finished := make(chan struct{})
	defer close(finished)
	go func() {
		select {
		case <-s.c.background.Closing():
			cancel()
		case <-finished:
		}
	}()
	return s.notifier.Subscribe(ctx)
}

// serve passes notifications on until the Subscription is lost, the Coordinator is closed,
// or nothing has used the Subscription for long; idle reports the last.
func (s *subscriber) serve(subscription wire.Subscription) (idle bool) {
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		for {
			key, err := subscription.Next()
			if err != nil {
				return
			}
			if !s.c.queues.notified(key, s.index) {
				// No goroutine of this process waits any more. The next process is
				// notified instead.
				s.c.dequeue(key, position{Server: s.index, Address: subscription.Address()})
			}
		}
	}()
	run := s.run()
	s.setAddress(subscription.Address())
	defer func() {
		s.setAddress("")
		_ = subscription.Close() // nothing depends on how it ends
		<-lost
	}()
	for {
		select {
		case <-lost:
			return false
		case <-s.c.background.Closing():
			return false
		case <-s.c.clock.After(subscriptionIdleFor):
			if s.idle() {
				return true
			}
			// The address may lead to another server, which notifies nothing here.
			//guard:notified-by-voters  waiters are notified by the server that votes
			if s.run() != run {
				return false
			}
		}
	}
}

// run is the server's run that the last probe found.
func (s *subscriber) run() wire.Run { return s.member.standing(s.c.reader.Now()).run }

func (s *subscriber) setAddress(address string) {
	s.mu.Lock()
	s.address = address
	s.mu.Unlock()
	s.c.queues.changed(s.index)
}

func (s *subscriber) idle() bool {
	now := s.c.reader.Now().Mono
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.users == 0 && now-s.used >= subscriptionIdleFor
}

// report reports once why this instance cannot notify.
func (s *subscriber) report(err error) {
	s.mu.Lock()
	reported := s.reported
	s.reported = true
	s.mu.Unlock()
	if cannotNotify := s.c.cfg.Hooks.CannotNotify; !reported && cannotNotify != nil {
		cannotNotify(CannotNotifyEvent{Instance: s.member.name, Err: err})
	}
}

// enqueue asks for a position in the key's queue. It reports whether the process has one, and
// whether the key was free.
func (s *subscriber) enqueue(ctx context.Context, key, address string, front, yield bool) (queued, free bool) {
	s.mu.Lock()
	dequeuing := s.dequeuing[key]
	s.mu.Unlock()
	if dequeuing != nil {
		<-dequeuing // soon: it is under a timeout
	}
	w := wire.Waiter{Key: key, Address: address, Front: front, Yield: yield, TTL: s.c.queueTTL()}
	ballot := s.member.askBy(ctx, wire.Enqueue, func(timeout time.Duration, to wire.Receiver) { s.notifier.Enqueue(w, timeout, to) })
	if err := ballot.Vote.Err; err != nil && permanent(err) {
		s.report(err)
	}
	return ballot.Vote.Outcome == wire.Granted, ballot.Vote.Outcome == wire.Refused
}

// queueTTL is how long a queue is kept after the last process joined it: longer than a
// process waits in it without polling.
func (c *core) queueTTL() time.Duration {
	return max(time.Minute, 2*c.cfg.MaxTTL, 2*c.cfg.BackoffMax).Truncate(time.Millisecond)
}

// dequeue gives up a position, in the background. This process doesn't enqueue for the key at
// that instance again before that has ended.
func (c *core) dequeue(key string, p position) {
	if p.Address == "" {
		return
	}
	s, done := c.subscribers[p.Server], make(chan struct{})
	s.mu.Lock()
	if s.dequeuing == nil {
		s.dequeuing = make(map[string]chan struct{})
	}
	before := s.dequeuing[key]
	s.dequeuing[key] = done
	s.mu.Unlock()
	c.background.Go(func() {
		if before != nil {
			<-before
		}
		// A failure does no harm: a notification of a process that has left is one lost
		// notification.
		w := wire.Waiter{Key: key, Address: p.Address}
		s.member.askBy(context.Background(), wire.Dequeue, func(timeout time.Duration, to wire.Receiver) { s.notifier.Dequeue(w, timeout, to) })
		s.mu.Lock()
		if s.dequeuing[key] == done {
			delete(s.dequeuing, key)
		}
		s.mu.Unlock()
		close(done)
	})
}
