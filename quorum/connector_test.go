package quorum_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// connectingServer takes a second to connect, after each disconnect.
type connectingServer struct {
	*quorumtest.Server
	connected atomic.Bool
	dials     atomic.Int32
	fails     atomic.Bool
	trip      time.Duration
}

// Send answers nothing within less than half of the timeout.
func (s *connectingServer) Send(req wire.Request, timeout time.Duration, to wire.Receiver) {
	if timeout < 50*ms {
		to.Receive(wire.Vote{Unsent: true, Err: context.DeadlineExceeded})
		return
	}
	s.Server.Send(req, timeout, to)
}

var errNoWay = errors.New("no way there")

func (s *connectingServer) Connected() bool          { return s.connected.Load() }
func (s *connectingServer) RoundTrip() time.Duration { return s.trip }
func (s *connectingServer) Connect(ctx context.Context) error {
	s.dials.Add(1)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.fails.Load() {
		return errNoWay
	}
	s.connected.Store(true)
	return nil
}

// TestConnectionsAreWaitedFor: a request whose connection takes ten times as long to make as
// InstanceTimeout is sent, by whichever way it is asked for; and a connection that can't be made says why.
func TestConnectionsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 3)
		var far []*connectingServer
		var instances []wire.Instance
		for _, s := range f.servers {
			c := &connectingServer{Server: s}
			far, instances = append(far, c), append(instances, c)
		}
		c := f.newCoordinatorOn(quorum.Config{InstanceTimeout: 100 * ms, Lab: quorum.Lab{ClockMonitor: quorum.Off}, MaxTTL: 10 * time.Second}, instances)
		pause := func() {
			for _, s := range far {
				s.connected.Store(false)
			}
		}
		began := time.Now()
		took := func(d time.Duration) {
			t.Helper()
			require.InDelta(t, d.Seconds(), time.Since(began).Seconds(), 0.1)
			began = time.Now()
		}
		lease, err := c.TryAcquire(f.ctx, "k") // of servers that are unknown as well
		require.NoError(t, err)
		took(time.Second)
		pause()
		require.NoError(t, lease.Extend(f.ctx))
		took(time.Second)
		pause()
		found, err := c.Inspect(f.ctx, "k")
		require.NoError(t, err)
		require.Empty(t, found.Failed)
		took(time.Second)
		pause()
		require.NoError(t, lease.Release(f.ctx))
		took(time.Second)
		pause()
		_, err = c.Verify(f.ctx)
		require.NoError(t, err)
		took(time.Second)

		pause()
		far[0].fails.Store(true)
		lease, err = c.TryAcquire(f.ctx, "k")
		require.NoError(t, err, "a minority that can't be reached is not needed")
		require.NoError(t, lease.Release(f.ctx))
		pause()
		far[1].fails.Store(true)
		_, err = c.TryAcquire(f.ctx, "other")
		require.ErrorIs(t, err, quorum.ErrNoQuorum)
		require.ErrorIs(t, err, errNoWay)
		pause()
		began = time.Now()
		ctx, cancel := context.WithTimeout(f.ctx, 500*ms)
		defer cancel()
		_, err = c.TryAcquire(ctx, "other")
		require.ErrorIs(t, err, quorum.ErrInterrupted)
		took(500 * ms)
	})
}

// TestDistanceIsTheConfigs: the sentence is about InstanceTimeout, whatever time a request had, and is
// said only if the distance can be why there was no answer.
func TestDistanceIsTheConfigs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 1)
		s := &connectingServer{Server: f.servers[0]}
		s.connected.Store(true)
		c := f.newCoordinatorOn(quorum.Config{InstanceTimeout: 100 * ms, Lab: quorum.Lab{ClockMonitor: quorum.Off}, MaxTTL: 10 * time.Second}, []wire.Instance{s})
		f.servers[0].Hang()
		for trip, far := range map[time.Duration]bool{0: false, 50 * ms: false, 60 * ms: true} {
			s.trip = trip
			_, err := c.TryAcquire(f.ctx, "k")
			require.ErrorIs(t, err, quorum.ErrTimeout)
			require.Equal(t, far, strings.Contains(err.Error(), "instance did not answer in time: it is too far away: a round trip takes 60ms; set quorum.Config.InstanceTimeout to 180ms or more"), "%v: %v", trip, err)
			report, err := c.Verify(f.ctx) // which gives it two seconds
			require.ErrorIs(t, err, quorum.ErrTimeout)
			require.NotContains(t, err.Error(), "too far away")
			require.Equal(t, far, len(report.Instances[0].Notes) > 0)
		}
	})
}

// When the servers have gone over to a newer set, a lease outlives that also over new connections, and whoever looks is
// told of it over both old and new ones.
func TestALeaseOutlivesItsSetOverNewConnections(t *testing.T) {
	play(t, 3, func(f *fixture) {
		var far []*connectingServer
		var instances []wire.Instance
		for _, s := range f.servers {
			c := &connectingServer{Server: s}
			far, instances = append(far, c), append(instances, c)
		}
		c := f.newCoordinatorOn(f.cfg, instances)
		lease := f.awaitBy(c, "held")
		next, err := f.other(func(cfg *quorum.Config) { cfg.Set.Version = 2 }).TryAcquire(f.ctx, "k")
		require.NoError(t, err)
		require.NoError(t, next.Release(f.ctx))
		f.tryFailsBy(c, "k", quorum.ErrSetMismatch)
		for _, connected := range []bool{true, false} {
			for _, s := range far {
				s.connected.Store(connected)
			}
			require.NoError(t, lease.Extend(f.ctx))
			for _, s := range far {
				s.connected.Store(connected)
			}
			_, err = c.Inspect(f.ctx, "held")
			require.ErrorIs(t, err, quorum.ErrSetMismatch, connected)
		}
		require.NoError(t, lease.Release(f.ctx))
	})
}
