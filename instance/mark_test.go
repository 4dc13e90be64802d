//go:build unix

package instance

import (
	"errors"
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
			s.MustAsk("SET", MarkKey("a"), fmt.Sprint(run, "@", time.Now().Add(time.Hour).UnixMicro(), " "))
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

// TestEarlierMark: a client that finds a mark earlier than the one that it knows of the same process leaves it anew, because
// other data is there than before.
func TestEarlierMark(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	first := open(t, s.URL(), Config{Name: "a"})
	probe := func(known wire.Known) wire.Identity {
		t.Helper()
		id, err := first.Probe(within(t), known)
		require.NoError(t, err)
		return id
	}
	before := probe(wire.Known{})
	s.MustAsk("SWAPDB", "0", "1")
	time.Sleep(time.Millisecond)
	later := probe(wire.Known{RunID: before.RunID, Epoch: before.Epoch()})
	require.NotEqual(t, before.Epoch(), later.Epoch())
	s.MustAsk("SWAPDB", "0", "1")
	anew := probe(wire.Known{RunID: later.RunID, Epoch: later.Epoch()})
	require.Zero(t, anew.Served)
	require.NotEqual(t, before.Epoch(), anew.Epoch())
	require.Equal(t, anew.Epoch(), probe(wire.Known{RunID: anew.RunID, Epoch: anew.Epoch()}).Epoch())
	require.Equal(t, anew.Epoch(), probe(wire.Known{RunID: before.RunID, Epoch: before.Epoch()}).Epoch(), "it knows an earlier one")
	require.Equal(t, anew.Epoch(), probe(wire.Known{RunID: "other", Epoch: "9999999999999999"}).Epoch(), "of another process")
}

// TestMarkOfAnOlderVersion: clients of two versions never vote at once, and don't write over each other's mark.
func TestMarkOfAnOlderVersion(t *testing.T) {
	r, s := real(t, Config{Name: "a"})
	run := runOf(t, r)
	older := fmt.Sprintf("process/%s@%s 77", run.ReplID(), run.Epoch())
	s.MustAsk("SET", MarkKey("a"), older)
	req := acquire("k", "v")
	req.Run = run
	v := failed(t, r.Do(within(t), req), wire.ErrOtherRun)
	require.False(t, v.Unsent)
	_, err := r.Probe(within(t), wire.Known{Set: set1})
	require.ErrorIs(t, err, ErrOlderVersion)
	require.ErrorContains(t, err, "redis-cli DEL '"+MarkKey("a")+"'")
	require.True(t, isPermanent(err))
	require.Equal(t, older, s.MustAsk("GET", MarkKey("a")))
	s.MustAsk("DEL", MarkKey("a"))
	id, err := r.Probe(within(t), wire.Known{Set: set1})
	require.NoError(t, err)
	require.Zero(t, id.Served)
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
	node := instancetest.Start(t, instancetest.Config{Args: []string{"--cluster-enabled", "yes"}})
	id, err := open(t, node.URL(), Config{}).Probe(within(t), wire.Known{})
	require.NoError(t, err)
	require.Equal(t, wire.RoleCluster, id.Role)
}

// TestMarkTellsOfOtherVotes: a client that had another server's votes after the mark was written leaves it anew,
// and tells of them until a server has kept the mark that it was told. One that saw the clock jump leaves the
// mark of before anew, once.
func TestMarkTellsOfOtherVotes(t *testing.T) {
	r, ask, run := fresh(t)
	first, err := r.Probe(within(t), wire.Known{})
	require.NoError(t, err)
	probed := func(known wire.Known) wire.Run {
		t.Helper()
		before := ask("TIME").([]any)[0].(string) + ask("TIME").([]any)[1].(string)
		eventually(t, func() bool { // the clock counts in microseconds, but a mark must not have the same one
			return ask("TIME").([]any)[0].(string)+ask("TIME").([]any)[1].(string) > before
		}, "the clock stands still")
		id, err := r.Probe(within(t), known)
		require.NoError(t, err)
		require.EqualValues(t, id.Run(), ask("GET", r.markKey))
		return id.Run()
	}
	of := func(run wire.Run) wire.Known { return wire.Known{RunID: first.RunID, Epoch: run.Epoch()} }
	same := func(known wire.Known) { t.Helper(); require.Equal(t, run, probed(known)) }
	anew := func(known wire.Known) {
		t.Helper()
		next := probed(known)
		require.Greater(t, next.Epoch(), run.Epoch())
		run = next
	}
	same(wire.Known{})
	same(wire.Known{RunID: "another", Epoch: "1", Voter: "another", Ago: time.Hour}) // before the mark was written
	anew(wire.Known{RunID: "another", Epoch: "1", Voter: "another"})
	known := of(run)
	known.Voter = "another"
	same(known) // it was kept
	anew(wire.Known{RunID: first.RunID, Epoch: "1", Voter: "another"})
	known = of(run)
	known.Voter = first.RunID
	same(known)
	same(wire.Known{RunID: first.RunID, Voter: first.RunID})
}

// TestMarkHasTheSet: clients of another set are refused, and a newer one takes over under the same epoch, also
// after a restart.
func TestMarkHasTheSet(t *testing.T) {
	r, s := real(t, Config{}, "--appendonly", "yes", "--appendfsync", "always")
	probe := func(set wire.Set) (id wire.Identity, err error) {
		eventually(t, func() bool { // the old connections break first
			id, err = r.Probe(within(t), wire.Known{Set: set})
			return err == nil || errors.Is(err, wire.ErrSetMismatch)
		}, "it isn't probed")
		return id, err
	}
	taken := func(set wire.Set) wire.Run {
		t.Helper()
		id, err := probe(set)
		require.NoError(t, err)
		return id.Run()
	}
	nameless, err := probe(wire.Set{})
	require.NoError(t, err)
	require.Empty(t, nameless.Mark.Set())
	run := taken(set1)
	require.Equal(t, wire.MarkOf(nameless.ReplID, nameless.Epoch(), set1.String()), run)
	require.Equal(t, run, taken(wire.Set{}), "a client without a set changes nothing")
	with := func(edit func(set *wire.Set)) wire.Set {
		set := set1
		edit(&set)
		return set
	}
	other := map[string]wire.Set{
		"older": with(func(s *wire.Set) { s.Version = 6 }), "of another size": with(func(s *wire.Set) { s.N = 3 }),
		"of another name": with(func(s *wire.Set) { s.Name, s.Version = "test", 100 }), "with another MaxTTL": with(func(s *wire.Set) { s.MaxTTL++ }),
	}
	for what, set := range other {
		_, err := r.Probe(within(t), wire.Known{Set: set, RunID: nameless.RunID, Epoch: run.Epoch(), Voter: "another"})
		var mismatch *wire.SetMismatchError
		require.ErrorAs(t, err, &mismatch, what)
		require.Equal(t, wire.SetMismatchError{Mine: set, Theirs: set1.String()}, *mismatch)
		require.EqualValues(t, run, s.MustAsk("GET", r.markKey))
	}
	// Versions are larger than Lua's numbers, and compared as numbers.
	for _, version := range []uint64{8, 10, 1 << 53, 1<<53 + 1, 1<<64 - 1} {
		newer := with(func(s *wire.Set) { s.Version, s.N = version, 7 })
		next := taken(newer)
		require.True(t, next.SameAs(run))
		require.Equal(t, newer.String(), next.Set())
		_, err := probe(with(func(s *wire.Set) { s.Version, s.N = version-1, 7 }))
		require.ErrorIs(t, err, wire.ErrSetMismatch)
	}
	s.Restart()
	_, err = probe(set1)
	require.ErrorIs(t, err, wire.ErrSetMismatch, "a restart lets no other set in")
	next := taken(with(func(s *wire.Set) { s.Version, s.N = 1<<64-1, 7 }))
	require.False(t, next.SameAs(run))
}
