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

// comingBack is a name that leads to S1, to S2 and back.
type comingBack struct {
	*fixture
	s1, s2       *quorumtest.Server
	pd, pf       *path
	ro           *readonly // F's
	D, F         *quorum.Coordinator
	lease, fresh *quorum.Lease
}

// back: D and F know S1. The name leads F to S2, and D sends nothing meanwhile. F gets a lease on k
// from S2, for 30 s. Then the name leads to S1 again.
func back(t *testing.T) *comingBack {
	a := &comingBack{fixture: newFixture(t, 1, func(cfg *quorum.Config) {
		cfg.MaxTTL, cfg.TTL, cfg.ClockMonitor = 30*time.Second, 30*time.Second, quorum.Off
	})}
	a.s1 = a.servers[0]
	a.s1.SetIdentity(nil)
	a.s2 = quorumtest.NewServer("A", nil)
	time.Sleep(5 * time.Minute)
	a.pd, a.pf = newPath(a.s1), newPath(a.s1)
	a.ro = &readonly{path: a.pf}
	a.D = a.newCoordinatorOn(a.cfg, []wire.Instance{a.pd})
	on := a.cfg
	on.ClockMonitor = quorum.On
	a.F = a.newCoordinatorOn(on, []wire.Instance{a.ro})
	for _, c := range []*quorum.Coordinator{a.D, a.F} {
		l, err := c.TryAcquire(a.ctx, "k")
		require.NoError(t, err)
		require.NoError(t, l.Release(a.ctx))
	}
	a.pf.to.Store(a.s2)
	_, _ = a.F.TryAcquire(a.ctx, "other")
	l, err := a.F.Acquire(a.ctx, "other")
	require.NoError(t, err)
	require.NoError(t, l.Release(a.ctx))
	time.Sleep(500 * ms)
	a.lease, err = a.F.TryAcquire(a.ctx, "k")
	require.NoError(t, err)
	a.fresh, err = a.F.TryAcquire(a.ctx, "fresh") // S1 has no counter for it
	require.NoError(t, err)
	time.Sleep(500 * ms)
	a.pf.to.Store(a.s1)
	return a
}

func (a *comingBack) find() { // F finds out that its name leads to S1
	_, err := a.F.TryAcquire(a.ctx, "other")
	require.ErrorIs(a.t, err, wire.ErrOtherRun)
	_, err = a.F.TryAcquire(a.ctx, "other")
	require.ErrorIs(a.t, err, quorum.ErrQuarantined)
}

func (a *comingBack) rival(c *quorum.Coordinator) {
	a.t.Helper()
	for range 2 { // the first try may find out
		second, err := c.TryAcquire(a.ctx, "k")
		if err == nil {
			assert.Zero(a.t, a.lease.Validity(), "two leases at once; tokens %v and %v (falls: %v)", a.lease.Token(), second.Token(), second.Token() <= a.lease.Token())
			return
		}
		a.t.Log(err)
		time.Sleep(ms)
	}
}

// F's first probe of S1 can't leave a mark, so the second one still reports S2.
func TestEvidenceIsReportedUntilAMarkIsKept(t *testing.T) {
	for name, ro := range map[string]bool{"control": false, "S1 couldn't write for a moment": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := back(t)
				a.ro.on.Store(ro)
				a.find()
				a.ro.on.Store(false)
				time.Sleep(10500 * ms) // F's tick
				_, _ = a.F.Verify(a.ctx)
				a.rival(a.D)
			})
		})
	}
}

// A client without an epoch asks for one again, also without the clock monitor.
func TestAnEpochIsAskedForWithoutTheMonitor(t *testing.T) {
	for name, monitor := range map[string]quorum.Switch{"control: on": quorum.On, "off": quorum.Off} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, 1, func(cfg *quorum.Config) { cfg.ClockMonitor = monitor })
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
					l, err := z.Acquire(f.ctx, "z")
					require.NoError(t, err)
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

// A replica had no vote, so no client waits when the name leads to the master.
func TestAReplicaIsNoEvidence(t *testing.T) {
	for name, edit := range map[string]func(*wire.Identity){
		"up for a moment": func(id *wire.Identity) { id.Role = "slave" },
		"up for an hour":  func(id *wire.Identity) { id.Role = "slave"; id.Uptime = time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, 3)
				require.NoError(t, f.acquire("k").Release(f.ctx))
				time.Sleep(time.Minute)
				pz, insts := paths(f)
				for i := range pz {
					wrong := quorumtest.NewServer(f.servers[i].Name(), nil)
					wrong.SetIdentity(edit)
					pz[i].to.Store(wrong)
				}
				z := f.newCoordinatorOn(f.cfg, insts)
				_, err := z.Verify(f.ctx)
				require.Error(t, err)
				time.Sleep(time.Second)
				forAll(pz, func(p *path) { p.to.Store(f.servers[p.index()]) })
				_, _ = z.Verify(f.ctx)
				assert.NoError(t, twice(f, f.Coordinator, "k"), "all other clients continue")
			})
		})
	}
}

// The same for a running client, and for a duplicate: all names lead to one server.
func TestADuplicateIsNoEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 3)
		require.NoError(t, f.acquire("k").Release(f.ctx))
		time.Sleep(time.Minute)
		pz, insts := paths(f)
		forAll(pz[1:], func(p *path) { p.to.Store(f.servers[0]) })
		z := f.newCoordinatorOn(f.cfg, insts)
		for range 30 {
			_, _ = z.TryAcquire(f.ctx, "z")
			time.Sleep(time.Second)
		}
		require.NoError(t, twice(f, f.Coordinator, "k"))
		forAll(pz, func(p *path) { p.to.Store(f.servers[p.index()]) })
		_, _ = z.Verify(f.ctx)
		assert.NoError(t, twice(f, f.Coordinator, "k"), "all other clients continue")
	})
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
				_, err = a.TryAcquire(f.ctx, "other")
				require.ErrorIs(t, err, quorum.ErrQuarantined)
				second, err := D.Acquire(f.ctx, "k")
				require.NoError(t, err)
				assert.Zero(t, held.Validity(), "two leases at once: %v %v", held.Token(), second.Token())
			})
		})
	}
}

// Servers hide their run IDs and show their replication IDs. A client that finds another server
// waits for a full quarantine.
func TestAnotherServerThatHidesItsRunID(t *testing.T) {
	for name, hide := range map[string]func(*wire.Identity){
		"control: shown": nil,
		"hidden":         func(id *wire.Identity) { id.RunID = "" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, 1, func(cfg *quorum.Config) {
					cfg.MaxTTL, cfg.TTL, cfg.ClockMonitor = 30*time.Second, 30*time.Second, quorum.Off
				})
				s1 := f.servers[0]
				s2 := quorumtest.NewServer("A", nil)
				for _, s := range []*quorumtest.Server{s1, s2} {
					s.SetIdentity(hide)
				}
				time.Sleep(time.Minute)
				for _, s := range []*quorumtest.Server{s1, s2} { // the name led to S2, too, long ago
					_, _ = f.newCoordinatorOn(f.cfg, []wire.Instance{newPath(s)}).Verify(f.ctx)
					time.Sleep(time.Second)
				}
				time.Sleep(5 * time.Minute)
				pd, pg := newPath(s1), newPath(s1)
				d, g := f.newCoordinatorOn(f.cfg, []wire.Instance{pd}), f.newCoordinatorOn(f.cfg, []wire.Instance{pg})
				for _, c := range []*quorum.Coordinator{d, g} {
					require.NoError(t, twice(f, c, "k"))
				}
				time.Sleep(40 * time.Second)
				held, err := g.TryAcquire(f.ctx, "k") // on S1
				require.NoError(t, err)
				time.Sleep(time.Second)
				pd.to.Store(s2) // the name moves; D sees another server
				for range 2 {
					second, err := d.TryAcquire(f.ctx, "k")
					if err == nil {
						assert.Zero(t, held.Validity(), "two leases at once: %v %v", held.Token(), second.Token())
						return
					}
					t.Log(err)
				}
			})
		})
	}
}

// Wrong lines in hosts files are corrected one host after the other. The clients there took no
// lock, so no other client waits.
func TestIdleClientsAreNoEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 3)
		require.NoError(t, f.acquire("k").Release(f.ctx))
		wrong := make([]*quorumtest.Server, 3)
		for i := range wrong {
			wrong[i] = quorumtest.NewServer(f.servers[i].Name(), nil)
		}
		var all [][]*path
		for range 60 {
			p, insts := paths(f)
			forAll(p, func(p *path) { p.to.Store(wrong[p.index()]) })
			all = append(all, p)
			_, _ = f.newCoordinatorOn(f.cfg, insts).Verify(f.ctx)
		}
		time.Sleep(time.Minute)
		granted := 0
		for _, p := range all {
			forAll(p, func(p *path) { p.to.Store(f.servers[p.index()]) })
			time.Sleep(10 * time.Second)
			if twice(f, f.Coordinator, "k") == nil {
				granted++
			}
		}
		assert.Greater(t, granted, 50, "of 60 in ten minutes")
	})
}
