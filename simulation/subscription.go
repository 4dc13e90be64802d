package simulation

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
)

// errSubscriptionClosed is the error of a subscription that its process has closed.
var errSubscriptionClosed = errors.New("simulation: the subscription is closed")

// subscriptionTimeout is how long a process needs to detect a dead connection without a
// reset. It is that of package instance, which pings the server after 5 s of silence and
// gives up after 5 s more.
const subscriptionTimeout = 10 * time.Second

// subscription is a process's connection for notifications from one server.
type subscription struct {
	p       *process
	place   int
	address string // set by the driver, before Subscribe returns

	keys chan string // of notifications, closed at the end
	mu   sync.Mutex  // the process ends it, and so does the driver
	err  error       // why it ended

	// Only the driver uses what follows.
	number uint64 // of the call that opens it
	sent   uint64 // messages on its connection, both ways
	over   bool   // its process has dropped it
	closed bool   // the server has dropped it, or will never accept it
}

// maxUnread is how many notifications a subscription holds until they are read.
const maxUnread = 64

var _ wire.Subscription = (*subscription)(nil)

// named names and registers a subscription, after the call that opens it.
func (e *subscription) named(number uint64) {
	e.number = number
	e.address = e.p.w.names[e.place] + "/" + e.p.Name + "#" + strconv.FormatUint(number, 10)
	e.p.subscriptions[e.address] = e
}

func (e *subscription) Address() string { return e.address }

func (e *subscription) Next() (key string, err error) {
	if key, open := <-e.keys; open {
		return key, nil
	}
	return "", e.err
}

func (e *subscription) Close() error {
	e.end(errSubscriptionClosed)
	e.unsubscribe()
	return nil
}

func (e *subscription) end(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		e.err = err
		close(e.keys)
	}
}

// message is the next message on the subscription's connection.
func (e *subscription) message() *message {
	e.sent++
	return &message{p: e.p, place: e.place, seq: e.number<<32 | e.sent}
}

// ended reports whether the process doesn't use it any more.
func (e *subscription) ended() bool { return e.over || e.p.Gone() }

// notify sends a notification. It reports whether the notification will arrive.
func (e *subscription) notify(key string) bool {
	m := e.message()
	return m.arrive(m.tie(6), e.ended, func() {
		e.p.w.event(record.Notified, e.p.Name, m.placeName()).Key = key
		e.p.w.Awake = true
		select {
		case e.keys <- key:
		default: // too many are unread, and the last ones are lost
		}
	}) != nil
}

// unsubscribe closes it on the process's side.
func (e *subscription) unsubscribe() {
	order := kernel.OpOrder{Kind: kernel.IsUnsubscribe, Place: e.place, Key: e.address}
	e.p.Post(order, func() {
		delete(e.p.subscriptions, e.address)
		if e.over = true; e.address == "" || e.closed {
			e.closed = true
			return
		}
		m := e.message()
		if delay, lost := m.passage(fault.Requests); !lost {
			e.p.w.Push(e.p.w.Now.Load()+int64(delay), m.tie(6), func() bool { return e.closed }, func() { e.closed = true })
		}
	})
}

// breakNow breaks the connection for both sides.
func (e *subscription) breakNow() {
	e.closed = true
	e.broken(e.message(), 0)
}

// reset breaks the connection because the server stops. If the reset is lost, the process notices
// after subscriptionTimeout.
func (e *subscription) reset() {
	e.closed = true
	m := e.message()
	delay, lost := m.passage(fault.Replies)
	if lost {
		delay = subscriptionTimeout
	}
	e.broken(m, delay)
}

// broken lets the process notice a broken connection after a while.
func (e *subscription) broken(m *message, after time.Duration) {
	w := e.p.w
	e.p.Push(w.Now.Load()+int64(after), m.tie(6), e.ended, func() {
		w.event(record.SubscriptionLost, e.p.Name, m.placeName())
		e.over, w.Awake = true, true
		delete(e.p.subscriptions, e.address)
		e.end(ErrReset)
	})
}

// sorted returns the open subscriptions in the order of their addresses.
func sorted(subscriptions map[string]*subscription) (all []*subscription) {
	for _, address := range slices.Sorted(maps.Keys(subscriptions)) {
		all = append(all, subscriptions[address])
	}
	return all
}
