package once_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/quorum/once"
)

// newExample makes a Coordinator on a server inside the process. A program would use redlock.Open.
func newExample() *quorum.Coordinator {
	servers, err := memory.Open("memory://")
	if err != nil {
		panic(err)
	}
	locks, err := quorum.New(quorum.Config{}, servers...)
	if err != nil {
		panic(err)
	}
	return locks
}

func Example() {
	locks := newExample()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	defer locks.Close(context.Background()) //nolint:errcheck // an example

	job, err := once.New(locks, "report", once.Config{Window: 10 * time.Second, Skew: 5 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	slots, err := job.Slots(ctx, time.Second) // every full second
	if err != nil {
		fmt.Println(err)
		return
	}
	for slot := range slots {
		err := job.Run(ctx, slot, func(ctx context.Context, lease *quorum.Lease) error {
			fmt.Println("report")
			return nil
		})
		again := job.Run(ctx, slot, func(context.Context, *quorum.Lease) error {
			fmt.Println("never")
			return nil
		})
		fmt.Println(err, errors.Is(again, once.ErrDone))
		stop()
	}
	// Output:
	// report
	// <nil> true
}
