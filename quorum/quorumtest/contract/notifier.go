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

// enqueueing is the request to put the process with this subscription into a lock's queue.
func (c *check) enqueueing(name string, sub wire.Subscription) wire.Request {
	return wire.Request{Op: wire.Enqueue, Keys: []string{c.key(name)}, Waiter: wire.Waiter{Address: sub.Address()}, TTL: long, Clock: true}
}

// leaving is the request to take it out again.
func leaving(enqueued wire.Request) wire.Request { enqueued.Op = wire.Dequeue; return enqueued }

func yielding(cmd wire.Request) wire.Request { cmd.Waiter.Yield = true; return cmd }

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
	a, b, d := c.enqueueing("k", subs[0]), c.enqueueing("k", subs[1]), c.enqueueing("k", subs[2])
	d.Waiter.Front = true

	c.refused(a)
	c.granted(c.acquire("k", "v"))
	c.granted(a)
	c.granted(b)
	c.granted(a) // keeps its position
	c.granted(d)
	c.granted(leaving(b))
	c.refused(leaving(b))
	c.granted(b) // at the end
	c.refused(notifying(c.release("k", "w")))
	for _, sub := range []wire.Subscription{subs[2], subs[0], subs[1]} {
		require.True(c.t, c.granted(notifying(c.release("k", "v"))).Notified)
		c.notified("k", sub)
		c.granted(c.acquire("k", "v"))
	}
	require.False(c.t, c.granted(notifying(c.release("k", "v"))).Notified, "nobody is left")

	// A release of several keys notifies a process for each.
	c.granted(c.of(c.acquire("", "v"), "k", "l", "m"))
	c.granted(a)
	c.granted(c.enqueueing("m", subs[1]))
	require.True(c.t, c.granted(notifying(c.of(c.release("", "v"), "k", "l", "m"))).Notified)
	c.notified("k", subs[0])
	c.notified("m", subs[1])
}

func checkNotifications(c *check) {
	subs := c.open(2)
	defer closeAll(subs)
	a, b := c.enqueueing("k", subs[0]), c.enqueueing("k", subs[1])

	// A key that is free already counts, too: its lease may have expired.
	c.granted(yielding(a))
	require.True(c.t, c.refused(notifying(c.release("k", "v"))).Notified)
	c.notified("k", subs[0])

	// A process that was notified and does not want the lock passes the notification on.
	c.granted(yielding(b))
	require.True(c.t, c.refused(leaving(a)).Notified)
	c.notified("k", subs[1])

	// A release without Notify notifies no process, and neither does another key's.
	c.granted(c.acquire("k", "v"))
	c.granted(a)
	c.granted(c.acquire("other", "v"))
	c.granted(notifying(c.release("other", "v")))
	c.granted(c.release("k", "v"))
	require.True(c.t, c.refused(leaving(b)).Notified)
	c.notified("k", subs[0])

	// A queue has its own TTL.
	c.granted(c.acquire("brief", "v"))
	brief := c.enqueueing("brief", subs[0])
	brief.TTL = 5 * time.Millisecond
	c.granted(brief)
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
	c.granted(c.enqueueing("k", subs[0]))
	c.granted(c.enqueueing("k", subs[1]))
	require.NoError(c.t, subs[0].Close())
	// The server may notice a little later that the subscription was closed.
	require.True(c.t, c.send(notifying(c.release("k", "v"))).Notified)
	for tries := 0; c.send(notifying(c.release("k", "v"))).Notified; tries++ {
		require.Less(c.t, tries, 2, "there are two in the queue")
	}
	c.notified("k", subs[1])
}
