//go:build unix

package redismodel

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	redisinstance "github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
)

// pair is a real server and its model, which must do the same.
type pair struct {
	t      *testing.T
	random *rand.Rand
	real   *redisinstance.Redis
	model  Database
	keys   []string

	last    time.Time     // the model's time of the last step
	slowest time.Duration // answer of the real server: how far two expiries may be apart
	done    []string
	counts  map[string]int
}

func newPair(t *testing.T, seed uint64) *pair {
	server := instancetest.Start(t, instancetest.Config{})
	real, err := redisinstance.Open(server.URL()+"?read_timeout=1m&write_timeout=1m", redisinstance.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = real.Close() })
	return &pair{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), real: real, model: New(nil),
		keys: []string{"k", "l", "counter"}, counts: map[string]int{},
	}
}

func (p *pair) history() string { return strings.Join(p.done[max(0, len(p.done)-12):], "\n") }

// raw sends a Redis command to both and compares the answers.
func (p *pair) raw(args ...string) {
	p.t.Helper()
	p.done = append(p.done, strings.Join(args, " "))
	p.last = time.Now()
	ours, theirs := p.model.Do(args, p.last), p.ask(args)
	p.slowest = max(p.slowest, time.Since(p.last)+2*time.Millisecond)
	if ours.Err != nil || theirs.Err != nil {
		p.counts["error"]++
		require.Equal(p.t, fmt.Sprint(theirs.Err), fmt.Sprint(ours.Err), p.history())
		return
	}
	require.Equal(p.t, theirs, ours, p.history())
	p.counts[strings.ToLower(args[0])]++
	p.settle()
}

// ask returns the real server's answer in the model's form.
func (p *pair) ask(args []string) Reply {
	words := make([]any, len(args))
	for i, a := range args {
		words[i] = a
	}
	result, err := p.real.Client().Do(p.t.Context(), words...).Result()
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
	default:
		require.Fail(p.t, "an answer of another type", "%T", result)
		return Reply{}
	}
}

// settle waits for keys that are about to expire, because the two might differ about the moment, which may come
// before the next step on a busy machine.
func (p *pair) settle() {
	for _, key := range p.keys {
		// As of then: it may already be gone from the model, and not yet from the other.
		_, expires, ok := p.model.Keys.Get(key, p.last)
		if !ok || expires.IsZero() || expires.Sub(p.last) > 20*time.Second {
			continue
		}
		p.counts["expired"]++
		require.Eventually(p.t, func() bool {
			n, err := p.real.Client().Exists(p.t.Context(), key).Result()
			return err == nil && n == 0 && !time.Now().Before(expires)
		}, time.Minute, time.Millisecond, p.history())
	}
}

// compare compares all data.
func (p *pair) compare() {
	p.t.Helper()
	for _, key := range p.keys {
		p.raw("GET", key)
		_, expires, ok := p.model.Keys.Get(key, p.last)
		before := time.Now()
		left, err := p.real.Client().PTTL(p.t.Context(), key).Result()
		require.NoError(p.t, err)
		if ok && !expires.IsZero() { // the other one expires up to p.slowest later
			require.GreaterOrEqual(p.t, left+time.Millisecond, time.Until(expires), p.history())
			require.LessOrEqual(p.t, left-time.Millisecond, expires.Sub(before)+p.slowest, p.history())
		}
	}
}

func (p *pair) of(choices ...string) string { return choices[p.random.IntN(len(choices))] }

// command is a random command. Some have too few arguments, or too many.
func (p *pair) command() []string {
	return p.fill(p.of(
		"SET KEY VALUE OPTIONS", "SET KEY VALUE OPTIONS", "set KEY VALUE OPTIONS", "SETNX KEY VALUE", "GET KEY", "DEL KEY", "INCR KEY",
		"EXPIRE KEY SECONDS", "PEXPIRE KEY MS", "PEXPIREAT KEY UNTIL", "PEXPIREAT KEY 1000", "SETEX KEY SECONDS VALUE",
		"EVAL DELETE 1 KEY VALUE", "EVAL DELETE 1 KEY VALUE", "EVAL EXTEND 1 KEY VALUE SHORT", "EVAL EXTEND 1 KEY VALUE SHORT",
		"GET", "SET KEY", "SETNX KEY VALUE VALUE",
	))
}

// fill replaces the words that stand for something.
func (p *pair) fill(text string) (args []string) {
	for _, word := range strings.Fields(text) {
		switch word {
		case "KEY":
			word = p.of(p.keys...)
		case "VALUE":
			word = p.of("v", "w", "7", "-1", "9223372036854775807", "07")
		case "MS": // a long time, one that ends at once, or none
			word = p.of("60000", "90000", "3600000", "60001", "3", "1", "0", "-1", "1e3", "x", "9223372036854775807", "-9223372036854775808")
		case "SECONDS": // the same, without one that ends while the test runs
			word = p.of("60", "3600", "0", "-1", "x", "9223372036854775807")
		case "SHORT":
			word = p.of("60000", "3", "0", "-5")
		case "UNTIL":
			word = strconv.FormatInt(time.Now().UnixMilli()+int64(60_000+p.random.IntN(1000)), 10)
		case "DELETE":
			word = CompareDel
		case "EXTEND":
			word = CompareExpire
		case "OPTIONS":
			for p.random.IntN(3) != 0 {
				args = append(args, p.fill(p.of("NX", "XX", "PX MS", "EX SECONDS", "PXAT UNTIL", "px MS", "nonsense"))...)
			}
			continue
		}
		args = append(args, word)
	}
	return args
}

// The model does what Redis does, command by command, in any state.
func TestModelDoesAsRedisDoes(t *testing.T) {
	p := newPair(t, 1)
	for i := range 3000 {
		p.raw(p.command()...)
		if i%50 == 0 {
			p.compare()
		}
	}
	for _, what := range []string{"error", "set", "setnx", "get", "del", "incr", "expire", "pexpire", "pexpireat", "expired", "setex", "eval"} {
		require.Positive(t, p.counts[what], "%q was not compared: %v", what, p.counts)
	}
}
