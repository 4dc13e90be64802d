//go:build unix

package instance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// served is what a new client under a name learns.
func served(t *testing.T, url, name string) time.Duration {
	t.Helper()
	id, err := open(t, url, Config{Name: name}).Probe(within(t), wire.Known{})
	require.NoError(t, err)
	require.Empty(t, id.Hidden)
	return id.Served
}

// The first client of a name in a run of the server leaves the mark, which lasts for that run, in
// its database.
func TestMark(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{Args: []string{"--appendonly", "yes", "--appendfsync", "always"}})
	began := time.Now()
	require.Zero(t, served(t, s.URL(), "a"))
	time.Sleep(20 * time.Millisecond)
	age := served(t, s.URL(), "a")
	require.GreaterOrEqual(t, age, 20*time.Millisecond)
	require.LessOrEqual(t, age, time.Since(began)+time.Second)
	require.Zero(t, served(t, s.URL(), "b{}*:1"), "another name")
	require.Equal(t, ":1", s.MustAsk("EXISTS", MarkKey("b{}*:1")))
	require.Zero(t, served(t, s.URL()+"?db=3", "a"), "another database")
	require.Equal(t, ":-1", s.MustAsk("PTTL", MarkKey("a")))

	for what, again := range map[string]func(){
		"all data is lost":                func() { s.MustAsk("FLUSHALL") },
		"another run, with the same data": func() { s.Restart() },
		"a promotion": func() {
			s.MustAsk("REPLICAOF", "127.0.0.1", "1")
			s.MustAsk("REPLICAOF", "NO", "ONE")
		},
		"a clock that was set back": func() {
			run, _, _ := strings.Cut(s.MustAsk("GET", MarkKey("a")), "@")
			s.MustAsk("SET", MarkKey("a"), fmt.Sprint(run, "@", time.Now().Add(time.Hour).UnixMicro()))
		},
		"what isn't a mark": func() { s.MustAsk("SET", MarkKey("a"), "x") },
		"what isn't a text": func() {
			s.MustAsk("DEL", MarkKey("a"))
			s.MustAsk("RPUSH", MarkKey("a"), "x")
		},
	} {
		time.Sleep(time.Millisecond)
		require.NotZero(t, served(t, s.URL(), "a"))
		again()
		require.Zero(t, served(t, s.URL(), "a"), what)
	}
}

// A Probe doesn't fail if the mark can't be kept: it reports that.
func TestMarkThatCannotBeKept(t *testing.T) {
	t.Parallel() // it waits for a replica
	s := instancetest.Start(t, instancetest.Config{Args: []string{"--maxmemory-policy", "noeviction", "--repl-diskless-sync-delay", "0"}})
	probe := func(user, name string) wire.Identity {
		t.Helper()
		id, err := open(t, "redis://"+user+s.Addr(), Config{Name: name}).Probe(within(t), wire.Known{})
		require.NoError(t, err)
		require.Equal(t, "master", id.Role)
		return id
	}
	require.Zero(t, probe("", "a").Served)
	hidden := func(id wire.Identity) {
		t.Helper()
		require.Negative(t, id.Served)
		require.Len(t, id.Hidden, 1)
		require.Contains(t, id.Hidden[0], "since when clients have come to it by this name: ")
	}
	s.MustAsk("ACL", "SETUSER", "keys", "on", ">pw", "~orders:*", "+@all")
	hidden(probe("keys:pw@", "a"))
	s.MustAsk("ACL", "SETUSER", "words", "on", ">pw", "~*", "+@all", "-set")
	hidden(probe("words:pw@", "b"))
	require.Empty(t, probe("words:pw@", "a").Hidden, "it has only to be read")
	s.MustAsk("ACL", "SETUSER", "quiet", "on", ">pw", "~*", "+@all", "-@scripting")
	hidden(probe("quiet:pw@", "a"))

	// A server that can't write can't vote, and so it need not be trusted.
	s.MustAsk("CONFIG", "SET", "maxmemory", "1")
	require.NotZero(t, probe("", "a").Served)
	full := probe("", "d")
	require.Zero(t, full.Served)
	require.Empty(t, full.Hidden)
	require.ErrorIs(t, full.Refuses, ErrOutOfMemory)
	s.MustAsk("CONFIG", "SET", "maxmemory", "0")
	s.MustAsk("CONFIG", "SET", "min-replicas-to-write", "1")
	require.Zero(t, probe("", "d").Served)
	s.MustAsk("CONFIG", "SET", "min-replicas-to-write", "0")

	replica := instancetest.Start(t, instancetest.Config{Args: []string{"--replica-read-only", "no"}})
	host, port, _ := strings.Cut(s.Addr(), ":")
	replica.MustAsk("REPLICAOF", host, port)
	require.Eventually(t, func() bool {
		return strings.Contains(replica.MustAsk("INFO", "replication"), "master_link_status:up")
	}, patience, 5*time.Millisecond)
	for _, name := range []string{"a", "e"} {
		id, err := open(t, replica.URL(), Config{Name: name}).Probe(within(t), wire.Known{})
		require.NoError(t, err)
		require.Equal(t, "slave", id.Role)
		require.Negative(t, id.Served)
		require.Empty(t, id.Hidden)
	}
	require.Equal(t, ":0", replica.MustAsk("EXISTS", MarkKey("e")))
	// It does nothing that is for its master, whose replication ID and mark it has.
	master, err := open(t, s.URL(), Config{Name: "a"}).Probe(within(t), wire.Known{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { // or the replica would refuse for want of the mark
		return replica.MustAsk("GET", MarkKey("a")) == s.MustAsk("GET", MarkKey("a"))
	}, patience, 5*time.Millisecond)
	for _, op := range []wire.Op{wire.Acquire, wire.Extend, wire.Raise, wire.Restore} {
		req := request(op, "k", "v")
		req.Run, req.Fence.Token = master.Run(), 1
		v := failed(t, open(t, replica.URL(), Config{Name: "a"}).Do(within(t), req), wire.ErrOtherRun)
		require.ErrorIs(t, v.Err, wire.ErrNotMaster)
		require.True(t, v.Unsent)
	}
	node := instancetest.Start(t, instancetest.Config{Args: []string{"--cluster-enabled", "yes"}})
	id, err := open(t, node.URL(), Config{}).Probe(within(t), wire.Known{})
	require.NoError(t, err)
	require.Equal(t, wire.RoleCluster, id.Role)
}
