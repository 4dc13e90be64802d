//go:build unix

package instance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

var set1 = wire.Set{Name: "prod", Version: 7, N: 5, Q: 3}

// patience is far longer than anything takes that has to happen.
const patience = 15 * time.Second

// unhurried gives a URL timeouts that a server on a busy machine doesn't reach, but for those that
// it has.
func unhurried(url string) string {
	for _, name := range []string{"dial_timeout=", "read_timeout=", "write_timeout="} {
		switch {
		case strings.Contains(url, name):
			continue
		case strings.Contains(url, "?"):
			url += "&"
		default:
			url += "?"
		}
		url += name + patience.String()
	}
	return url
}

// unhurriedOptions does the same to a client's options.
func unhurriedOptions(opt redis.Options) *redis.Options {
	opt.DialTimeout = cmp.Or(opt.DialTimeout, patience)
	opt.ReadTimeout = cmp.Or(opt.ReadTimeout, patience)
	opt.WriteTimeout = cmp.Or(opt.WriteTimeout, patience)
	return &opt
}

// open opens an instance on a server until the test ends.
func open(t testing.TB, url string, cfg Config) *Redis {
	t.Helper()
	r, err := Open(unhurried(url), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// real starts a redis-server and opens an instance on it.
func real(t testing.TB, cfg Config, args ...string) (*Redis, *instancetest.Server) {
	t.Helper()
	s := instancetest.Start(t, instancetest.Config{Args: args})
	return open(t, s.URL(), cfg), s
}

// mini starts a miniredis and opens an instance on it.
func mini(t testing.TB, cfg Config) (*Redis, *miniredis.Miniredis) {
	t.Helper()
	m := miniredis.RunT(t)
	m.Server().SetPreHook(func(peer *server.Peer, cmd string, args ...string) bool { return replicates(peer, cmd, args) })
	return open(t, "redis://"+m.Addr(), cfg), m
}

// replicates answers INFO replication for a miniredis, which doesn't have it.
func replicates(peer *server.Peer, cmd string, args []string) bool {
	if cmd != "INFO" || len(args) != 1 || !strings.EqualFold(args[0], "replication") {
		return false
	}
	peer.WriteBulk("# Replication\r\nrole:master\r\nmaster_replid:" + strings.Repeat("a1", 20) + "\r\n")
	return true
}

// runOf is the run that an instance's server is in.
func runOf(t testing.TB, r *Redis) wire.Run {
	t.Helper()
	id, err := r.Probe(within(t), wire.Known{})
	require.NoError(t, err)
	require.NotEmpty(t, id.Run())
	return id.Run()
}

// both runs a test on a real server and on a miniredis. ask sends the server a command without the
// instance.
func both(t *testing.T, test func(t *testing.T, r *Redis, ask func(args ...any) any)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		s := instancetest.Start(t, instancetest.Config{})
		r := open(t, s.URL(), Config{})
		test(t, r, asker(t, r))
	})
	t.Run("miniredis", func(t *testing.T) {
		r, _ := mini(t, Config{})
		test(t, r, asker(t, r))
	})
}

func asker(t testing.TB, r *Redis) func(args ...any) any {
	return func(args ...any) any {
		t.Helper()
		if len(args) > 1 && args[0] == "ACL" && !instancetest.Since(t, 6, 2) {
			args = slices.DeleteFunc(slices.Clone(args), func(rule any) bool { return rule == "&*" })
		}
		v, err := r.Client().Do(context.Background(), args...).Result()
		if err == redis.Nil {
			return nil
		}
		require.NoError(t, err, "%v", args)
		return v
	}
}

// within returns a context for one command against a live server: much longer than it takes, so
// that only a hang ends it.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// Do sends one command and waits for its vote.
func (r *Redis) Do(ctx context.Context, req wire.Request) wire.Vote {
	return quorumtest.Do(ctx, r, req)
}

var values atomic.Uint64

// value makes a new value each time, as the Coordinator does.
func value() string { return fmt.Sprintf("%040x", values.Add(1)) }

// ahead is how far a counter may be ahead of the clock.
const ahead = 15 * time.Second

func acquire(key, value string) wire.Request {
	return wire.Request{Op: wire.Acquire, Key: key, Value: value, TTL: time.Minute, Fence: wire.Fence{On: true, TTL: time.Hour, Ahead: ahead, Set: set1}, Clock: true}
}

func request(op wire.Op, key, value string) wire.Request {
	return wire.Request{Op: op, Key: key, Value: value, TTL: time.Minute, Fence: wire.Fence{On: true, TTL: time.Hour, Ahead: ahead, Set: set1}}
}

func granted(t testing.TB, v wire.Vote) wire.Vote {
	t.Helper()
	require.NoError(t, v.Err)
	require.Equal(t, wire.Granted, v.Outcome)
	require.False(t, v.Unsent)
	return v
}

func refused(t testing.TB, v wire.Vote) wire.Vote {
	t.Helper()
	require.NoError(t, v.Err)
	require.Equal(t, wire.Refused, v.Outcome)
	return v
}

// failed checks for a failed vote with an error of this kind that says what to do, in one line.
func failed(t testing.TB, v wire.Vote, kind error) wire.Vote {
	t.Helper()
	require.Equal(t, wire.Failed, v.Outcome)
	require.ErrorIs(t, v.Err, kind)
	require.NotContains(t, v.Err.Error(), "\n")
	require.False(t, strings.HasSuffix(v.Err.Error(), ": "))
	return v
}

// tokenIn reads a resource's counter, nil if there is none.
func tokenIn(ask func(...any) any, key string) any { return ask("GET", CounterKey(key)) }

// setIn and runIn read the set and the run beside it, nil if there is none.
func setIn(ask func(...any) any, key string) any { return partOf(ask, key, 1) }
func runIn(ask func(...any) any, key string) any { return partOf(ask, key, 3) }

var besideCounter = regexp.MustCompile(`(?s)^([^/]*) ([0-9]+/[0-9]+) (.*)$`)

func partOf(ask func(...any) any, key string, part int) any {
	text, ok := ask("GET", SetKey(key)).(string)
	if !ok {
		return nil
	}
	if parts := besideCounter.FindStringSubmatch(text); parts != nil {
		return parts[part]
	}
	return nil
}

// old is a token of 2017: of a counter that was never lost, but not used for long.
const old fencing.Token = 1_500_000_000_000_041

var oldText = old.String()

// counted makes a counter as it is some time after a grant.
func counted(ask func(...any) any, key string, token any, set, run string) {
	if number, ok := token.(fencing.Token); ok {
		token = uint64(number)
	}
	ask("SET", CounterKey(key), token, "PX", 77_777)
	ask("SET", SetKey(key), set+" 900000/1 "+run, "PX", 77_777)
}

// of makes an instance of a client with the options.
func of(t testing.TB, opt *redis.Options) *Redis {
	t.Helper()
	client := redis.NewClient(opt)
	t.Cleanup(func() { _ = client.Close() })
	r, err := New(client, Config{})
	require.NoError(t, err)
	return r
}

// isPermanent is what quorum asks of an error.
func isPermanent(err error) bool {
	var own interface{ Permanent() bool }
	return errors.As(err, &own) && own.Permanent() || own == nil && errors.Is(err, wire.ErrCounter)
}

// pending sends a request whose time ends when late is called, and not before: the test decides how
// far it has come by then, and not the machine's speed.
func pending(t testing.TB, r *Redis, req wire.Request, to wire.Receiver) (late func()) {
	t.Helper()
	c := r.newCall(req)
	c.to, c.deadline = to, time.Now().Add(time.Hour)
	_, ok := r.pipe.enter(c)
	require.True(t, ok)
	return func() {
		r.pipe.mu.Lock()
		c.deadline = time.Now()
		r.pipe.mu.Unlock()
		r.pipe.expire()
	}
}

// written waits until the only batch in flight is written.
func written(t testing.TB, r *Redis) {
	t.Helper()
	require.Eventually(t, func() bool {
		r.pipe.mu.Lock()
		defer r.pipe.mu.Unlock()
		return len(r.pipe.inFlight) == 1 && r.pipe.inFlight[0].written
	}, patience, time.Millisecond)
}

// near makes the server near, so that requests wait for the batch in flight and scripts are sent by
// their hashes. What a busy machine adds to a round trip makes it seem distant.
func near(r *Redis) {
	r.pipe.mu.Lock()
	defer r.pipe.mu.Unlock()
	r.pipe.rtt = -time.Hour // less than any that is measured
}

// asked waits until a server has got so many commands.
func (f *fake) asked(t testing.TB, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(f.commands()) == n }, patience, time.Millisecond)
}

// votes is a Receiver with room for the votes that it gets.
type votes chan wire.Vote

func (v votes) Receive(vote wire.Vote) { v <- vote }
