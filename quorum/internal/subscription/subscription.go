// Package subscription keeps a subscription to one server's notifications, and this process's
// positions in the wait queues there.
package subscription

import (
	"context"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/background"
	"github.com/redquorum/redlock/quorum/wire"
)

// Config is what a Keeper needs from its instance and its Coordinator. All fields are
// required.
type Config struct {
	Notifier wire.Notifier
	Clock    clock.Clock
	Reader   *drift.Reader
	Group    *background.Group

	// SubscribeTimeout bounds each try to subscribe.
	SubscribeTimeout time.Duration
	// QueueTTL is how long a queue is kept after the last process joined it: longer than a
	// process waits in it without polling.
	QueueTTL time.Duration

	// Ask waits for the vote on a request that send sends, or for ctx's end.
	Ask func(ctx context.Context, op wire.Op, send func(timeout time.Duration, to wire.Receiver)) wire.Vote
	// Run is the server's run that the last probe found, empty if it isn't known now.
	Run func() wire.Run
	// Permanent reports whether waiting can't cure an error.
	Permanent func(error) bool

	// Notified takes in a notification at that address. If no goroutine of this process waits
	// for the key, it calls Dequeue, which has the next process notified.
	Notified func(key, address string)
	// Changed is called when the subscription was opened, with its address, or lost together
	// with the positions in the queues, with "". Address changes before.
	Changed func(address string)
	// CannotNotify is called once if the instance cannot notify, with the reason.
	CannotNotify func(error)
}

// Keeper keeps a Subscription at one instance while goroutines of this process wait there, and
// for some time after.
type Keeper struct {
	cfg Config

	mu       sync.Mutex
	users    int                      // goroutines that wait
	used     time.Duration            // when the last of them left, by the monotonic clock
	running  bool                     // the goroutine that keeps the Subscription runs
	address  string                   // of the Subscription, empty while there is none
	reported bool                     // CannotNotify was called
	last     map[string]chan struct{} // by key: the last request about it that is under way, closed at its end
}

const (
	// idleFor is how long a Subscription is kept that nothing uses.
	idleFor = 10 * time.Second

	// retryMin and retryMax bound the pauses between tries to subscribe.
	retryMin = 50 * time.Millisecond
	retryMax = 10 * time.Second
)

// New returns a Keeper without a Subscription.
func New(cfg Config) *Keeper { return &Keeper{cfg: cfg, last: make(map[string]chan struct{})} }

// Use keeps a Subscription open until Leave.
func (k *Keeper) Use() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.users++
	if !k.running {
		k.running = true
		k.cfg.Group.GoStanding(k.run)
	}
}

// Leave ends one Use.
func (k *Keeper) Leave() {
	now := k.cfg.Reader.Now().Mono
	k.mu.Lock()
	defer k.mu.Unlock()
	k.users--
	k.used = now
}

// Address is the address of the Subscription, empty if there is none now.
func (k *Keeper) Address() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.address
}

// run subscribes, again after each loss, until no goroutine uses the Keeper.
func (k *Keeper) run() {
	pause := retryMin
	for {
		k.mu.Lock()
		if k.users == 0 || k.cfg.Group.Closed() {
			k.running = false
			k.mu.Unlock()
			return
		}
		k.mu.Unlock()
		subscription, err := k.subscribe()
		if err == nil {
			pause = retryMin
			if idle := k.serve(subscription); idle {
				continue
			}
		} else if k.cfg.Permanent(err) {
			k.report(err)
			pause = retryMax
		}
		select {
		case <-k.cfg.Clock.After(pause):
		case <-k.cfg.Group.Closing():
		}
		pause = min(2*pause, retryMax)
	}
}

func (k *Keeper) subscribe() (wire.Subscription, error) {
	ctx, cancel := k.cfg.Clock.WithTimeout(context.Background(), k.cfg.SubscribeTimeout)
	defer cancel()
	finished := make(chan struct{})
	defer close(finished)
	go func() {
		select {
		case <-k.cfg.Group.Closing():
			cancel()
		case <-finished:
		}
	}()
	return k.cfg.Notifier.Subscribe(ctx)
}

// serve passes notifications on until the Subscription is lost, the Coordinator is closed, or
// nothing has used the Subscription for long; idle reports the last.
func (k *Keeper) serve(subscription wire.Subscription) (idle bool) {
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		for {
			key, err := subscription.Next()
			if err != nil {
				return
			}
			k.cfg.Notified(key, subscription.Address())
		}
	}()
	run := k.cfg.Run()
	k.setAddress(subscription.Address())
	defer func() {
		k.setAddress("")
		_ = subscription.Close() // nothing depends on how it ends
		<-lost
	}()
	for {
		select {
		case <-lost:
			return false
		case <-k.cfg.Group.Closing():
			return false
		case <-k.cfg.Clock.After(idleFor):
			if k.idle() {
				return true
			}
			// The address may lead to another server, which notifies nothing here. A server that
			// has yet to be probed again, or hides its run, shows none.
			now := k.cfg.Run()
			//guard:notified-by-voters  waiters are notified by the server that votes
			if now != "" && now != run {
				return false
			}
		}
	}
}

func (k *Keeper) setAddress(address string) {
	k.mu.Lock()
	k.address = address
	k.mu.Unlock()
	k.cfg.Changed(address)
}

func (k *Keeper) idle() bool {
	now := k.cfg.Reader.Now().Mono
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.users == 0 && now-k.used >= idleFor
}

// report calls CannotNotify, once.
func (k *Keeper) report(err error) {
	k.mu.Lock()
	reported := k.reported
	k.reported = true
	k.mu.Unlock()
	if !reported {
		k.cfg.CannotNotify(err)
	}
}

// Answer is the answer to an Enqueue.
type Answer struct {
	Queued bool // the process has a position
	Free   bool // it has none, because the key was free
}

// Enqueue asks for a position in the key's queue, in the background.
func (k *Keeper) Enqueue(ctx context.Context, key, address string, front, yield bool) <-chan Answer {
	answer := make(chan Answer, 1)
	k.inOrder(key, func() {
		w := wire.Waiter{Key: key, Address: address, Front: front, Yield: yield, TTL: k.cfg.QueueTTL}
		vote := k.cfg.Ask(ctx, wire.Enqueue, func(timeout time.Duration, to wire.Receiver) { k.cfg.Notifier.Enqueue(w, timeout, to) })
		if vote.Err != nil && k.cfg.Permanent(vote.Err) {
			k.report(vote.Err)
		}
		answer <- Answer{Queued: vote.Outcome == wire.Granted, Free: vote.Outcome == wire.Refused}
	})
	return answer
}

// Dequeue gives up a position, in the background. The caller still has the lock under which it
// found that no waiter uses the position.
func (k *Keeper) Dequeue(key, address string) {
	k.inOrder(key, func() {
		// A failure does no harm: a notification of a process that has left is one lost
		// notification.
		w := wire.Waiter{Key: key, Address: address}
		k.cfg.Ask(context.Background(), wire.Dequeue, func(timeout time.Duration, to wire.Receiver) { k.cfg.Notifier.Dequeue(w, timeout, to) })
	})
}

// inOrder sends a request about a key in the background, after all earlier ones. Otherwise the
// Dequeue of one waiter could remove the position that the next one has just taken, because both
// have the same address. An earlier request ends soon: it is under a timeout.
func (k *Keeper) inOrder(key string, ask func()) {
	done := make(chan struct{})
	k.mu.Lock()
	before := k.last[key]
	k.last[key] = done
	k.mu.Unlock()
	k.cfg.Group.Go(func() {
		//guard:positions-in-order  requests about one position are sent one after the other
		if before != nil {
			<-before
		}
		ask()
		k.mu.Lock()
		if k.last[key] == done {
			delete(k.last, key)
		}
		k.mu.Unlock()
		close(done)
	})
}
