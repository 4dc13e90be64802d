package quorumtest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// These parts are for an Instance that is a wire.Notifier.

func (c *check) listener() wire.Notifier {
	listener, ok := c.inst.(wire.Notifier)
	if !ok {
		c.t.Skip("the instance is no Listener")
	}
	return listener
}

func checkReplace(c *check) {
	c.listener()
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
		c.lives(vote.Remaining, long, sent)
	})
	c.granted(c.release("a", "v1"))
	vote = c.granted(replace("v3", "v1"))
	require.False(c.t, vote.Replaced, "there was nothing to replace")
	require.Equal(c.t, token+2, vote.Token)

	c.clock.Sleep(2 * time.Millisecond) // the clock is ahead of the counter
	spare := replace("v3b", "v3")
	spare.Reserve = 4
	vote = c.granted(spare)
	require.True(c.t, vote.Replaced)
	require.Equal(c.t, token+7, vote.Token)
	c.granted(replace("v3", "v3b"))

	other := replace("v4", "v3")
	other.Set.Name = "others"
	c.changesNothing("a", func() {
		var mismatch *wire.SetMismatchError
		require.ErrorAs(c.t, c.do(other).Err, &mismatch)
	})
	other = replace("v4", "v3")
	other.Set.Version++
	require.True(c.t, c.granted(other).Replaced, "a newer set takes over")
	require.ErrorAs(c.t, c.do(replace("v5", "v4")).Err, new(*wire.SetMismatchError))
}

func checkReplaceBare(c *check) {
	c.listener()
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

func (c *check) enlist(name string, who wire.Subscription) wire.Request {
	return wire.Request{Op: wire.Enqueue, Key: c.key(name), Waiter: who.Address(), TTL: long}
}

func (c *check) withdraw(name string, who wire.Subscription) wire.Request {
	return wire.Request{Op: wire.Dequeue, Key: c.key(name), Waiter: who.Address()}
}

func (c *check) wake(name, value string) wire.Request {
	cmd := c.release(name, value)
	cmd.Notify = true
	return cmd
}

func (c *check) open() wire.Subscription {
	ctx, cancel := c.clock.WithTimeout(c.t.Context(), patience)
	defer cancel()
	ear, err := c.listener().Subscribe(ctx)
	require.NoError(c.t, err)
	require.NotEmpty(c.t, ear.Address())
	require.LessOrEqual(c.t, len(ear.Address()), 64)
	return ear
}

// hears demands that the ear hears a call for the key next.
func (c *check) hears(name string, ear wire.Subscription) {
	c.t.Helper()
	type call struct {
		key string
		err error
	}
	heard := make(chan call, 1)
	go func() {
		key, err := ear.Next()
		heard <- call{key, err}
	}()
	select {
	case got := <-heard:
		require.NoError(c.t, got.err)
		require.Equal(c.t, c.key(name), got.key)
	case <-c.clock.After(patience):
		_ = ear.Close()
		require.Fail(c.t, "no call was heard")
	}
}

func checkLine(c *check) {
	a, b, d := c.open(), c.open(), c.open()
	require.NotEqual(c.t, a.Address(), b.Address())
	for _, ear := range []wire.Subscription{a, b, d} {
		defer func() { _ = ear.Close() }()
	}

	c.refused(c.enlist("k", a))
	c.granted(c.acquire("k", "v"))
	c.changesNothing("k", func() {
		c.granted(c.enlist("k", a))
		c.granted(c.enlist("k", b))
		c.granted(c.enlist("k", a)) // keeps its place
		front := c.enlist("k", d)
		front.Front = true
		c.granted(front)
		c.granted(c.withdraw("k", b))
		require.False(c.t, c.refused(c.withdraw("k", b)).Notified, "the key is held")
		c.granted(c.enlist("k", b)) // at the end
		require.False(c.t, c.refused(c.wake("k", "w")).Notified, "the key is somebody else's")
	})
	for i, ear := range []wire.Subscription{d, a, b} {
		value := string(rune('v' + i))
		require.True(c.t, c.granted(c.wake("k", value)).Notified)
		c.hears("k", ear)
		require.Equal(c.t, wire.Granted, c.do(c.acquire("k", string(rune('v'+i+1)))).Outcome)
	}
	require.False(c.t, c.granted(c.wake("k", "y")).Notified, "nobody is left")
}

func checkCalls(c *check) {
	a, b := c.open(), c.open()
	defer func() { _ = b.Close() }()

	// A key that is free already is to be told, too: its lease had expired, say.
	yield := c.enlist("k", a)
	yield.Yield = true
	c.granted(yield)
	require.True(c.t, c.refused(c.wake("k", "v")).Notified)
	c.hears("k", a)

	// Who was called and has no use for it passes it on.
	yield = c.enlist("k", b)
	yield.Yield = true
	c.granted(yield)
	require.True(c.t, c.refused(c.withdraw("k", a)).Notified)
	c.hears("k", b)

	// A release without Wake calls nobody, and neither does another key's.
	c.granted(c.acquire("k", "v"))
	c.granted(c.enlist("k", a))
	c.granted(c.acquire("other", "v"))
	require.False(c.t, c.granted(c.wake("other", "v")).Notified)
	require.False(c.t, c.granted(c.release("k", "v")).Notified)
	require.True(c.t, c.refused(c.withdraw("k", b)).Notified)
	c.hears("k", a)

	// A line has its own end.
	c.granted(c.acquire("brief", "v"))
	brief := c.enlist("brief", a)
	brief.TTL = 5 * time.Millisecond
	c.granted(brief)
	marker := c.bare("marker", "v")
	marker.TTL = short
	c.granted(marker)
	c.awaitFree("marker")
	require.False(c.t, c.granted(c.wake("brief", "v")).Notified)

	over := make(chan error, 1)
	go func() {
		_, err := a.Next()
		over <- err
	}()
	require.NoError(c.t, a.Close())
	select {
	case err := <-over:
		require.Error(c.t, err, "Hear goes on after Close")
	case <-c.clock.After(patience):
		require.Fail(c.t, "Close doesn't end Hear")
	}
	_, err := a.Next()
	require.Error(c.t, err)
}

func checkDeaf(c *check) {
	a, b := c.open(), c.open()
	defer func() { _ = b.Close() }()
	c.granted(c.acquire("k", "v"))
	c.granted(c.enlist("k", a))
	c.granted(c.enlist("k", b))
	require.NoError(c.t, a.Close())
	// The server may learn a little later that nobody listens there.
	require.True(c.t, c.granted(c.wake("k", "v")).Notified)
	for tries := 0; c.refused(c.wake("k", "v")).Notified; tries++ {
		require.Less(c.t, tries, 2, "there are two in the line")
	}
	c.hears("k", b)
}
