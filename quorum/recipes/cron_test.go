package recipes_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/once"
)

// addOnce adds a job to robfig/cron that one of all processes runs each time it is due. All processes
// need the same spec and location (cron.WithLocation). A spec such as "@every 1h" doesn't work,
// because each process counts from its own start.
func addOnce(ctx context.Context, c *cron.Cron, spec string, job *once.Job, failed func(error),
	work func(ctx context.Context, lease *quorum.Lease) error) error {
	var id cron.EntryID
	added := make(chan struct{})
	defer close(added)
	var err error
	id, err = c.AddFunc(spec, func() {
		<-added
		// The slot is the time at which the job was due, and not the time now: a process that was paused
		// would begin a slot of its own. Run returns once.ErrLate if it comes too late.
		due := c.Entry(id).Prev
		if err := job.Run(ctx, due, work); err != nil && !errors.Is(err, once.ErrDone) {
			failed(err)
		}
	})
	return err
}

// In three processes a job that is due each minute runs once a minute. Without addOnce it runs three
// times.
func TestCron(t *testing.T) {
	const minutes = 5
	for _, locked := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var runs notes[fencing.Token]
			servers := newServers()
			for range 3 {
				job, err := once.New(servers.process(t, quorum.Config{}), "report", once.Config{})
				require.NoError(t, err)
				c := cron.New()
				if locked {
					require.NoError(t, addOnce(t.Context(), c, "* * * * *", job, func(err error) { t.Error(err) },
						func(ctx context.Context, lease *quorum.Lease) error {
							token, _ := fencing.FromContext(ctx)
							require.Equal(t, lease.Token(), token)
							runs.add(token)
							return nil
						}))
				} else {
					_, err = c.AddFunc("* * * * *", func() { runs.add(0) })
					require.NoError(t, err)
				}
				c.Start()
				defer func() { <-c.Stop().Done() }()
			}
			time.Sleep(minutes*time.Minute + time.Second)
			synctest.Wait()
			if locked {
				require.Len(t, runs.list(), minutes)
			} else {
				require.Equal(t, slices.Repeat([]fencing.Token{0}, 3*minutes), runs.list())
			}
		})
	}
}

// A process is paused when an hourly job is due, also for longer than the slot's keys live. It doesn't
// run the job again.
func TestCronAfterAPause(t *testing.T) {
	for _, pause := range []time.Duration{5 * time.Second, 30 * time.Second, 65 * time.Second, time.Hour + 5*time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var runs, late notes[time.Time]
			servers := newServers()
			for i := range 2 {
				job, err := once.New(servers.process(t, quorum.Config{}), "report", once.Config{Window: 10 * time.Second})
				require.NoError(t, err)
				c := cron.New(cron.WithLocation(time.UTC), cron.WithChain(func(inner cron.Job) cron.Job {
					return cron.FuncJob(func() {
						time.Sleep(time.Duration(i) * pause) // the second process
						inner.Run()
					})
				}))
				failed := func(err error) {
					assert.ErrorIs(t, err, once.ErrLate)
					late.add(time.Now())
				}
				require.NoError(t, addOnce(t.Context(), c, "0 * * * *", job, failed, func(context.Context, *quorum.Lease) error {
					runs.add(time.Now())
					return nil
				}))
				c.Start()
				defer func() { <-c.Stop().Done() }()
			}
			time.Sleep(2*time.Hour + 30*time.Minute)
			synctest.Wait()
			require.Len(t, runs.list(), 2, "in two hours, with a pause of %v", pause)
			if pause > 10*time.Second && pause < time.Hour {
				require.Len(t, late.list(), 2)
			}
		})
	}
}

// A job that fails is reported. The lock of its minute stays, so nobody repeats it.
func TestCronReportsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		job, err := once.New(newServers().process(t, quorum.Config{}), "report", once.Config{})
		require.NoError(t, err)
		broken := errors.New("broken")
		var failures notes[error]
		c := cron.New()
		fail := func(context.Context, *quorum.Lease) error { return broken }
		for range 2 {
			require.NoError(t, addOnce(t.Context(), c, "* * * * *", job, failures.add, fail))
		}
		require.Error(t, addOnce(t.Context(), c, "at noon", job, failures.add, fail))
		c.Start()
		time.Sleep(time.Minute + time.Second)
		<-c.Stop().Done()
		require.Len(t, failures.list(), 1)
		require.ErrorIs(t, failures.list()[0], broken)
	})
}
