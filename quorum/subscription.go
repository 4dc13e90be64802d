package quorum

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/quorum/internal/turns"
	"github.com/redquorum/redlock/quorum/wire"
)

// This file is about notifications between processes.
//
// Processes that wait for a key queue at one instance, the same for all of them (servers.queueInstance). A release
// that reaches that instance notifies the first process in the queue. So one process wakes at a
// time, in the order of arrival. A lock that no process waits for costs one look at an empty
// queue, on one instance. Nothing is stored for a holder, nothing is broadcast, and only the
// queue itself expires.
//
// The instance is the first in the key's order that answers and can notify. Processes that disagree on it
// miss each other's notifications until they agree, and poll meanwhile. A process also polls
// if the holder has no key on that instance: another client's key was there first, and has gone
// since. Enqueue then finds the key free, so the process can't queue, and the holder's release
// finds nothing to delete.
//
// A notification says nothing about the lock. It only ends a pause, and the notified process
// asks for votes like any other.

// position is a place in the queue for a key at an instance.
type position = turns.Position

// subscriptions are those at the servers.
type subscriptions struct {
	servers servers
	at      []*subscription // per server; nil if it cannot notify
}

// listener is the wait queues of this process, as the subscriptions know them.
type listener interface {
	// notified takes in a notification at an address.
	notified(key string, instance int, address string)
	// changed takes in that the subscription at an instance was opened, with that address, or lost.
	changed(instance int, address string)
}

func newSubscriptions(servers servers) *subscriptions {
	all := &subscriptions{servers: servers}
	for _, s := range servers {
		all.at = append(all.at, newSubscription(s))
	}
	return all
}

// deliverTo has notifications go to the wait queues of this process.
func (all *subscriptions) deliverTo(queues listener) {
	for _, s := range all.at {
		if s != nil {
			s.queues = queues
		}
	}
}

// notifiesAt is the instance on which a release is to notify a waiter, -1 if it can't.
func (all *subscriptions) notifiesAt(key string) int {
	if i := all.servers.queueInstance(key); all.at[i] != nil {
		return i
	}
	return -1
}

// notifying says which servers are to notify waiters for the keys: those at which processes queue.
func (all *subscriptions) notifying(keys keys) []bool {
	at := make([]bool, len(all.at))
	for _, key := range keys {
		if i := all.notifiesAt(key); i >= 0 {
			at[i] = true
		}
	}
	return at
}

// canNotify reports whether every instance can notify waiters. If one can't, other processes
// may have to find the lock free by polling, so it is deleted after each turn.
func (all *subscriptions) canNotify() bool { return !slices.Contains(all.at, nil) }

// dequeue gives up a position in the background, if there is one. The queues' lock is held, or the
// caller is the waiter that had the position: so no other waiter has it yet.
func (all *subscriptions) dequeue(key string, p position) {
	if p.Address != "" {
		all.at[p.Instance].dequeue(key, p.Address)
	}
}

// subscription receives the notifications of one server while goroutines of this process wait there, and
// for some time after. It also sends the requests about this process's positions in the wait queues
// there, in order.
type subscription struct {
	at       *server
	notifier wire.Notifier
	queues   listener

	mu       sync.Mutex
	users    int               // goroutines that wait
	used     time.Duration     // when the last of them left, by the monotonic clock
	running  bool              // run runs
	address  string            // at which the server notifies this process, empty without a connection
	last     map[string]*asked // by key: the last request about it; none if it has ended
	reported atomic.Bool       // by Hooks.CannotNotify
}

const (
	// idleFor is how long a subscription is kept that nothing uses.
	idleFor = 10 * time.Second

	// retryMin and retryMax bound the pauses between tries to subscribe.
	retryMin = 50 * time.Millisecond
	retryMax = 10 * time.Second
)

// newSubscription makes the subscription at a server. It returns nil if that can't notify.
func newSubscription(at *server) *subscription {
	if at.notifier == nil || at.cfg.Lab.Notifications == Off {
		return nil
	}
	return &subscription{at: at, notifier: at.notifier, last: make(map[string]*asked)}
}

// use keeps it open until drop.
func (s *subscription) use() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users++
	if !s.running {
		s.running = true
		s.at.background.spawnResident(s.run)
	}
}

// drop ends one use.
func (s *subscription) drop() {
	now := s.at.reader.Now().Mono
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	s.used = now
}

// currentAddress is the address at which the server notifies this process, empty if there is none now.
func (s *subscription) currentAddress() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

// run subscribes, again after each loss, until no goroutine uses the subscription.
func (s *subscription) run() {
	pause := retryMin
	for {
		s.mu.Lock()
		if s.users == 0 || s.at.closed() {
			s.running = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		connection, err := s.subscribe()
		if err == nil {
			pause = retryMin
			if idle := s.serve(connection); idle {
				continue
			}
		} else if permanent(err) {
			s.reportCannotNotify(err)
			pause = retryMax
		}
		select {
		case <-s.at.clock.After(pause):
		case <-s.at.background.closing:
		}
		pause = min(2*pause, retryMax)
	}
}

func (s *subscription) subscribe() (wire.Subscription, error) {
	ctx, cancel := s.at.clock.WithTimeout(s.at.background.ctx, max(s.at.cfg.InstanceTimeout, verifyTimeout))
	defer cancel()
	return s.notifier.Subscribe(ctx)
}

// serve passes notifications on until the connection is lost, the Coordinator is closed, or
// nothing has used the subscription for long; idle reports the last.
func (s *subscription) serve(connection wire.Subscription) (idle bool) {
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		for {
			key, err := connection.Next()
			if err != nil {
				return
			}
			s.queues.notified(key, s.at.index, connection.Address())
		}
	}()
	run := s.votingRun()
	s.setAddress(connection.Address())
	defer func() {
		s.setAddress("")
		_ = connection.Close() // nothing depends on how it ends
		<-lost
	}()
	for {
		select {
		case <-lost:
			return false
		case <-s.at.background.closing:
			return false
		case <-s.at.clock.After(idleFor):
			if s.idle() {
				return true
			}
			// The address may lead to another server, which notifies nothing here. A server that
			// has yet to be probed again, or hides its run, shows none.
			now := s.votingRun()
			if now != "" && now != run {
				return false
			}
		}
	}
}

// votingRun is the server's run that the last probe found, empty if it isn't known now.
func (s *subscription) votingRun() wire.Run { return s.at.standing(s.at.reader.Now()).run }

func (s *subscription) setAddress(address string) {
	s.mu.Lock()
	s.address = address
	s.mu.Unlock()
	s.queues.changed(s.at.index, address)
}

func (s *subscription) idle() bool {
	now := s.at.reader.Now().Mono
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.users == 0 && now-s.used >= idleFor
}

// reportCannotNotify calls Hooks.CannotNotify, once.
func (s *subscription) reportCannotNotify(err error) {
	if hook := s.at.cfg.Hooks.CannotNotify; s.reported.CompareAndSwap(false, true) && hook != nil {
		hook(CannotNotifyEvent{Instance: s.at.name, Err: err})
	}
}

// enqueue asks for a position in the key's queue, in the background. The vote is Granted if the
// process has one, and Refused if it has none because the key was free.
func (s *subscription) enqueue(ctx context.Context, key, address string, front, yield bool) <-chan wire.Outcome {
	answer := make(chan wire.Outcome, 1)
	cfg := &s.at.cfg
	req := wire.Request{
		Op: wire.Enqueue, Keys: []string{key}, Clock: true,
		Waiter: wire.Waiter{Address: address, Front: front, Yield: yield},
		// Longer than a process waits in the queue without polling.
		TTL: max(time.Minute, 2*cfg.MaxTTL, 2*cfg.Lab.BackoffMax).Truncate(time.Millisecond),
	}
	s.afterEarlier(key, func(placed bool) bool {
		//guard:waiters-dont-pile-up  waiters that leave don't keep the next one waiting at a slow server
		if ctx.Err() != nil { // the waiter has left
			answer <- wire.Failed
			return placed
		}
		vote := s.at.ask(&req).Vote
		if vote.Err != nil && permanent(vote.Err) {
			s.reportCannotNotify(vote.Err)
		}
		answer <- vote.Outcome
		return true
	})
	return answer
}

// dequeue gives up a position, in the background. The caller still has the lock under which it
// found that no waiter uses the position.
func (s *subscription) dequeue(key, address string) {
	req := wire.Request{Op: wire.Dequeue, Keys: []string{key}, Waiter: wire.Waiter{Address: address}, Clock: true}
	s.afterEarlier(key, func(placed bool) bool {
		// A failure does no harm: a notification of a process that has left is one lost
		// notification.
		if placed || address == nobody {
			s.at.ask(&req)
		}
		return placed && address == nobody
	})
}

// notifyNext has the process notified that waits first for the key at the instance at which processes queue,
// if the key is free. The caller still has the lock under which it found that none here goes on.
func (all *subscriptions) notifyNext(key string) {
	if s := all.at[all.servers.queueInstance(key)]; s != nil {
		s.dequeue(key, nobody)
	}
}

// nobody is the address of no subscription. To give up its position has the next process notified.
const nobody = "-"

// afterEarlier sends a request about a key in the background, after all earlier ones. Otherwise the
// Dequeue of one waiter could remove the position that the next one has just taken, because both
// have the same address. An earlier request ends soon: it is under a timeout, and what has turned out to be pointless by
// its turn isn't sent. So requests don't pile up if waiters leave faster than the server answers.
//
// ask gets whether this process may have a position, and returns whether it may have one then.
func (s *subscription) afterEarlier(key string, ask func(placed bool) bool) {
	t := &asked{done: make(chan struct{})}
	s.mu.Lock()
	before := s.last[key]
	s.last[key] = t
	s.mu.Unlock()
	s.at.background.spawn(func() {
		placed := true // as far as is known
		if before != nil {
			<-before.done
			placed = before.placed
		}
		t.placed = ask(placed)
		s.mu.Lock()
		if s.last[key] == t {
			delete(s.last, key)
		}
		s.mu.Unlock()
		close(t.done)
	})
}

// asked is a request about a key's queue.
type asked struct {
	done   chan struct{} // closed when it has ended
	placed bool          // this process may have a position then
}
