package simulation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
)

// talk plays one process that talks to one server.
func talk(t *testing.T, cfg simulation.Config, schedule simulation.Schedule, say func(c *simulation.Client, do func(args ...string) simulation.Reply)) simulation.Result {
	t.Helper()
	cfg.Servers, cfg.Processes = 1, 1
	var redis simulation.Redis
	locker := bareConfig().Locker
	cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
		redis = p.Redis[0]
		return locker(p)
	}
	return run(t, 1, cfg, schedule, func(c *simulation.Client) {
		say(c, func(args ...string) simulation.Reply {
			reply, err := redis.Do(context.WithoutCancel(c.Context()), args...)
			require.NoError(t, err)
			return reply
		})
	})
}

// A script that isn't well known is written in Go, and recognized by its text in any layout.
func TestScripts(t *testing.T) {
	const swap = `local was = redis.call('GETDEL', KEYS[1]); redis.call('SET', KEYS[2], was) return 1`
	cfg := simulation.Config{Scripts: map[string]simulation.Script{
		swap: func(call func(...string) simulation.Reply, keys, _ []string) simulation.Reply {
			was := call("GETDEL", keys[0])
			if was.Err != nil || was.Null {
				return was
			}
			return call("SET", keys[1], was.Text)
		},
	}}
	talk(t, cfg, nil, func(_ *simulation.Client, do func(args ...string) simulation.Reply) {
		do("SET", "a", "v")
		do("EVAL", "local was = redis.call(\"getdel\",KEYS[1])\n redis.call(\"set\",KEYS[2],was)\nreturn 1", "2", "a", "b")
		assert.True(t, do("GET", "a").Null)
		assert.Equal(t, "v", do("GET", "b").Text)
		assert.ErrorContains(t, do("EVAL", "return 1", "0").Err, "add its Go form to Config.Scripts")
		assert.ErrorContains(t, do("EVAL", simulation.CompareDel, "1", "b").Err, "too few keys or arguments")
		assert.ErrorContains(t, do("EVAL", simulation.CompareDel, "0", "b").Err, "too few keys or arguments")
		assert.ErrorContains(t, do("EVAL", swap, "x").Err, "not an integer")
		assert.ErrorContains(t, do("EVAL", swap, "-1").Err, "negative")
		assert.ErrorContains(t, do("EVAL", swap, "3", "a").Err, "greater than number of args")
		assert.ErrorContains(t, do("EVAL", swap).Err, "wrong number of arguments")
	})
	cfg.Scripts["x"] = nil
	_, err := simulation.Run(1, cfg, nil, func(*simulation.Client) {})
	require.ErrorIs(t, err, simulation.ErrConfig)
}

// The effects of a script or a transaction are one entry in a server's log.
func TestScriptsAndTransactionsArePersisted(t *testing.T) {
	restart := simulation.Schedule{{Kind: simulation.Restart, Server: "A", At: time.Second, For: time.Second, Keep: simulation.KeepAll}}
	r := talk(t, simulation.Config{Persistence: simulation.KeepAll}, restart, func(c *simulation.Client, do func(args ...string) simulation.Reply) {
		assert.Equal(t, "OK", do("EVAL", simulation.SetNXPX, "1", "k", "v", "60000").Text)
		all := do(simulation.Transaction([]string{"HSET", "h", "f", "1"}, []string{"HINCRBY", "h", "f", "4"}, []string{"GET", "h"}, []string{"HLEN", "h"})...)
		require.Len(t, all.All, 4)
		assert.EqualValues(t, 5, all.All[1].Int)
		assert.ErrorContains(t, all.All[2].Err, "WRONGTYPE")
		assert.EqualValues(t, 1, all.All[3].Int, "the others are carried out all the same")
		c.SleepUntil(3 * time.Second)
		c.Sleep(time.Second) // its connection was cut
		assert.Equal(t, "v", do("GET", "k").Text)
		assert.Equal(t, "5", do("HGET", "h", "f").Text)
	})
	assert.Equal(t, 1, r.Log.Counts()["a server was restarted"])
}

// A transaction with a command that can't be queued does nothing.
func TestTransactions(t *testing.T) {
	talk(t, simulation.Config{}, nil, func(_ *simulation.Client, do func(args ...string) simulation.Reply) {
		assert.ErrorContains(t, do(simulation.Transaction([]string{"SET", "k", "v"}, []string{"GET"})...).Err, "EXECABORT")
		assert.True(t, do("GET", "k").Null)
		assert.ErrorContains(t, do("MULTI", "x").Err, "use Transaction")
		assert.ErrorContains(t, do("MULTI", "9", "GET").Err, "use Transaction")
	})
}
