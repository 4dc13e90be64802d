package quorum_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

const ms = time.Millisecond

// fixture is a Coordinator on servers in memory, in a bubble of virtual time.
//
// The servers are named A, B, C, ... and may vote from the start, because their first run is
// trusted. After a Restart they are in quarantine like any other server; vouch lifts it.
type fixture struct {
	*quorum.Coordinator
	t        *testing.T
	ctx      context.Context // never ends
	cfg      quorum.Config   // as it was given to New
	servers  []*quorumtest.Server
	clients  []*quorum.Coordinator // the fixture's own and the others
	notifies bool                  // the servers notify waiters
	began    time.Time
}

// play runs a test with n servers in a bubble. At the end it closes the Coordinators, and the
// bubble fails the test if a goroutine is left.
func play(t *testing.T, n int, test func(f *fixture), overrides ...func(*quorum.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newFixture(t, n, overrides...)) })
}

// playNotifying is play with servers that notify waiters.
func playNotifying(t *testing.T, n int, test func(f *fixture), overrides ...func(*quorum.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(makeFixture(t, n, fixture{notifies: true}, overrides...)) })
}

// newFixture does what play does, inside an existing bubble.
func newFixture(t *testing.T, n int, overrides ...func(*quorum.Config)) *fixture {
	t.Helper()
	return makeFixture(t, n, fixture{}, overrides...)
}

func makeFixture(t *testing.T, n int, kind fixture, overrides ...func(*quorum.Config)) *fixture {
	t.Helper()
	f := &kind
	f.t, f.ctx, f.servers, f.began = t, context.Background(), make([]*quorumtest.Server, n), time.Now()
	for i := range f.servers {
		f.servers[i] = quorumtest.NewServer(string(rune('A'+i)), nil)
		f.vouch(i)
	}
	for _, override := range overrides {
		override(&f.cfg)
	}
	if f.cfg.Hooks.Waiting == nil {
		f.cfg.Hooks.Waiting = func(context.Context, quorum.WaitEvent) {} // not to the log
	}
	if f.cfg.MaxTTL == 0 {
		// As short as possible, and so are the quarantines.
		f.cfg.MaxTTL = cmp.Or(f.cfg.TTL, 10*time.Second)
	}
	f.Coordinator = f.newCoordinator(f.cfg)
	return f
}

func (f *fixture) newCoordinator(cfg quorum.Config) *quorum.Coordinator {
	f.t.Helper()
	return f.newCoordinatorOn(cfg, f.instances())
}

func (f *fixture) newCoordinatorOn(cfg quorum.Config, instances []wire.Instance) *quorum.Coordinator {
	f.t.Helper()
	c, err := quorum.New(cfg, instances...)
	require.NoError(f.t, err)
	f.clients = append(f.clients, c)
	f.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(f.ctx, time.Minute)
		defer cancel()
		assert.NoError(f.t, c.Close(ctx), "a goroutine of the Coordinator didn't end")
	})
	return c
}

// other is another client of the same servers, with the fixture's Config before its overrides, plus
// the overrides given here.
func (f *fixture) other(overrides ...func(*quorum.Config)) *quorum.Coordinator {
	f.t.Helper()
	cfg := f.cfg
	for _, override := range overrides {
		override(&cfg)
	}
	return f.newCoordinator(cfg)
}

// distant is another client whose requests to notifying servers take d longer to arrive.
//
// All servers see the requests of two clients in the same order, unless the requests arrive at the
// same moment. Then each server takes the one whose goroutine runs first. That happens often if all
// times are multiples of a millisecond. It doesn't if d is an odd number of microseconds.
func (f *fixture) distant(d time.Duration) *quorum.Coordinator {
	f.t.Helper()
	instances := make([]wire.Instance, len(f.servers))
	for i, s := range f.servers {
		instances[i] = distantServer{quorumtest.NotifyingServer{Server: s}, d}
	}
	return f.newCoordinatorOn(f.cfg, instances)
}

type distantServer struct {
	quorumtest.NotifyingServer
	d time.Duration
}

func (s distantServer) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	wire.SendBlocking(nil, func(ctx context.Context, cmd wire.Request) wire.Vote {
		time.Sleep(s.d)
		return s.Do(ctx, cmd)
	}, cmd, timeout, to)
}

func (f *fixture) instances() []wire.Instance {
	instances := make([]wire.Instance, len(f.servers))
	for i, s := range f.servers {
		if instances[i] = s; f.notifies {
			instances[i] = quorumtest.NotifyingServer{Server: s}
		}
	}
	return instances
}

// vouch makes servers say that no vote was ever given outside their present run, to a client that
// knows no other run.
func (f *fixture) vouch(which ...int) {
	for _, i := range which {
		run := f.servers[i].RunID()
		f.servers[i].SetIdentity(func(id *wire.Identity) { id.Vouched = id.RunID == run })
	}
}

// recognize has the servers identified. The first round after a restart names runs that are over,
// and gets no votes.
func (f *fixture) recognize() { _, _ = f.Verify(f.ctx) } // servers may be down

// trust vouches for the servers' present runs, also to a client that knows others.
func (f *fixture) trust() { _ = f.Trust(f.ctx) } // servers may be down

// each applies do to the servers with these numbers, or to all.
func (f *fixture) each(do func(s *quorumtest.Server), which ...int) {
	if len(which) == 0 {
		for i := range f.servers {
			which = append(which, i)
		}
	}
	for _, i := range which {
		do(f.servers[i])
	}
}

func (f *fixture) hang(which ...int)   { f.each((*quorumtest.Server).Hang, which...) }
func (f *fixture) resume(which ...int) { f.each((*quorumtest.Server).Resume, which...) }
func (f *fixture) kill(which ...int)   { f.each((*quorumtest.Server).Kill, which...) }

// lag delays every reply by d, those to rollbacks and pending deletes included.
func (f *fixture) lag(d time.Duration, which ...int) {
	f.each(func(s *quorumtest.Server) {
		s.Delay(nil, func(wire.Request) time.Duration { return d })
	}, which...)
}

// warm lets the Coordinator identify the servers and read their clocks, which costs only the first lock
// a round trip.
func (f *fixture) warm() {
	f.t.Helper()
	require.NoError(f.t, f.acquire("warm-up").Release(f.ctx))
	f.requireNothingLeft()
	f.began = time.Now()
}

// occupy puts another client's key on servers.
func (f *fixture) occupy(key string, ttl time.Duration, which ...int) {
	f.each(func(s *quorumtest.Server) { s.Put(key, strangers, ttl) }, which...)
}

const strangers = "another client's"

// acquire takes the lock, which must be free.
func (f *fixture) acquire(key string) *quorum.Lease {
	f.t.Helper()
	return f.acquireBy(f.Coordinator, key)
}

// acquireBy has a client take a lease on all of the keys, which must be free.
func (f *fixture) acquireBy(c *quorum.Coordinator, keys ...string) *quorum.Lease {
	f.t.Helper()
	lease, err := c.TryAcquireAll(f.ctx, keys...)
	require.NoError(f.t, err)
	return lease
}

// await waits until it has the lock.
func (f *fixture) await(key string) *quorum.Lease {
	f.t.Helper()
	return f.awaitBy(f.Coordinator, key)
}

// awaitBy has a client wait until it has the lock.
func (f *fixture) awaitBy(c *quorum.Coordinator, key string) *quorum.Lease {
	f.t.Helper()
	lease, err := c.Acquire(f.ctx, key)
	require.NoError(f.t, err)
	return lease
}

// tryFails tries to take the lock, which must fail with this error.
func (f *fixture) tryFails(key string, want error, says ...any) {
	f.t.Helper()
	f.tryFailsBy(f.Coordinator, key, want, says...)
}

// tryFailsBy has a client try to take the lock, which must fail with this error.
func (f *fixture) tryFailsBy(c *quorum.Coordinator, key string, want error, says ...any) {
	f.t.Helper()
	_, err := c.TryAcquire(f.ctx, key)
	require.ErrorIs(f.t, err, want, says...)
}

// giveBack releases a lease that is held, of which nothing may be left then.
func (f *fixture) giveBack(lease *quorum.Lease) {
	f.t.Helper()
	require.NoError(f.t, lease.Release(f.ctx))
	f.requireNothingLeft()
}

// elapsed is the virtual time since the fixture was made.
func (f *fixture) elapsed() time.Duration { return time.Since(f.began) }

// log is what a server has carried out, without the clock monitor's requests.
func (f *fixture) log(i int) []quorumtest.Entry {
	return slices.DeleteFunc(f.servers[i].Log(), func(e quorumtest.Entry) bool { return e.Request.Op == wire.Tick })
}

// lastAcquired is the last Acquire that a server has granted.
func (f *fixture) lastAcquired(i int) wire.Request {
	for _, e := range slices.Backward(f.log(i)) {
		if e.Request.Op == wire.Acquire && e.Vote.Outcome == wire.Granted {
			return e.Request
		}
	}
	return wire.Request{}
}

// ops are the operations of log.
func (f *fixture) ops(i int) []wire.Op {
	ops := []wire.Op{}
	for _, e := range f.log(i) {
		ops = append(ops, e.Request.Op)
	}
	return ops
}

// requireNothingLeft demands that within a second no key of ours is on any server. A second is less
// than the shortest default TTL, so the keys were deleted and didn't just expire. Then it lets all
// clients settle and checks again. It also checks servers that hang or are down: resume or start
// them first, so that their pending deletes arrive. Keys of strangers may stay.
func (f *fixture) requireNothingLeft() {
	f.t.Helper()
	f.requireNothingLeftWithin(time.Second)
}

func (f *fixture) requireNothingLeftWithin(limit time.Duration) {
	f.t.Helper()
	f.quiesce()
	deadline := time.Now().Add(limit)
	for !f.clean() && time.Now().Before(deadline) {
		time.Sleep(ms)
		f.quiesce()
	}
	require.Empty(f.t, f.left(), "left behind after %v", limit)
	ctx, cancel := context.WithTimeout(f.ctx, time.Minute)
	defer cancel()
	for _, c := range f.clients {
		require.NoError(f.t, c.Settle(ctx))
	}
	require.Empty(f.t, f.left(), "left behind after the clients had settled")
}

// quiesce lets every goroutine finish what it can do now. In real time that can't be known.
func (f *fixture) quiesce() {
	if f.began.Year() == 2000 { // where every bubble begins
		synctest.Wait()
	}
}

func (f *fixture) clean() bool { return len(f.left()) == 0 }

// left lists all keys but strangers', as "A: key".
func (f *fixture) left() []string {
	var left []string
	for _, s := range f.servers {
		for _, key := range s.Keys() {
			if value, _, ok := s.Get(key); ok && value != strangers {
				left = append(left, s.Name()+": "+key)
			}
		}
	}
	return left
}

// skewedClock is a clock whose wall and monotonic readings can deviate from true time. Timers run
// on true time.
type skewedClock struct {
	clock.Clock
	epoch time.Time

	mu         sync.Mutex
	wall, mono time.Duration
}

func newSkewedClock() *skewedClock {
	c := clock.New()
	return &skewedClock{Clock: c, epoch: c.Now().Round(0)}
}

// stepWall steps the wall clock; stepMono makes the monotonic clock lose (or gain) time, as on a
// suspended machine.
func (c *skewedClock) stepWall(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall += d
}

func (c *skewedClock) stepMono(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mono += d
}

// Now is the wall clock; it has no monotonic reading.
func (c *skewedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Clock.Now().Round(0).Add(c.wall)
}

// Since is the monotonic clock, for a t that Now gave before any step.
func (c *skewedClock) Since(t time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Clock.Now().Round(0).Sub(t) + c.mono
}

// withSkew gives the fixture's Coordinator the clock.
func withSkew(c *skewedClock) func(*quorum.Config) {
	return func(cfg *quorum.Config) { cfg.Lab.Clock = c }
}

// synctestClock runs a test in a bubble with a skewed clock made inside it.
func synctestClock(t *testing.T, test func(t *testing.T, c *skewedClock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newSkewedClock()) })
}
