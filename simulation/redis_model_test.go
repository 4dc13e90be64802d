//go:build unix

package simulation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	redisinstance "github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// pair is a real server and its model, which must do the same.
type pair struct {
	t         *testing.T
	random    *rand.Rand
	real      *redisinstance.Redis
	model     database
	serverRun string // the real server's
	keys      []string
	words     []string // raw commands besides those of every server

	last    time.Time        // the model's time of the last step
	slowest time.Duration    // answer of the real server: how far two expiries may be apart
	ahead   map[string]int64 // by resource: how far the real counter, which started from the clock, is behind the model's
	done    []string
	counts  map[string]int
}

func newPair(t *testing.T, seed uint64, kind serverKind, words ...string) *pair {
	server := instancetest.Start(t, kind.cfg)
	real, err := redisinstance.Open(server.URL(), redisinstance.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = real.Close() })
	id, err := real.Probe(t.Context(), wire.Known{})
	require.NoError(t, err)
	return &pair{
		t: t, serverRun: id.ReplID, random: rand.New(rand.NewPCG(seed, 1)), real: real, model: newDatabase(nil), words: words,
		keys: []string{"k", "l", "counter"}, ahead: map[string]int64{}, counts: map[string]int{},
	}
}

// both applies one step to the two, and records the time by which they may differ.
func (p *pair) both(what string, real func(ctx context.Context), model func(now time.Time)) {
	p.done = append(p.done, what)
	began := time.Now()
	p.last = began
	model(began)
	real(p.t.Context())
	p.slowest = max(p.slowest, time.Since(began)+2*time.Millisecond)
}

func (p *pair) history() string { return strings.Join(p.done[max(0, len(p.done)-12):], "\n") }

// raw sends a Redis command to both and compares the answers.
func (p *pair) raw(args ...string) {
	p.t.Helper()
	var ours, theirs Reply
	p.both(strings.Join(args, " "), func(ctx context.Context) { theirs = p.ask(ctx, args) }, func(now time.Time) { ours = p.model.do(args, now) })
	name := strings.ToUpper(args[0])
	switch {
	case ours.Err != nil || theirs.Err != nil:
		p.counts["error"]++
		require.Equal(p.t, fmt.Sprint(theirs.Err), fmt.Sprint(ours.Err), p.history())
		return
	case (name == "PTTL" || name == "TTL") && ours.Int > 0:
		unit := map[string]time.Duration{"PTTL": time.Millisecond, "TTL": time.Second}[name]
		require.InDelta(p.t, theirs.Int, ours.Int, float64(p.slowest/unit)+1, p.history())
	case name == "TIME":
		require.InDelta(p.t, theirs.Int, ours.Int, float64(p.slowest.Microseconds()), p.history())
	default:
		require.Equal(p.t, theirs, ours, p.history())
	}
	p.counts[strings.ToLower(name)]++
	p.settle()
}

// ask returns the real server's answer in the model's form.
func (p *pair) ask(ctx context.Context, args []string) Reply {
	words := make([]any, len(args))
	for i, a := range args {
		words[i] = a
	}
	switch strings.ToUpper(args[0]) {
	case "COMPAREDEL":
		words = []any{"EVAL", "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end", 1, args[1], args[2]}
	case "COMPAREEXPIRE":
		words = []any{"EVAL", "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) else return 0 end", 1, args[1], args[2], args[3]}
	case multi:
		return p.transact(ctx, args)
	}
	return p.form(p.real.Client().Do(ctx, words...).Result())
}

// form converts an answer to the model's form.
func (p *pair) form(result any, err error) Reply {
	switch value := result.(type) {
	case nil:
		if errors.Is(err, redis.Nil) {
			return Reply{Null: true}
		}
		return failure(err)
	case int64:
		return number(value)
	case string:
		return Reply{Text: value}
	case []any: // TIME
		seconds, _ := strconv.ParseInt(fmt.Sprint(value[0]), 10, 64)
		micros, _ := strconv.ParseInt(fmt.Sprint(value[1]), 10, 64)
		return number(seconds*million + micros)
	default:
		require.Fail(p.t, "an answer of another type", "%T", result)
		return Reply{}
	}
}

// transact sends a transaction to the real server.
func (p *pair) transact(ctx context.Context, args []string) Reply {
	queued, err := Transacted(args[1:])
	require.NoError(p.t, err)
	pipe := p.real.Client().TxPipeline()
	for _, cmd := range queued {
		words := make([]any, len(cmd))
		for i, arg := range cmd {
			words[i] = arg
		}
		pipe.Do(ctx, words...)
	}
	done, err := pipe.Exec(ctx)
	if err != nil && strings.HasPrefix(err.Error(), "EXECABORT") {
		return failure(err)
	}
	all := Reply{All: make([]Reply, len(done))}
	for i, cmd := range done {
		all.All[i] = p.form(cmd.(*redis.Cmd).Result())
		if err := all.All[i].Err; err != nil {
			all.All[i].Err = errors.New(err.Error()) // of the same type as in the model
		}
	}
	return all
}

// settle waits for keys that are about to expire, because the two might differ about the moment.
func (p *pair) settle() {
	for _, key := range append([]string{"h"}, p.keys...) {
		// As of then: it may already be gone from the model, and not yet from the other.
		_, expires, ok := p.model.Keys.Get(key, p.last)
		if !ok || expires.IsZero() || expires.Sub(p.last) > time.Second {
			continue
		}
		p.counts["expired"]++
		require.Eventually(p.t, func() bool {
			n, err := p.real.Client().Exists(p.t.Context(), key).Result()
			return err == nil && n == 0 && !time.Now().Before(expires)
		}, 10*time.Second, time.Millisecond, p.history())
	}
}

// compare compares all data.
func (p *pair) compare() {
	p.t.Helper()
	for _, key := range p.keys {
		p.raw("GET", key)
		p.raw("PTTL", key)
		p.run(wire.Request{Op: wire.Look, Key: key, Fence: wire.Fence{On: true}})
	}
}

func (p *pair) of(choices ...string) string { return choices[p.random.IntN(len(choices))] }
func (p *pair) key() string                 { return p.of(p.keys...) }
func (p *pair) value() string               { return p.of("v", "w", "7", "-1", "9223372036854775807", "07") }

// ms is a TTL: a long one, one that ends at once, or an invalid one.
func (p *pair) ms() string {
	return p.of("60000", "90000", "3600000", "60001", "3", "1", "0", "-1", "1e3", "x", "9223372036854775807", "-9223372036854775808")
}

func (p *pair) command() []string {
	names := append([]string{"SET", "SET", "SET", "SETNX", "GET", "DEL", "EXISTS", "INCR", "EXPIRE", "PEXPIRE", "PEXPIREAT", "PERSIST", "TTL", "PTTL", "TIME", "PING", "COMPAREDEL", "COMPAREEXPIRE", "FLUSHALL", "nosuch",
		"SETEX", "PSETEX", "GETDEL", "HSET", "HSET", "HSETNX", "HGET", "HDEL", "HEXISTS", "HLEN", "HINCRBY", "EVAL", "EVAL", multi}, p.words...)
	name := p.of(names...)
	key := p.key()
	if p.random.IntN(8) == 0 && slices.Contains([]string{"SET", "SETEX", "SETNX", "GET", "GETDEL", "DEL", "EXISTS", "INCR", "PEXPIRE", "PERSIST"}, name) {
		key = "h" // usually a hash, which the library's commands leave alone
	}
	switch name {
	case "SET":
		args := []string{p.of("SET", "set"), key, p.value()}
		for p.random.IntN(3) != 0 {
			switch option := p.of(append([]string{"NX", "XX", "GET", "KEEPTTL", "PX", "EX", "PXAT", "EXAT", "px", "nonsense"}, p.words...)...); option {
			case "PX", "px", "EX":
				args = append(args, option, p.ms())
			case "PXAT":
				args = append(args, option, strconv.FormatInt(time.Now().UnixMilli()+int64(60_000+p.random.IntN(1000)), 10))
			case "EXAT":
				args = append(args, option, strconv.FormatInt(time.Now().Unix()+60, 10))
			case "IFEQ":
				args = append(args, option, p.value())
			case "CAD", "CAS", "DELEX", "DELIFEQ":
			default:
				args = append(args, option)
			}
		}
		return args
	case "SETNX", "CAD", "DELIFEQ", "COMPAREDEL":
		return []string{name, key, p.value()}
	case "CAS":
		return []string{name, key, p.value(), p.value(), "PX", "60000"}
	case "DELEX":
		return []string{name, key, "IFEQ", p.value()}
	case "IFEQ":
		return []string{"SET", key, p.value(), "IFEQ", p.value(), "PX", "60000"}
	case "DEL", "EXISTS":
		return []string{name, key, p.key()}[:2+p.random.IntN(2)]
	case "EXPIRE":
		return []string{name, key, p.of("60", "3600", "0", "-1", "x", "9223372036854775807")}
	case "PEXPIRE":
		return []string{name, key, p.ms()}
	case "PEXPIREAT":
		return []string{name, key, strconv.FormatInt(time.Now().UnixMilli()+int64(60_000-p.random.IntN(2)*120_000), 10)}
	case "COMPAREEXPIRE":
		return []string{name, key, p.value(), p.of("60000", "3", "0", "-5")}
	case "SETEX":
		return []string{name, key, p.of("60", "3600", "0", "-1", "x"), p.value()}
	case "PSETEX":
		return []string{name, key, p.ms(), p.value()}
	case "HSET":
		return []string{name, "h", p.of("f", "g"), p.value(), p.of("f", "g"), p.value()}[:4+p.random.IntN(3)]
	case "HSETNX":
		return []string{name, "h", p.of("f", "g"), p.value()}
	case "HGET", "HEXISTS":
		return []string{name, "h", p.of("f", "g")}
	case "HDEL":
		return []string{name, "h", p.of("f", "g"), p.of("f", "g")}[:3+p.random.IntN(2)]
	case "HLEN":
		return []string{name, "h"}
	case "HINCRBY":
		return []string{name, "h", p.of("f", "g"), p.of("1", "-1", "9223372036854775807", "-9223372036854775808", "x")}
	case "EVAL":
		script := p.of(CompareDel, CompareExpire, SetNXPX, SetNXThenExpire, CompareExpireOrSet, CompareDelOrGone)
		return []string{name, script, "1", key, p.value(), p.of("60000", "3")}
	case multi:
		return Transaction(p.queued(), p.queued(), p.queued())
	case "TIME", "PING", "FLUSHALL":
		return []string{name}
	case "nosuch":
		return []string{p.of("nosuch", "GET", "SET", "PTTL", "SETNX"), key, "b", "c"}[:1+p.random.IntN(4)]
	default:
		return []string{name, key}
	}
}

// queued is a command of a transaction. A command unknown to Redis aborts all.
func (p *pair) queued() []string {
	for {
		cmd := p.command()
		switch name := strings.ToUpper(cmd[0]); {
		case name == multi || name == "TIME" || strings.HasPrefix(name, "COMPARE") || strings.HasSuffix(name, "TTL"):
		case len(cmd) > 3 && slices.Contains(cmd, "3"): // near an end
		default:
			return cmd
		}
	}
}

// run carries one of the library's commands out on both.
func (p *pair) run(cmd wire.Request) {
	p.t.Helper()
	var ours, theirs wire.Vote
	what := fmt.Sprintf("%v %s %s ttl=%v token=%d fence=%v set=%v run=%q spare=%d ahead=%v", cmd.Op, cmd.Key, cmd.Value, cmd.TTL, cmd.Fence.Token, cmd.Fence.On, cmd.Fence.Set, cmd.Run, cmd.Fence.Reserve, cmd.Fence.Ahead)
	began := time.Now()
	before, _, _ := p.model.Counters.Get(cmd.Key, began)
	usual, makes := p.model.Usual(cmd, began), p.model.Makes(cmd, began)
	p.both(what, func(ctx context.Context) {
		translated := cmd
		if cmd.Fence.Token != 0 && cmd.Op != wire.Acquire {
			translated.Fence.Token = fencing.Token(int64(cmd.Fence.Token) + p.ahead[cmd.Key])
		}
		theirs = quorumtest.Do(ctx, p.real, translated)
	}, func(now time.Time) { ours = p.model.Run(cmd, now) })
	if twoSteps := cmd.Op == wire.Acquire && cmd.Run != ""; twoSteps && ours.Outcome == wire.Granted && theirs.Outcome == wire.Refused && time.Since(began) >= cmd.TTL {
		// A transaction set the key, and the key ended before the script looked for it. The
		// script then sets nothing. The model takes no time between the two, so both begin anew.
		p.counts["ended within a request"]++
		p.raw("FLUSHALL")
		clear(p.ahead)
		return
	}
	require.Equal(p.t, theirs.Outcome, ours.Outcome, "%v\n%s", theirs.Err, p.history())
	if byTransaction := usual && ours.Outcome == wire.Refused && theirs.Remaining == 0; !byTransaction { // which doesn't report them
		if ours.Holder != "" || cmd.Op == wire.Look { // the model takes a transaction where it can be one
			require.Equal(p.t, theirs.Holder, ours.Holder, p.history())
		}
		require.InDelta(p.t, theirs.Remaining, ours.Remaining, float64(p.slowest), p.history())
	}
	var mineAhead, otherAhead *wire.CounterError
	require.Equal(p.t, errors.As(theirs.Err, &otherAhead), errors.As(ours.Err, &mineAhead), p.history())
	if mineAhead != nil {
		p.counts[cmd.Op.String()+" too far ahead"]++
		if cmd.Run != "" && int64(otherAhead.Token)-p.ahead[cmd.Key] == int64(mineAhead.Token)+1 {
			p.counts["a transaction counted for nothing"]++
			p.ahead[cmd.Key]++
		}
		require.EqualValues(p.t, int64(otherAhead.Token)-p.ahead[cmd.Key], mineAhead.Token, p.history())
		require.Equal(p.t, theirs.Unsent, ours.Unsent, p.history())
	}
	if cmd.Op == wire.Acquire && ours.Token > before+1+fencing.Token(ours.Reserved) {
		// Both started from their clocks, or were raised to them.
		if before != 0 {
			p.counts["lifted"]++
		}
		p.ahead[cmd.Key] = int64(theirs.Token) - int64(ours.Token)
		require.InDelta(p.t, 0, p.ahead[cmd.Key], float64(p.slowest.Microseconds()), p.history())
		require.Greater(p.t, int64(theirs.Token), began.UnixMicro(), p.history())
	} else if ours.Token != 0 || theirs.Token != 0 {
		// The number of reserved tokens follows from the two clocks.
		first := func(v wire.Vote) int64 { return int64(v.Token) - int64(v.Reserved) }
		more := first(theirs) - p.ahead[cmd.Key] - first(ours)
		if cmd.Op == wire.Acquire && cmd.Run != "" && more == 1 {
			p.counts["a transaction counted for nothing"]++
			p.ahead[cmd.Key]++
			more = 0
		}
		require.Zero(p.t, more, p.history())
		require.InDelta(p.t, theirs.Reserved, ours.Reserved, float64(p.slowest.Microseconds())+math.Abs(float64(p.ahead[cmd.Key])), p.history())
		p.ahead[cmd.Key] += int64(theirs.Reserved - ours.Reserved)
		if ours.Reserved > 0 {
			p.counts["reserved"]++
		}
		if ours.Reserved < cmd.Fence.Reserve {
			p.counts["reserved fewer"]++
		}
	}
	if cmd.Op == wire.Acquire && cmd.Run != "" && ours.Outcome != wire.Granted {
		p.spilled(cmd.Key, makes)
	}
	if cmd.Op == wire.Acquire && makes && ours.Outcome == wire.Granted {
		p.vouch(cmd)
	}
	var mine, other *wire.SetMismatchError
	require.Equal(p.t, errors.As(theirs.Err, &other), errors.As(ours.Err, &mine), p.history())
	if mine != nil {
		p.counts["set mismatch"]++
		require.Equal(p.t, other.Theirs, mine.Theirs, p.history())
	}
	require.Equal(p.t, theirs.Replaced, ours.Replaced, p.history())
	if ours.Replaced {
		p.counts["replaced"]++
	}
	p.counts[cmd.Op.String()+" "+ours.Outcome.String()]++
	p.settle()
}

// spilled records whether a request that was not granted counted. The model counts whenever an
// instance may.
func (p *pair) spilled(key string, made bool) {
	p.t.Helper()
	ours, _, known := p.model.Counters.Get(key, time.Now())
	if !known {
		// A lost counter that was counted is still a lost counter.
		if p.real.Client().Del(p.t.Context(), redisinstance.CounterKey(key)).Val() > 0 {
			p.counts["a lost counter was counted"]++
		}
		return
	}
	theirs, err := p.real.Client().Get(p.t.Context(), redisinstance.CounterKey(key)).Int64()
	if made && errors.Is(err, redis.Nil) {
		// A script was asked, which makes no counter where the lock is held.
		p.counts["no counter was made"]++
		p.model.Counters.Delete(key, time.Now())
		p.model.Records.Delete(key, time.Now())
		return
	}
	if made {
		p.counts["a counter was made for nothing"]++
		p.ahead[key] = 0
	}
	require.NoError(p.t, err)
	ahead := theirs - int64(ours)
	require.Contains(p.t, []int64{p.ahead[key] - 1, p.ahead[key], p.ahead[key] + 1}, ahead, p.history())
	p.ahead[key] = ahead
}

// vouch lets the model's new counter have a record with the run or without one, as the real one.
func (p *pair) vouch(cmd wire.Request) {
	p.t.Helper()
	text := p.real.Client().Get(p.t.Context(), redisinstance.SetKey(cmd.Key)).Val()
	if !strings.HasSuffix(text, " 0/0 ?") {
		p.counts["a script made the counter"]++
		return
	}
	p.counts["a transaction made the counter"]++
	r, expires, _ := p.model.Records.Get(cmd.Key, time.Now())
	r.Run = quorumtest.Unvouched
	p.model.Records.Put(cmd.Key, r, expires)
}

// drop deletes a resource's counter, or the record beside it, if it exists.
func (p *pair) drop(name func(key string) string, drop func(key string, now time.Time) bool) {
	p.t.Helper()
	key := p.key()
	var was bool
	var n int64
	p.both("drop "+name(key), func(ctx context.Context) {
		n = p.real.Client().Del(ctx, name(key)).Val()
	}, func(now time.Time) { was = drop(key, now) })
	require.Equal(p.t, was, n == 1, p.history())
	if was {
		p.counts[map[bool]string{true: "counter dropped", false: "record dropped"}[name(key) == redisinstance.CounterKey(key)]]++
	}
}

// age changes the run recorded with a resource's counter to an earlier one.
func (p *pair) age() {
	p.t.Helper()
	key := p.key()
	p.both("age "+key, func(ctx context.Context) {
		if text, err := p.real.Client().Get(ctx, redisinstance.SetKey(key)).Result(); err == nil {
			p.real.Client().SetArgs(ctx, redisinstance.SetKey(key), text[:strings.LastIndex(text, " ")+1]+"earlier", redis.SetArgs{KeepTTL: true})
		}
	}, func(now time.Time) {
		if r, expires, ok := p.model.Records.Get(key, now); ok {
			r.Run = "earlier"
			p.model.Records.Put(key, r, expires)
		}
	})
}

// operation returns a random command of the library.
func (p *pair) operation() wire.Request {
	op := wire.Acquire + wire.Op(p.random.IntN(int(wire.Look)))
	cmd := wire.Request{Op: op, Key: p.of("k", "l"), Value: p.of("v", "w"), TTL: time.Minute}
	if p.random.IntN(4) == 0 {
		cmd.TTL = 3 * time.Millisecond
	}
	cmd.Fence.On = p.random.IntN(3) != 0
	cmd.Fence.TTL = time.Hour
	if p.random.IntN(8) == 0 {
		cmd.Fence.TTL = 24 * time.Hour
	}
	cmd.Fence.Set = wire.Set{Name: "main", Version: uint64(1 + p.random.IntN(2)), N: 5, Q: 3}
	switch op {
	case wire.Acquire:
		cmd.Run = wire.Run(p.of("", p.serverRun))
		if p.random.IntN(4) == 0 {
			cmd.Replace = p.of("v", "w", "x")
			if cmd.Replace == cmd.Value { // no request replaces its own value
				cmd.Replace = "x"
			}
		}
		if cmd.Fence.On && p.random.IntN(3) == 0 {
			cmd.Fence.Token = fencing.Token(time.Now().Add(time.Duration(p.random.IntN(100)) * time.Second).UnixMicro())
		}
		if cmd.Fence.On && p.random.IntN(3) == 0 {
			cmd.Fence.Reserve = p.random.IntN(128)
		}
	case wire.Raise, wire.Restore:
		known, _, _ := p.model.Counters.Get(cmd.Key, time.Now())
		if known == 0 {
			p.ahead[cmd.Key] = 0
		}
		cmd.Fence.Token = fencing.Token(max(1e15, int64(known)) + int64(p.random.IntN(20)-10)) // none of a lost counter
		if p.random.IntN(10) == 0 {
			cmd.Fence.Token = fencing.Token(time.Now().Add(30 * time.Minute).UnixMicro())
		}
	}
	// Either is far from the clock, because the two clocks differ.
	cmd.Fence.Ahead = []time.Duration{10 * time.Minute, time.Hour, time.Hour, time.Hour}[p.random.IntN(4)]
	return cmd
}

// newLock takes a lock that is new, twice, mostly. That is what a client guesses then.
func (p *pair) newLock(key string) {
	p.t.Helper()
	if p.random.IntN(10) == 0 {
		p.raw("SET", key, "x", "PX", "60000")
	}
	for _, value := range []string{"v", "w"} {
		cmd := wire.Request{Op: wire.Acquire, Key: key, Value: value, TTL: time.Minute, Run: wire.Run(p.serverRun)}
		cmd.Fence = wire.Fence{On: true, TTL: time.Hour, Ahead: time.Hour, Set: wire.Set{Name: "main", Version: 1, N: 5, Q: 3}}
		cmd.Fence.Token = fencing.Token(time.Now().Add(10 * time.Second).UnixMicro())
		p.run(cmd)
		p.run(wire.Request{Op: wire.Release, Key: key, Value: value})
	}
}

// servers are the kinds of servers to compare with, and what each knows besides the common
// commands.
func servers() map[string]serverKind {
	all := map[string]serverKind{
		"redis": {},
	}
	if binary := os.Getenv("REDIS84_SERVER"); binary != "" {
		all["redis 8.4"] = serverKind{cfg: instancetest.Config{Binary: binary}, words: []string{"DELEX", "IFEQ"}}
	}
	if binary := os.Getenv("VALKEY9_SERVER"); binary != "" {
		all["valkey 9"] = serverKind{cfg: instancetest.Config{Binary: binary}, words: []string{"DELIFEQ", "IFEQ"}}
	}
	if module := os.Getenv("TAIRSTRING_MODULE"); module != "" {
		all["tair"] = serverKind{cfg: instancetest.Config{Args: []string{"--loadmodule", module}}, words: []string{"CAD", "CAS"}}
	}
	return all
}

// serverKind is a kind of server.
type serverKind struct {
	cfg   instancetest.Config
	words []string
}

// The model does what Redis does, command by command, in any state.
func TestModelDoesAsRedisDoes(t *testing.T) {
	for name, server := range servers() {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, 1, server, server.words...)
			for i := range 3000 {
				p.raw(p.command()...)
				if i%50 == 0 {
					p.compare()
				}
			}
			for _, what := range []string{"error", "set", "setnx", "get", "del", "exists", "incr", "expire", "pexpire", "pexpireat", "persist", "ttl", "pttl", "time", "ping", "comparedel", "compareexpire", "flushall", "expired",
				"setex", "psetex", "getdel", "hset", "hsetnx", "hget", "hdel", "hexists", "hlen", "hincrby", "eval", "multi"} {
				require.Positive(t, p.counts[what], "%q was not compared: %v", what, p.counts)
			}
		})
	}
}

// The model does what the scripts of package instance do, even if other commands change the keys.
func TestModelDoesAsTheScriptsDo(t *testing.T) {
	for name, server := range servers() {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, 2, server)
			p.keys = []string{"k", "l"}
			for i := range 4000 {
				p.run(p.operation())
				switch p.random.IntN(80) {
				case 0:
					p.raw("DEL", p.key())
				case 1:
					p.raw("SET", p.key(), p.of("v", "x"), "PX", "60000")
				case 2:
					p.raw("SET", p.key(), p.of("v", "x"))
				case 3:
					p.raw("FLUSHALL")
				case 4:
					p.drop(redisinstance.CounterKey, p.model.Counters.Delete)
				case 5:
					p.drop(redisinstance.SetKey, p.model.Records.Delete)
				case 6, 7:
					p.age()
				}
				if i%5 == 0 {
					p.newLock(fmt.Sprint("new", i))
				}
				if i%50 == 0 {
					p.compare()
				}
			}
			for _, what := range []string{
				"acquire granted", "acquire refused", "raise granted", "raise refused", "extend granted", "extend refused", "restore granted", "restore refused",
				"release granted", "release refused", "look granted", "look refused", "set mismatch", "expired",
				"lifted", "replaced", "counter dropped", "record dropped", "reserved", "reserved fewer",
				"acquire too far ahead", "raise too far ahead", "restore too far ahead",
				"a script made the counter", "a transaction made the counter", "a counter was made for nothing",
			} {
				require.Positive(t, p.counts[what], "%q was not compared: %v", what, p.counts)
			}
		})
	}
}
