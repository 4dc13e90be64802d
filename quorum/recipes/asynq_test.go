package recipes_test

import (
	"context"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance/embedded"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/election"
)

// schedule runs an asynq scheduler in the process that leads. newScheduler makes one for each term,
// because a scheduler can't be started again.
func schedule(ctx context.Context, e *election.Election, newScheduler func() (*asynq.Scheduler, error)) error {
	return e.Run(ctx, func(ctx context.Context, _ fencing.Token) error {
		scheduler, err := newScheduler()
		if err != nil {
			return err
		}
		if err := scheduler.Start(); err != nil {
			return err
		}
		<-ctx.Done()
		scheduler.Shutdown() // when it has returned another process may lead
		return nil
	})
}

// Of two processes the one that leads enqueues the tasks. When it resigns the other one goes on, and
// they don't do it at the same time.
func TestAsynq(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	cluster, err := embedded.Start(1)
	require.NoError(t, err)
	defer func() { require.NoError(t, cluster.Close()) }()
	redis := asynq.RedisClientOpt{Addr: cluster.Server(0).Addr(), DialTimeout: time.Minute, ReadTimeout: time.Minute, WriteTimeout: time.Minute}

	type enqueued struct {
		by  string
		err error
	}
	events := make(chan enqueued, 1024)
	locks := newServers()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	candidates := map[string]*election.Election{}
	for _, name := range []string{"a", "b"} {
		e, err := election.New(locks.process(t, slowly), "scheduler", election.Config{})
		require.NoError(t, err)
		candidates[name] = e
		go func() {
			ended <- schedule(ctx, e, func() (*asynq.Scheduler, error) {
				s := asynq.NewScheduler(redis, &asynq.SchedulerOpts{
					LogLevel:        asynq.FatalLevel,
					PostEnqueueFunc: func(_ *asynq.TaskInfo, err error) { events <- enqueued{name, err} },
				})
				_, err := s.Register("@every 1s", asynq.NewTask("report", nil))
				return s, err
			})
		}()
	}
	next := func() enqueued {
		select {
		case e := <-events:
			require.NoError(t, e.err)
			return e
		case <-time.After(time.Minute):
			t.Fatal("nothing is enqueued")
			return enqueued{}
		}
	}
	first := next()
	require.Equal(t, first, next())
	require.NoError(t, candidates[first.by].Resign())
	second := next()
	for second == first {
		second = next()
	}
	require.Equal(t, second, next())
	stop()
	for range candidates {
		if err := <-ended; err != nil {
			require.ErrorIs(t, err, quorum.ErrInterrupted)
		}
	}
	inspector := asynq.NewInspector(redis)
	defer inspector.Close() //nolint:errcheck // a test
	tasks, err := inspector.ListPendingTasks("default")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(tasks), 4)
}
