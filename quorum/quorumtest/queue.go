package quorumtest

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// Waiting lists the addresses in the wait queue of a key, the first one first.
func (d *Data) Waiting(key string, now time.Time) []string {
	waiters, _, _ := d.queues.Get(key, now)
	return slices.Clone(waiters)
}

func (d *Data) enqueue(w wire.Waiter, now time.Time) {
	waiters := d.Waiting(w.Key, now)
	switch {
	case slices.Contains(waiters, w.Address):
	case w.Front:
		waiters = slices.Insert(waiters, 0, w.Address)
	default:
		waiters = append(waiters, w.Address)
	}
	d.queues.Put(w.Key, waiters, now.Add(w.TTL))
}

// dequeue reports whether the waiter was in the queue.
func (d *Data) dequeue(w wire.Waiter, now time.Time) bool {
	waiters, expires, _ := d.queues.Get(w.Key, now)
	at := slices.Index(waiters, w.Address)
	if at >= 0 {
		d.queues.Put(w.Key, slices.Delete(waiters, at, at+1), expires)
	}
	return at >= 0
}

// notifyNext notifies the first waiter in the queue that has a subscription, and takes it
// and those before it out.
func (d *Data) notifyNext(key string, now time.Time) bool {
	for {
		waiters, expires, _ := d.queues.Get(key, now)
		if len(waiters) == 0 {
			return false
		}
		d.queues.Put(key, waiters[1:], expires)
		if d.Notify != nil && d.Notify(waiters[0], key) {
			return true
		}
	}
}
