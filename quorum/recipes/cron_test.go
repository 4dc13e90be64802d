package recipes_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/once"
)

// oncePerMinute is a wrapper for robfig/cron: of all processes one runs the job that is due in a
// minute. A job that is a leased gets the lease, and a context that ends with it.
func oncePerMinute(ctx context.Context, job *once.Job, failed func(error)) cron.JobWrapper {
	return func(inner cron.Job) cron.Job {
		return cron.FuncJob(func() {
			slot := time.Now().Truncate(time.Minute) // when it was due: all processes name it alike
			err := job.Run(ctx, slot, func(ctx context.Context, lease *quorum.Lease) error {
				if work, ok := inner.(leased); ok {
					return work(ctx, lease)
				}
				inner.Run()
				return nil
			})
			if err != nil && !errors.Is(err, once.ErrDone) {
				failed(err)
			}
		})
	}
}

// leased is a cron.Job that needs its lease: the token for what it changes.
type leased func(ctx context.Context, lease *quorum.Lease) error

// Run is what cron would call without the wrapper.
func (leased) Run() { panic("a leased job needs oncePerMinute") }

// In three processes a job that is due each minute runs once a minute. Without the wrapper it runs
// three times.
func TestCron(t *testing.T) {
	const minutes = 5
	for _, wrapped := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var runs notes[fencing.Token]
			servers := newServers()
			for range 3 {
				job, err := once.New(servers.process(t, quorum.Terms{}), "report", once.Config{})
				require.NoError(t, err)
				c := cron.New()
				if wrapped {
					wrapper := oncePerMinute(t.Context(), job, func(err error) { t.Error(err) })
					_, err = c.AddJob("* * * * *", wrapper(leased(func(ctx context.Context, lease *quorum.Lease) error {
						token, _ := fencing.FromContext(ctx)
						require.Equal(t, lease.Token(), token)
						runs.add(token)
						return nil
					})))
					require.NoError(t, err)
					c2 := cron.New(cron.WithChain(wrapper)) // beside the other: the slot is begun
					_, err = c2.AddFunc("* * * * *", func() { runs.add(1) })
					require.NoError(t, err)
					c2.Start()
					defer func() { <-c2.Stop().Done() }()
				} else {
					_, err = c.AddFunc("* * * * *", func() { runs.add(0) })
					require.NoError(t, err)
				}
				c.Start()
				defer func() { <-c.Stop().Done() }()
			}
			time.Sleep(minutes*time.Minute + time.Second)
			synctest.Wait()
			if wrapped {
				require.Len(t, runs.list(), minutes)
			} else {
				require.Equal(t, slices.Repeat([]fencing.Token{0}, 3*minutes), runs.list())
			}
		})
	}
}

// A job that fails is reported. The lock of its minute stays, so nobody repeats it.
func TestCronReportsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		job, err := once.New(newServers().process(t, quorum.Terms{}), "report", once.Config{})
		require.NoError(t, err)
		broken := errors.New("broken")
		var failures notes[error]
		wrapper := oncePerMinute(t.Context(), job, failures.add)
		failing := wrapper(leased(func(context.Context, *quorum.Lease) error { return broken }))
		failing.Run()
		failing.Run()
		require.Len(t, failures.list(), 1)
		require.ErrorIs(t, failures.list()[0], broken)
		require.Panics(t, func() { leased(nil).Run() })
	})
}
