package contract

import (
	"cmp"
	"fmt"
	"math/rand/v2"
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

// open opens subscriptions.
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
	return subs
}

func closeAll(subs []wire.Subscription) {
	for _, sub := range subs {
		_ = sub.Close()
	}
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

// checkQueue draws requests about the queues of two locks at random, and the model says whom each notifies.
func checkQueue(c *check) {
	subs := c.open(3)
	defer closeAll(subs)
	byAddress, due, seen := map[string]wire.Subscription{}, []notification{}, 0
	for _, sub := range subs {
		byAddress[sub.Address()] = sub
	}
	c.model.Notify = func(address, key string) bool {
		due = append(due, notification{address, key})
		return true
	}
	draw := rand.New(rand.NewPCG(2, 0))
	for i := range 300 {
		names := one(draw, []string{"k"}, []string{"k"}, []string{"k"}, []string{"l"}, []string{"k", "l"})
		cmd := c.of(wire.Request{Op: one(draw, wire.Acquire, wire.Acquire, wire.Release, wire.Enqueue, wire.Enqueue, wire.Enqueue, wire.Dequeue), TTL: long, Clock: true}, names...)
		switch cmd.Op {
		case wire.Acquire:
			cmd.Value = fmt.Sprint("v", i) // no key has it
		case wire.Release:
			held, _, _ := c.model.Keys.Get(cmd.Keys[0], c.clock.Now().Add(c.ahead))
			cmd.Value, cmd.Notify = cmp.Or(one(draw, held, held, "w"), "w"), draw.IntN(4) > 0
		default:
			cmd.Keys = cmd.Keys[:1]
			cmd.Waiter = wire.Waiter{Address: one(draw, subs...).Address(), Front: draw.IntN(3) == 0, Yield: draw.IntN(3) == 0}
		}
		c.do(cmd)
		for ; len(due) > 0; due = due[1:] {
			key, err := c.next(byAddress[due[0].address])
			require.NoError(c.t, err)
			require.Equal(c.t, due[0].key, key)
			seen++
		}
	}
	require.GreaterOrEqual(c.t, seen, 20, "processes were notified")

	// A queue has its own TTL.
	brief := c.waits("brief", subs[0])
	brief.TTL = 5 * time.Millisecond
	c.granted(c.bare("brief", "v"))
	c.granted(brief)
	c.expires(timed(c.bare("marker", "v"), short))
	require.False(c.t, c.granted(notifying(c.release("brief", "v"))).Notified)
}

// notification is one that the model gives.
type notification struct{ address, key string }

// waits is the request to put a process into a lock's queue.
func (c *check) waits(name string, sub wire.Subscription) wire.Request {
	return wire.Request{Op: wire.Enqueue, Keys: []string{c.key(name)}, Waiter: wire.Waiter{Address: sub.Address()}, TTL: long, Clock: true}
}

func notifying(cmd wire.Request) wire.Request {
	cmd.Notify = true
	return cmd
}

func checkClosedSubscriptions(c *check) {
	subs := c.open(2)
	defer closeAll(subs)
	c.granted(c.acquire("k", "v"))
	c.granted(c.waits("k", subs[0]))
	c.granted(c.waits("k", subs[1]))
	require.NoError(c.t, subs[0].Close())
	// The server may notice a little later that the subscription was closed.
	require.True(c.t, c.send(notifying(c.release("k", "v"))).Notified)
	for tries := 0; c.send(notifying(c.release("k", "v"))).Notified; tries++ {
		require.Less(c.t, tries, 2, "there are two in the queue")
	}
	key, err := c.next(subs[1])
	require.NoError(c.t, err)
	require.Equal(c.t, c.key("k"), key)

	go func() {
		c.clock.Sleep(grain)
		closeAll(subs)
	}()
	for range 2 {
		_, err := c.next(subs[1])
		require.Error(c.t, err, "Next goes on after Close")
	}
}
