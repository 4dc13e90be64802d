package simulation

import (
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
)

// accept registers a process's subscription.
func (s *server) accept(r *request) {
	e := r.call.sub
	if r.again || e.closed {
		return
	}
	if s.subscriptions == nil {
		s.subscriptions = make(map[string]*subscription)
	}
	s.subscriptions[e.address] = e
	s.answered(record.Answered, r.call, "subscribe", wire.Granted.String())
	r.reply(&answer{})
}

// notify queues a notification of a waiter. It returns false if the waiter has no
// subscription. The server can't know whether the notification arrives.
func (s *server) notify(waiter, key string) bool {
	e := s.subscriptions[waiter]
	if e == nil {
		return false
	}
	s.notifications = append(s.notifications, notification{e, key})
	return true
}

// notification is a notification that the server is about to send.
type notification struct {
	to  *subscription
	key string
}

// sendNotifications sends the notifications of the last command.
func (s *server) sendNotifications() {
	w := s.w
	for _, n := range s.notifications {
		p, kind, m := n.to.p, record.NotificationSent, n.to.message()
		if delay, lost := w.passage(m, fault.Replies); lost {
			kind = record.NotificationLost
		} else {
			w.Push(w.Now.Load()+int64(delay), m.tie(6), &p.Process, kernel.MomentOf(n.to.ended, func() {
				w.event(record.Notified, p.Name, w.servers[n.to.place].name).Key = n.key
				w.Awake = true
				n.to.receive(n.key)
			}))
		}
		w.event(kind, p.Name, s.name).Key = n.key
	}
	clear(s.notifications)
	s.notifications = s.notifications[:0]
}

// breakSubscriptions breaks all subscriptions, because the server stops. If a reset is
// lost, the process notices after subscriptionTimeout.
func (s *server) breakSubscriptions() {
	for _, e := range sorted(s.subscriptions) {
		e.forget()
		m := e.message()
		delay, lost := s.w.passage(m, fault.Replies)
		if lost {
			delay = subscriptionTimeout
		}
		e.broken(m, delay)
	}
}
