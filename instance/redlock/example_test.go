package redlock_test

import (
	"context"
	"fmt"
	"log"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance/embedded"
	"github.com/redquorum/redlock/instance/redlock"
	"github.com/redquorum/redlock/quorum"
)

// store stands for the resource that the lock protects.
func store(_ context.Context, _ string, _ fencing.Token) error { return nil }

// A lock on three servers, and a write that the lock protects.
func Example() {
	locks, err := redlock.Open(quorum.Config{}, "redis://a:6379", "redis://b:6379", "redis://c:6379")
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(context.Background())
	err = locks.Do(context.Background(), "orders:42", func(ctx context.Context, lease *quorum.Lease) error {
		// ctx ends with the lease. The store refuses a smaller token than it has seen.
		return store(ctx, "shipped", lease.Token())
	})
	log.Println(err) // the error says what each server did
}

// The servers here run inside the process; a program has URLs such as
// redis://user:password@host:6379/0.
func ExampleOpen() {
	cluster, err := embedded.Start(3)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()

	ctx := context.Background()
	locks, err := redlock.Open(quorum.Config{Owner: "worker-7"}, cluster.URLs()...)
	if err != nil {
		fmt.Println(err) // says which URL, and never the password
		return
	}
	defer locks.Close(ctx)

	// These have come up just now, and nobody has locked on them before.
	if err := locks.Trust(ctx); err != nil {
		fmt.Println(err)
		return
	}
	err = locks.Do(ctx, "orders:42", func(ctx context.Context, lease *quorum.Lease) error {
		fmt.Println("held:", ctx.Err() == nil, lease.Token().Valid())
		return nil
	})
	fmt.Println("error:", err)
	// Output:
	// held: true true
	// error: <nil>
}
