package quorum_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// readonly is a path whose server briefly can't keep a mark (OOM, MISCONF, NOREPLICAS):
// instance.probe.mark then returns Served 0 and no epoch.
type readonly struct {
	*path
	on atomic.Bool
}

func (p *readonly) Probe(ctx context.Context, before wire.Known) (wire.Identity, error) {
	if !p.on.Load() {
		return p.path.Probe(ctx, before)
	}
	s := p.to.Load()
	s.SetIdentity(func(id *wire.Identity) { id.Served = -1 })
	id, err := p.path.Probe(ctx, before)
	s.SetIdentity(nil)
	id.Served = 0
	return id, err
}

// A client without an epoch asks for one again, also without the clock monitor.
func TestAnEpochIsAskedForWithoutTheMonitor(t *testing.T) {
	for name, monitor := range map[string]quorum.Switch{"control: on": quorum.On, "off": quorum.Off} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, 1, func(cfg *quorum.Config) { cfg.Lab.ClockMonitor = monitor })
				s := f.servers[0]
				s.SetIdentity(nil)
				time.Sleep(5 * time.Minute)
				ro := &readonly{path: newPath(s)}
				ro.on.Store(true)
				z := f.newCoordinatorOn(f.cfg, []wire.Instance{ro})
				_, err := z.Verify(f.ctx)
				require.ErrorIs(t, err, quorum.ErrQuarantined)
				ro.on.Store(false)
				for range 24 * 60 { // a day, in use all the time
					time.Sleep(time.Minute)
					l := f.awaitBy(z, "z")
					_ = l.Release(f.ctx)
				}
				held := f.acquire("k")
				s.FlushAll()
				second, err := z.TryAcquire(f.ctx, "k")
				if err == nil {
					assert.Zero(t, held.Validity(), "two leases at once: %v %v", held.Token(), second.Token())
				}
			})
		})
	}
}

// A client that gets its first epoch waits until the mark is as old as a quarantine.
func TestTheFirstEpochOfARunningClient(t *testing.T) {
	for name, ro := range map[string]bool{"control": false, "S1 couldn't write when it started": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, 1, func(cfg *quorum.Config) { cfg.MaxTTL, cfg.TTL = 30*time.Second, 30*time.Second })
				s2 := f.servers[0] // F's, all along
				s2.SetIdentity(nil)
				s1 := quorumtest.NewServer("A", nil)
				s1.Restart(false) // no mark
				time.Sleep(5 * time.Minute)
				require.NoError(t, f.acquire("k").Release(f.ctx))
				pf := newPath(s2)
				a := f.newCoordinatorOn(f.cfg, []wire.Instance{pf})
				require.NoError(t, twice(f, a, "other"))
				d := &readonly{path: newPath(s1)}
				d.on.Store(ro)
				D := f.newCoordinatorOn(f.cfg, []wire.Instance{d})
				_, err := D.Verify(f.ctx)
				require.ErrorIs(t, err, quorum.ErrQuarantined)
				d.on.Store(false)
				time.Sleep(9500 * ms)
				held, err := a.TryAcquire(f.ctx, "k") // until 39.5
				require.NoError(t, err)
				pf.to.Store(s1)
				_, _ = a.TryAcquire(f.ctx, "other")
				f.tryFailsBy(a, "other", quorum.ErrQuarantined)
				second := f.awaitBy(D, "k")
				assert.Zero(t, held.Validity(), "two leases at once: %v %v", held.Token(), second.Token())
			})
		})
	}
}
