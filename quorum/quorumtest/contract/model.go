package contract

import (
	"errors"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// Each request of a part is sent to the instance and to a model, a memory.Data. The instance
// must give the model's vote, and the keys and their counters must be as the model's, also those
// that the request should leave alone. So a part says what is asked, and the model what comes of it.

// do sends a request to the instance and to the model, and compares them.
func (c *check) do(cmd wire.Request) wire.Vote {
	c.t.Helper()
	switch cmd.Op {
	case wire.Acquire, wire.Raise, wire.Restore, wire.Pass:
		// The clock bounds the counter, and the token may come from it. The model needs it to the microsecond.
		cmd.Clock = cmd.Clock || cmd.Fence.On
	}
	vote := c.both(cmd)
	for _, key := range cmd.Keys {
		c.same(key)
	}
	return vote
}

// same looks at a key on the instance and in the model.
func (c *check) same(key string) {
	c.t.Helper()
	c.both(wire.Request{Op: wire.Look, Keys: []string{key}, Fence: wire.Fence{On: true}, Clock: true})
}

// granted demands that the request is granted.
func (c *check) granted(cmd wire.Request) wire.Vote {
	c.t.Helper()
	vote := c.do(cmd)
	require.Equal(c.t, wire.Granted.String(), vote.Outcome.String(), "%v of %q as %q: %v", cmd.Op, cmd.Keys, cmd.Value, vote.Err)
	return vote
}

// both carries a request out on the instance and in the model, and compares the votes.
func (c *check) both(cmd wire.Request) wire.Vote {
	c.t.Helper()
	sent := c.clock.Now()
	got := c.send(cmd)
	answered := c.clock.Now()
	c.slowest = max(c.slowest, answered.Sub(sent))
	at := c.serverClock(got, sent, answered)
	if told := !got.Clock.IsZero(); told || got.Outcome != wire.Failed {
		require.Equal(c.t, cmd.Clock || cmd.Op == wire.Tick, told, "%v: the clock is told where it is asked for", cmd.Op)
	}
	made := c.adopt(cmd, at)
	id := wire.Identity{}
	if c.id != nil {
		id = *c.id
	}
	want := c.model.RunIn(id, cmd, at)
	// An Instance may call a counter low that it has just made, for example because the server can't tie its
	// expiry to its value.
	want.Low = want.Low || made && got.Low
	c.compare(cmd.Op, fmt.Sprintf("%v of %q as %q", cmd.Op, cmd.Keys, cmd.Value), want, got)
	return got
}

// adopt has the model start the counters that an Acquire made where the instance has started them: from the
// request's token or, if that is too far ahead, from what the instance takes for the server's clock, or at 0
// if it doesn't know that. It reports whether there are any.
func (c *check) adopt(cmd wire.Request, at time.Time) (made bool) {
	c.t.Helper()
	if cmd.Op != wire.Acquire || !cmd.Fence.On {
		return false
	}
	starts := map[string]int64{}
	for _, key := range cmd.Keys {
		if _, _, known := c.model.Counters.Get(key, at); known {
			continue
		}
		n := c.send(wire.Request{Op: wire.Look, Keys: []string{key}, Fence: wire.Fence{On: true}}).Token
		if n != 1 && n != cmd.Fence.Token {
			require.InDelta(c.t, at.UnixMicro(), int64(n), float64(minute), "%q: where its counter started", key)
		}
		starts[key] = int64(n) - 1
	}
	c.model.Estimate = func(key string, _ time.Time) time.Time { return time.UnixMicro(starts[key]) }
	return len(starts) > 0
}

// serverClock is the server's clock when it gave the vote: as it says, or about.
func (c *check) serverClock(vote wire.Vote, sent, answered time.Time) time.Time {
	c.t.Helper()
	at := vote.Clock
	if counter, ok := errors.AsType[*wire.CounterError](vote.Err); ok {
		at = counter.Clock
	}
	if at.IsZero() {
		return answered.Add(c.ahead)
	}
	require.WithinRange(c.t, at, sent.Add(-grain-c.skew), answered.Add(grain+c.skew), "the server's clock")
	c.ahead = at.Sub(answered)
	return at
}

func (c *check) compare(op wire.Op, what string, want, got wire.Vote) {
	c.t.Helper()
	require.Equal(c.t, want.Outcome.String(), got.Outcome.String(), "%s: %v", what, got.Err)
	c.compareErrors(what, want.Err, got.Err)
	if want.Remaining > 0 {
		require.Positive(c.t, got.Remaining, "%s: the remaining time", what)
		require.InDelta(c.t, want.Remaining, got.Remaining, float64(2*c.slowest+grain), "%s: the remaining time", what)
		want.Remaining = got.Remaining
	}
	switch {
	case op == wire.Acquire:
		// Too many deletes do no harm.
		require.False(c.t, got.Unsent && !want.Unsent, "%s: it says that it has set nothing", what)
		want.Unsent = got.Unsent
	case want.Outcome == wire.Failed:
		// Whether a Raise that failed was sent matters to nobody: the key stays.
		want.Unsent = want.Unsent || got.Unsent
	}
	want.Clock, want.Err = got.Clock, got.Err
	require.Equal(c.t, want, got, what)
}

func (c *check) compareErrors(what string, want, got error) {
	c.t.Helper()
	switch want := want.(type) {
	case *wire.CounterError:
		counter := as[*wire.CounterError](c, what, got)
		require.Equal(c.t, want.Token, counter.Token, what)
		require.Equal(c.t, want.Most, counter.Most, what)
	case *wire.RunError:
		require.Equal(c.t, want, as[*wire.RunError](c, what, got), what)
	case *wire.SetMismatchError:
		require.Equal(c.t, want, as[*wire.SetMismatchError](c, what, got), what)
	default:
		require.NoError(c.t, want, what)
		require.NoError(c.t, got, what)
	}
}

func as[E error](c *check, what string, err error) (found E) {
	c.t.Helper()
	require.ErrorAs(c.t, err, &found, what)
	return found
}

// expires sends a request that is granted, and bounds the keys' lifetime from both sides, however
// slow the machine is: it begins after the request was sent, and ends at most a TTL after the
// reply arrived.
func (c *check) expires(cmd wire.Request) {
	c.t.Helper()
	cmd.Clock = true
	sent := c.clock.Now()
	require.Equal(c.t, wire.Granted, c.both(cmd).Outcome)
	end := c.clock.Now().Add(cmd.TTL + grain + c.skew)
	for _, key := range cmd.Keys {
		c.await(func() bool {
			looked := c.clock.Now()
			free := c.send(wire.Request{Op: wire.Look, Keys: []string{key}}).Outcome == wire.Granted
			require.True(c.t, free || !looked.After(end), "the key outlives its TTL")
			return free
		}, "the key didn't expire")
		require.GreaterOrEqual(c.t, c.clock.Since(sent), cmd.TTL-grain, "the key expired before its TTL")
		c.model.Keys.Delete(key, c.clock.Now().Add(c.ahead))
		c.same(key)
	}
}

// await waits until something is so.
func (c *check) await(so func() bool, otherwise string) {
	c.t.Helper()
	for until := c.clock.Now().Add(patience); !so(); c.clock.Sleep(time.Millisecond) {
		require.True(c.t, c.clock.Now().Before(until), otherwise)
	}
}

// put sets a lock's key without a request. The instance is a Putter.
func (c *check) put(name, value string, ttl time.Duration) {
	c.t.Helper()
	key, began := c.key(name), c.clock.Now()
	c.inst.(Putter).Put(key, value, ttl)
	put := c.clock.Now()
	c.slowest = max(c.slowest, put.Sub(began))
	expires := put.Add(c.ahead + ttl)
	if ttl == wire.NoExpiry {
		expires = time.Time{}
	}
	c.model.Keys.Put(key, value, expires)
	c.same(key)
}

// anotherRun is a replication ID as Redis writes them.
const anotherRun = "0123456789abcdef0123456789abcdef01234567"
