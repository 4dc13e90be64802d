package embedded

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/quorumtest/contract"
	"github.com/redquorum/redlock/quorum/wire"
)

// subject is an instance of a cluster, with what the contract does to servers.
type subject struct {
	wire.Instance
	t       *testing.T
	cluster *Cluster
}

func (s subject) Put(key, value string, ttl time.Duration) {
	require.NoError(s.t, s.cluster.instances[0].(*instance.Redis).Client().Set(context.Background(), key, value, max(0, ttl)).Err())
}

func (s subject) Restart(bool) { require.NoError(s.t, s.cluster.Server(0).Restart()) }

func opened(t *testing.T, start func(int) (*Cluster, error), n int) *Cluster {
	c, err := start(n)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

// In a bubble hours pass instantly, for the servers as well.
func TestContractInVirtualTime(t *testing.T) {
	contract.Check(t, func(t *testing.T) wire.Instance {
		c := opened(t, StartPiped, 1)
		return subject{c.Instances()[0], t, c}
	}, contract.Virtual())
}

func TestBadNumber(t *testing.T) {
	for _, n := range []int{-1, 0} {
		c, err := Start(n)
		assert.ErrorIs(t, err, ErrConfig)
		assert.ErrorContains(t, err, "want 1 or more")
		assert.Nil(t, c)
	}
}

func TestIdentity(t *testing.T) {
	c := opened(t, Start, 5)
	require.Len(t, c.URLs(), 5)
	seen := map[string]bool{}
	for i, inst := range c.Instances() {
		id, err := inst.Probe(t.Context(), wire.Known{})
		require.NoError(t, err)
		assert.False(t, seen[id.RunID], "two servers with one run id")
		seen[id.RunID] = true
		assert.Equal(t, c.Server(i).RunID(), id.RunID)
		assert.Equal(t, c.Server(i).Name(), inst.Name())
		assert.True(t, id.Vouched)
		assert.Empty(t, id.Hidden)
		assert.Equal(t, "master", id.Role)
		assert.Equal(t, "noeviction", id.Eviction)
		assert.Equal(t, "none", id.Persistence)
		assert.Equal(t, "miniredis", id.Server)
		assert.Len(t, id.ReplID, 40)

		other, err := instance.Open(c.URLs()[i], instance.Config{})
		require.NoError(t, err)
		same, err := other.Probe(t.Context(), wire.Known{})
		require.NoError(t, err)
		assert.Equal(t, id.RunID, same.RunID)
		assert.False(t, same.Vouched)
		require.NoError(t, other.Close())
	}
}

func TestSettings(t *testing.T) {
	c := opened(t, StartPiped, 1)
	client := c.instances[0].(*instance.Redis).Client()
	got, err := client.ConfigGet(t.Context(), "MAXMEMORY").Result()
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"maxmemory": "0"}, got)
	got, err = client.ConfigGet(t.Context(), "nosuch").Result()
	require.NoError(t, err)
	assert.Empty(t, got)
	info, err := client.Info(t.Context()).Result()
	require.NoError(t, err)
	assert.Contains(t, info, "# Server\r\n")
	assert.Contains(t, info, "# Replication\r\nrole:master\r\n")
}

func TestRestartForgets(t *testing.T) {
	c := opened(t, Start, 3)
	inst, s := c.Instances()[1], c.Server(1)
	acquire := wire.Request{Op: wire.Acquire, Keys: []string{"k"}, Value: "v", TTL: time.Minute}
	require.Equal(t, wire.Granted, quorumtest.Do(t.Context(), inst, acquire).Outcome)
	before, addr := s.RunID(), s.Addr()

	s.Stop()
	s.Stop()
	assert.Empty(t, s.RunID())
	_, err := s.Dial()
	assert.ErrorIs(t, err, ErrStopped)
	_, err = net.Dial("tcp", addr)
	assert.Error(t, err, "the port is closed")
	assert.Equal(t, wire.Failed, quorumtest.Do(t.Context(), inst, acquire).Outcome)
	assert.Equal(t, wire.Granted, quorumtest.Do(t.Context(), c.Instances()[0], acquire).Outcome, "the others are independent")

	require.NoError(t, s.Start())
	require.NoError(t, s.Start())
	assert.Equal(t, addr, s.Addr())
	assert.NotEqual(t, before, s.RunID())
	var id wire.Identity
	require.Eventually(t, func() bool { id, err = inst.Probe(t.Context(), wire.Known{}); return err == nil }, 30*time.Second, time.Millisecond)
	assert.Equal(t, s.RunID(), id.RunID)
	assert.False(t, id.Vouched, "no one vouches for a server that has lost its data")
	assert.Equal(t, wire.Granted, quorumtest.Do(t.Context(), inst, acquire).Outcome, "it has lost its data")

	require.NoError(t, c.Close())
	assert.ErrorIs(t, s.Start(), ErrClosed)
	assert.ErrorIs(t, s.Restart(), ErrClosed)
}

// A paused server carries out what it was sent when it wakes up.
func TestPause(t *testing.T) {
	for name, start := range map[string]func(int) (*Cluster, error){"ports": Start, "piped": StartPiped} {
		t.Run(name, func(t *testing.T) {
			c := opened(t, start, 1)
			inst, s := c.Instances()[0], c.Server(0)
			// A server that wakes up asks for the text of a script that it doesn't know.
			require.Equal(t, wire.Granted, quorumtest.Do(t.Context(), inst, wire.Request{Op: wire.Acquire, Keys: []string{"known"}, Value: "v", TTL: time.Minute}).Outcome)
			s.Pause()
			s.Pause()
			votes := make(chan wire.Vote, 1)
			vote := wire.Vote{Unsent: true}
			// On a busy machine the time may be over before it is sent.
			for timeout := 30 * time.Millisecond; vote.Unsent && timeout < time.Minute; timeout *= 2 {
				inst.Send(wire.Request{Op: wire.Acquire, Keys: []string{"k"}, Value: "v", TTL: time.Minute}, timeout, wire.ReceiverFunc(func(v wire.Vote) { votes <- v }))
				vote = <-votes
				require.Equal(t, wire.Failed, vote.Outcome)
			}
			assert.False(t, vote.Unsent)
			s.Resume()
			s.Resume()
			require.Eventually(t, func() bool {
				return quorumtest.Do(t.Context(), inst, wire.Request{Op: wire.Look, Keys: []string{"k"}}).Holder == "v"
			}, 10*time.Second, time.Millisecond)
			s.Pause()
			s.Stop() // must not wait for the pause to end
			s.Resume()
			s.Pause()
		})
	}
}

// INFO waits for its turn in a transaction, and a counter lives until the time that PXAT says.
func TestTransaction(t *testing.T) {
	client := opened(t, Start, 1).instances[0].(*instance.Redis).Client()
	at := time.Now().Add(time.Hour)
	var wait sync.WaitGroup
	for range 2 { // at once, for the race detector
		wait.Go(func() {
			for range 100 {
				assert.NoError(t, client.Do(t.Context(), "SET", "other", 1, "PXAT", at.UnixMilli()).Err())
			}
		})
	}
	wait.Wait()
	var info *redis.StringCmd
	var set *redis.StatusCmd
	_, err := client.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
		set = redis.NewStatusCmd(t.Context(), "SET", "counter", 7, "NX", "PXAT", at.UnixMilli())
		require.NoError(t, p.Process(t.Context(), set))
		p.Incr(t.Context(), "counter")
		info = p.Info(t.Context(), "replication")
		p.Eval(t.Context(), "return redis.call('INCR', KEYS[1])", []string{"counter"})
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, "OK", set.Val())
	assert.Contains(t, info.Val(), "role:master")
	assert.Equal(t, "9", client.Get(t.Context(), "counter").Val())
	left := client.PTTL(t.Context(), "counter").Val()
	assert.LessOrEqual(t, left, time.Hour)
	assert.Greater(t, left, time.Hour-time.Minute)
	require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
	require.NoError(t, client.Do(t.Context(), "SET", "k", "w", "PXAT", 1).Err())
	assert.Zero(t, client.Exists(t.Context(), "k").Val(), "a time that is over")
}

func TestCloseLeavesNothing(t *testing.T) {
	running := goleak.IgnoreCurrent()
	c, err := Start(5)
	require.NoError(t, err)
	for _, inst := range c.Instances() {
		require.Equal(t, wire.Granted, quorumtest.Do(t.Context(), inst, wire.Request{Op: wire.Tick}).Outcome)
	}
	own := redis.NewClient(&redis.Options{Addr: c.Server(0).Addr()})
	require.NoError(t, own.Ping(t.Context()).Err())
	require.NoError(t, own.Close())
	c.Server(2).Pause()
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	for deadline := time.Now().Add(30 * time.Second); goleak.Find(running) != nil && time.Now().Before(deadline); {
		// Find waits for less than a goroutine may stand still on a busy machine.
	}
	goleak.VerifyNone(t, running)
	vote := quorumtest.Do(t.Context(), c.Instances()[0], wire.Request{Op: wire.Tick})
	assert.Equal(t, wire.Failed, vote.Outcome)
}
