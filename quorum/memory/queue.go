package memory

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

// enqueue refuses where the key is free, unless the waiter yields.
func (d *Data) enqueue(cmd wire.Request, now time.Time) wire.Vote {
	key, w := cmd.Keys[0], cmd.Waiter
	if _, _, held := d.Keys.Get(key, now); !held && !w.Yield {
		return wire.Vote{Outcome: wire.Refused}
	}
	waiters := d.Waiting(key, now)
	switch {
	case slices.Contains(waiters, w.Address):
	case w.Front:
		waiters = slices.Insert(waiters, 0, w.Address)
	default:
		waiters = append(waiters, w.Address)
	}
	d.queues.Put(key, waiters, now.Add(cmd.TTL))
	return wire.Vote{Outcome: wire.Granted}
}

// dequeue passes the notification on if the waiter has got it.
func (d *Data) dequeue(cmd wire.Request, now time.Time) wire.Vote {
	key := cmd.Keys[0]
	waiters, expires, _ := d.queues.Get(key, now)
	at := slices.Index(waiters, cmd.Waiter.Address)
	if at < 0 {
		return wire.Vote{Outcome: wire.Refused, Notified: d.notifyIfFree(key, now)}
	}
	d.queues.Put(key, slices.Delete(waiters, at, at+1), expires)
	return wire.Vote{Outcome: wire.Granted}
}

// notifyIfFree notifies the first waiter for a free key that has a subscription, and takes it
// and those before it out of the queue.
func (d *Data) notifyIfFree(key string, now time.Time) bool {
	if _, _, held := d.Keys.Get(key, now); held {
		return false
	}
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
