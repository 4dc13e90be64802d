//go:build unix

package instance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

var set1 = wire.Set{Name: "prod", Version: 7, N: 5, Q: 3, MaxTTL: 30 * time.Second}

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

// runOf is the run that an instance's server is in.
func runOf(t testing.TB, r *Redis) wire.Run {
	t.Helper()
	id, err := r.Probe(within(t), wire.Known{})
	require.NoError(t, err)
	require.NotEmpty(t, id.Run())
	return id.Run()
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
func value() string { return fmt.Sprintf("v%0*x", valueSize-1, values.Add(1)) }

const valueSize = 40

// ahead is how far a counter may be ahead of the clock.
const ahead = 15 * time.Second

func acquire(key, value string) wire.Request { return request(wire.Acquire, key, value) }

func request(op wire.Op, key, value string) wire.Request {
	req := wire.Request{Op: op, Value: value, TTL: time.Minute, Clock: op == wire.Acquire, Fence: wire.Fence{On: true, Floor: floor, TTL: time.Hour, Ahead: ahead}}
	if op != wire.Tick {
		req.Keys = []string{key}
	}
	return req
}

// also makes a request for several keys.
func also(req wire.Request, keys ...string) wire.Request {
	req.Keys = append(req.Keys, keys...)
	return req
}

// bare makes a request one without fencing.
func bare(req wire.Request) wire.Request {
	req.Fence = wire.Fence{}
	return req
}

// in makes a request one for a run.
func in(run wire.Run, req wire.Request) wire.Request {
	req.Run = run
	return req
}

// token makes a request one with a token.
func token(req wire.Request, token fencing.Token) wire.Request {
	req.Fence.Token = token
	return req
}

// every returns one request of each operation.
func every() []wire.Request {
	reqs := []wire.Request{acquire("k", value()), bare(acquire("k", value()))}
	for _, op := range []wire.Op{wire.Raise, wire.Extend, wire.Restore, wire.Release, wire.Look, wire.Tick} {
		reqs = append(reqs, token(request(op, "k", value()), 1))
	}
	return reqs
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

// counterOf reads a resource's counter, nil if there is none.
func counterOf(ask func(...any) any, key string) any { return ask("GET", CounterKey(key)) }

// old is a token of 2017: of a counter that was never lost, but not used for long.
const old fencing.Token = 1_500_000_000_000_041

// floor is that of a run of which nothing is known.
const floor fencing.Token = 100_000_000_000_000

// of makes an instance of a client with the options.
func of(t testing.TB, opt *redis.Options) *Redis {
	t.Helper()
	client := redis.NewClient(opt)
	t.Cleanup(func() { _ = client.Close() })
	r, err := New(client, Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// open1 opens an instance on a client with these options.
func open1(t testing.TB, opt redis.Options, cfg Config) *Redis {
	t.Helper()
	client := redis.NewClient(Harden(unhurriedOptions(opt)))
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	r, err := New(client, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// isPermanent is what quorum asks of an error.
func isPermanent(err error) bool {
	var own interface{ Permanent() bool }
	return errors.As(err, &own) && own.Permanent() || own == nil && errors.Is(err, wire.ErrCounter)
}

// enter gives the pipe requests all at once, so that they go out together. They have no end.
func enter(t testing.TB, r *Redis, to func(i int) wire.Receiver, reqs ...wire.Request) (calls []*call) {
	t.Helper()
	p := &r.pipe
	p.mu.Lock()
	for i, req := range reqs {
		c := &call{req: req, to: to(i)}
		calls = append(calls, c)
		p.queue[c.rank()] = append(p.queue[c.rank()], c)
	}
	p.last = time.Now()
	wake := p.startLocked(p.last)
	p.mu.Unlock()
	if wake != nil {
		wake.wake <- struct{}{}
	}
	return calls
}

// together sends requests in one pipeline.
func together(t testing.TB, r *Redis, reqs ...wire.Request) []wire.Vote {
	t.Helper()
	require.NoError(t, r.Connect(within(t)))
	to := make([]votes, len(reqs))
	for i := range to {
		to[i] = make(votes, 2)
	}
	enter(t, r, func(i int) wire.Receiver { return to[i] }, reqs...)
	got := make([]wire.Vote, len(reqs))
	for i := range to {
		got[i] = <-to[i]
		require.Empty(t, to[i])
	}
	return got
}

// pending sends a request whose time ends when late is called, and not before: the test decides how
// far it has come by then, and not the machine's speed.
func pending(t testing.TB, r *Redis, req wire.Request, to wire.Receiver) (late func()) {
	t.Helper()
	c := enter(t, r, func(int) wire.Receiver { return to }, req)[0]
	return func() {
		r.pipe.mu.Lock()
		c.deadline = time.Now()
		r.pipe.mu.Unlock()
		r.pipe.expire()
	}
}

// eventually waits for what has to happen.
func eventually(t testing.TB, is func() bool, what string) {
	t.Helper()
	require.Eventually(t, is, patience, time.Millisecond, what)
}

// locked waits until something holds of the pipe.
func locked(t testing.TB, r *Redis, is func(p *pipe) bool, what string) {
	t.Helper()
	eventually(t, func() bool {
		r.pipe.mu.Lock()
		defer r.pipe.mu.Unlock()
		return is(&r.pipe)
	}, what)
}

// underWay waits until a pipeline with so many calls is under way, and no other.
func underWay(t testing.TB, r *Redis, n int) {
	t.Helper()
	locked(t, r, func(p *pipe) bool {
		return len(p.links)-len(p.idle) == 1 && slices.ContainsFunc(p.links, func(l *link) bool { return len(l.calls) == n })
	}, "the requests are not sent")
}

// only waits until the pipe has one link, and that is idle.
func only(t testing.TB, r *Redis) (l *link) {
	t.Helper()
	locked(t, r, func(p *pipe) bool {
		if len(p.links) != 1 || len(p.idle) != 1 || p.attempt != nil {
			return false
		}
		l = p.idle[0]
		return true
	}, "there is not one link")
	return l
}

// votes is a Receiver with room for the votes that it gets.
type votes chan wire.Vote

func (v votes) Receive(vote wire.Vote) { v <- vote }
