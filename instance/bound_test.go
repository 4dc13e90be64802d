//go:build unix

package instance

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// How far a counter may be ahead of the server's clock.

// tooFar checks for a failure because a counter would be too far ahead.
func tooFar(t testing.TB, v wire.Vote, token fencing.Token, permanent bool) *wire.CounterError {
	t.Helper()
	failed(t, v, wire.ErrCounter)
	var counter *wire.CounterError
	require.ErrorAs(t, v.Err, &counter)
	require.Equal(t, token, counter.Token)
	require.Equal(t, ahead, counter.Most)
	require.Equal(t, permanent, counter.Permanent(), "%v", v.Err)
	return counter
}

// TestRepairCommand: the command in the error, which an operator enters, works.
func TestRepairCommand(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	r := open(t, s.URL(), Config{})
	ask := asker(t, r)
	host, port, _ := strings.Cut(s.Addr(), ":")
	for _, key := range []string{"orders:42", "with space", "ünïcode $HOME `x`", "quote'd", "line\nbreak", "\xff\x01"} {
		granted(t, r.Do(within(t), acquire(key, "v")))
		ask("DEL", key)
		ask("SET", CounterKey(key), uint64(fencing.MaxToken-1))
		err := tooFar(t, r.Do(within(t), acquire(key, "v")), fencing.MaxToken, true)
		require.ErrorContains(t, err, "days ahead of the server's clock")
		require.ErrorContains(t, err, "when nobody has held the lock for MaxTTL (30s), and no sooner")
		_, command, _ := strings.Cut(err.Error(), " with redis-cli")
		cmd := exec.Command("sh", "-c", "redis-cli -h "+host+" -p "+port+command)
		if line, prompt := strings.CutPrefix(command, ", at its prompt: "); prompt {
			cmd = exec.Command("redis-cli", "-h", host, "-p", port)
			cmd.Stdin = strings.NewReader(line + "\n")
		}
		output, failure := cmd.CombinedOutput()
		require.NoError(t, failure)
		require.Equal(t, "2", strings.TrimSpace(string(output)), "%q: %v", key, err)
		v := granted(t, r.Do(within(t), acquire(key, "v")))
		require.Equal(t, v.Clock.UnixMicro()+1, int64(v.Token))
	}
	long := strings.Repeat("x", 1000)
	ask("SET", CounterKey(long), uint64(fencing.MaxToken-1))
	err := tooFar(t, r.Do(within(t), acquire(long, "v")), fencing.MaxToken, true)
	require.Less(t, len(err.Error()), 600)
	require.ErrorContains(t, err, "{resource}:redlock:set")
}

// TestServerClockPastTheLastToken: no counter can start there.
func TestServerClockPastTheLastToken(t *testing.T) {
	r, m := mini(t, Config{})
	m.SetTime(time.Date(2260, 1, 1, 0, 0, 0, 0, time.UTC))
	v := failed(t, r.Do(within(t), acquire("k", value())), wire.ErrCounter)
	require.True(t, v.Unsent)
	require.True(t, isPermanent(v.Err))
	require.ErrorContains(t, v.Err, "the server's clock is in the year 22")
	require.ErrorContains(t, v.Err, "set its clock right")
}

// TestWhatSharesACommand: what is one argument for a whole list is the same for all its requests.
func TestWhatSharesACommand(t *testing.T) {
	r := &Redis{}
	for what, edit := range map[string]func(c *call){
		"":                func(c *call) { c.req.Key, c.req.Value, c.req.Replace, c.token = "l", "w", "v", 7 },
		"run":             func(c *call) { c.req.Run = "another" },
		"bound":           func(c *call) { c.ahead++ },
		"set":             func(c *call) { c.req.Fence.Set.Version++ },
		"TTL":             func(c *call) { c.ttl++ },
		"counter's TTL":   func(c *call) { c.quarter++ },
		"number of keys":  func(c *call) { c.req.Also = []string{"m"} },
		"fencing":         func(c *call) { c.req.Fence.On = false },
		"reserved tokens": func(c *call) { c.reserve++ },
		"full script":     func(c *call) { c.useEval = true },
		"on its own":      func(c *call) { c.ownCommand = true },
	} {
		one, other := r.newCall(acquire("k", "v")), r.newCall(acquire("k", "v"))
		edit(other)
		require.Equal(t, what == "", one.shares(other), what)
	}
	one, other := r.newCall(request(wire.Extend, "k", "v")), r.newCall(request(wire.Extend, "l", "w"))
	other.ttl++
	require.True(t, one.shares(other), "each extension names its TTL")
}
