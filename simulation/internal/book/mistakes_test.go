//go:build unix

package book_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
)

// recordedMistakes are mistakes and what the errors said, for troubleshooting.md and for whoever changes an
// error. To record them, with a redis-server:
//
//	go test ./simulation/internal/book -run TestOperatorMistakes -update
type recordedMistakes struct {
	// Version is the server's. Other versions word errors differently.
	Version string           `json:"redis_version"`
	Rows    []mistakeOnPaper `json:"mistakes"`
}

type mistakeOnPaper struct {
	Mistake string `json:"mistake"`
	Error   string `json:"error"`
}

const mistakesFile = "testdata/mistakes.json"

func (r *recordedMistakes) withoutTheServersWords() {
	words := regexp.MustCompile(` \([A-Z]{2}[^()]*\)`)
	for i := range r.Rows {
		r.Rows[i].Error = words.ReplaceAllString(r.Rows[i].Error, "")
	}
}

// mistake is a mistake of operators.
type mistake struct {
	name string
	// make makes the mistake, and returns the resulting error.
	make func(m *mistakes) error
}

// operatorMistakes are about the address, the account, the server, the set.
var operatorMistakes = []mistake{
	{"the server isn't running, or a firewall rejects connections", func(m *mistakes) error {
		server := m.plain()
		server.Kill()
		return m.lock(server.URL())
	}},
	{"the server hangs, or a firewall swallows packets", func(m *mistakes) error {
		server := m.plain()
		server.Pause()
		defer server.Resume()
		return m.lock(server.URL(), briefly)
	}},
	{"an address without a scheme, `server:6379`", func(m *mistakes) error { return m.lock("server:6379") }},
	{"all servers in one URL", func(m *mistakes) error { return m.lock("redis://a:6379,b:6379,c:6379") }},
	{"a `#` in the password", func(m *mistakes) error { return m.lock("redis://orders:pass#word@server:6379") }},
	{"the password where the user goes, `redis://secret@server`", func(m *mistakes) error { return m.lock("redis://secret@server") }},
	{"the same server twice in the list", func(m *mistakes) error {
		_, err := instance.OpenAll(instance.Config{}, "redis://server", "redis://other", "redis://SERVER:6379/1")
		return err
	}},
	{"the address of a web server", func(m *mistakes) error {
		return m.lock("redis://" + m.says("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"))
	}},
	{"`redis://` to a port that speaks TLS", func(m *mistakes) error { return m.lock("redis://" + m.says("")) }},
	{"`rediss://` to a port that doesn't speak TLS", func(m *mistakes) error { return m.lock("rediss://"+m.plain().Addr(), briefly, unchecked) }},
	{"a certificate of your own CA", func(m *mistakes) error {
		server := httptest.NewUnstartedServer(nil)
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		defer server.Close()
		return m.lock("rediss://" + server.Listener.Addr().String())
	}},
	{"protected mode, and a client on another machine", func(m *mistakes) error {
		return m.lock("redis://" + m.says("-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user. In this mode connections are only accepted from the loopback interface.\r\n"))
	}},
	{"`maxclients` reached", func(m *mistakes) error {
		server := m.plain("--maxclients", "10")
		defer m.fill(server)()
		return m.lock(server.URL())
	}},
	{"no password, and the server wants one", func(m *mistakes) error { return m.lock("redis://" + m.secret().Addr()) }},
	{"a wrong user or password", func(m *mistakes) error { return m.lock("redis://orders:wrong@" + m.secret().Addr()) }},
	{"a user without the rights", func(m *mistakes) error {
		return m.lock("redis://orders:pw@" + m.told("ACL", "SETUSER", "orders", "on", ">pw", "~*", "+info", "+time", "+get", "+config|get").Addr())
	}},
	{"a user without a right that a script needs", func(m *mistakes) error {
		return m.lock("redis://orders:pw@" + m.told("ACL", "SETUSER", "orders", "on", ">pw", "~*", "&*", "+@all", "-incr", "-incrby").Addr())
	}},
	{"a user that may not ask `INFO`", func(m *mistakes) error {
		return m.verify("redis://orders:pw@" + m.told("ACL", "SETUSER", "orders", "on", ">pw", "~*", "&*", "+@all", "-info").Addr())
	}},
	{"a command renamed away, or not let through by a proxy", func(m *mistakes) error { return m.lock(m.plain("--rename-command", "INCR", "").URL()) }},
	{"a database that isn't there", func(m *mistakes) error { return m.lock("redis://" + m.plain().Addr() + "/99") }},
	{"a replica in the list", func(m *mistakes) error { return m.lock(demote(m.plain()).URL()) }},
	{"a replica that takes writes (`replica-read-only no`)", func(m *mistakes) error { return m.lock(demote(m.plain("--replica-read-only", "no")).URL()) }},
	{"a master that was demoted while clients were connected", func(m *mistakes) error {
		master := m.plain()
		locks, closeAll, err := m.open([]string{master.URL()})
		require.NoError(m.t, err)
		defer closeAll()
		lease, err := locks.TryAcquire(m.t.Context(), "orders:42")
		require.NoError(m.t, err)
		require.NoError(m.t, lease.Release(m.t.Context()))
		demote(master)
		_, err = locks.TryAcquire(m.t.Context(), "orders:42")
		return err
	}},
	{"a Sentinel in the list", func(m *mistakes) error {
		return m.verify(m.plain("--sentinel").URL())
	}},
	{"a node of a Redis Cluster in the list", func(m *mistakes) error { return m.verify(m.plain("--cluster-enabled", "yes").URL()) }},
	{"one server under two names", func(m *mistakes) error {
		server := m.plain()
		_, port, _ := net.SplitHostPort(server.Addr())
		return m.verify(server.URL(), "redis://localhost:"+port)
	}},
	{"a `maxmemory-policy` that evicts keys", func(m *mistakes) error { return m.verify(m.plain("--maxmemory-policy", "allkeys-lru").URL()) }},
	{"the memory is full", func(m *mistakes) error { return m.lock(m.told("CONFIG", "SET", "maxmemory", "1").URL()) }},
	{"`min-replicas-to-write`, and no replica", func(m *mistakes) error { return m.lock(m.told("CONFIG", "SET", "min-replicas-to-write", "1").URL()) }},
	{"`instance.Config.Replicas`, and too few replicas", func(m *mistakes) error { return m.lock(m.plain().URL(), func(c *client) { c.instance.Replicas = 1 }) }},
	{"a name that is used for something else (locks are refused; this is what `Inspect` says)", func(m *mistakes) error {
		server := m.plain()
		server.MustAsk("RPUSH", "orders:42", "1")
		locks, closeAll, err := m.open([]string{server.URL()})
		require.NoError(m.t, err)
		defer closeAll()
		_, err = locks.Inspect(m.t.Context(), "orders:42")
		return err
	}},
	{"a script that doesn't end", func(m *mistakes) error {
		server := m.plain("--lua-time-limit", "1")
		defer m.busy(server)()
		return m.lock(server.URL())
	}},
	{"a server that was started a moment ago, and the client, too", func(m *mistakes) error { return m.lock(m.plain().URL(), untrusted) }},
	{"clients with other lists of servers", func(m *mistakes) error {
		server := m.plain()
		if err := m.lock(server.URL(), func(c *client) { c.quorum.Set.Version = 2 }); err != nil {
			return fmt.Errorf("the first client: %w", err)
		}
		return m.lock(server.URL(), func(c *client) { c.quorum.Set.Version = 1 })
	}},
	{"an `InstanceTimeout` that leaves nothing of the TTL", func(m *mistakes) error {
		return m.lock("redis://server", func(c *client) { c.quorum.TTL, c.quorum.InstanceTimeout = time.Second, time.Second })
	}},
	{"a client of your own, as go-redis makes it", func(m *mistakes) error {
		client := redis.NewClient(&redis.Options{Addr: "server:6379"})
		defer func() { _ = client.Close() }()
		_, err := instance.New(client, instance.Config{})
		return err
	}},
	{"a client of a cluster", func(m *mistakes) error {
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"server:6379"}})
		defer func() { _ = client.Close() }()
		_, err := instance.New(client, instance.Config{})
		return err
	}},
}

// The test makes each mistake, and compares the error with the recorded one.
func TestOperatorMistakes(t *testing.T) {
	m := &mistakes{t: t}
	version := m.version()
	fresh := recordedMistakes{Version: version}
	for _, one := range operatorMistakes {
		t.Run(one.name, func(t *testing.T) {
			err := one.make(&mistakes{t: t})
			require.Error(t, err)
			line, _, _ := strings.Cut(err.Error(), "\n")
			assert.NotContains(t, line, "secret", "a password")
			fresh.Rows = append(fresh.Rows, mistakeOnPaper{one.name, onPaper(line)})
		})
	}
	if t.Failed() {
		return
	}
	if *update {
		text, err := json.MarshalIndent(fresh, "", "  ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(mistakesFile, append(text, '\n'), 0o644))
		return
	}
	old, err := readRecorded[recordedMistakes](mistakesFile)
	require.NoError(t, err)
	if old.Version != version {
		old.withoutTheServersWords()
		fresh.withoutTheServersWords()
	}
	if !assert.Equal(t, old.Rows, fresh.Rows) {
		t.Errorf(stale, mistakesFile)
	}
}

// onPaper removes the parts of an error that differ each time.
func onPaper(line string) string {
	for _, change := range [][2]string{
		{`(127\.0\.0\.1|localhost|\[?::1\]?):\d+->(127\.0\.0\.1|\[?::1\]?):\d+`, "client->server:6379"},
		// Of two names, the first one asked is the server's.
		{`^(localhost:\d+)(: probe: .*)"localhost:\d+" and "(127\.0\.0\.1:\d+)"`, `$3$2"$3" and "$1"`},
		{`localhost:\d+`, "name:6379"},
		{`127\.0\.0\.1:\d+`, "server:6379"},
		{`\b[0-9a-f]{40}\b`, "9f3c..."},
		{`'eval' command`, "'evalsha' command"}, // so a script goes to a server that is far away, as one seems to be on a busy machine
		{`came up \d+s ago`, "came up 0s ago"},
		{`in quarantine for [0-9.]+m?s`, "in quarantine for 10s"},
	} {
		line = regexp.MustCompile(change[0]).ReplaceAllString(line, change[1])
	}
	return line
}

// mistakes makes them.
type mistakes struct{ t *testing.T }

// client is the settings of a client.
type client struct {
	instance  instance.Config
	quorum    quorum.Config
	untrusted bool
}

// briefly is for servers that don't answer. Others get enough time on a busy machine. The client
// doesn't trust them, because that would ask them first.
func briefly(c *client) { c.quorum.InstanceTimeout, c.untrusted = 300*time.Millisecond, true }

func unchecked(c *client) { c.instance.TLS = &tls.Config{InsecureSkipVerify: true} }

func untrusted(c *client) { c.untrusted = true }

// open makes a client of the servers, and returns a function that closes it.
func (m *mistakes) open(urls []string, options ...func(*client)) (*quorum.Coordinator, func(), error) {
	m.t.Helper()
	c := client{quorum: quorum.Config{TTL: 20 * time.Second, InstanceTimeout: 5 * time.Second}}
	for _, option := range options {
		option(&c)
	}
	servers, err := instance.OpenAll(c.instance, urls...)
	if err != nil {
		return nil, nil, err
	}
	locks, err := quorum.New(c.quorum, servers.Instances()...)
	if err != nil {
		return nil, nil, errors.Join(err, servers.Close())
	}
	if !c.untrusted {
		_ = locks.Trust(m.t.Context()) // the fault shows later
	}
	return locks, func() {
		require.NoError(m.t, locks.Close(context.Background()))
		require.NoError(m.t, servers.Close())
	}, nil
}

// lock takes a lock and releases it.
func (m *mistakes) lock(url string, options ...func(*client)) error {
	m.t.Helper()
	locks, closeAll, err := m.open([]string{url}, options...)
	if err != nil {
		return err
	}
	defer closeAll()
	lease, err := locks.TryAcquire(m.t.Context(), "orders:42")
	if err != nil {
		return err
	}
	return lease.Release(m.t.Context())
}

// verify returns Verify's error.
func (m *mistakes) verify(urls ...string) error {
	m.t.Helper()
	locks, closeAll, err := m.open(urls)
	if err != nil {
		return err
	}
	defer closeAll()
	_, err = locks.Verify(m.t.Context())
	return err
}

func (m *mistakes) plain(args ...string) *instancetest.Server {
	m.t.Helper()
	return instancetest.Start(m.t, instancetest.Config{Args: args})
}

// told is a server that was sent a command.
func (m *mistakes) told(command ...string) *instancetest.Server {
	m.t.Helper()
	server := m.plain()
	server.MustAsk(command...)
	return server
}

func (m *mistakes) secret() *instancetest.Server {
	m.t.Helper()
	return instancetest.Start(m.t, instancetest.Config{Password: "right"})
}

// demote makes a server a replica, of a master that doesn't answer.
func demote(server *instancetest.Server) *instancetest.Server {
	server.MustAsk("REPLICAOF", "127.0.0.1", "1")
	return server
}

// says returns the address of a server that answers each connection with a text and closes it.
func (m *mistakes) says(text string) string {
	m.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(m.t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	})
	m.t.Cleanup(func() { _ = l.Close(); all.Wait() })
	return l.Addr().String()
}

func (m *mistakes) version() string {
	m.t.Helper()
	version, err := m.plain().Info("redis_version")
	require.NoError(m.t, err)
	return version
}

// fill opens connections until the server accepts no more, and returns a function that closes them.
func (m *mistakes) fill(server *instancetest.Server) (empty func()) {
	m.t.Helper()
	var conns []net.Conn
	for {
		conn, err := net.Dial("tcp", server.Addr())
		require.NoError(m.t, err)
		conns = append(conns, conn)
		_, err = io.WriteString(conn, "PING\r\n")
		require.NoError(m.t, err)
		answer := make([]byte, 64)
		_, err = conn.Read(answer)
		require.NoError(m.t, err)
		if answer[0] == '-' {
			break
		}
	}
	return func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}
}

// busy keeps the server busy with a script, and returns a function that ends it.
func (m *mistakes) busy(server *instancetest.Server) (end func()) {
	m.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = server.Ask("EVAL", "while true do end", "0")
	}()
	require.Eventually(m.t, func() bool {
		reply, err := server.Ask("PING")
		return err == nil && strings.HasPrefix(reply, "-BUSY")
	}, 20*time.Second, 5*time.Millisecond)
	return func() {
		server.MustAsk("SCRIPT", "KILL")
		<-done
	}
}
