//go:build unix

package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// raw sends plain Redis commands to a real server, as a simulation.Redis.
type raw struct{ client *redis.Client }

func openRaw(addr string) *raw {
	options := instance.Harden(&redis.Options{Addr: addr})
	// WAIT counts writes of its own connection only.
	options.PoolSize = 1
	options.ReadTimeout = 10 * time.Minute // the sender bounds each command
	return &raw{redis.NewClient(options)}
}

// runID is the server's run ID.
func (r *raw) runID() string {
	text, _ := r.client.InfoMap(context.Background(), "server").Result()
	return text["Server"]["run_id"]
}

func (r *raw) Do(ctx context.Context, args ...string) (redismodel.Reply, error) {
	words := make([]any, len(args))
	for i, arg := range args {
		words[i] = arg
	}
	value, err := r.client.Do(ctx, words...).Result()
	var answered redis.Error
	switch {
	case errors.Is(err, redis.Nil):
		return redismodel.Reply{Null: true}, nil
	case errors.As(err, &answered):
		return redismodel.Reply{Err: err}, nil
	case err != nil:
		return redismodel.Reply{}, err
	}
	switch v := value.(type) {
	case int64:
		return redismodel.Reply{Int: v}, nil
	case string:
		return redismodel.Reply{Text: v}, nil
	}
	return redismodel.Reply{}, fmt.Errorf("live: a server answered %v", value)
}
