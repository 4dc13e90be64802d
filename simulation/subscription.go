package simulation

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
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
	e.news.L = &e.mu
	c := &call{p: i.p, place: i.place, name: "listen", sub: e, ctx: ctx}
	if err := c.do().vote.Err; err != nil {
		_ = e.Close() // the server may have accepted it
		return nil, err
	}
	return e, nil
}

// Enqueue puts the process into a wait queue.
func (i instance) Enqueue(w wire.Waiter, timeout time.Duration, to wire.Receiver) {
	i.post(&call{cmd: wire.Request{Op: wire.Enqueue, Key: w.Key, Clock: true}, waiter: w}, timeout, to)
}

// Dequeue takes the process out of a wait queue.
func (i instance) Dequeue(w wire.Waiter, timeout time.Duration, to wire.Receiver) {
	i.post(&call{cmd: wire.Request{Op: wire.Dequeue, Key: w.Key, Clock: true}, waiter: w}, timeout, to)
}

// subscription is a process's connection for notifications from one server.
type subscription struct {
	p       *process
	place   int
	address string // set by the driver, before Subscribe returns

	mu    sync.Mutex
	news  sync.Cond
	calls []string
	why   error // why it ended

	// Only the driver uses what follows.
	since  int64   // when the server accepted it, in true time
	sent   uint64  // messages on its connection, both ways
	over   bool    // its process has dropped it
	at     *server // the server that has it, if its address has ever led to another server
	closed bool    // the server has dropped it, or will never accept it
}

func (e *subscription) Address() string { return e.address }

func (e *subscription) Next() (key string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.calls) == 0 && e.why == nil {
		e.news.Wait()
	}
	if len(e.calls) == 0 {
		return "", e.why
	}
	key, e.calls = e.calls[0], e.calls[1:]
	return key, nil
}

func (e *subscription) Close() error {
	e.end(errSubscriptionClosed)
	e.p.post(&unsubscribe{e})
	return nil
}

func (e *subscription) end(why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.why = cmp.Or(e.why, why)
	e.news.Broadcast()
}

func (e *subscription) notify(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, key)
	e.news.Broadcast()
}

func (e *subscription) server() *server {
	if e.at != nil {
		return e.at
	}
	return e.p.address(e.place)
}

// message is the next message on the subscription's connection. Its latency and its loss
// are drawn by its number.
func (e *subscription) message() *call {
	e.sent++
	number, _ := strconv.ParseUint(e.address[strings.LastIndexByte(e.address, '#')+1:], 10, 32)
	return &call{p: e.p, place: e.place, seq: number<<32 | e.sent}
}

// accept registers a process's subscription.
func (s *server) accept(r *request) {
	e := r.call.sub
	if r.again || e.closed {
		return
	}
	e.since, e.at = s.w.now.Load(), s.apartFrom()
	if s.subscriptions == nil {
		s.subscriptions = make(map[string]*subscription)
	}
	s.subscriptions[e.address] = e
	s.answered(Answered, r.call, "listen", wire.Granted.String())
	r.reply(&answer{})
}

// notify queues a notification of a waiter. It returns false if the waiter has no
// subscription. The server can't know whether the notification arrives.
func (s *server) notify(waiter, key string) bool {
	e := s.subscriptions[waiter]
	if e == nil {
		return false
	}
	s.notifications = append(s.notifications, &notification{e, key})
	return true
}

// sendNotifications sends the notifications of the last command.
func (s *server) sendNotifications() {
	w := s.w
	for _, c := range s.notifications {
		kind, m := NotificationSent, c.sub.message()
		if delay, lost := w.passage(m, Replies); lost {
			kind = NotificationLost
		} else {
			w.push(w.now.Load()+int64(delay), m.tie(6), c.sub.p, c)
		}
		w.event(kind, c.sub.p.name, s.name).Key = c.key
	}
	clear(s.notifications)
	s.notifications = s.notifications[:0]
}

// notification is a notification on its way to a process.
type notification struct {
	sub *subscription
	key string
}

func (c *notification) live() bool { return !c.sub.over && !c.sub.p.gone() }

func (c *notification) happen(w *world) {
	w.event(Notified, c.sub.p.name, w.places[c.sub.place].name).Key = c.key
	w.woke = true
	c.sub.notify(c.key)
}

// unsubscribe closes a subscription on the process's side.
type unsubscribe struct{ sub *subscription }

func (h *unsubscribe) order() opOrder {
	return opOrder{process: h.sub.p.index, kind: isUnsubscribe, place: h.sub.place, key: h.sub.address}
}

func (h *unsubscribe) apply(w *world) {
	e := h.sub
	delete(e.p.subscriptions, e)
	if e.over = true; e.address == "" || e.closed {
		e.closed = true
		return
	}
	m := e.message()
	if delay, lost := w.passage(m, Requests); !lost {
		w.push(w.now.Load()+int64(delay), m.tie(6), nil, &unsubscribed{e})
	}
}

// unsubscribed is the moment when the server notices.
type unsubscribed struct{ sub *subscription }

func (h *unsubscribed) live() bool { return !h.sub.closed }

func (h *unsubscribed) happen(*world) { h.sub.forget() }

// forget removes the subscription from the server.
func (e *subscription) forget() {
	e.closed = true
	if s := e.server(); s.subscriptions[e.address] == e {
		delete(s.subscriptions, e.address)
	}
}

// subscriptionBroken is the moment when a process notices that a subscription's connection
// has broken.
type subscriptionBroken struct{ sub *subscription }

func (d *subscriptionBroken) live() bool { return !d.sub.over && !d.sub.p.gone() }

func (d *subscriptionBroken) happen(w *world) {
	e := d.sub
	w.event(SubscriptionLost, e.p.name, w.places[e.place].name)
	e.over, w.woke = true, true
	delete(e.p.subscriptions, e)
	e.end(ErrReset)
}

// breakSubscriptions breaks all subscriptions, because the server stops. If a reset is
// lost, the process notices after subscriptionTimeout.
func (s *server) breakSubscriptions() {
	for _, e := range sorted(s.subscriptions) {
		e.forget()
		m := e.message()
		delay, lost := s.w.passage(m, Replies)
		if lost {
			delay = subscriptionTimeout
		}
		s.w.push(s.w.now.Load()+int64(delay), m.tie(6), e.p, &subscriptionBroken{e})
	}
}

// silence ends the subscriptions on which nothing has arrived for subscriptionTimeout.
type silence struct{ fault Fault }

func (s *silence) live() bool { return true }

func (s *silence) happen(w *world) {
	begun := w.now.Load() - int64(subscriptionTimeout)
	for i, place := range w.places {
		for _, e := range append(sorted(place.server.subscriptions), place.server.otherSubscriptions()...) {
			if e.place == i && e.since <= begun && s.fault.silences(e.p.name, place) {
				e.forget()
				w.push(w.now.Load(), e.message().tie(6), e.p, &subscriptionBroken{e})
			}
		}
	}
}

// otherSubscriptions returns the subscriptions of the old master in a split brain, or of
// the server that the address leads to at times.
func (s *server) otherSubscriptions() []*subscription {
	switch {
	case s.old != nil:
		return sorted(s.old.subscriptions)
	case s.other != nil:
		return sorted(s.other.subscriptions)
	}
	return nil
}

// silences reports whether the fault stops all notifications from a place to a process.
func (f Fault) silences(process string, place place) bool {
	if f.Kind == Hang {
		return matches(f.Server, place.server.name)
	}
	return matches(f.Server, place.name) && matches(f.Process, process)
}

// silence ends subscriptions if the fault lasts long enough.
func (w *world) silence(f Fault) {
	if f.Kind == Cut && f.For == 0 || (f.Kind == Cut || f.Kind == Hang) && f.For >= subscriptionTimeout {
		w.ahead(w.now.Load()+int64(subscriptionTimeout), &silence{f})
	}
}

// sorted returns the subscriptions in the order of their addresses.
func sorted(subscriptions map[string]*subscription) []*subscription {
	if len(subscriptions) == 0 {
		return nil
	}
	all := make([]*subscription, 0, len(subscriptions))
	for _, e := range subscriptions {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *subscription) int { return strings.Compare(a.address, b.address) })
	return all
}
