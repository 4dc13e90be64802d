//go:build unix

package instance

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// answerAll grants every request to a script.
func answerAll(args []string) string {
	switch {
	case args[0] == "WAIT":
		return ":1\r\n"
	case listOf(args) != nil:
		return many(args, func(string) string { return ":1\r\n" })
	default:
		return scriptReply(args, "1", "", 0, "1")
	}
}

// keepings are the requests that keep leases, and a release.
func keepings() []wire.Request {
	raise, restore := request(wire.Raise, "k", value()), request(wire.Restore, "k", value())
	raise.Fence.Token, restore.Fence.Token = 3, 3
	return []wire.Request{request(wire.Release, "k", value()), request(wire.Extend, "k", value()), raise, restore}
}

// sentAs returns the value of a command's first lock.
func sentAs(args []string) string {
	i := slices.IndexFunc(args, func(arg string) bool { return len(arg) == 40 && arg != args[1] })
	if i < 0 {
		return ""
	}
	return args[i]
}

// TestWhatIsHeldGoesFirst: several batches of queued acquisitions wait while a lease is extended; a
// release waits only for requests that keep leases.
func TestWhatIsHeldGoesFirst(t *testing.T) {
	f := startHeld(t, answerAll)
	// On one connection, so that the server sees the batches in their order.
	r := open(t, "redis://"+f.addr+"?pool_size=1", Config{})
	near(r)
	// As if the maximum number of batches were in flight.
	r.pipe.mu.Lock()
	r.pipe.starting = maxInFlight
	r.pipe.mu.Unlock()
	var box ballotBox
	const n = 3 * maxBatch
	for i := range n {
		box.start(r, acquire(fmt.Sprint("k", i), value()), patience)
	}
	held := keepings()
	for range maxBatch {
		// More than fit into a batch: within a batch the order doesn't matter.
		held = append([]wire.Request{request(wire.Release, "r", value())}, held...)
	}
	for _, req := range held {
		box.start(r, req, patience)
	}
	r.pipe.mu.Lock()
	r.pipe.starting = 0
	r.pipe.mu.Unlock()
	f.release()
	box.start(r, request(wire.Look, "x", value()), patience)
	box.await(t, n+len(held)+1)
	sent := f.commands()
	var first, want []string
	for i, req := range held[maxBatch+1:] {
		first, want = append(first, sentAs(sent[i])), append(want, req.Value)
	}
	require.ElementsMatch(t, want, first)
	require.Equal(t, releaseScript.sha, sent[3][1])
}

// TestWhatIsHeldIsLetWait: requests for held leases may wait for a late server, however many
// acquisitions do.
func TestWhatIsHeldIsLetWait(t *testing.T) {
	f := startHeld(t, answerAll)
	r := open(t, "redis://"+f.addr, Config{})
	var box, first, others ballotBox
	req := acquire("first", value())
	late := pending(t, r, req, slot{&first, req.Value})
	f.asked(t, 1)
	late() // it was sent, and was not answered in time
	first.await(t, 1)
	const n = maxWaiting + 10
	for i := range n {
		others.start(r, acquire(fmt.Sprint("k", i), value()), patience)
	}
	require.EqualValues(t, 10, others.n.Load(), "the rest is refused")
	held := keepings()
	for _, req := range held {
		box.start(r, req, patience)
	}
	require.Zero(t, box.n.Load())
	f.release()
	for value, v := range box.await(t, len(held)) {
		require.Equal(t, wire.Granted, granted(t, v).Outcome, value)
	}
	refused := 0
	for _, v := range others.await(t, n) {
		if errors.Is(v.Err, wire.ErrOverloaded) {
			refused++
		}
	}
	require.Equal(t, 10, refused)
}

// TestAcquisitionsLeaveAnExchange to held leases: with replicas to wait for, each exchange may take
// long, and all could be in flight.
func TestAcquisitionsLeaveAnExchange(t *testing.T) {
	r := open(t, "redis://127.0.0.1:1", Config{Replicas: 1, ReplicaTimeout: time.Second})
	p := &r.pipe
	p.mu.Lock()
	defer p.mu.Unlock()
	due := func(batches int) bool {
		p.starting = batches
		defer func() { p.starting = 0 }()
		return p.shouldSendLocked()
	}
	p.queue.add(r.newCall(acquire("k", value())))
	require.True(t, due(maxInFlight-2))
	require.False(t, due(maxInFlight-1))
	p.queue.add(r.newCall(request(wire.Extend, "k", value())))
	require.True(t, due(maxInFlight-1))
	require.False(t, due(maxInFlight))
	p.queue.takeAll()
}

// TestManyLeasesArentKeptOneExchangeAfterTheOther, even where the server is late.
func TestManyLeasesArentKeptOneExchangeAfterTheOther(t *testing.T) {
	f := startHeld(t, answerAll)
	r := open(t, "redis://"+f.addr, Config{})
	first := make(votes, 1)
	late := pending(t, r, acquire("first", value()), first)
	written(t, r)
	late()
	<-first // it was not answered in time
	r.pipe.mu.Lock()
	r.pipe.overdue = true
	r.pipe.mu.Unlock()
	var box ballotBox
	const n = 2 * minQueuedKeep
	for i := range n {
		box.start(r, request(wire.Extend, fmt.Sprint("k", i), value()), patience)
	}
	require.Eventually(t, func() bool {
		r.pipe.mu.Lock()
		defer r.pipe.mu.Unlock()
		return len(r.pipe.inFlight)+r.pipe.starting > 1
	}, patience, time.Millisecond)
	f.release()
	for _, v := range box.await(t, n) {
		granted(t, v)
	}
	require.LessOrEqual(t, f.connections(), maxInFlight)
}

// TestSentAgainKeepsItsPlace: calls that are sent again come before unsent calls of their rank.
func TestSentAgainKeepsItsPlace(t *testing.T) {
	made := func(op wire.Op, key string) *call { return &call{req: wire.Request{Op: op, Key: key}} }
	var l callQueue
	l.add(made(wire.Acquire, "5"))
	l.add(made(wire.Extend, "3"))
	l.add(made(wire.Release, "4"))
	l.addFirst([]*call{made(wire.Extend, "1"), made(wire.Acquire, "5a"), made(wire.Extend, "2")})
	keys := func(calls []*call) (keys []string) {
		for _, c := range calls {
			keys = append(keys, c.req.Key)
		}
		return keys
	}
	require.Equal(t, []string{"1", "2", "3", "4", "5a", "5"}, keys(l.take(nil, false)))
	require.Zero(t, l.len())
}
