package redlock_test

import (
	"context"
	"fmt"
	"log"

	"github.com/redquorum/redlock/instance/redlock"
	"github.com/redquorum/redlock/quorum"
)

// A lock on a server inside the process. On servers only the URLs differ.
func Example() {
	locks, err := redlock.Open(quorum.Config{}, "memory://") // in production: "redis://a:6379", "redis://b:6379", ...
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(context.Background())
	err = locks.Do(context.Background(), "orders:42", func(ctx context.Context, lease *quorum.Lease) error {
		// ctx ends with the lease. Once a store has seen this token, it refuses smaller ones.
		fmt.Println("shipped, with a token:", lease.Token().Valid())
		return nil
	})
	log.Println(err) // the error says what each server did
	// Output: shipped, with a token: true
}
