package quorum_test

import (
	"fmt"
	"slices"
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

func TestClockEverySaysHowOften(t *testing.T) {
	for _, c := range []struct {
		set  func(*quorum.Config)
		want int
	}{
		{func(c *quorum.Config) { c.Lab.ClockEvery = time.Second }, 60},
		{func(c *quorum.Config) { c.TTL = 4 * time.Second }, 30},
		{func(c *quorum.Config) { c.MaxTTL = time.Minute }, 6},
		{func(c *quorum.Config) { c.Lab.ClockMonitor = quorum.Off }, 0},
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
		f.tryFails("k", quorum.ErrQuarantined)
		require.NoError(t, f.Trust(f.ctx))
		clk.stepWall(time.Hour)
		f.tryFails("k", quorum.ErrQuarantined)
		time.Sleep(maxTTL)
		_ = f.acquire("k")
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
			}, func(c *quorum.Config) { c.Lab.ClockMonitor = mode })
		})
	}
}

// The client's machine is paused on both clocks, as by a live migration. All servers seem to jump, and
// the errors say whose clock it was. But the servers are in quarantine: the client can't tell that
// from a step of all servers.
func TestThisMachineWasPaused(t *testing.T) {
	synctestClock(t, func(t *testing.T, c *skewedClock) {
		var j jumps
		f := newFixture(t, 3, withSkew(c), j.hook)
		f.warm()
		for range 2 {
			time.Sleep(300 * ms) // the pause
			c.stepWall(-300 * ms)
			c.stepMono(-300 * ms)
			f.tryFails("k", quorum.ErrQuarantined)
			synctest.Wait()
			_, err := f.TryAcquire(f.ctx, "k")
			require.ErrorIs(t, err, quorum.ErrQuarantined)
			require.Regexp(t, `\b[ABC], [ABC]\b.*: .*this machine was suspended`, err.Error(), "said once for all of them")
			time.Sleep(15 * time.Second)
		}
		require.Len(t, j.seen(), 2*3)
		everywhere := slices.DeleteFunc(j.seen(), func(e quorum.ClockEvent) bool { return !e.Everywhere })
		require.Len(t, everywhere, 2, "one for each pause")
		f.acquire("k")
	})
}

// Jumps of servers aren't taken for a pause of this machine.
func TestServersJumpedAlone(t *testing.T) {
	for name, by := range map[string][]time.Duration{
		"two of three":   {300 * ms, 300 * ms, 0},
		"different ways": {300 * ms, 300 * ms, -300 * ms},
		"different":      {300 * ms, 300 * ms, 900 * ms},
		"one by one":     {300 * ms, 300 * ms, 300 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			var j jumps
			play(t, 3, func(f *fixture) {
				f.warm()
				n := 0
				for i, d := range by {
					f.servers[i].StepClock(d)
					if d != 0 {
						n++
					}
					if name == "one by one" {
						time.Sleep(30 * time.Second)
					}
				}
				time.Sleep(30 * time.Second)
				require.Len(t, j.seen(), n)
				for _, e := range j.seen() {
					assert.False(t, e.Everywhere)
				}
			}, j.hook)
		})
	}
}
