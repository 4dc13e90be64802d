package goredis_test

import (
	"context"
	"fmt"

	client "github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/instance/embedded"
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
	defer rs.Close(ctx)                                 //nolint:errcheck // an example
	if err := rs.Coordinator().Trust(ctx); err != nil { // only because it has just been set up
		fmt.Println(err)
		return
	}
	mutex := rs.NewMutex("orders/42")
	if err := mutex.LockContext(ctx); err != nil {
		fmt.Println(err)
		return
	}
	// What redsync doesn't have: a token for the resource, and a context that ends with the lock.
	fmt.Println("token:", mutex.Lease().Token() > 0, mutex.Lease().Within(ctx).Err())
	fmt.Println(mutex.UnlockContext(ctx))
	// Output:
	// token: true <nil>
	// true <nil>
}
