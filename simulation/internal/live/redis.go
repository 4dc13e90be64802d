//go:build unix

package live

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// raw sends plain Redis commands to a real server, as a simulation.Redis.
type raw struct {
	name   string
	client *redis.Client
}

var _ simulation.Redis = (*raw)(nil)

func openRaw(name, addr, user, password string) *raw {
	options := instance.Harden(&redis.Options{Addr: addr, Username: user, Password: password})
	// WAIT counts writes of its own connection only.
	options.PoolSize = 1
	options.ReadTimeout = 10 * time.Minute // the sender bounds each command
	return &raw{name, redis.NewClient(options)}
}

// runID is the server's run ID, "" if the account may not know it.
func (r *raw) runID() string {
	text, _ := r.client.InfoMap(context.Background(), "server").Result()
	return text["Server"]["run_id"]
}

func (r *raw) Name() string { return r.name }

func (r *raw) Do(ctx context.Context, args ...string) (redismodel.Reply, error) {
	if len(args) == 0 {
		return redismodel.Reply{}, errors.New("live: empty command")
	}
	name := strings.ToUpper(args[0])
	switch { // named commands in the simulation
	case name == "COMPAREDEL" && len(args) == 3:
		args = []string{"EVAL", redismodel.CompareDel, "1", args[1], args[2]}
	case name == "COMPAREEXPIRE" && len(args) == 4:
		args = []string{"EVAL", redismodel.CompareExpire, "1", args[1], args[2], args[3]}
	}
	return reply(name, r.client.Do(ctx, words(args)...))
}

func words(args []string) []any {
	words := make([]any, len(args))
	for i, arg := range args {
		words[i] = arg
	}
	return words
}

// reply converts a reply for the simulation.
func reply(name string, cmd *redis.Cmd) (redismodel.Reply, error) {
	value, err := cmd.Result()
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
	case []any:
		if at, ok := serverTime(v); ok && name == "TIME" {
			return redismodel.Reply{Int: at}, nil
		}
	}
	return redismodel.Reply{}, fmt.Errorf("live: %s answered %v", name, value)
}

// serverTime parses the reply of TIME: seconds and microseconds.
func serverTime(parts []any) (int64, bool) {
	if len(parts) != 2 {
		return 0, false
	}
	var n [2]int64
	for i, part := range parts {
		text, ok := part.(string)
		if !ok {
			return 0, false
		}
		var err error
		if n[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return 0, false
		}
	}
	return n[0]*time.Second.Microseconds() + n[1], true
}
