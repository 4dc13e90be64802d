package quorum_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
)

// jumps is a hook that records jumps.
type jumps struct {
	mu     sync.Mutex
	events []quorum.ClockEvent
}

func (j *jumps) hook(c *quorum.Config) {
	c.Hooks.ClockJumped = func(e quorum.ClockEvent) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.events = append(j.events, e)
	}
}

func (j *jumps) seen() []quorum.ClockEvent {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]quorum.ClockEvent(nil), j.events...)
}

func step(d time.Duration) func(*quorumtest.Server) {
	return func(s *quorumtest.Server) { s.StepClock(d) }
}

func TestAStepBackIsSeenToo(t *testing.T) {
	var reported jumps
	play(t, 3, func(f *fixture) {
		time.Sleep(5 * time.Second) // not back behind the mark
		f.warm()
		f.servers[1].StepClock(-3 * time.Second)
		f.acquire("k")
		synctest.Wait()
		events := reported.seen()
		require.Len(t, events, 1)
		assert.Equal(t, "B", events[0].Instance)
		assert.InDelta(t, float64(-3*time.Second), float64(events[0].Jump.By), float64(40*ms), "at least")
		report, err := f.Verify(f.ctx)
		require.ErrorIs(t, err, quorum.ErrQuarantined)
		require.NotNil(t, report.Instances[1].Quarantine)
		assert.Equal(t, quorum.ClockJumped, report.Instances[1].Quarantine.Reason)
		assert.Nil(t, report.Instances[0].Quarantine)
	}, reported.hook)
}

// The clocks are read regularly even if no lock is taken. Otherwise a jump could look like a
// difference in rates.
func TestAJumpIsNoticedWhileIdle(t *testing.T) {
	var reported jumps
	play(t, 3, func(f *fixture) {
		f.warm()
		time.Sleep(time.Hour)
		require.Empty(t, reported.seen())
		f.each(step(100*ms), 0, 1)
		time.Sleep(5 * time.Second) // half of MaxTTL
		synctest.Wait()
		events := reported.seen()
		require.Len(t, events, 2)
		for _, e := range events {
			assert.InDelta(t, float64(100*ms), float64(e.Jump.By), float64(40*ms), "at least")
			assert.LessOrEqual(t, e.Jump.Within, 5*time.Second)
		}
		_, err := f.TryAcquire(f.ctx, "k")
		require.ErrorIs(t, err, quorum.ErrQuarantined)

		// The monitor ends with the Coordinator.
		require.NoError(t, f.Close(f.ctx))
		before := len(f.servers[0].Log())
		time.Sleep(time.Hour)
		assert.Len(t, f.servers[0].Log(), before)
	}, reported.hook)
}

func TestClockEverySaysHowOften(t *testing.T) {
	for _, c := range []struct {
		set  func(*quorum.Config)
		want int
	}{
		{func(c *quorum.Config) { c.ClockEvery = time.Second }, 60},
		{func(c *quorum.Config) { c.TTL = 4 * time.Second }, 30},
		{func(c *quorum.Config) { c.MaxTTL = time.Minute }, 6},
		{func(c *quorum.Config) { c.ClockMonitor = quorum.Off }, 0},
	} {
		play(t, 1, func(f *fixture) {
			f.warm()
			before := len(f.servers[0].Log())
			time.Sleep(time.Minute + ms)
			synctest.Wait()
			assert.Len(t, f.servers[0].Log(), before+c.want)
		}, c.set)
	}
}

// A quarantine for a jump ends by the monotonic clock alone. Trust doesn't lift it.
func TestTrustDoesNotLiftAJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := newSkewedClock()
		f := newFixture(t, 1, withSkew(clk))
		f.warm()
		f.servers[0].StepClock(time.Minute)
		_, err := f.TryAcquire(f.ctx, "k")
		require.ErrorIs(t, err, quorum.ErrQuarantined)
		require.NoError(t, f.Trust(f.ctx))
		clk.stepWall(time.Hour)
		_, err = f.TryAcquire(f.ctx, "k")
		require.ErrorIs(t, err, quorum.ErrQuarantined)
		time.Sleep(maxTTL)
		_, err = f.TryAcquire(f.ctx, "k")
		require.NoError(t, err)
	})
}

// A lease on a bare quorum isn't extended by the vote of a server with an unreliable clock, whose
// key would expire too early.
func TestAnExtensionDoesNotCountAClockThatJumped(t *testing.T) {
	for _, mode := range []quorum.Switch{quorum.On, quorum.Off} {
		t.Run(fmt.Sprintf("off %d", mode), func(t *testing.T) {
			play(t, 5, func(f *fixture) {
				f.occupy("k", ms, 3, 4)
				lease := f.acquire("k")
				synctest.Wait()
				require.Equal(t, []string{"A", "B", "C"}, lease.Instances())
				f.each(func(s *quorumtest.Server) { s.EndWith(quorumtest.Refuse) }, 3, 4)
				before := lease.Deadline()
				time.Sleep(time.Second)
				f.servers[2].StepClock(-time.Second) // its key stays

				err := lease.Extend(f.ctx)
				if mode == quorum.Off {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, quorum.ErrNotExtended)
				require.NotErrorIs(t, err, quorum.ErrLost)
				require.Equal(t, quorum.ClockJumped, quarantineOf(t, err).Reason)
				require.Equal(t, before, lease.Deadline(), "the old deadline stands")
			}, func(c *quorum.Config) { c.ClockMonitor = mode })
		})
	}
}
