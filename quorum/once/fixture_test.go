package once_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/once"
	"github.com/redquorum/redlock/quorum/quorumtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// What the zero Config means with a MaxTTL of 30 s, and how long the keys stay.
const (
	window = 5 * time.Minute
	skew   = 5 * time.Second
	keep   = once.MaxWindow + once.MaxSkew + 30*time.Second
	ttl    = keep + 2*(keep/100+2*ms) + ms
)

// short is a window that is over before the keys of a lease are.
var short = once.Config{Window: 10 * time.Second}

// world is five servers in virtual time, and what their clients did.
type world struct {
	t       *testing.T
	ctx     context.Context
	servers quorumtest.Servers
	slot    time.Time // the time at which a test begins, and a full minute

	mu   sync.Mutex
	runs map[string][]string // by slot: the processes that have begun its job
}

func play(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, ctx: context.Background(), servers: quorumtest.NewServers(5), slot: time.Now().UTC(), runs: map[string][]string{}}
		test(w)
	})
}

// each does something to some servers.
func (w *world) each(do func(s *quorumtest.Server), which ...int) {
	for _, i := range which {
		do(w.servers[i])
	}
}

func hang(s *quorumtest.Server)   { s.Hang() }
func resume(s *quorumtest.Server) { s.Resume() }

// empty restarts a server without its data.
func empty(s *quorumtest.Server) {
	s.Kill()
	s.Start(false)
}

// process is one process, with its own clock.
type process struct {
	*once.Job
	w     *world
	name  string
	locks *quorum.Coordinator
	clock *skewedClock
}

func (w *world) process(name string, cfg once.Config, overrides ...func(*quorum.Config)) *process {
	w.t.Helper()
	p := &process{w: w, name: name, clock: &skewedClock{Clock: clock.New()}}
	of := quorum.Config{Owner: name, Lab: quorum.Lab{Clock: p.clock}}
	of.Hooks.Waiting = func(context.Context, quorum.WaitEvent) {}
	for _, override := range overrides {
		override(&of)
	}
	var err error
	p.locks, err = quorum.New(of, w.servers.Instances()...)
	require.NoError(w.t, err)
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		assert.NoError(w.t, p.locks.Close(ctx))
	})
	p.Job, err = once.New(p.locks, "job", cfg)
	require.NoError(w.t, err)
	return p
}

// run runs the slot's job, which takes this long.
func (p *process) run(slot time.Time, takes time.Duration) error {
	return p.Run(p.w.ctx, slot, func(ctx context.Context, _ *quorum.Lease) error {
		p.begins(slot)
		select {
		case <-time.After(takes):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// begins records that the process has begun the slot's job.
func (p *process) begins(slot time.Time) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	text := slot.Format(time.TimeOnly)
	p.w.runs[text] = append(p.w.runs[text], p.name)
}

// begun lists the processes that have begun the slot's job.
func (w *world) begun(slot time.Time) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runs[slot.Format(time.TimeOnly)]
}

// skewedClock is ahead of true time. Its timers are not.
type skewedClock struct {
	clock.Clock
	mu    sync.Mutex
	ahead time.Duration
}

func (c *skewedClock) set(ahead time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = ahead
}

func (c *skewedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Clock.Now().Round(0).Add(c.ahead)
}
