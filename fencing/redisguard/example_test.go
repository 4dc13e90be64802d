package redisguard_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/redisguard"
)

// Stock is counted down by a script that runs in one step with the check of the
// token.
func ExampleGuard_Run() {
	server, err := miniredis.Run() // stands in for your server
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	defer client.Close()
	ctx := context.Background()

	guard, err := redisguard.New(redisguard.Config{Client: client})
	if err != nil {
		fmt.Println(err)
		return
	}
	take, err := redisguard.NewScript(`
		local left = tonumber(redis.call('GET', KEYS[1]) or '0') - tonumber(ARGV[1])
		if left < 0 then
			return redis.error_reply('STOCK not enough')
		end
		redis.call('SET', KEYS[1], left)
		return left`)
	if err != nil {
		fmt.Println(err)
		return
	}

	_ = guard.Admit(ctx, "tea", 34)
	_ = guard.Set(ctx, "tea", 34, "{tea}:stock", "5")
	fmt.Println(guard.Run(ctx, take, "tea", 34, []string{"{tea}:stock"}, 2))

	_, err = guard.Run(ctx, take, "tea", 33, []string{"{tea}:stock"}, 2)
	fmt.Println(errors.Is(err, fencing.ErrStale))
	// Output:
	// 3 <nil>
	// true
}
