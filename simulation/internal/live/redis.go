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
)

// raw sends plain Redis commands to a real server, as a simulation.Redis.
type raw struct {
	name   string
	client *redis.Client
}

var _ simulation.Redis = (*raw)(nil)

func openRaw(p target) *raw {
	options := instance.Harden(&redis.Options{Addr: p.Addr, Username: p.User, Password: p.Password, DB: p.DB})
	// WAIT counts writes of its own connection only.
	options.PoolSize = 1
	options.ReadTimeout = 10 * time.Minute // the sender bounds each command
	return &raw{p.Name, redis.NewClient(options)}
}

func (r *raw) Name() string { return r.name }

// The scripts that are named commands in the simulation.
const (
	compareDel    = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end`
	compareExpire = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) else return 0 end`
)

func (r *raw) Do(ctx context.Context, args ...string) (simulation.Reply, error) {
	if len(args) == 0 {
		return simulation.Reply{}, errors.New("live: empty command")
	}
	name := strings.ToUpper(args[0])
	switch {
	case name == "COMPAREDEL" && len(args) == 3:
		args = []string{"EVAL", compareDel, "1", args[1], args[2]}
	case name == "COMPAREEXPIRE" && len(args) == 4:
		args = []string{"EVAL", compareExpire, "1", args[1], args[2], args[3]}
	}
	if name == "MULTI" {
		return r.transact(ctx, args[1:])
	}
	return reply(name, r.client.Do(ctx, words(args)...))
}

// transact sends the commands of a simulation.Transaction.
func (r *raw) transact(ctx context.Context, args []string) (simulation.Reply, error) {
	queued, err := simulation.Transacted(args)
	if err != nil {
		return simulation.Reply{}, err
	}
	pipe := r.client.TxPipeline()
	answers := make([]*redis.Cmd, len(queued))
	for i, cmd := range queued {
		answers[i] = pipe.Do(ctx, words(cmd)...)
	}
	var answered redis.Error
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) && !errors.As(err, &answered) {
		return simulation.Reply{}, err
	}
	all := simulation.Reply{All: make([]simulation.Reply, len(queued))}
	for i, cmd := range queued {
		if all.All[i], err = reply(strings.ToUpper(cmd[0]), answers[i]); err != nil {
			return simulation.Reply{}, err
		}
	}
	return all, nil
}

func words(args []string) []any {
	words := make([]any, len(args))
	for i, arg := range args {
		words[i] = arg
	}
	return words
}

// reply converts a reply for the simulation.
func reply(name string, cmd *redis.Cmd) (simulation.Reply, error) {
	value, err := cmd.Result()
	var answered redis.Error
	switch {
	case errors.Is(err, redis.Nil):
		return simulation.Reply{Null: true}, nil
	case errors.As(err, &answered):
		return simulation.Reply{Err: err}, nil
	case err != nil:
		return simulation.Reply{}, err
	}
	switch v := value.(type) {
	case int64:
		return simulation.Reply{Int: v}, nil
	case string:
		return simulation.Reply{Text: v}, nil
	case []any:
		if at, ok := serverTime(v); ok && name == "TIME" {
			return simulation.Reply{Int: at}, nil
		}
	}
	return simulation.Reply{}, fmt.Errorf("live: %s answered %v", name, value)
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
