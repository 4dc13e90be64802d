package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// While an address leads a client to another server, its connections reach that one alone.
func TestSwitchedAddress(t *testing.T) {
	move := fault.Fault{Kind: fault.Switch, Process: "c1", Server: "A", At: time.Second, For: 2 * time.Second}
	again := move
	again.At = 5 * time.Second
	r := withRedis(t, 1, simulation.Config{Servers: 1}, simulation.Schedule{move, again}, func(c *simulation.Client, do func(...string) redismodel.Reply) {
		do("SET", "k", "first")
		for _, look := range []struct {
			at    time.Duration
			found string
		}{{500 * ms, "first"}, {1100 * ms, ""}, {2900 * ms, "second"}, {3100 * ms, "first"}, {6 * time.Second, ""}} {
			c.SleepUntil(look.at)
			assert.Equal(t, look.found, do("GET", "k").Text, "at %v", look.at)
			if look.found == "" {
				do("SET", "k", "second")
			}
		}
	})
	assert.Equal(t, 2, r.Log.Counts()["an address was switched"])
	assert.Contains(t, r.Log.String(), "c1-A suffers switch for=2000000000")
	assert.Contains(t, r.Log.String(), "A~ set c1#")
	assert.Contains(t, r.Log.String(), "3000.000000 A is back")
}
