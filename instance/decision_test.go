//go:build unix

package instance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// comparison is one server on which scripts and decisions do the same to two sets of keys, at the
// same clock.
type comparison struct {
	*testing.T
	random *rand.Rand
	client *redis.Client
	run    string
	clock  int64
	counts map[string]int
}

func compare(t *testing.T, seed uint64) *comparison {
	s := instancetest.Start(t, instancetest.Config{})
	client := redis.NewClient(&redis.Options{Addr: s.Addr(), Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	_, run, _ := strings.Cut(s.MustAsk("INFO", "replication"), "master_replid:")
	return &comparison{
		T: t, random: rand.New(rand.NewPCG(seed, 1)), client: client,
		run: run[:40], clock: time.Now().UnixMicro(), counts: map[string]int{},
	}
}

func (c *comparison) ask(args ...any) (any, error) {
	v, err := c.client.Do(context.Background(), args...).Result()
	if err == redis.Nil {
		return nil, nil
	}
	return v, err
}

func (c *comparison) must(args ...any) any {
	c.Helper()
	v, err := c.ask(args...)
	require.NoError(c, err, "%v", args)
	return v
}

func (c *comparison) one(of ...string) string { return of[c.random.IntN(len(of))] }

// reading reads a key as the readings of a watched transaction do.
func (c *comparison) reading(key string, n int) reading {
	a := reading{ttl: c.must("PTTL", key).(int64)}
	value, err := c.ask("GETRANGE", key, 0, n)
	if err != nil {
		a.err = err.Error()
	} else {
		a.value = value.(string)
	}
	a.exists = a.err != "" || a.ttl != -2
	return a
}

// now is the script with the comparison's clock in place of the server's.
func (c *comparison) now(s *script) string {
	source, err := parts.ReadFile("now.lua")
	require.NoError(c, err)
	if s != releaseScript { // which reads no clock
		require.Contains(c, s.source, string(source))
	}
	return strings.Replace(s.source, string(source), fmt.Sprintf("local now = {'%d', '%d'}\n", c.clock/1e6, c.clock%1e6), 1)
}

// script runs a script and returns its answer.
func (c *comparison) script(s *script, keys, args []string) (any, string) {
	words := []any{"EVAL", c.now(s), len(keys)}
	for _, word := range append(keys, args...) {
		words = append(words, word)
	}
	v, err := c.ask(words...)
	if err != nil {
		return nil, strings.Split(err.Error(), " script: ")[0]
	}
	return v, ""
}

// apply carries out a decision.
func (c *comparison) apply(d decision) {
	c.Helper()
	for _, w := range d.writes {
		v := c.must(w.args...)
		reply := fmt.Sprintf("+%v", v)
		if n, ok := v.(int64); ok {
			reply = fmt.Sprintf(":%d", n)
		}
		require.Equal(c, w.want, reply, "%v", w.args)
	}
}

// put sets the same at a key of both sets: nothing, a value, or another type, with or without a
// TTL.
func (c *comparison) put(suffix func(string) string, values ...string) {
	value, ttl := c.one(values...), c.one("", "1000000", "77777777", "3700000", "22000000")
	for _, key := range []string{"a", "b"} {
		switch key = suffix(key); value {
		case "-":
			c.must("DEL", key)
		case "list":
			c.must("DEL", key)
			c.must("RPUSH", key, "x")
		default:
			c.must("SET", key, value)
		}
		if ttl != "" {
			c.must("PEXPIRE", key, ttl)
		}
	}
}

// same demands that both sets of keys have the same values and TTLs.
func (c *comparison) same(keys ...func(string) string) {
	c.Helper()
	for _, suffix := range keys {
		a, b := c.reading(suffix("a"), maxHeld), c.reading(suffix("b"), maxHeld)
		require.InDelta(c, a.ttl, b.ttl, 5000)
		require.Equal(c, a.ttl < 0, b.ttl < 0)
		a.ttl, b.ttl = 0, 0
		require.Equal(c, a, b)
	}
}

// answered is a script's reply in the form of a decision's.
func answered(reply any) result {
	list := reply.([]any)
	text, _ := list[2].(string)
	return result{outcome: list[1].(int64), text: []byte(text), ttl: list[3].(int64), token: list[4].(int64), clock: time.Unix(list[5].(int64), list[6].(int64)*1000)}
}

// TestDecisionsAreThoseOfTheScripts compares each decision with the script, on random states.
func TestDecisionsAreThoseOfTheScripts(t *testing.T) {
	t.Parallel() // it mostly waits for the server
	c := compare(t, 1)
	own := func(key string) string { return key }
	for range fewer(8000) {
		mine := wire.Set{Name: "prod", Version: 7, N: 5, Q: 3, MaxTTL: 30 * time.Second}
		older, newer, other := mine, mine, mine
		older.Version, newer.Version, other.Name = 6, 10, "else"
		req := wire.Request{Op: wire.Acquire + wire.Op(c.random.IntN(int(wire.Tick))), Key: "b", Value: "v", TTL: 5_000_000 * time.Millisecond}
		req.Fence = wire.Fence{On: c.random.IntN(4) > 0, TTL: 4 * 3600 * time.Second, Ahead: time.Hour, Set: mine}
		quarter := req.Fence.TTL.Milliseconds() / 4
		period := c.clock / (quarter * 1000)
		epoch := c.one("", "@17")
		req.Run = wire.Run(c.one("", c.run, c.run, c.run, c.run+epoch, strings.Repeat("e", 40)+epoch))
		keySet := false
		switch {
		case req.Op != wire.Acquire:
		case c.random.IntN(3) == 0:
			req.Replace = c.one("w", "w", "x")
		case c.random.IntN(3) == 0:
			keySet = true
		}
		if req.Op == wire.Acquire && req.Fence.On && c.random.IntN(2) == 0 {
			req.Fence.Reserve = c.random.IntN(50)
		}
		micros := func(ago int64) string { return strconv.FormatInt(c.clock-ago, 10) }
		req.Fence.Token = fencing.Token(c.clock + []int64{-1e9, -20, 1e6, 7200e6}[c.random.IntN(4)])
		c.put(own, "-", "-", "-", "v", "v", "v", "w", "w", "w", "", "list", strings.Repeat("x", 17000))
		c.put(CounterKey, micros(1e9+1), micros(1e9+2), micros(1e9+3), micros(2e9), micros(2e9+1), micros(2e9+2), micros(2e9+3), micros(25), micros(35), micros(3e9), "-", "0", "1", "41", "-5", "07", "x", "", "list", micros(1e9), micros(1e9), micros(30), micros(0), micros(-1e6), micros(-3600e6), micros(-9e9),
			"99999999999998", "99999999999999", "9007199254740990", "9007199254740991", "9007199254740992", "9223372036854775807", "99999999999999999999")
		beside := func(set wire.Set, period int64, run string) string {
			return fmt.Sprintf("%s %d/%d %s", set, quarter, period, run)
		}
		c.put(SetKey, "-", "list", "", "x", strings.Repeat("y", 600), beside(mine, period, c.run), beside(mine, period, c.run), beside(mine, period, c.run), beside(mine, period, c.run), beside(mine, period, string(req.Run)), beside(mine, period, string(req.Run)), beside(mine, period, string(req.Run)),
			beside(mine, period-1, c.run), beside(mine, period, "earlier"), beside(mine, 0, ""), mine.String()+" 0/0 ?", mine.String()+" 0/0 ?", mine.String()+" 0/0 ?", mine.String()+" 0/0 ?", other.String()+" 0/0 ?", beside(older, period, c.run), beside(newer, period, c.run), beside(other, period, c.run))
		mark := c.one("-", "x", "list", "p/"+c.run+"@17 17 @@", "p/"+c.run+"@17 17 @@", "p/"+c.run+"@18 17 @@", "p/"+strings.Repeat("f", 40)+"@17 17 @@")
		switch c.must("DEL", "mark"); mark {
		case "-":
		case "list":
			c.must("RPUSH", "mark", "x")
		default:
			c.must("SET", "mark", mark)
		}

		// A request's numbers, as calls have them.
		s := step{
			req: &req, ttl: req.TTL.Milliseconds(), quarter: quarter, ahead: req.Fence.Ahead.Microseconds(), reserve: int64(req.Fence.Reserve),
			token: uint64(req.Fence.Token), keySet: keySet, set: mine.String(), lock: "b", counter: CounterKey("b"), text: SetKey("b"),
		}
		f := found{
			clock: c.clock, replication: c.must("INFO", "replication").(string), mark: c.reading("mark", maxHeld),
			lock: c.reading("b", maxHeld), counter: c.reading(CounterKey("b"), maxHeld), text: c.reading(SetKey("b"), maxHeld),
		}
		keys := []string{"a", CounterKey("a"), SetKey("a")}
		args := []string{"7", string(req.Run)}
		replace := req.Replace
		if keySet {
			replace = req.Value
		}
		var script *script
		n := 3
		num := func(n int64) string { return strconv.FormatInt(n, 10) }
		switch req.Op {
		case wire.Acquire:
			script = acquireScript
			args = append(args, num(s.ttl))
			if req.Fence.On {
				args = append(args, num(quarter), mine.String(), num(s.ahead), num(s.reserve), req.Fence.Token.String())
			} else {
				script, n = acquireBareScript, 1
			}
			args = append(args, req.Value, replace)
		case wire.Raise:
			script = raiseScript
			args = append(args, req.Value, req.Fence.Token.String(), num(quarter), num(s.ahead))
		case wire.Restore:
			script = restoreScript
			args = append(args, req.Value, num(s.ttl))
			if req.Fence.On {
				args = append(args, req.Fence.Token.String(), num(quarter), mine.String(), num(s.ahead))
			} else {
				n = 1
			}
		case wire.Extend:
			script, n = extendScript, 1
			args = append(args, req.Value, num(s.ttl))
		case wire.Release:
			script, n = releaseScript, 1
			args, req.Run = []string{"7", req.Value}, ""
		case wire.Look:
			script, n, req.Run = lookScript, 2, ""
			args = args[:1]
			if !req.Fence.On {
				n = 1
			}
		default:
			script, n = tickScript, 0
		}
		keys = keys[:n]
		if req.Run.Epoch() != "" {
			keys = append(keys, "mark")
		}
		if req.Run.Epoch() == "" {
			f.mark = reading{} // which isn't read
		}
		what := fmt.Sprintf("%+v\n%+v", req, f)
		d := s.decide(&f)
		reply, failure := c.script(script, keys, args)
		require.Equal(t, failure, d.failure, what)
		c.apply(d)
		c.same(own, CounterKey, SetKey)
		outcome := "failed"
		switch {
		case failure != "":
		case script.list():
			list := reply.([]any)
			require.Equal(t, list[len(list)-1], d.result.outcome, what)
			outcome = fmt.Sprint(d.result.outcome)
		default:
			want := answered(reply)
			require.InDelta(t, want.ttl, d.result.ttl, 5000, what)
			if want.outcome == scriptGranted || want.outcome == scriptReplaced {
				require.Equal(t, want.ttl, d.result.ttl, "reserved tokens: "+what)
				require.Equal(t, reply.([]any)[2] == nil, d.result.text == nil, "a transaction would have done: "+what)
			}
			require.Equal(t, string(want.text), string(d.result.text), what)
			want.ttl, want.text = d.result.ttl, d.result.text
			require.Equal(t, want, d.result, what)
			outcome = fmt.Sprint(d.result.outcome)
		}
		c.counts[req.Op.String()+" "+outcome]++
		if d.freed {
			c.counts["freed"]++
		}
		c.counts["reserved"] += int(min(d.result.ttl, 1))
		if strings.HasPrefix(d.failure, otherRun) {
			c.counts["another run"]++
		}
	}
	for _, what := range []string{
		"acquire 0", "acquire 1", "acquire 2", "acquire 3", "acquire failed", "raise 0", "raise 1", "raise failed", "restore 0", "restore 1", "restore failed",
		"extend 0", "extend 1", "extend failed", "release 0", "release 1", "look 0", "look 1", "look failed", "tick 1", "tick failed", "freed", "reserved", "another run",
	} {
		require.GreaterOrEqual(t, c.counts[what], fewer(10), "%s: %v", what, c.counts)
	}
}

// TestMarksAreThoseOfTheScript compares decideMark with mark.lua.
func TestMarksAreThoseOfTheScript(t *testing.T) {
	t.Parallel() // it mostly waits for the server
	c := compare(t, 2)
	_, process, _ := strings.Cut(c.must("INFO", "server").(string), "run_id:")
	process = process[:40]
	own := func(key string) string { return key }
	f := strings.Repeat("f", 40)
	for range fewer(4000) {
		at := func() string {
			return c.one("17", strconv.FormatInt(c.clock-50, 10), strconv.FormatInt(c.clock-5e9, 10), strconv.FormatInt(c.clock+9, 10), "99999999999999999999")
		}
		was := c.one("@@", "@@", f+"@16@"+at(), c.run+"@16@"+at())
		c.put(own, "-", "list", "x", "", c.one(process, process, f)+"/"+c.one(c.run, c.run, f)+"@"+at()+" "+at()+" "+was, c.one(process, process, f)+"/"+c.one(c.run, c.run, f)+"@"+at()+" "+at()+" "+was)
		known := wire.Known{
			RunID: c.one("", process, process, f), Run: wire.Run(c.one("", c.run+"@17", f+"@17", f)), Lately: c.random.IntN(2) == 0, Marked: c.random.IntN(2) == 0,
			Voter: c.one("", "", process, f), Ago: []time.Duration{0, time.Hour, 100 * 365 * 24 * time.Hour}[c.random.IntN(3)],
		}
		found := found{clock: c.clock, server: c.must("INFO", "server").(string), replication: c.must("INFO", "replication").(string), mark: c.reading("b", maxHeld)}
		d := decideMark("b", known, &found)
		reply, failure := c.script(markScript, []string{"a"}, []string{"7", known.RunID, string(known.Run), boolArg(known.Lately), known.Voter, strconv.FormatInt(known.Ago.Microseconds(), 10), boolArg(known.Marked)})
		require.Equal(t, failure, d.failure)
		c.apply(d)
		what := fmt.Sprintf("%+v\n%+v", known, found.mark)
		want := answered(reply)
		require.Equal(t, string(want.text), string(d.result.text), what)
		want.text = d.result.text
		require.Equal(t, want, d.result, what)
		a, b := c.reading("a", maxHeld), c.reading("b", maxHeld)
		require.Equal(t, a.value, b.value, what)
		require.Equal(t, a.ttl < 0, b.ttl < 0)
		c.counts[fmt.Sprint(len(d.writes), " ", strings.HasSuffix(b.value, "@@"), " ", d.result.token > 0)]++
	}
	for _, what := range []string{"0 true true", "0 false true", "1 true false", "1 true true", "1 false false"} {
		require.GreaterOrEqual(t, c.counts[what], fewer(10), "%v", c.counts)
	}
	// A replica's mark is its master's.
	found := found{clock: c.clock, replication: "role:slave\r\nmaster_replid:" + c.run}
	require.Empty(t, decideMark("b", wire.Known{}, &found).writes)
	found.replication = "role:master\r\n"
	require.Equal(t, noMarkHere, decideMark("b", wire.Known{}, &found).failure)
}
