package simulation

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
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

var _ wire.Notifier = instance{}

// Subscribe opens a subscription on a connection of its own. Like any request it takes time,
// may be lost, and waits for a server that hangs.
func (i instance) Subscribe(ctx context.Context) (wire.Subscription, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e := &subscription{p: i.p, place: i.place}
	e.arrived.L = &e.mu
	c := &call{p: i.p, place: i.place, name: "subscribe", sub: e, ctx: ctx}
	if err := c.do().vote.Err; err != nil {
		_ = e.Close() // the server may have accepted it
		return nil, err
	}
	return e, nil
}

// subscription is a process's connection for notifications from one server.
type subscription struct {
	p       *process
	place   int
	address string // set by the driver, before Subscribe returns

	mu      sync.Mutex
	arrived sync.Cond
	keys    []string // of notifications
	err     error    // why it ended

	// Only the driver uses what follows.
	sent   uint64 // messages on its connection, both ways
	over   bool   // its process has dropped it
	closed bool   // the server has dropped it, or will never accept it
}

func (e *subscription) Address() string { return e.address }

func (e *subscription) Next() (key string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.keys) == 0 && e.err == nil {
		e.arrived.Wait()
	}
	if len(e.keys) == 0 {
		return "", e.err
	}
	key, e.keys = e.keys[0], e.keys[1:]
	return key, nil
}

func (e *subscription) Close() error {
	e.end(errSubscriptionClosed)
	e.unsubscribe()
	return nil
}

func (e *subscription) end(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = cmp.Or(e.err, err)
	e.arrived.Broadcast()
}

func (e *subscription) receive(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.keys = append(e.keys, key)
	e.arrived.Broadcast()
}

// message is the next message on the subscription's connection. Its latency and its loss
// are drawn by its number.
func (e *subscription) message() *call {
	e.sent++
	number, _ := strconv.ParseUint(e.address[strings.LastIndexByte(e.address, '#')+1:], 10, 32)
	return &call{p: e.p, place: e.place, seq: number<<32 | e.sent}
}

// ended reports whether the process doesn't use it any more.
func (e *subscription) ended() bool { return e.over || e.p.Gone() }

// unsubscribe closes it on the process's side.
func (e *subscription) unsubscribe() {
	w := e.p.w
	order := kernel.OpOrder{Kind: kernel.IsUnsubscribe, Place: e.place, Key: e.address}
	e.p.Always(order, func() {
		delete(e.p.subscriptions, e.address)
		if e.over = true; e.address == "" || e.closed {
			e.closed = true
			return
		}
		m := e.message()
		if delay, lost := w.passage(m, fault.Requests); !lost {
			w.Push(w.Now.Load()+int64(delay), m.tie(6), nil, kernel.MomentOf(func() bool { return e.closed }, e.forget))
		}
	})
}

// forget removes the subscription from the server.
func (e *subscription) forget() {
	e.closed = true
	s := e.p.server(e.place)
	if s.subscriptions[e.address] == e {
		delete(s.subscriptions, e.address)
	}
}

// breakNow breaks the connection for both sides.
func (e *subscription) breakNow() {
	e.forget()
	e.broken(e.message(), 0)
}

// broken lets the process notice a broken connection after a while.
func (e *subscription) broken(m *call, after time.Duration) {
	w := e.p.w
	w.Push(w.Now.Load()+int64(after), m.tie(6), &e.p.Process, kernel.MomentOf(e.ended, func() {
		w.event(record.SubscriptionLost, e.p.Name, w.servers[e.place].name)
		e.over, w.Awake = true, true
		delete(e.p.subscriptions, e.address)
		e.end(ErrReset)
	}))
}

// sorted returns the subscriptions in the order of their addresses.
func sorted(subscriptions map[string]*subscription) []*subscription {
	all := make([]*subscription, 0, len(subscriptions))
	for _, address := range slices.Sorted(maps.Keys(subscriptions)) {
		all = append(all, subscriptions[address])
	}
	return all
}

// subscribe registers and names a process's new subscription.
func (c *call) subscribe() {
	c.sub.address = c.placeName() + "/" + c.p.Name + "#" + strconv.FormatUint(c.seq, 10)
	if c.p.subscriptions == nil {
		c.p.subscriptions = map[string]*subscription{}
	}
	c.p.subscriptions[c.sub.address] = c.sub
}
