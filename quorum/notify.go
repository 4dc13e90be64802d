package quorum

import (
	"context"
	"time"

	"github.com/redquorum/redlock/quorum/internal/rendezvous"
	"github.com/redquorum/redlock/quorum/internal/subscription"
	"github.com/redquorum/redlock/quorum/wire"
)

// This file is about notifications between processes.
//
// Processes that wait for a key queue at one instance, the same for all of them. A release
// that reaches that instance notifies the first in the queue. So one process wakes at a
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

// queueInstance is the instance at which processes queue for the key.
func (c *core) queueInstance(key string) int {
	return rendezvous.First(key, len(c.members), c.notifier)
}

// notifier is instance, with the instances last that cannot notify.
func (c *core) notifier(i int) (name string, silent bool) {
	name, silent = c.instance(i)
	return name, silent || c.members[i].cannotNotify.Load()
}

// instance is what package rendezvous needs to know of an instance.
func (c *core) instance(i int) (name string, silent bool) {
	return c.members[i].name, c.members[i].silent.Load()
}

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
	for _, k := range c.subscriptions {
		if k == nil {
			return false
		}
	}
	return true
}

// newSubscription makes the keeper of a subscription at instance i, nil if that cannot
// notify.
func (c *core) newSubscription(i int, inst wire.Instance) *subscription.Keeper {
	notifier, ok := inst.(wire.Notifier)
	if !ok || c.cfg.Notifications == Off {
		return nil
	}
	m := c.members[i]
	return subscription.New(subscription.Config{
		Notifier: notifier, Clock: c.clock, Reader: c.reader, Group: c.background,
		SubscribeTimeout: max(m.timeout, verifyTimeout),
		QueueTTL:         max(time.Minute, 2*c.cfg.MaxTTL, 2*c.cfg.BackoffMax).Truncate(time.Millisecond),
		Ask: func(ctx context.Context, op wire.Op, send func(time.Duration, wire.Receiver)) wire.Vote {
			return m.askBy(ctx, op, send).Vote
		},
		Run:       func() wire.Run { return m.standing(c.reader.Now()).run },
		Permanent: permanent,
		Notified: func(key, address string) {
			c.queues.notified(key, i, func() { c.subscriptions[i].Dequeue(key, address) })
		},
		Changed: func(address string) { c.queues.changed(i, address) },
		CannotNotify: func(err error) {
			if cannotNotify := c.cfg.Hooks.CannotNotify; cannotNotify != nil {
				cannotNotify(CannotNotifyEvent{Instance: m.name, Err: err})
			}
		},
	})
}

// dequeue gives up a position in the background, if there is one. The queues' lock is held, or the
// caller is the waiter that had the position: so no other waiter has it yet.
func (c *core) dequeue(key string, p position) {
	if p.Address != "" {
		c.subscriptions[p.Instance].Dequeue(key, p.Address)
	}
}
