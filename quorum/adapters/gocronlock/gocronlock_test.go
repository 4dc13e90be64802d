package gocronlock_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/adapters/gocronlock"
	"github.com/redquorum/redlock/quorum/election"
	"github.com/redquorum/redlock/quorum/quorumtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	_ gocron.Locker  = (*gocronlock.Locker)(nil)
	_ gocron.Elector = (*gocronlock.Elector)(nil)
)

const ms = time.Millisecond

// world is five servers in virtual time, and what the jobs of several processes did.
type world struct {
	t       *testing.T
	ctx     context.Context
	servers quorumtest.Servers

	mu     sync.Mutex
	runs   []ran
	failed []error // of runs
	locks  []error // with which runs were not begun
}

// ran is a run of a job.
type ran struct {
	by    string
	token fencing.Token
}

func play(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, ctx: t.Context(), servers: quorumtest.NewServers(5)}
		test(w)
	})
}

func (w *world) coordinator() *quorum.Coordinator {
	w.t.Helper()
	locks, err := quorum.New(quorum.Config{}, w.servers.Instances()...)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { assert.NoError(w.t, locks.Close(context.Background())) })
	return locks
}

// locker is that of one process.
func (w *world) locker(atLeast time.Duration) *gocronlock.Locker {
	w.t.Helper()
	locker, err := gocronlock.NewLocker(w.coordinator(), atLeast)
	require.NoError(w.t, err)
	return locker
}

// begins notes a run.
func (w *world) begins(by string, token fencing.Token) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs = append(w.runs, ran{by, token})
}

// begun are the runs so far.
func (w *world) begun() []ran {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.runs)
}

// schedule starts a process's scheduler of one job, which is due every minute. stop ends it.
func (w *world) schedule(option gocron.SchedulerOption, task any) (stop func()) {
	w.t.Helper()
	s, err := gocron.NewScheduler(option)
	require.NoError(w.t, err)
	note := func(list *[]error) func(uuid.UUID, string, error) {
		return func(_ uuid.UUID, _ string, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			*list = append(*list, err)
		}
	}
	_, err = s.NewJob(gocron.DurationJob(time.Minute), gocron.NewTask(task), gocron.WithName("report"),
		gocron.WithEventListeners(gocron.AfterJobRunsWithError(note(&w.failed)), gocron.AfterLockError(note(&w.locks))))
	require.NoError(w.t, err)
	s.Start()
	stop = sync.OnceFunc(func() { assert.NoError(w.t, s.Shutdown()) })
	w.t.Cleanup(stop)
	return stop
}

// Three schedulers, some seconds apart, run a job that takes a moment once a minute, and its tokens
// rise.
func TestRunsOnce(t *testing.T) {
	const minutes = 10
	play(t, func(w *world) {
		for i := range 3 {
			locker := w.locker(10 * time.Second)
			w.schedule(gocron.WithDistributedLocker(locker), locker.Task("report", func(ctx context.Context, lease *quorum.Lease) error {
				token, ok := fencing.FromContext(ctx)
				require.True(t, ok)
				require.Equal(t, lease.Token(), token)
				w.begins(string(rune('a'+i)), token)
				return ctx.Err()
			}))
			time.Sleep(3 * time.Second)
		}
		time.Sleep(minutes * time.Minute)
		synctest.Wait()
		runs := w.begun()
		require.Len(t, runs, minutes)
		require.True(t, slices.IsSortedFunc(runs, func(a, b ran) int { return int(a.token) - int(b.token) }), "%v", runs)
		require.Empty(t, w.failed)
		require.Len(t, w.locks, 2*minutes)
		for _, err := range w.locks {
			require.ErrorIs(t, err, quorum.ErrTaken)
		}
	})
}

// A process that is nearly atLeast late asks just before the job ends, and waits beyond its end.
func TestLateProcess(t *testing.T) {
	play(t, func(w *world) {
		for range 2 {
			locker := w.locker(10 * time.Second)
			w.schedule(gocron.WithDistributedLocker(locker), locker.Task("report", func(ctx context.Context, lease *quorum.Lease) error {
				w.begins("", lease.Token())
				select {
				case <-time.After(10200 * ms):
				case <-ctx.Done():
				}
				return nil
			}))
			time.Sleep(9800 * ms)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		require.Len(t, w.begun(), 5)
	})
}

// A run that takes longer than a minute keeps its lock, and the run that is due meanwhile isn't
// begun. The lock is free when it has ended.
func TestLongRun(t *testing.T) {
	play(t, func(w *world) {
		for _, name := range []string{"a", "b"} {
			locker := w.locker(10 * time.Second)
			w.schedule(gocron.WithDistributedLocker(locker), locker.Task("report", func(ctx context.Context, lease *quorum.Lease) error {
				w.begins(name, lease.Token())
				select {
				case <-time.After(90 * time.Second):
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}))
			time.Sleep(3 * time.Second)
		}
		time.Sleep(155 * time.Second) // the first begins at 60 s and ends at 150 s
		synctest.Wait()
		require.Len(t, w.begun(), 1)
		for _, s := range w.servers {
			require.Empty(t, s.Keys())
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		require.Len(t, w.begun(), 2)
		require.Empty(t, w.failed)
	})
}

// A job whose lock is lost is told by its context, and gocron gets the error. The next run has a
// larger token.
func TestLockIsLost(t *testing.T) {
	play(t, func(w *world) {
		locker := w.locker(10 * time.Second)
		causes := make(chan error, 2)
		w.schedule(gocron.WithDistributedLocker(locker), locker.Task("report", func(ctx context.Context, lease *quorum.Lease) error {
			w.begins("", lease.Token())
			if len(w.begun()) == 1 {
				<-ctx.Done()
				causes <- context.Cause(ctx)
			}
			return nil
		}))
		time.Sleep(65 * time.Second)
		for _, s := range w.servers[:3] {
			s.Hang()
		}
		require.ErrorIs(t, <-causes, quorum.ErrExpired)
		synctest.Wait()
		require.Nil(t, locker.Lease("report"))
		w.mu.Lock()
		require.Len(t, w.failed, 1)
		require.ErrorIs(t, w.failed[0], quorum.ErrLost)
		w.mu.Unlock()
		for _, s := range w.servers[:3] {
			s.Resume()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		runs := w.begun()
		require.Len(t, runs, 2)
		require.Greater(t, runs[1].token, runs[0].token)
	})
}

// gocron's own end ends the job's context, and frees the lock.
func TestShutdown(t *testing.T) {
	play(t, func(w *world) {
		locker := w.locker(500 * ms) // with the wait, 625 ms
		causes := make(chan error, 1)
		stop := w.schedule(gocron.WithDistributedLocker(locker), locker.Task("report", func(ctx context.Context, lease *quorum.Lease) error {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return nil
		}))
		time.Sleep(61 * time.Second)
		synctest.Wait()
		require.NotNil(t, locker.Lease("report"))
		stop()
		require.ErrorIs(t, <-causes, context.Canceled)
		synctest.Wait()
		for _, s := range w.servers {
			require.Empty(t, s.Keys())
		}
	})
}

func TestMistakes(t *testing.T) {
	play(t, func(w *world) {
		locks := w.coordinator()
		for _, atLeast := range []time.Duration{0, -1, ms, 31 * time.Second, 29 * time.Second, 1 << 62} {
			_, err := gocronlock.NewLocker(locks, atLeast)
			require.ErrorIs(t, err, quorum.ErrConfig, atLeast)
		}
		for _, atLeast := range []time.Duration{ms * 500, 28 * time.Second} {
			_, err := gocronlock.NewLocker(locks, atLeast)
			require.NoError(t, err)
		}
		_, err := gocronlock.NewLocker(nil, time.Second)
		require.ErrorIs(t, err, quorum.ErrConfig)
		_, err = gocronlock.NewElector(nil, "e", election.Config{})
		require.ErrorIs(t, err, quorum.ErrConfig)

		locker := w.locker(time.Second)
		err = locker.Task("other", func(context.Context, *quorum.Lease) error { return errors.New("never") })(w.ctx)
		require.ErrorIs(t, err, gocronlock.ErrNotLocked)
		_, err = locker.Lock(w.ctx, "a{b}")
		require.ErrorIs(t, err, quorum.ErrConfig)
	})
}

// candidate is a process with an Elector and a scheduler.
type candidate struct {
	*gocronlock.Elector
	stop  func() // of the scheduler
	ended chan error
	end   context.CancelFunc
}

func (w *world) candidate(name string, job func(ctx context.Context, term fencing.Token) error) *candidate {
	w.t.Helper()
	elector, err := gocronlock.NewElector(w.coordinator(), "scheduler", election.Config{})
	require.NoError(w.t, err)
	ctx, end := context.WithCancel(w.ctx)
	c := &candidate{Elector: elector, ended: make(chan error, 1), end: end}
	go func() { c.ended <- elector.Run(ctx) }()
	c.stop = w.schedule(gocron.WithDistributedElector(elector), elector.Task(func(ctx context.Context, term fencing.Token) error {
		w.begins(name, term)
		return job(ctx, term)
	}))
	return c
}

// The leader runs all jobs, and the next one goes on when it ends.
func TestElector(t *testing.T) {
	play(t, func(w *world) {
		done := func(context.Context, fencing.Token) error { return nil }
		a := w.candidate("a", done)
		time.Sleep(5 * time.Second)
		b := w.candidate("b", done)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		first := a.Election().Term()
		require.Equal(t, slices.Repeat([]ran{{"a", first}}, 5), w.begun())
		require.ErrorIs(t, b.IsLeader(w.ctx), election.ErrNotLeader)
		require.ErrorIs(t, b.Task(done)(w.ctx), election.ErrNotLeader)

		a.stop()
		a.end()
		require.ErrorIs(t, <-a.ended, context.Canceled)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		second := b.Election().Term()
		require.Greater(t, second, first)
		require.Equal(t, slices.Repeat([]ran{{"b", second}}, 2), w.begun()[5:])
		b.stop()
		b.end()
		require.ErrorIs(t, <-b.ended, context.Canceled)
	})
}

// A job is told that its term is over. The next leader's jobs begin when it has returned.
func TestTermEndsJobs(t *testing.T) {
	play(t, func(w *world) {
		type end struct {
			cause error
			at    time.Time
		}
		ends := make(chan end, 1)
		a := w.candidate("a", func(ctx context.Context, term fencing.Token) error {
			<-ctx.Done()
			cause := context.Cause(ctx)
			time.Sleep(5 * time.Second) // it takes a while to stop
			token, _ := fencing.FromContext(ctx)
			assert.Equal(t, term, token)
			ends <- end{cause, time.Now()}
			return nil
		})
		time.Sleep(50 * time.Second)
		b := w.candidate("b", func(context.Context, fencing.Token) error { return nil })
		time.Sleep(15 * time.Second) // the job runs since 5 s
		require.NoError(t, a.Election().Resign())
		synctest.Wait()
		require.ErrorIs(t, b.IsLeader(w.ctx), election.ErrNotLeader)
		ended := <-ends
		require.ErrorIs(t, ended.cause, election.ErrResigned)
		time.Sleep(time.Second) // b pauses once if it asks before all servers have the delete
		synctest.Wait()
		require.NoError(t, b.IsLeader(w.ctx))
		require.Len(t, w.failed, 1)
		require.ErrorIs(t, w.failed[0], election.ErrResigned)
		for _, c := range []*candidate{a, b} {
			c.stop()
			c.end()
			if err := <-c.ended; err != nil {
				require.ErrorIs(t, err, quorum.ErrInterrupted)
			}
		}
	})
}
