package anyof_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/anyof"
	"github.com/redquorum/redlock/quorum/quorumtest"
)

// newExample is a Coordinator on servers in memory.
func newExample(n int) *quorum.Coordinator {
	c, err := quorum.New(quorum.Config{}, quorumtest.NewServers(n).Instances()...)
	if err != nil {
		panic(err)
	}
	return c
}

// Two keys let two in.
func ExampleTryAcquire() {
	c := newExample(5)
	ctx := context.Background()
	defer c.Close(ctx) //nolint:errcheck // an example

	places := []string{"export/1", "export/2"}
	for range 3 {
		lease, err := anyof.TryAcquire(ctx, c, places...)
		if err != nil {
			fmt.Println("full:", errors.Is(err, quorum.ErrTaken))
			continue
		}
		defer lease.Release(ctx) //nolint:errcheck // an example
		fmt.Println("in:", lease.Key() != "")
	}
	// Output:
	// in: true
	// in: true
	// full: true
}
