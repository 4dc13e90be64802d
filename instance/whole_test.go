//go:build unix

package instance_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// Whole runs: a Coordinator on five real servers, some in a state in which they can't vote. Every
// error names the instance and its fault, Acquire doesn't wait for permanent faults, and nothing
// stays behind.

// whole is a Coordinator and its servers.
type whole struct {
	*quorum.Coordinator
	t       *testing.T
	group   *instance.Group
	servers []*instancetest.Server
	urls    []string
	heals   []func() // repair the servers
}

func (w *whole) heal(f func()) { w.heals = append(w.heals, f) }

// serverFault is a state of a server. prepare changes the client's settings before it is made, or
// nothing; strike causes the fault.
type serverFault struct {
	server    instancetest.Config
	prepare   func(w *whole, i int)
	strike    func(w *whole, i int)
	kind      error
	permanent bool // waiting doesn't help
	alone     bool // it keeps a processor busy, which slows others
}

var serverFaults = map[string]serverFault{
	"wrong password": {
		server:  instancetest.Config{Password: "right"},
		prepare: func(w *whole, i int) { w.urls[i] = "redis://:wrong@" + w.servers[i].Addr() },
		kind:    instance.ErrAuth, permanent: true,
	},
	"no password": {
		server:  instancetest.Config{Password: "right"},
		prepare: func(w *whole, i int) { w.urls[i] = "redis://" + w.servers[i].Addr() },
		kind:    instance.ErrAuth, permanent: true,
	},
	"no permission": {
		prepare: func(w *whole, i int) {
			w.servers[i].MustAsk("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@read", "+info", "+ping")
			w.urls[i] = "redis://reader:pw@" + w.servers[i].Addr()
		},
		kind: instance.ErrPermission, permanent: true,
	},
	"not Redis": {
		prepare: func(w *whole, i int) { w.urls[i] = "redis://" + startWebServer(w.t) },
		kind:    instance.ErrNotRedis, permanent: true,
	},
	"nobody there": {
		strike: func(w *whole, i int) { w.servers[i].Kill(); w.heal(w.servers[i].Restart) },
		kind:   instance.ErrConnection,
	},
	"closed client": {
		strike: func(w *whole, i int) { require.NoError(w.t, w.group.Members()[i].Close()) },
		kind:   instance.ErrClosed, permanent: true,
	},
	"replica": {
		strike: func(w *whole, i int) {
			master := instancetest.Start(w.t, instancetest.Config{Args: []string{"--repl-diskless-sync-delay", "0"}})
			host, port, _ := net.SplitHostPort(master.Addr())
			w.servers[i].MustAsk("REPLICAOF", host, port)
			w.heal(func() { w.servers[i].MustAsk("REPLICAOF", "NO", "ONE") })
		},
		kind: wire.ErrNotMaster,
	},
	"out of memory": {
		strike: func(w *whole, i int) {
			w.servers[i].MustAsk("CONFIG", "SET", "maxmemory", "1")
			w.heal(func() { w.servers[i].MustAsk("CONFIG", "SET", "maxmemory", "0") })
		},
		kind: instance.ErrOutOfMemory,
	},
	"takes no writes": {
		strike: func(w *whole, i int) {
			instancetest.Needs(w.t, 7, 0, "servers look at the replicas before a script")
			w.servers[i].MustAsk("CONFIG", "SET", "min-replicas-to-write", "1")
			w.heal(func() { w.servers[i].MustAsk("CONFIG", "SET", "min-replicas-to-write", "0") })
		},
		kind: instance.ErrMisconf,
	},
	"busy with a script": {
		server: instancetest.Config{Args: []string{"--lua-time-limit", "1"}},
		strike: func(w *whole, i int) {
			over := make(chan struct{})
			go func() {
				defer close(over)
				_, _ = w.servers[i].Ask("EVAL", "while true do end", "0")
			}()
			require.Eventually(w.t, func() bool {
				reply, err := w.servers[i].Ask("PING")
				return err == nil && strings.HasPrefix(reply, "-BUSY")
			}, 10*time.Second, time.Millisecond)
			w.heal(func() { w.servers[i].MustAsk("SCRIPT", "KILL"); <-over })
		},
		kind: instance.ErrBusy, alone: true,
	},
	"hung": {
		strike: func(w *whole, i int) { w.servers[i].Pause(); w.heal(w.servers[i].Resume) },
		kind:   wire.ErrTimeout,
	},
}

// startWebServer answers every client in another protocol.
func startWebServer(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1))
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

// start starts five servers and a Coordinator that trusts those that it can ask.
func start(t *testing.T, fault serverFault, faulty int, cfg quorum.Config) *whole {
	t.Helper()
	w := &whole{t: t, servers: instancetest.StartN(t, 5, fault.server)}
	for _, s := range w.servers {
		w.urls = append(w.urls, s.URL())
	}
	well := 0
	for i := range faulty {
		if fault.prepare != nil {
			fault.prepare(w, i)
			well = faulty
		}
	}
	group, err := instance.OpenAll(instance.Config{FixedAddress: true}, w.urls...)
	require.NoError(t, err)
	w.group = group
	// A delete that found nothing is repeated for this long, before all is settled.
	cfg.MaxTTL = cmp.Or(cfg.TTL, 10*time.Second)
	if fault.strike == nil { // every server answers, so that nothing waits for a timeout
		cfg.InstanceTimeout = cmp.Or(cfg.InstanceTimeout, busy)
	}
	w.Coordinator, err = quorum.New(cfg, group.Instances()...)
	require.NoError(t, err)
	if err := w.Trust(t.Context()); well == 0 {
		require.NoError(t, err)
	} else if well < 5 {
		var names []string
		for _, member := range group.Members()[well:] {
			names = append(names, member.Name())
		}
		require.NoError(t, w.Trust(t.Context(), names...))
	}
	if fault.strike != nil {
		for i := range faulty {
			fault.strike(w, i)
		}
	}
	return w
}

// leavesNothing heals the servers, closes everything, and looks on every server for keys and
// connections. TestMain checks for goroutines.
func (w *whole) leavesNothing(keys ...string) {
	w.t.Helper()
	for _, heal := range w.heals {
		heal()
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	// A delete that can never be delivered is dropped when the key has expired.
	require.NoError(w.t, w.Settle(ctx), "deletes are still pending")
	require.NoError(w.t, w.Close(ctx))
	require.NoError(w.t, w.group.Close())
	for i, s := range w.servers {
		require.Equal(w.t, ":0", s.MustAsk(append([]string{"EXISTS"}, keys...)...), "server %d has the lock's key", i)
		require.Eventually(w.t, func() bool {
			return strings.Count(s.MustAsk("CLIENT", "LIST", "TYPE", "normal"), "\n") == 1 // the connection of this command
		}, 10*time.Second, 5*time.Millisecond, "server %d has connections left", i)
	}
}

// requireBlame checks that the error names each of the first faulty instances, with its fault, and
// none of the others.
func (w *whole) requireBlame(err error, faulty int, kind error) {
	w.t.Helper()
	require.ErrorIs(w.t, err, kind)
	require.NotErrorIs(w.t, err, context.DeadlineExceeded)
	require.NotErrorIs(w.t, err, context.Canceled)
	require.NotContains(w.t, err.Error(), "wrong@")
	var round *quorum.RoundError
	require.ErrorAs(w.t, err, &round)
	require.Len(w.t, round.Votes, 5)
	blamed := 0
	for i, ballot := range round.Votes {
		name := w.group.Members()[i].Name()
		require.Equal(w.t, name, ballot.Instance)
		switch voteErr := ballot.Vote.Err; {
		case voteErr == nil, errors.Is(voteErr, quorum.ErrPending):
		case i >= faulty && errors.Is(voteErr, wire.ErrTimeout): // on a busy machine
		default:
			require.Less(w.t, i, faulty, "%s is well: %v", name, voteErr)
			require.ErrorIs(w.t, voteErr, kind)
			require.Contains(w.t, err.Error(), name+": ")
			blamed++
		}
	}
	require.Positive(w.t, blamed)
}

// TestFaultyMinority: two of five servers in any state cost nothing.
func TestFaultyMinority(t *testing.T) {
	for name, fault := range serverFaults {
		if fault.alone {
			t.Run(name, func(t *testing.T) { faultyMinority(t, fault) })
		}
	}
	t.Parallel() // the others wait most of the time
	for name, fault := range serverFaults {
		if !fault.alone {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				faultyMinority(t, fault)
			})
		}
	}
}

func faultyMinority(t *testing.T, fault serverFault) {
	var decided atomic.Pointer[quorum.RoundEnd]
	w := start(t, fault, 2, quorum.Config{
		// The three good servers are all needed, on a machine that may be busy: they get the time
		// for it, and two that hang must not cost it.
		InstanceTimeout: 4 * time.Second,
		Hooks:           quorum.Hooks{RoundDecided: func(_ context.Context, e quorum.RoundEnd) { decided.Store(&e) }},
	})
	began := time.Now()
	lease, err := w.Acquire(t.Context(), "k")
	require.NoError(t, err)
	require.True(t, lease.Token().Valid())
	require.Equal(t, 1, decided.Load().Try)
	votes := 0
	for i, ballot := range decided.Load().Ballots {
		if ballot.Vote.Outcome == wire.Granted {
			require.GreaterOrEqual(t, i, 2, "a faulty one can't grant")
			votes++
		} else {
			require.Less(t, i, 2, "%v", ballot.Vote.Err)
		}
	}
	require.Equal(t, 3, votes)
	require.NoError(t, lease.Extend(t.Context()))
	_, err = w.TryAcquire(t.Context(), "k")
	require.ErrorIs(t, err, quorum.ErrTaken)
	require.NoError(t, lease.Release(t.Context()))
	require.Less(t, time.Since(began), 4*time.Second, "a faulty one was waited for")
	w.leavesNothing("k")
}

// TestFaultyMajority: the error gives the fault of each of three faulty servers of five. Acquire
// doesn't wait for permanent faults.
func TestFaultyMajority(t *testing.T) {
	for name, fault := range serverFaults {
		if fault.alone {
			t.Run(name, func(t *testing.T) { faultyMajority(t, fault) })
		}
	}
	t.Parallel() // the others wait most of the time
	for name, fault := range serverFaults {
		if !fault.alone {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				faultyMajority(t, fault)
			})
		}
	}
}

func faultyMajority(t *testing.T, fault serverFault) {
	w := start(t, fault, 3, quorum.Config{Terms: quorum.Terms{TTL: 3 * time.Second, MaxTries: 2}, InstanceTimeout: 500 * time.Millisecond})
	_, err := w.TryAcquire(t.Context(), "k")
	require.ErrorIs(t, err, quorum.ErrNoQuorum)
	w.requireBlame(err, 3, fault.kind)

	patient, err := w.WithTerms(func(t *quorum.Terms) { t.TTL = w.Terms().TTL; t.MaxTries = 1000 })
	require.NoError(t, err)
	// Another key, because the first one's deletes may still be in flight to servers that the first
	// round didn't wait for.
	if fault.permanent {
		began := time.Now()
		_, err = patient.Acquire(t.Context(), "k2")
		require.ErrorIs(t, err, quorum.ErrNoQuorum)
		require.NotErrorIs(t, err, quorum.ErrExhausted)
		require.Less(t, time.Since(began), 5*time.Second, "it waited for what can't get better")
	} else {
		_, err = w.Acquire(t.Context(), "k2")
		require.ErrorIs(t, err, quorum.ErrExhausted)
	}
	w.requireBlame(err, 3, fault.kind)
	if errors.Is(fault.kind, instance.ErrAuth) || errors.Is(fault.kind, instance.ErrNotRedis) || errors.Is(fault.kind, wire.ErrNotMaster) {
		report, err := w.Verify(t.Context())
		require.ErrorIs(t, err, fault.kind)
		for i, r := range report.Instances {
			require.Equal(t, i < 3, errors.Is(r.Err, fault.kind), "%s: %v", r.Name, r.Err)
		}
	}
	w.leavesNothing("k", "k2")
}

// TestCancelledAnywhere ends the caller's context before, during and after a round, with a minority
// hung: any key that was set is deleted, and the error is the context's.
func TestCancelledAnywhere(t *testing.T) {
	w := start(t, serverFaults["hung"], 2, quorum.Config{Terms: quorum.Terms{TTL: time.Second}})
	var keys []string
	cancelled := 0
	for i := range 60 {
		key := fmt.Sprintf("k%d", i)
		keys = append(keys, key)
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("the user has left")
		// From before the first byte to after the last answer of most rounds.
		timer := time.AfterFunc(time.Duration(i)*20*time.Microsecond, func() { cancel(stop) })
		lease, err := w.Acquire(ctx, key)
		if err == nil {
			// On a busy machine it may have no answer in time. Its deletes arrive, which is checked below.
			if err := lease.Release(ctx); !errors.Is(err, quorum.ErrUnreachable) && !errors.Is(err, quorum.ErrNotHeld) {
				require.NoError(t, err, "a release works under a context that has ended")
			}
		} else {
			cancelled++
			require.ErrorIs(t, err, quorum.ErrInterrupted)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, stop)
			require.NotErrorIs(t, err, quorum.ErrTaken)
		}
		timer.Stop()
		cancel(nil)
	}
	require.Positive(t, cancelled, "no call was cut short")
	w.leavesNothing(keys...)
}

// TestLimitedUsersEverywhere: accounts that may lock and nothing else can lock. That the quarantine
// is blind is reported once per instance, and by Verify each time.
func TestLimitedUsersEverywhere(t *testing.T) {
	var reported [5]atomic.Int32
	names := make(map[string]int)
	w := start(t, serverFault{prepare: func(w *whole, i int) {
		w.servers[i].MustAsk("ACL", "SETUSER", "locker", "on", ">pw", "~*", "+evalsha", "+eval", "+set", "+get", "+del", "+incr", "+incrby", "+pexpire", "+pttl", "+mget", "+time", "+ping")
		w.urls[i] = "redis://locker:pw@" + w.servers[i].Addr()
		names[w.servers[i].Addr()] = i
	}}, 5, quorum.Config{
		Hooks: quorum.Hooks{Unprotected: func(e quorum.UnprotectedEvent) {
			reported[names[e.Instance]].Add(1)
			if len(e.Hidden) == 0 {
				t.Errorf("%s: hidden facts not reported", e.Instance)
			}
		}},
	})
	for range 3 {
		report, err := w.Verify(t.Context())
		require.ErrorIs(t, err, quorum.ErrHidden)
		require.ErrorContains(t, err, "INFO")
		for _, r := range report.Instances {
			require.ErrorIs(t, r.Err, quorum.ErrHidden)
			require.ErrorContains(t, err, r.Name)
		}
		require.NoError(t, w.Do(t.Context(), "k", func(ctx context.Context, lease *quorum.Lease) error {
			_, err := w.TryAcquire(t.Context(), "k")
			require.ErrorIs(t, err, quorum.ErrTaken)
			return lease.Extend(ctx)
		}))
	}
	for i := range reported {
		require.EqualValues(t, 1, reported[i].Load(), "instance %d", i)
	}
	require.ErrorIs(t, w.Trust(t.Context()), quorum.ErrHidden, "there is no run id to vouch for")
	w.leavesNothing("k")
}

// TestEveryWayIn takes one lock over a port, a socket, with users, passwords and databases, in one
// set.
func TestEveryWayIn(t *testing.T) {
	const odd = "p@ss/w#rd?:%" // every character with a meaning in URLs
	const escaped = "p%40ss%2Fw%23rd%3F%3A%25"
	var servers []*instancetest.Server
	var urls []string
	for i, cfg := range []instancetest.Config{{}, {Password: "secret"}, {Unix: true}, {Unix: true, Password: "secret"}, {Unix: true}} {
		s := instancetest.Start(t, cfg)
		s.MustAsk("ACL", "SETUSER", "app", "on", ">"+odd, "~*", "&*", "+@all")
		switch i {
		case 0:
			urls = append(urls, "redis://app:"+escaped+"@"+s.Addr()+"/3")
		case 1:
			urls = append(urls, "redis://default:secret@"+s.Addr()+"?db=3&client_name=locks")
		case 2:
			urls = append(urls, "unix://app:"+escaped+"@"+s.Addr()+"?db=3")
		case 3:
			urls = append(urls, "unix://:secret@"+s.Addr()+"?db=3")
		case 4:
			urls = append(urls, "unix://"+s.Addr()+"?db=3&pool_size=2")
		}
		servers = append(servers, s)
	}
	group, err := instance.OpenAll(instance.Config{FixedAddress: true}, urls...)
	require.NoError(t, err)
	w := &whole{t: t, group: group, servers: servers}
	w.Coordinator, err = quorum.New(quorum.Config{Quorum: 5, InstanceTimeout: busy}, group.Instances()...)
	require.NoError(t, err)
	require.NoError(t, w.Trust(t.Context()))
	report, err := w.Verify(t.Context())
	require.NoError(t, err, "%+v", report)
	lease, err := w.TryAcquire(t.Context(), "k")
	require.NoError(t, err, "all five are needed")
	for i, s := range servers {
		keyspace := s.MustAsk("INFO", "keyspace")
		require.Contains(t, keyspace, "db3:keys=4", "%s", urls[i])
		require.NotContains(t, keyspace, "db0:")
	}
	require.Contains(t, servers[1].MustAsk("CLIENT", "LIST"), "name=locks ")
	require.Contains(t, servers[2].MustAsk("CLIENT", "LIST"), "user=app")
	require.NoError(t, lease.Release(t.Context()))
	for i, s := range servers {
		require.Contains(t, s.MustAsk("INFO", "keyspace"), "db3:keys=3", "the counter and the mark are left: %s", urls[i])
	}
	w.leavesNothing("k")
	for _, rawURL := range urls {
		bad := strings.NewReplacer(escaped, "other", "secret", "other").Replace(rawURL)
		if bad == rawURL {
			continue
		}
		r, err := instance.Open(bad, instance.Config{})
		require.NoError(t, err)
		vote := r.Do(t.Context(), wire.Request{Op: wire.Look, Key: "k"})
		require.ErrorIs(t, vote.Err, instance.ErrAuth, bad)
		require.NoError(t, r.Close())
	}
}
