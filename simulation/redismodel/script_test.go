package redismodel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation/redismodel"
)

// A script that isn't well known is written in Go, and recognized by its text.
func TestScripts(t *testing.T) {
	const move = `local was = redis.call('GET', KEYS[1]); redis.call('SET', KEYS[2], was) return 1`
	db := redismodel.New(map[string]redismodel.Script{
		move: func(call func(...string) redismodel.Reply, keys, _ []string) redismodel.Reply {
			was := call("GET", keys[0])
			if was.Err != nil || was.Null {
				return was
			}
			return call("SET", keys[1], was.Text)
		},
	})
	do := func(args ...string) redismodel.Reply { return db.Do(args, time.Unix(1, 0)) }
	do("SET", "a", "v")
	do("EVAL", move, "2", "a", "b")
	assert.Equal(t, "v", do("GET", "b").Text)
	assert.ErrorContains(t, do("EVAL", "return 1", "0").Err, "add the Go form of exactly this text to simulation.Config.Scripts")
	assert.ErrorContains(t, do("EVAL", redismodel.CompareDel, "1", "b").Err, "too few keys or arguments")
	assert.ErrorContains(t, do("EVAL", redismodel.CompareDel, "0", "b").Err, "too few keys or arguments")
	assert.ErrorContains(t, do("EVAL", move, "x").Err, "not an integer")
	assert.ErrorContains(t, do("EVAL", move, "-1").Err, "negative")
	assert.ErrorContains(t, do("EVAL", move, "3", "a").Err, "greater than number of args")
	assert.ErrorContains(t, do("EVAL", move).Err, "wrong number of arguments")
}

// Tair's commands answer as its documentation says.
func TestTairsCommands(t *testing.T) {
	db := redismodel.New(nil)
	for _, step := range []struct {
		command string
		want    int64
	}{
		{"CAD k v", -1}, {"CAS k v w PX 1000", -1}, {"SETNX k v", 1},
		{"CAD k w", 0}, {"CAS k w x PX 1000", 0}, {"CAS k v x PX 1000", 1}, {"CAD k v", 0}, {"CAD k x", 1}, {"CAD k x", -1},
	} {
		assert.Equal(t, redismodel.Reply{Int: step.want}, db.Do(strings.Fields(step.command), time.Unix(1, 0)), step.command)
	}
}
