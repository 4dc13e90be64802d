package election_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/election"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// The times of a lease of 10 s: its validity, and the default margin.
const (
	validity = 10*time.Second - 102*ms
	margin   = time.Second
)

// world is five servers in virtual time, and the clients of a test.
type world struct {
	t       *testing.T
	ctx     context.Context
	servers quorumtest.Servers
	began   time.Time
}

func play(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, ctx: context.Background(), servers: quorumtest.NewServers(5), began: time.Now()}
		test(w)
	})
}

func (w *world) elapsed() time.Duration { return time.Since(w.began) }

// client is one process: its Coordinator, its Election, and the connections, which can be cut.
type client struct {
	*election.Election
	locks *quorum.Coordinator
	cut   atomic.Bool
}

type connection struct {
	quorumtest.NotifyingServer
	of *client
}

func (c connection) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	if c.of.cut.Load() {
		to.Receive(wire.Vote{Unsent: true, Err: quorumtest.ErrConnRefused})
		return
	}
	c.NotifyingServer.Send(cmd, timeout, to)
}

func (w *world) client(owner string, cfg election.Config, overrides ...func(*quorum.Config)) *client {
	w.t.Helper()
	c := &client{}
	of := quorum.Config{Owner: owner, MaxTTL: 10 * time.Second}
	of.Hooks.Waiting = func(context.Context, quorum.WaitEvent) {}
	for _, override := range overrides {
		override(&of)
	}
	var instances []wire.Instance
	for _, s := range w.servers {
		instances = append(instances, connection{quorumtest.NotifyingServer{Server: s}, c})
	}
	var err error
	c.locks, err = quorum.New(of, instances...)
	require.NoError(w.t, err)
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		assert.NoError(w.t, c.locks.Close(ctx))
	})
	c.Election, err = election.New(c.locks, "job", cfg)
	require.NoError(w.t, err)
	return c
}

// run is a Run in progress.
type run struct {
	t     *testing.T
	end   context.CancelFunc
	ended chan error
	terms chan led
}

// led is a term that has begun.
type led struct {
	ctx  context.Context
	term fencing.Token
}

// start runs for an Election whose leaders do nothing until their context ends.
func (w *world) start(c *client) *run {
	return w.startWith(c, func(ctx context.Context, _ fencing.Token) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
}

func (w *world) startWith(c *client, lead func(context.Context, fencing.Token) error) *run {
	ctx, cancel := context.WithCancel(w.ctx)
	r := &run{t: w.t, end: cancel, ended: make(chan error, 1), terms: make(chan led, 16)}
	go func() {
		r.ended <- c.Run(ctx, func(ctx context.Context, term fencing.Token) error {
			r.terms <- led{ctx, term}
			return lead(ctx, term)
		})
	}()
	w.t.Cleanup(cancel)
	return r
}

// quit ends a Run and waits for it.
func (r *run) quit() error {
	r.end()
	return <-r.ended
}

// leads waits for the run's next term.
func (r *run) leads() (l led) {
	r.t.Helper()
	select {
	case l = <-r.terms:
	case <-time.After(time.Hour):
		r.t.Fatal("it doesn't lead within an hour")
	}
	return l
}

// jumpingClock is a clock that can be set forward, as after a suspension. Its timers don't notice.
type jumpingClock struct {
	clock.Clock
	mu   sync.Mutex
	jump time.Duration
}

func (c *jumpingClock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.jump += d
}

func (c *jumpingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Clock.Now().Round(0).Add(c.jump)
}
