package gocronlock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/adapters/gocronlock"
	"github.com/redquorum/redlock/quorum/election"
	"github.com/redquorum/redlock/quorum/memory"
)

// newExample makes a Coordinator on a server inside the process. A program would use redlock.Open.
func newExample(server string) *quorum.Coordinator {
	servers, err := memory.Open("memory://" + server)
	if err != nil {
		panic(err)
	}
	locks, err := quorum.New(quorum.Config{InstanceTimeout: 3 * time.Second}, servers...)
	if err != nil {
		panic(err)
	}
	return locks
}

func ExampleLocker() {
	locks := newExample("example")
	defer locks.Close(context.Background()) //nolint:errcheck // an example

	// Longer than clocks and schedulers differ, and less than half of the time between two runs.
	locker, err := gocronlock.NewLocker(locks, 15*time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan struct{})
	_, err = scheduler.NewJob(
		gocron.OneTimeJob(gocron.OneTimeJobStartImmediately()), // or gocron.CronJob("0 * * * *", false)
		gocron.NewTask(locker.Task("report", func(ctx context.Context, lease *quorum.Lease) error {
			defer close(done)
			fmt.Println("report, with a token:", lease.Token() > 0)
			return nil
		})),
		gocron.WithName("report"), // the same name: it is the lock's key
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	scheduler.Start()
	<-done
	fmt.Println(scheduler.Shutdown())
	// Output:
	// report, with a token: true
	// <nil>
}

func ExampleElector() {
	locks := newExample("example-2")
	defer locks.Close(context.Background()) //nolint:errcheck // an example
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	elector, err := gocronlock.NewElector(locks, "scheduler", election.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- elector.Run(ctx) }() // until the process ends
	scheduler, err := gocron.NewScheduler(gocron.WithDistributedElector(elector))
	if err != nil {
		fmt.Println(err)
		return
	}
	reports := make(chan fencing.Token, 10)
	_, err = scheduler.NewJob(
		gocron.DurationJob(100*time.Millisecond),
		gocron.NewTask(elector.Task(func(ctx context.Context, term fencing.Token) error {
			reports <- term
			return nil
		})),
		gocron.WithLimitedRuns(1),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	scheduler.Start()
	fmt.Println("report, in a term:", <-reports > 0)
	fmt.Println(scheduler.Shutdown())
	stop()
	fmt.Println(<-ended)
	// Output:
	// report, in a term: true
	// <nil>
	// quorum: interrupted by the caller's context: context canceled
}
