package contract

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// These parts are for an Instance that is a wire.Notifier.

// notifier is the instance, if it is one.
func (c *check) notifier() wire.Notifier {
	notifier, ok := c.inst.(wire.Notifier)
	if !ok {
		c.t.Skip("the instance is no Notifier")
	}
	return notifier
}

func checkReplace(c *check) {
	c.notifier()
	replace := func(value, old string) wire.Request {
		cmd := c.acquire("a", value)
		cmd.Replace = old
		return cmd
	}
	token := c.granted(c.acquire("a", "v0")).Token
	sent := c.clock.Now()
	vote := c.granted(replace("v1", "v0"))
	require.True(c.t, vote.Replaced)
	require.Equal(c.t, token+1, vote.Token, "the counter is raised with the new value")
	require.Equal(c.t, vote.Token, c.held("a", "v1", long, sent))

	c.changesNothing("a", func() {
		vote := c.refused(replace("v2", "v0"))
		require.False(c.t, vote.Replaced)
		c.hasLeft(vote.Remaining, long, sent)
	})
	c.granted(c.release("a", "v1"))
	vote = c.granted(replace("v3", "v1"))
	require.False(c.t, vote.Replaced, "there was nothing to replace")
	require.Equal(c.t, token+2, vote.Token)

	c.clock.Sleep(2 * time.Millisecond) // the clock is ahead of the counter
	reserve := replace("v3b", "v3")
	reserve.Fence.Reserve = 4
	vote = c.granted(reserve)
	require.True(c.t, vote.Replaced)
	require.Equal(c.t, token+7, vote.Token)
	c.granted(replace("v3", "v3b"))

	other := replace("v4", "v3")
	other.Fence.Set.Name = "others"
	c.changesNothing("a", func() {
		var mismatch *wire.SetMismatchError
		require.ErrorAs(c.t, c.do(other).Err, &mismatch)
	})
	other = replace("v4", "v3")
	other.Fence.Set.Version++
	require.True(c.t, c.granted(other).Replaced, "a newer set takes over")
	require.ErrorAs(c.t, c.do(replace("v5", "v4")).Err, new(*wire.SetMismatchError))
}

func checkReplaceBare(c *check) {
	c.notifier()
	c.granted(c.bare("a", "v0"))
	cmd := c.bare("a", "v1")
	cmd.Replace = "v0"
	sent := c.clock.Now()
	require.True(c.t, c.granted(cmd).Replaced)
	require.Zero(c.t, c.held("a", "v1", long, sent), "there is a counter")
	cmd.Value = "v2"
	c.changesNothing("a", func() { c.refused(cmd) })
	c.granted(c.release("a", "v1"))
	require.False(c.t, c.granted(cmd).Replaced)
}

func (c *check) waiter(name string, sub wire.Subscription) wire.Waiter {
	return wire.Waiter{Key: c.key(name), Address: sub.Address(), TTL: long}
}

func (c *check) enqueue(w wire.Waiter, want wire.Outcome) {
	c.t.Helper()
	c.waited(wire.Enqueue, w, want)
}

func (c *check) dequeue(w wire.Waiter, want wire.Outcome) wire.Vote {
	c.t.Helper()
	return c.waited(wire.Dequeue, w, want)
}

func (c *check) waited(op wire.Op, w wire.Waiter, want wire.Outcome) wire.Vote {
	c.t.Helper()
	ctx, cancel := c.clock.WithTimeout(c.t.Context(), patience)
	defer cancel()
	var vote wire.Vote
	if n := c.notifier(); op == wire.Enqueue {
		vote = quorumtest.Enqueue(ctx, n, w)
	} else {
		vote = quorumtest.Dequeue(ctx, n, w)
	}
	require.NoError(c.t, wellFormed(wire.Request{Op: op, Key: w.Key, Clock: true}, vote))
	require.Equal(c.t, want, vote.Outcome, "%v: %v", op, vote.Err)
	return vote
}

func (c *check) notifying(name, value string) wire.Request {
	cmd := c.release(name, value)
	cmd.Notify = true
	return cmd
}

func (c *check) open() wire.Subscription {
	ctx, cancel := c.clock.WithTimeout(c.t.Context(), patience)
	defer cancel()
	sub, err := c.notifier().Subscribe(ctx)
	require.NoError(c.t, err)
	require.NotEmpty(c.t, sub.Address())
	require.LessOrEqual(c.t, len(sub.Address()), 64)
	return sub
}

// notified demands that the next notification is for the key.
func (c *check) notified(name string, sub wire.Subscription) {
	c.t.Helper()
	type notification struct {
		key string
		err error
	}
	next := make(chan notification, 1)
	go func() {
		key, err := sub.Next()
		next <- notification{key, err}
	}()
	select {
	case got := <-next:
		require.NoError(c.t, got.err)
		require.Equal(c.t, c.key(name), got.key)
	case <-c.clock.After(patience):
		_ = sub.Close()
		require.Fail(c.t, "no notification came")
	}
}

func checkQueue(c *check) {
	a, b, d := c.open(), c.open(), c.open()
	require.NotEqual(c.t, a.Address(), b.Address())
	for _, sub := range []wire.Subscription{a, b, d} {
		defer func() { _ = sub.Close() }()
	}

	c.enqueue(c.waiter("k", a), wire.Refused)
	c.granted(c.acquire("k", "v"))
	c.changesNothing("k", func() {
		c.enqueue(c.waiter("k", a), wire.Granted)
		c.enqueue(c.waiter("k", b), wire.Granted)
		c.enqueue(c.waiter("k", a), wire.Granted) // keeps its position
		front := c.waiter("k", d)
		front.Front = true
		c.enqueue(front, wire.Granted)
		c.dequeue(c.waiter("k", b), wire.Granted)
		require.False(c.t, c.dequeue(c.waiter("k", b), wire.Refused).Notified, "the key is held")
		c.enqueue(c.waiter("k", b), wire.Granted) // at the end
		require.False(c.t, c.refused(c.notifying("k", "w")).Notified, "the key is somebody else's")
	})
	for i, sub := range []wire.Subscription{d, a, b} {
		value := string(rune('v' + i))
		require.True(c.t, c.granted(c.notifying("k", value)).Notified)
		c.notified("k", sub)
		require.Equal(c.t, wire.Granted, c.do(c.acquire("k", string(rune('v'+i+1)))).Outcome)
	}
	require.False(c.t, c.granted(c.notifying("k", "y")).Notified, "nobody is left")
}

func checkNotifications(c *check) {
	a, b := c.open(), c.open()
	defer func() { _ = b.Close() }()

	// A key that is free already counts, too: its lease may have expired.
	yield := c.waiter("k", a)
	yield.Yield = true
	c.enqueue(yield, wire.Granted)
	require.True(c.t, c.refused(c.notifying("k", "v")).Notified)
	c.notified("k", a)

	// A process that was notified and does not want the lock passes the notification on.
	yield = c.waiter("k", b)
	yield.Yield = true
	c.enqueue(yield, wire.Granted)
	require.True(c.t, c.dequeue(c.waiter("k", a), wire.Refused).Notified)
	c.notified("k", b)

	// A release without Notify notifies no process, and neither does another key's.
	c.granted(c.acquire("k", "v"))
	c.enqueue(c.waiter("k", a), wire.Granted)
	c.granted(c.acquire("other", "v"))
	require.False(c.t, c.granted(c.notifying("other", "v")).Notified)
	require.False(c.t, c.granted(c.release("k", "v")).Notified)
	require.True(c.t, c.dequeue(c.waiter("k", b), wire.Refused).Notified)
	c.notified("k", a)

	// A queue has its own TTL.
	c.granted(c.acquire("brief", "v"))
	brief := c.waiter("brief", a)
	brief.TTL = 5 * time.Millisecond
	c.enqueue(brief, wire.Granted)
	marker := c.bare("marker", "v")
	marker.TTL = short
	c.granted(marker)
	c.awaitFree("marker")
	require.False(c.t, c.granted(c.notifying("brief", "v")).Notified)

	over := make(chan error, 1)
	go func() {
		_, err := a.Next()
		over <- err
	}()
	require.NoError(c.t, a.Close())
	select {
	case err := <-over:
		require.Error(c.t, err, "Next goes on after Close")
	case <-c.clock.After(patience):
		require.Fail(c.t, "Close doesn't end Next")
	}
	_, err := a.Next()
	require.Error(c.t, err)
}

func checkClosedSubscriptions(c *check) {
	a, b := c.open(), c.open()
	defer func() { _ = b.Close() }()
	c.granted(c.acquire("k", "v"))
	c.enqueue(c.waiter("k", a), wire.Granted)
	c.enqueue(c.waiter("k", b), wire.Granted)
	require.NoError(c.t, a.Close())
	// The server may notice a little later that the subscription was closed.
	require.True(c.t, c.granted(c.notifying("k", "v")).Notified)
	for tries := 0; c.refused(c.notifying("k", "v")).Notified; tries++ {
		require.Less(c.t, tries, 2, "there are two in the queue")
	}
	c.notified("k", b)
}
