package quorum

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// This file is about notifications between processes, and the instance at which they queue.
//
// Processes that wait for a key queue at one instance, the same for all of them. A release
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

// notifiesAt is the instance on which a release is to notify a waiter, -1 if it can't.
func (c *core) notifiesAt(key string) int {
	if i := c.queueInstance(key); c.subscriptions[i] != nil {
		return i
	}
	return -1
}

// canNotify reports whether every instance can notify waiters. If one can't, other processes
// may have to find the lock free by polling, so it is deleted after each turn.
func (c *core) canNotify() bool {
	for _, s := range c.subscriptions {
		if s == nil {
			return false
		}
	}
	return true
}

// dequeue gives up a position in the background, if there is one. The queues' lock is held, or the
// caller is the waiter that had the position: so no other waiter has it yet.
func (c *core) dequeue(key string, p position) {
	if p.Address != "" {
		c.subscriptions[p.Instance].dequeue(key, p.Address)
	}
}

// subscription receives the notifications of one server while goroutines of this process wait there, and
// for some time after. It also sends the requests about this process's positions in the wait queues
// there, in order.
type subscription struct {
	at       *server
	notifier wire.Notifier

	mu      sync.Mutex
	users   int               // goroutines that wait
	used    time.Duration     // when the last of them left, by the monotonic clock
	running bool              // run runs
	address string            // at which the server notifies this process, empty without a connection
	last    map[string]*asked // by key: the last request about it; none if it has ended
	report  sync.Once         // of Hooks.CannotNotify
}

const (
	// idleFor is how long a subscription is kept that nothing uses.
	idleFor = 10 * time.Second

	// retryMin and retryMax bound the pauses between tries to subscribe.
	retryMin = 50 * time.Millisecond
	retryMax = 10 * time.Second
)

// newSubscription makes the subscription at a server. It returns nil if that can't notify.
func (c *core) newSubscription(at *server) *subscription {
	if at.notifier == nil || c.cfg.Lab.Notifications == Off {
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
		s.at.c.background.spawnStanding(s.run)
	}
}

// drop ends one use.
func (s *subscription) drop() {
	now := s.at.c.reader.Now().Mono
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
		if s.users == 0 || s.at.c.closed() {
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
		case <-s.at.c.clock.After(pause):
		case <-s.at.c.background.closing:
		}
		pause = min(2*pause, retryMax)
	}
}

func (s *subscription) subscribe() (wire.Subscription, error) {
	ctx, cancel := s.at.c.clock.WithTimeout(s.at.c.background.ctx, max(s.at.c.cfg.InstanceTimeout, verifyTimeout))
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
			s.at.c.queues.notified(key, s.at.index, connection.Address())
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
		case <-s.at.c.background.closing:
			return false
		case <-s.at.c.clock.After(idleFor):
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
func (s *subscription) votingRun() wire.Run { return s.at.standing(s.at.c.reader.Now()).run }

func (s *subscription) setAddress(address string) {
	s.mu.Lock()
	s.address = address
	s.mu.Unlock()
	s.at.c.queues.changed(s.at.index, address)
}

func (s *subscription) idle() bool {
	now := s.at.c.reader.Now().Mono
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.users == 0 && now-s.used >= idleFor
}

// reportCannotNotify calls Hooks.CannotNotify, once.
func (s *subscription) reportCannotNotify(err error) {
	s.report.Do(func() {
		if hook := s.at.c.cfg.Hooks.CannotNotify; hook != nil {
			hook(CannotNotifyEvent{Instance: s.at.name, Err: err})
		}
	})
}

// enqueue asks for a position in the key's queue, in the background. The vote is Granted if the
// process has one, and Refused if it has none because the key was free.
func (s *subscription) enqueue(ctx context.Context, key, address string, front, yield bool) <-chan wire.Outcome {
	answer := make(chan wire.Outcome, 1)
	cfg := &s.at.c.cfg
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
func (c *core) notifyNext(key string) {
	if s := c.subscriptions[c.queueInstance(key)]; s != nil {
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
	s.at.c.background.spawn(func() {
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

// subscribe uses the subscription at the instance at which processes queue, if that can
// notify, and returns this process's position in the queue there.
func (w *wait) subscribe() position {
	at := w.c.queueInstance(w.key)
	s := w.c.subscriptions[at]
	if s != w.subscription {
		w.unsubscribe()
		if s != nil {
			s.use()
		}
		w.instance, w.subscription = at, s
	}
	if s == nil {
		at = -1
	}
	w.c.queues.mu.Lock()
	defer w.c.queues.mu.Unlock()
	return w.queue.Subscribe(at)
}

func (w *wait) unsubscribe() {
	if w.subscription != nil {
		w.subscription.drop()
	}
	w.subscription = nil
}

// currentAddress is the address to be notified at, empty if that isn't possible now.
func (w *wait) currentAddress() string {
	if w.subscription == nil {
		return ""
	}
	return w.subscription.currentAddress()
}

// enqueue asks for a position in the queue; ok is false when the wait is over.
func (w *wait) enqueue(address string, front, yield bool) (queued, free, ok bool) {
	// Before the request is sent, because the notification may come before the answer.
	w.c.dequeue(w.key, w.setPosition(position{Instance: w.instance, Address: address}))
	select {
	case answer := <-w.subscription.enqueue(w.ctx, w.key, address, front, yield):
		if answer != wire.Granted {
			w.setPosition(position{})
		}
		return answer == wire.Granted, answer == wire.Refused, true
	case <-w.ctx.Done():
	case <-w.c.background.closing:
	}
	return false, false, false
}

// rank is the rank of instance i for a key: by a hash of both names, so that different keys begin with
// different instances, and clients that give the instances the same names agree.
type rank struct {
	last bool // it comes after those that aren't
	hash uint64
	i    int
}

func (r rank) compare(other rank) int {
	if r.last != other.last {
		if r.last {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(r.hash, other.hash), cmp.Compare(r.i, other.i))
}

// queueInstance is the instance at which processes queue for the key: the first in rank, of
// those that answer and can notify if there are any.
func (c *core) queueInstance(key string) int {
	prefix := prefixOf(key)
	var best rank
	for i, s := range c.servers {
		if r := (rank{s.silent.Load() || s.cannotNotify.Load(), rankOf(prefix, s.name), i}); i == 0 || r.compare(best) < 0 {
			best = r
		}
	}
	return best.i
}

func prefixOf(key string) uint64 { return hash(hash(14695981039346656037, key), "\x00") }

// rankOf mixes the bits of the hash. FNV alone ranks names alike that differ in the last byte only: one of
// three would come first for half of the keys. The steps are those with which MurmurHash3 ends its 64-bit
// hashes (fmix64).
func rankOf(prefix uint64, name string) uint64 {
	h := hash(prefix, name)
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// hash is FNV-1a. Package hash/fnv allocates.
func hash(sum uint64, text string) uint64 {
	for i := range len(text) {
		sum = (sum ^ uint64(text[i])) * 1099511628211
	}
	return sum
}
