package contract

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// The parts in this file are for an Instance that is a wire.Notifier.

// notifier is the instance, if it is one.
func (c *check) notifier() wire.Notifier {
	notifier, ok := c.inst.(wire.Notifier)
	if !ok {
		c.t.Skip("the instance is no Notifier")
	}
	return notifier
}

// open opens subscriptions, which the model knows.
func (c *check) open(n int) (subs []wire.Subscription) {
	ctx, cancel := c.clock.WithTimeout(c.t.Context(), patience)
	defer cancel()
	addresses := map[string]bool{}
	for range n {
		sub, err := c.notifier().Subscribe(ctx)
		require.NoError(c.t, err)
		require.NotEmpty(c.t, sub.Address())
		require.LessOrEqual(c.t, len(sub.Address()), 64)
		subs, addresses[sub.Address()] = append(subs, sub), true
	}
	require.Len(c.t, addresses, n, "no two share an address")
	c.model.Notify = func(address, _ string) bool { return addresses[address] }
	return subs
}

func closeAll(subs []wire.Subscription) {
	for _, sub := range subs {
		_ = sub.Close()
	}
}

func (c *check) waiter(name string, sub wire.Subscription) wire.Waiter {
	return wire.Waiter{Key: c.key(name), Address: sub.Address(), TTL: long}
}

func yielding(w wire.Waiter) wire.Waiter { w.Yield = true; return w }

// enqueue puts a waiter into the queue, and demands that the instance does as the model.
func (c *check) enqueue(w wire.Waiter, want wire.Outcome) wire.Vote {
	c.t.Helper()
	return c.queue(wire.Enqueue, c.notifier().Enqueue, w, want)
}

func (c *check) dequeue(w wire.Waiter, want wire.Outcome) wire.Vote {
	c.t.Helper()
	return c.queue(wire.Dequeue, c.notifier().Dequeue, w, want)
}

func (c *check) queue(op wire.Op, send func(wire.Waiter, time.Duration, wire.Receiver), w wire.Waiter, want wire.Outcome) wire.Vote {
	c.t.Helper()
	vote := c.both(w, wire.Request{Op: op, Keys: []string{w.Key}, Clock: true}, func(wire.Request) wire.Vote {
		v := make(votes, 2)
		send(w, patience, v)
		return <-v
	})
	require.Equal(c.t, want.String(), vote.Outcome.String(), "%v: %v", op, vote.Err)
	c.same(w.Key)
	return vote
}

func notifying(cmd wire.Request) wire.Request {
	cmd.Notify = true
	return cmd
}

// notified demands that the next notification is for the key.
func (c *check) notified(name string, sub wire.Subscription) {
	c.t.Helper()
	key, err := c.next(sub)
	require.NoError(c.t, err)
	require.Equal(c.t, c.key(name), key)
}

// next waits for the next notification, or for the end.
func (c *check) next(sub wire.Subscription) (key string, err error) {
	c.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		key, err = sub.Next()
	}()
	select {
	case <-done:
	case <-c.clock.After(patience):
		_ = sub.Close()
		require.Fail(c.t, "Next didn't return")
	}
	return key, err
}

func checkQueue(c *check) {
	subs := c.open(3)
	defer closeAll(subs)
	a, b, d := c.waiter("k", subs[0]), c.waiter("k", subs[1]), c.waiter("k", subs[2])
	d.Front = true

	c.enqueue(a, wire.Refused)
	c.granted(c.acquire("k", "v"))
	c.enqueue(a, wire.Granted)
	c.enqueue(b, wire.Granted)
	c.enqueue(a, wire.Granted) // keeps its position
	c.enqueue(d, wire.Granted)
	c.dequeue(b, wire.Granted)
	c.dequeue(b, wire.Refused)
	c.enqueue(b, wire.Granted) // at the end
	c.refused(notifying(c.release("k", "w")))
	for _, sub := range []wire.Subscription{subs[2], subs[0], subs[1]} {
		require.True(c.t, c.granted(notifying(c.release("k", "v"))).Notified)
		c.notified("k", sub)
		c.granted(c.acquire("k", "v"))
	}
	require.False(c.t, c.granted(notifying(c.release("k", "v"))).Notified, "nobody is left")

	// A release of several keys notifies a process for each.
	c.granted(c.of(c.acquire("", "v"), "k", "l", "m"))
	c.enqueue(a, wire.Granted)
	c.enqueue(c.waiter("m", subs[1]), wire.Granted)
	require.True(c.t, c.granted(notifying(c.of(c.release("", "v"), "k", "l", "m"))).Notified)
	c.notified("k", subs[0])
	c.notified("m", subs[1])
}

func checkNotifications(c *check) {
	subs := c.open(2)
	defer closeAll(subs)
	a, b := c.waiter("k", subs[0]), c.waiter("k", subs[1])

	// A key that is free already counts, too: its lease may have expired.
	c.enqueue(yielding(a), wire.Granted)
	require.True(c.t, c.refused(notifying(c.release("k", "v"))).Notified)
	c.notified("k", subs[0])

	// A process that was notified and does not want the lock passes the notification on.
	c.enqueue(yielding(b), wire.Granted)
	require.True(c.t, c.dequeue(a, wire.Refused).Notified)
	c.notified("k", subs[1])

	// A release without Notify notifies no process, and neither does another key's.
	c.granted(c.acquire("k", "v"))
	c.enqueue(a, wire.Granted)
	c.granted(c.acquire("other", "v"))
	c.granted(notifying(c.release("other", "v")))
	c.granted(c.release("k", "v"))
	require.True(c.t, c.dequeue(b, wire.Refused).Notified)
	c.notified("k", subs[0])

	// A queue has its own TTL.
	c.granted(c.acquire("brief", "v"))
	brief := c.waiter("brief", subs[0])
	brief.TTL = 5 * time.Millisecond
	c.enqueue(brief, wire.Granted)
	c.expires(timed(c.bare("marker", "v"), short))
	require.False(c.t, c.granted(notifying(c.release("brief", "v"))).Notified)

	go func() {
		c.clock.Sleep(grain)
		closeAll(subs)
	}()
	for range 2 {
		_, err := c.next(subs[0])
		require.Error(c.t, err, "Next goes on after Close")
	}
}

func checkClosedSubscriptions(c *check) {
	subs := c.open(2)
	defer closeAll(subs)
	c.granted(c.acquire("k", "v"))
	c.enqueue(c.waiter("k", subs[0]), wire.Granted)
	c.enqueue(c.waiter("k", subs[1]), wire.Granted)
	require.NoError(c.t, subs[0].Close())
	// The server may notice a little later that the subscription was closed.
	require.True(c.t, c.send(notifying(c.release("k", "v"))).Notified)
	for tries := 0; c.send(notifying(c.release("k", "v"))).Notified; tries++ {
		require.Less(c.t, tries, 2, "there are two in the queue")
	}
	c.notified("k", subs[1])
}
