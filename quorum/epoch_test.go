package quorum_test

import (
	"context"
	"errors"
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

// twice takes and releases a lock twice. The first try may find out what has happened.
func twice(f *fixture, c *quorum.Coordinator, key string) (err error) {
	for range 2 {
		var l *quorum.Lease
		if l, err = c.TryAcquire(f.ctx, key); err == nil {
			_ = l.Release(f.ctx)
		}
		time.Sleep(ms)
	}
	return err
}

// path is one client's way to a name. It leads to one server of several, or is cut.
type path struct {
	*quorumtest.Server // provides the name
	to                 atomic.Pointer[quorumtest.Server]
	cut                atomic.Bool
}

func newPath(s *quorumtest.Server) *path {
	p := &path{Server: s}
	p.to.Store(s)
	return p
}

var errCut = errors.New("cut")

func (p *path) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	if p.cut.Load() {
		to.Receive(wire.Vote{Unsent: true, Err: errCut})
		return
	}
	p.to.Load().Send(cmd, timeout, to)
}

func (p *path) Probe(ctx context.Context, before wire.Known) (wire.Identity, error) {
	if p.cut.Load() {
		return wire.Identity{}, errCut
	}
	return p.to.Load().Probe(ctx, before)
}

func paths(f *fixture) (all []*path, insts []wire.Instance) {
	for _, s := range f.servers {
		p := newPath(s)
		all, insts = append(all, p), append(insts, p)
	}
	return all, insts
}

func forAll(all []*path, do func(*path)) {
	for _, p := range all {
		do(p)
	}
}

// All settings are the defaults (MaxTTL 30 s, the monitor ticks every 10 s). A name leads from S2
// to S1 and briefly back to S2 between two ticks of A, and B renews S1's mark. A gets a lease from
// S2 right before its next tick, and then the name leads to S1 again. A's lease is younger than
// S1's mark, so A renews that mark.
func TestEvidenceIsAsYoungAsTheLastGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 1, func(cfg *quorum.Config) { cfg.MaxTTL = 30 * time.Second; cfg.TTL = 30 * time.Second })
		s1 := f.servers[0]
		s1.SetIdentity(nil)
		s2 := quorumtest.NewServer("A", nil)
		time.Sleep(5 * time.Minute)
		pa, pb, pc := newPath(s1), newPath(s1), newPath(s1)
		a := f.newCoordinatorOn(f.cfg, []wire.Instance{pa})
		cfg := f.cfg
		cfg.Lab.ClockMonitor = quorum.Off // so that all ticks are A's
		b := f.newCoordinatorOn(cfg, []wire.Instance{pb})
		for _, c := range []*quorum.Coordinator{a, b} { // both know S1
			_, err := c.Verify(f.ctx)
			require.NoError(t, err)
		}
		pa.to.Store(s2)
		pb.to.Store(s2)
		for _, c := range []*quorum.Coordinator{a, b} { // and use S2
			_, _ = c.TryAcquire(f.ctx, "other")
			l := f.awaitBy(c, "other")
			require.NoError(t, l.Release(f.ctx))
		}
		time.Sleep(2 * time.Minute)
		ticks := func() (n int) {
			for _, e := range s2.Log() {
				if e.Request.Op == wire.Tick {
					n++
				}
			}
			return n
		}
		for n := ticks(); n == ticks(); {
			time.Sleep(10 * ms)
		}
		_, err := b.Verify(f.ctx)
		require.NoError(t, err)
		time.Sleep(100 * ms)
		pb.to.Store(s1) // the name leads to S1; A sends nothing meanwhile
		_, _ = b.Verify(f.ctx)
		began := time.Now()
		// and back to S2
		time.Sleep(9500 * ms)
		held := f.acquireBy(a, "k")
		pa.to.Store(s1) // and to S1
		f.tryFailsBy(a, "other", wire.ErrOtherRun)
		f.tryFailsBy(a, "other", quorum.ErrQuarantined)
		c := f.newCoordinatorOn(f.cfg, []wire.Instance{pc})
		second := f.awaitBy(c, "k")
		assert.Zero(t, held.Validity(), "two leases at once, %v after the mark; tokens %v and %v", time.Since(began), held.Token(), second.Token())
	})
}

// S1 has an older counter of the same run. Its name led elsewhere meanwhile, so the epoch differs,
// and tokens rise.
func TestTokensRiseWhereANameComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 1, func(cfg *quorum.Config) { cfg.Lab.ClockMonitor = quorum.Off })
		s1 := f.servers[0]
		s2 := quorumtest.NewServer("A", nil)
		time.Sleep(time.Minute)
		pa, pc := newPath(s1), newPath(s1)
		a := f.newCoordinatorOn(f.cfg, []wire.Instance{pa})
		l := f.acquireBy(a, "k")
		require.NoError(t, l.Release(f.ctx))
		time.Sleep(time.Minute)
		pa.to.Store(s2)
		_, _ = a.TryAcquire(f.ctx, "k")
		l = f.awaitBy(a, "k")
		require.NoError(t, l.Release(f.ctx))
		time.Sleep(time.Minute)
		held := f.acquireBy(a, "k")
		pa.to.Store(s1)
		_, _ = a.TryAcquire(f.ctx, "other")
		f.tryFailsBy(a, "other", quorum.ErrQuarantined)
		second, err := f.newCoordinatorOn(f.cfg, []wire.Instance{pc}).Acquire(f.ctx, "k")
		require.NoError(t, err)
		assert.Zero(t, held.Validity(), "two leases at once")
		assert.Greater(t, second.Token(), held.Token())
	})
}

// A client's machine was suspended overnight, and every server was restarted meanwhile. Its leases
// ended long ago, so it renews no mark in the morning, though its monotonic clock stood still.
func TestASuspendedClientLeavesNoMarkAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 3)
		skew := newSkewedClock()
		pz, insts := paths(f)
		cfg := f.cfg
		cfg.Lab.Clock = skew
		z := f.newCoordinatorOn(cfg, insts)
		_, err := z.Verify(f.ctx)
		require.NoError(t, err)
		l := f.acquireBy(z, "z")
		require.NoError(t, l.Release(f.ctx))
		require.NoError(t, f.acquire("k").Release(f.ctx))
		time.Sleep(time.Second)
		forAll(pz, func(p *path) { p.cut.Store(true) })
		for i := range f.servers {
			f.each(func(s *quorumtest.Server) { s.Restart(true) }, i)
			f.recognize()
			time.Sleep(time.Minute)
		}
		time.Sleep(2 * time.Hour)
		skew.stepMono(-2*time.Hour - 3*time.Minute) // it stood still
		held := f.acquire("held")
		held.KeepAlive()
		forAll(pz, func(p *path) { p.cut.Store(false) })
		for range 2 {
			_, err = z.TryAcquire(f.ctx, "z")
			require.Error(t, err)
		}
		assert.NoError(t, twice(f, f.Coordinator, "k"), "all other clients continue")
		time.Sleep(2 * maxTTL)
		assert.NoError(t, held.Err())
	})
}

// A wrong line in a hosts file led a starting client briefly to a replica or a spare server. No
// server had a vote there, so no other client waits after the fix.
func TestAWrongAddressAtTheStart(t *testing.T) {
	for name, edit := range map[string]func(*wire.Identity){
		"a replica":      func(id *wire.Identity) { id.Role = "slave" },
		"a spare server": nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, 3)
				require.NoError(t, f.acquire("k").Release(f.ctx))
				time.Sleep(time.Minute)
				wrong := make([]*quorumtest.Server, 3)
				pz, insts := paths(f)
				for i := range wrong {
					wrong[i] = quorumtest.NewServer(f.servers[i].Name(), nil)
					wrong[i].SetIdentity(edit)
					pz[i].to.Store(wrong[i])
				}
				z := f.newCoordinatorOn(f.cfg, insts)
				_, err := z.Verify(f.ctx)
				require.Error(t, err)
				for _, s := range wrong {
					require.Empty(t, s.Log(), "it received no request")
				}
				forAll(pz, func(p *path) { p.to.Store(f.servers[p.index()]) })
				_, _ = z.Verify(f.ctx)
				assert.NoError(t, twice(f, f.Coordinator, "k"), "all other clients continue")
			})
		})
	}
}

func (p *path) index() int { return int(p.Server.Name()[0] - 'A') }

// A client that was cut off while the servers restarted gets the lock as soon as a client that
// starts would.
func TestClientThatWasCutOff(t *testing.T) {
	for _, away := range []time.Duration{0, 4 * time.Second, 45 * time.Second} {
		t.Run(away.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, 3)
				all, insts := paths(f)
				r := f.newCoordinatorOn(f.cfg, insts)
				for _, c := range []*quorum.Coordinator{f.Coordinator, r} {
					require.NoError(t, twice(f, c, "k"))
				}
				time.Sleep(time.Second)
				_, err := r.Verify(f.ctx) // it sees them
				require.NoError(t, err)
				forAll(all, func(p *path) { p.cut.Store(true) })
				time.Sleep(time.Second)
				f.each(func(s *quorumtest.Server) { s.Restart(true) })
				_, _ = f.TryAcquire(f.ctx, "k") // another client finds it at once
				time.Sleep(away)
				forAll(all, func(p *path) { p.cut.Store(false) })
				began := time.Now()
				lease := f.awaitBy(r, "k")
				assert.InDelta(t, max(0, maxTTL-away), time.Since(began), float64(600*ms))
				require.NoError(t, lease.Release(f.ctx))
			})
		})
	}
}

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

// A name leads to another server for a moment, in which one client marks that server, and back. There a
// client is refused a lock that another one has got since. When the name moves again, the mark is older
// than that lease, and its age must not count.
func TestARefusalShowsThatTheServerWasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 1, func(cfg *quorum.Config) {
			cfg.MaxTTL, cfg.TTL, cfg.Lab.ClockMonitor = 30*time.Second, 30*time.Second, quorum.Off
		})
		f.servers[0].SetIdentity(nil)
		second := quorumtest.NewServer("A", nil)
		second.Restart(false) // it has no mark
		time.Sleep(5 * time.Minute)
		var paths []*path
		var clients []*quorum.Coordinator
		for range 3 {
			p := newPath(f.servers[0])
			c := f.newCoordinatorOn(f.cfg, []wire.Instance{p})
			lease := f.acquireBy(c, "k")
			require.NoError(t, lease.Release(f.ctx))
			paths, clients = append(paths, p), append(clients, c)
		}
		time.Sleep(time.Minute)

		paths[2].to.Store(second)
		_, err := clients[2].TryAcquire(f.ctx, "other")
		require.Error(t, err, "a new server doesn't vote")
		paths[2].to.Store(f.servers[0])
		time.Sleep(15 * time.Second)
		lease, err := clients[1].TryAcquire(f.ctx, "k")
		require.NoError(t, err)
		_, err = clients[0].TryAcquire(f.ctx, "k")
		require.ErrorIs(t, err, quorum.ErrTaken)

		paths[0].to.Store(second)
		for lease.Validity() > 0 {
			_, err := clients[0].TryAcquire(f.ctx, "k")
			require.Error(t, err, "the lease has %v left", lease.Validity())
			time.Sleep(500 * ms)
		}
	})
}
