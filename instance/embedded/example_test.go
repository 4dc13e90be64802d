package embedded_test

import (
	"context"
	"fmt"
	"log"

	"github.com/redquorum/redlock/instance/embedded"
	"github.com/redquorum/redlock/quorum"
)

// Two of five servers may be gone, or hung.
func ExampleServer_Stop() {
	ctx := context.Background()
	cluster, err := embedded.Start(5)
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()
	locks, err := quorum.New(quorum.Config{}, cluster.Instances()...)
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(ctx)

	cluster.Server(0).Stop()
	cluster.Server(1).Pause()
	err = locks.Do(ctx, "invoice-2024", func(context.Context, *quorum.Lease) error {
		fmt.Println("locked")
		return nil
	})
	fmt.Println("done:", err)
	// Output:
	// locked
	// done: <nil>
}
