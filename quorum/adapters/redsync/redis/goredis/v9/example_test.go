package goredis_test

import (
	"context"
	"errors"
	"fmt"

	client "github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/instance/embedded"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/adapters/redsync"
	goredis "github.com/redquorum/redlock/quorum/adapters/redsync/redis/goredis/v9"
)

func Example() {
	servers, err := embedded.Start(1) // in place of servers of yours
	if err != nil {
		fmt.Println(err)
		return
	}
	defer servers.Close() //nolint:errcheck // an example
	c := client.NewClient(&client.Options{Addr: servers.Server(0).Addr()})
	defer c.Close() //nolint:errcheck // an example
	ctx := context.Background()

	rs := redsync.New(goredis.NewPool(c))
	defer rs.Close(ctx) //nolint:errcheck // an example
	for rs.Coordinator().Trust(ctx) != nil {
		// Only because it has just been set up. A busy machine may not answer in time.
	}
	mutex := rs.NewMutex("orders/42")
	if err := mutex.LockContext(ctx); err != nil {
		fmt.Println(err)
		return
	}
	// What redsync doesn't have: a token for the resource, and a context that ends with the lock.
	fmt.Println("token:", mutex.Lease().Token() > 0, mutex.Lease().Within(ctx).Err())
	ok, err := mutex.UnlockContext(ctx)
	fmt.Println("unlocked:", ok || errors.Is(err, quorum.ErrUnreachable)) // the delete is sent again
	// Output:
	// token: true <nil>
	// unlocked: true
}
