//go:build unix

package instance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// patient waits for what other processes do.
func patient(t testing.TB, done func() bool, what string) {
	t.Helper()
	require.Eventually(t, done, 4*time.Minute, 20*time.Millisecond, what)
}

// says waits until a server's reply has a text. An error is none: a Sentinel that demotes a master
// ends its connections.
func says(t testing.TB, s *instancetest.Server, text string, args ...string) {
	t.Helper()
	patient(t, func() bool {
		reply, _ := s.Ask(args...)
		return strings.Contains(reply, text)
	}, fmt.Sprintf("%v never says %s", args, text))
}

// sentinels starts three Sentinels of a master and its replica.
func sentinels(t testing.TB) (master, replica *instancetest.Server, watchers []*instancetest.Server, url string) {
	t.Helper()
	master = instancetest.Start(t, instancetest.Config{Password: "secret", Args: []string{"--masterauth", "secret"}})
	_, port, _ := net.SplitHostPort(master.Addr())
	replica = instancetest.Start(t, instancetest.Config{Password: "secret", Args: []string{"--masterauth", "secret", "--replicaof", "127.0.0.1", port}})
	var addrs []string
	for range 3 {
		// Not by commands: Redis 6 keeps a connection that it made before it knew the password.
		text := "sentinel monitor mymaster 127.0.0.1 " + port + " 2\n"
		for name, value := range map[string]string{"down-after-milliseconds": "20000", "failover-timeout": "20000", "auth-pass": "secret"} {
			text += "sentinel " + name + " mymaster " + value + "\n"
		}
		w := instancetest.Start(t, instancetest.Config{Args: []string{"--sentinel"}, Conf: text})
		watchers, addrs = append(watchers, w), append(addrs, w.Addr())
	}
	for _, w := range watchers {
		client := redis.NewSentinelClient(&redis.Options{Addr: w.Addr()})
		defer func() { _ = client.Close() }()
		patient(t, func() bool {
			state, err := client.Master(context.Background(), "mymaster").Result()
			return err == nil && state["num-other-sentinels"] == "2" && state["num-slaves"] == "1" && state["flags"] == "master"
		}, "the Sentinels don't know each other and the replica")
	}
	return master, replica, watchers, "redis://" + addrs[0] + "?master_name=mymaster&password=secret&dial_timeout=500ms&addr=" + addrs[1] + "&addr=" + addrs[2]
}

// promoted waits until a replica is a master, and returns when it was none yet. It calls each before it
// looks.
func promoted(t testing.TB, replica *instancetest.Server, each func()) (before time.Time) {
	t.Helper()
	before = time.Now()
	patient(t, func() bool {
		each()
		now := time.Now()
		reply, _ := replica.Ask("INFO", "replication")
		if strings.Contains(reply, "role:slave") {
			before = now
		}
		return strings.Contains(reply, "role:master")
	}, "no failover")
	return before
}

// failOver stops the master, and has the Sentinels promote the replica.
func failOver(t testing.TB, master, replica *instancetest.Server, watchers []*instancetest.Server) (before time.Time) {
	t.Helper()
	master.Pause()
	return promoted(t, replica, func() {
		_, _ = watchers[0].Ask("SENTINEL", "FAILOVER", "mymaster") // refused while there is one
	})
}

// shortTTL is a TTL for leases that may end at any time.
const shortTTL = 2500 * time.Millisecond

// coordinator is a Coordinator of instances, with a MaxTTL that is longer than the TTL by the time for
// which a connection may lead to an old master. It returns the first of the instances, too.
func coordinator(t testing.TB, ttl time.Duration, urls ...string) (*quorum.Coordinator, *Redis) {
	t.Helper()
	var first *Redis
	var servers []wire.Instance
	for _, url := range urls {
		r, err := Open(url, Config{})
		require.NoError(t, err)
		first, servers = cmp.Or(first, r), append(servers, r)
	}
	cfg := quorum.Config{MaxTTL: ttl + 5500*time.Millisecond}
	cfg.TTL = ttl
	cfg.InstanceTimeout = ttl / 5
	cfg.Hooks.Waiting = func(context.Context, quorum.WaitEvent) {}
	c, err := quorum.New(cfg, servers...)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, c.Close(ctx))
		for _, s := range servers {
			require.NoError(t, s.(*Redis).Close())
		}
	})
	return c, first
}

// trusted has c's servers trusted, and returns what Verify then says of them. On a busy machine both
// can take longer than the timeouts, which are short here because connections count with them.
func trusted(t testing.TB, c *quorum.Coordinator) (report quorum.Report) {
	t.Helper()
	patient(t, func() bool {
		err := c.Trust(t.Context())
		if err == nil {
			report, err = c.Verify(t.Context())
		}
		return err == nil
	}, "the servers can't be asked")
	return report
}

// release releases a lease. On a busy machine the answer may come late, or the lease may end before.
func release(t testing.TB, lease *quorum.Lease) {
	t.Helper()
	if err := lease.Release(t.Context()); !errors.Is(err, quorum.ErrUnreachable) && !errors.Is(err, quorum.ErrNotHeld) {
		require.NoError(t, err)
	}
}

// afterFailover takes the lock after the master of c's only instance has changed: no sooner than
// MaxTTL after that, and with a larger token.
func afterFailover(t testing.TB, c *quorum.Coordinator, changed time.Time, before *quorum.Lease) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	lease, err := c.Acquire(ctx, "k")
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(changed), c.Config().MaxTTL, "its votes count at once")
	require.Greater(t, lease.Token(), before.Token())
	release(t, lease)
}

// failsOver makes a test parallel that mostly waits for a failover, and then for MaxTTL.
func failsOver(t *testing.T) {
	if os.Getenv("REDLOCK_LONG") == "" {
		t.Skip("it takes half a minute; with REDLOCK_LONG=1 it runs")
	}
	t.Parallel()
}

// TestSentinelDeployment: a master with a replica under three Sentinels is one instance. It says so;
// its master fails over, and comes back as a replica.
func TestSentinelDeployment(t *testing.T) {
	failsOver(t)
	master, replica, watchers, url := sentinels(t)
	c, r := coordinator(t, shortTTL, url)
	require.Equal(t, "mymaster@"+min(watchers[0].Addr(), watchers[1].Addr(), watchers[2].Addr()), r.Name())
	report := trusted(t, c)
	require.Equal(t, wire.RoleSentinel, report.Instances[0].Identity.Deployment)
	require.Contains(t, report.Notes[0], "after each failover nobody gets a lock for MaxTTL")
	lease, err := c.Acquire(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, ":1", master.MustAsk("EXISTS", CounterKey("k")))

	// One of the Sentinels is not needed, two are.
	watchers[0].Pause()
	patient(t, func() bool {
		_, err := r.deployment.locate(t.Context())
		return err == nil
	}, "two Sentinels don't name the master")
	watchers[1].Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	_, err = r.deployment.locate(ctx)
	cancel()
	require.Error(t, err)
	watchers[0].Resume()
	watchers[1].Resume()

	afterFailover(t, c, failOver(t, master, replica, watchers), lease)
	master.Resume()
	says(t, master, "role:slave", "INFO", "replication")
	lease, err = c.Acquire(t.Context(), "k")
	require.NoError(t, err)
	release(t, lease)
}

// node is a node of a Cluster.
type node struct {
	*instancetest.Server
	id string
}

// cluster starts a Cluster of three masters, of which the second has the locks' slot, and a replica
// of that.
func cluster(t testing.TB) (nodes []node, url string) {
	t.Helper()
	var params string
	for i := range 4 {
		s := instancetest.Start(t, instancetest.Config{Args: []string{"--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0"}})
		nodes = append(nodes, node{s, s.MustAsk("CLUSTER", "MYID")})
		if i > 0 {
			params += "&addr=" + s.Addr()
		}
	}
	for i, bounds := range [][2]int{{0, clusterSlot - 1}, {clusterSlot, clusterSlot + 1}, {clusterSlot + 2, 16383}} {
		args := []string{"CLUSTER", "ADDSLOTS"}
		for slot := bounds[0]; slot <= bounds[1]; slot++ {
			args = append(args, strconv.Itoa(slot))
		}
		require.Equal(t, "+OK", nodes[i].MustAsk(args...))
	}
	host, port, _ := net.SplitHostPort(nodes[0].Addr())
	for i, n := range nodes[1:] {
		require.Equal(t, "+OK", nodes[i+1].MustAsk("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+2)))
		require.Equal(t, "+OK", n.MustAsk("CLUSTER", "MEET", host, port))
	}
	knows := func(n node, what string, times int) func() bool {
		return func() bool { return strings.Count(n.MustAsk("CLUSTER", "NODES"), what) == times }
	}
	for _, n := range nodes {
		patient(t, knows(n, " connected", 4), "the nodes don't know each other")
	}
	require.Equal(t, "+OK", nodes[3].MustAsk("CLUSTER", "REPLICATE", nodes[1].id))
	for _, n := range nodes {
		patient(t, knows(n, "slave "+nodes[1].id, 1), "there is no replica")
		says(t, n.Server, "cluster_state:ok", "CLUSTER", "INFO")
	}
	says(t, nodes[1].Server, "state=online", "INFO", "replication")
	return nodes, "redis://" + nodes[0].Addr() + "?dial_timeout=500ms" + params
}

// TestClusterDeployment: a Cluster is one instance. All locks are in one slot, also those of a lease
// on several. The slot moves to another node, and fails over.
func TestClusterDeployment(t *testing.T) {
	failsOver(t)
	nodes, url := cluster(t)
	owner, other := nodes[1], nodes[2]
	c, _ := coordinator(t, shortTTL, url)
	report := trusted(t, c)
	require.Equal(t, wire.RoleCluster, report.Instances[0].Identity.Deployment)
	require.Equal(t, wire.RoleMaster, report.Instances[0].Identity.Role)
	require.Empty(t, report.Instances[0].Identity.Hidden)
	held := func(keys ...string) (lease *quorum.Lease) {
		patient(t, func() bool { // before it ends
			var err error
			lease, err = c.AcquireAll(t.Context(), keys...)
			require.NoError(t, err)
			return owner.MustAsk("PERSIST", clusterTag+keys[len(keys)-1]) == ":1"
		}, "no lease lasts for long enough to be seen")
		return lease
	}
	lease := held("k", "another")
	require.Equal(t, ":2", owner.MustAsk("EXISTS", clusterTag+CounterKey("k"), clusterTag+CounterKey("another")))
	patient(t, func() bool {
		_, err := c.TryAcquire(t.Context(), "another")
		require.Error(t, err)
		return errors.Is(err, quorum.ErrTaken)
	}, "nobody says that it is taken")
	release(t, lease)

	// A waiter is notified.
	waiting, _ := coordinator(t, shortTTL, url)
	trusted(t, waiting)
	lease = held("k")
	got := make(chan *quorum.Lease, 1)
	go func() {
		next, err := waiting.Acquire(context.WithoutCancel(t.Context()), "k")
		if err != nil {
			t.Error(err)
		}
		got <- next
	}()
	says(t, owner.Server, ":1", "EXISTS", clusterTag+WaitersKey("k"))
	release(t, lease)
	lease = <-got
	require.NotNil(t, lease)
	owner.MustAsk("SET", clusterTag+"k", lease.Value()) // however long the rest takes

	// While the slot is being moved, nobody gets what isn't there any more, and waiting helps.
	slot := strconv.Itoa(clusterSlot)
	require.Equal(t, "+OK", other.MustAsk("CLUSTER", "SETSLOT", slot, "IMPORTING", owner.id))
	require.Equal(t, "+OK", owner.MustAsk("CLUSTER", "SETSLOT", slot, "MIGRATING", other.id))
	var err error
	patient(t, func() bool {
		_, err = c.TryAcquire(t.Context(), "free")
		require.Error(t, err)
		return errors.Is(err, ErrMoving)
	}, "nobody says that the slot is moved")
	require.True(t, quorum.Retryable(err))
	host, port, _ := net.SplitHostPort(other.Addr())
	client := redis.NewClient(&redis.Options{Addr: owner.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	keys, err := client.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.NotEmpty(t, keys)
	for _, key := range keys {
		require.Contains(t, []string{"+OK", "+NOKEY"}, owner.MustAsk("MIGRATE", host, port, key, "0", "30000"))
	}
	moved := time.Now()
	for _, n := range []node{other, owner, nodes[0]} {
		require.Equal(t, "+OK", n.MustAsk("CLUSTER", "SETSLOT", slot, "NODE", other.id))
	}
	require.Equal(t, ":1", other.MustAsk("DEL", clusterTag+"k"), "the lock isn't lost")
	afterFailover(t, c, moved, lease)

	// Its new node, which the replica follows now, dies.
	require.Equal(t, "+OK", nodes[3].MustAsk("CLUSTER", "REPLICATE", other.id))
	says(t, other.Server, "state=online", "INFO", "replication")
	says(t, nodes[0].Server, "slave "+other.id, "CLUSTER", "NODES")
	lease, err = c.Acquire(t.Context(), "k")
	require.NoError(t, err)
	other.Kill()
	afterFailover(t, c, promoted(t, nodes[3].Server, func() {}), lease)
}

// TestThreeDeployments: with three votes, of which two are deployments, a lease outlives a failover
// of each, and others get the lock without a wait once it is released.
func TestThreeDeployments(t *testing.T) {
	failsOver(t)
	master, replica, watchers, sentinel := sentinels(t)
	nodes, cluster := cluster(t)
	single := instancetest.Start(t, instancetest.Config{})
	urls := []string{sentinel, cluster, single.URL() + "?dial_timeout=500ms"}
	const ttl = 8 * time.Second // longer than a busy machine stands still
	first, _ := coordinator(t, ttl, urls...)
	second, _ := coordinator(t, ttl, urls...)
	trusted(t, first)
	trusted(t, second)
	lease, err := first.Acquire(t.Context(), "k")
	require.NoError(t, err)
	lease.KeepAlive()
	outlives := func(failover time.Time) {
		t.Helper()
		patient(t, func() bool {
			_, err := second.TryAcquire(t.Context(), "k")
			require.Error(t, err)
			return errors.Is(err, quorum.ErrTaken) && time.Since(failover) > ttl
		}, "nobody says that it is taken")
		require.NoError(t, lease.Err())
	}

	failOver(t, master, replica, watchers)
	outlives(time.Now())
	patient(t, func() bool { // until then this vote is missing
		report, err := second.Verify(t.Context())
		return err == nil && report.Instances[0].Err == nil
	}, "the new master doesn't vote")
	require.Equal(t, "+OK", nodes[3].MustAsk("CLUSTER", "FAILOVER", "TAKEOVER"))
	outlives(time.Now())

	release(t, lease)
	next, err := second.Acquire(t.Context(), "k")
	require.NoError(t, err)
	require.Greater(t, next.Token(), lease.Token())
	release(t, next)
}

// sentinelOf is a Sentinel that names a port of this machine.
func sentinelOf(t *testing.T, port string, term func() int64, others int) *fake {
	return startFake(t, func(args []string) string {
		if strings.ToUpper(args[0]) != "SENTINEL" {
			return "+OK\r\n"
		}
		reply := "*8\r\n"
		for _, text := range []string{"ip", "127.0.0.1", "port", port, "config-epoch", strconv.FormatInt(term(), 10), "num-other-sentinels", strconv.Itoa(others)} {
			reply += fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
		}
		return reply
	})
}

// TestMajorityNamesTheMaster: one Sentinel that names another master than the others doesn't count,
// however fast it answers, and Sentinels that the URL doesn't list count, too.
func TestMajorityNamesTheMaster(t *testing.T) {
	names := func(port string, others int) *fake {
		return sentinelOf(t, port, func() int64 { return 7 }, others)
	}
	stale, a, b := names("7001", 2), names("7002", 2), names("7002", 2)
	r := open(t, "redis://"+stale.addr+"?master_name=m&addr="+a.addr+"&addr="+b.addr, Config{})
	at, err := r.deployment.locate(within(t))
	require.NoError(t, err)
	require.Equal(t, place{"127.0.0.1:7002", "7"}, at)
	// As if it answers long before the others.
	never := startFake(t, func([]string) string { return hangUp })
	r = open(t, "redis://"+stale.addr+"?master_name=m&addr="+never.addr, Config{})
	_, err = r.deployment.locate(within(t))
	require.ErrorContains(t, err, "2 of 3 have to name the same master")
	r = open(t, "redis://"+stale.addr+"?master_name=m&addr="+a.addr, Config{})
	_, err = r.deployment.locate(within(t))
	require.ErrorIs(t, err, ErrConnection)
	require.ErrorContains(t, err, "names 127.0.0.1:7001")
	require.ErrorContains(t, err, "names 127.0.0.1:7002")
	// Two of five are no majority, though they are all that this client knows of.
	c, d := names("7001", 4), names("7001", 4)
	r = open(t, "redis://"+c.addr+"?master_name=m&addr="+d.addr, Config{})
	_, err = r.deployment.locate(within(t))
	require.ErrorContains(t, err, "3 of 5 have to name the same master, and the URL lists 2")
}

// TestMasterThatComesBack: a master that Sentinel brings back in the same run, after another one had
// its place, counts as another run.
func TestMasterThatComesBack(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	_, port, _ := net.SplitHostPort(s.Addr())
	var term atomic.Int64
	sentinel := sentinelOf(t, port, term.Load, 0)
	probed := func() (*Redis, wire.Identity) {
		r := open(t, "redis://"+sentinel.addr+"?master_name=m", Config{Name: "s"})
		id, err := r.Probe(within(t), wire.Known{})
		require.NoError(t, err)
		return r, id
	}
	r, first := probed()
	req := acquire("k", value())
	req.Run = first.Run()
	granted(t, r.Do(within(t), req))
	_, again := probed()
	require.Equal(t, first.Run(), again.Run())

	term.Store(2)
	r, back := probed()
	require.NotEqual(t, first.Run(), back.Run())
	require.Equal(t, first.ReplID, back.ReplID)
	req = acquire("other", value())
	req.Run = first.Run()
	failed(t, r.Do(within(t), req), wire.ErrOtherRun)
}

// TestBadAnswersAboutTheMaster: what is asked for the master can't control a terminal.
func TestBadAnswersAboutTheMaster(t *testing.T) {
	for answer, says := range map[string]string{
		"*0\r\n":               "knows no master",
		"-ERR \x1b[2J\r\n":     "x1b[2J",
		"-NOPERM no right\r\n": "NOPERM",
		"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$5\r\na\x1b[2J\r\n:6379\r\n": "knows no master",
		"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$1\r\nh\r\n:0\r\n":           "knows no master",
	} {
		node := startFake(t, func(args []string) string {
			if strings.ToUpper(args[0]) != "CLUSTER" {
				return "+OK\r\n"
			}
			return answer + hangUp // rather than to wait for the rest
		})
		r := open(t, "redis://"+node.addr+"?cluster=true", Config{})
		_, err := r.deployment.locate(within(t))
		require.NotContains(t, err.Error(), "\x1b", "%q", answer)
		require.ErrorContains(t, err, says, "%q", answer)
		require.Equal(t, strings.Contains(says, "NOPERM"), errors.Is(err, ErrPermission), "%q", answer)
	}
}

func TestDeploymentURLs(t *testing.T) {
	for url, want := range map[string]struct{ name, kind, prefix string }{
		"redis://:pw@s2:26379?master_name=m&addr=S1:26379": {"m@s1:26379", wire.RoleSentinel, ""},
		"redis://s1:26379/3?master_name=m&password=p":      {"m@s1:26379", wire.RoleSentinel, ""},
		"rediss://u:pw@n1:6379?addr=n2:6379&pool_size=9":   {"cluster@n1:6379", wire.RoleCluster, clusterTag},
		"redis://clustercfg.example.com:6379?cluster=true": {"cluster@clustercfg.example.com:6379", wire.RoleCluster, clusterTag},
		"redis://n1:6379?addr=n2:6379&addr=n0:6379&db=0":   {"cluster@n0:6379", wire.RoleCluster, clusterTag},
		"redis://u:pw@s1?master_name=m&password=":          {"m@s1:6379", wire.RoleSentinel, ""},
	} {
		r := open(t, url, Config{})
		require.Equal(t, want.name, r.Name(), url)
		require.Equal(t, want.kind, r.deployment.kind, url)
		require.Equal(t, want.prefix+MarkKey(want.name), r.markKey, url)
		require.Positive(t, r.ConnLife(), url)
	}
	r := open(t, "redis://u:pw@s1:26379/3?master_name=m&username=a&password=p", Config{})
	require.Equal(t, []any{"a", "p", 3}, []any{r.client.Options().Username, r.client.Options().Password, r.client.Options().DB})
	require.Equal(t, []any{"u", "pw", 0}, []any{r.deployment.opt.Username, r.deployment.opt.Password, r.deployment.opt.DB})
	for url, says := range map[string]string{
		"redis://h:1?master_name=":                      "master_name",
		"redis://h:1?master_name=a&master_name=b":       "given twice",
		"redis://h:1?addr=secret":                       "host:port",
		"redis://h:1?addr=h:0":                          "host:port",
		"redis://h:1?addr=:6379":                        "host:port",
		"redis://h:1?addr=H:1":                          "listed twice",
		"redis://h:1?cluster=secret":                    "want true",
		"redis://h:1?cluster=false":                     "want true",
		"redis://h:1?cluster=true&master_name=m":        "not both",
		"redis://h:1/1?cluster=true":                    "database 0",
		"unix:///a.sock?cluster=true":                   "unix",
		"redis://h:1?password=secret":                   "unknown",
		"redis://h:1?addr=g:1&password=secret":          "unknown",
		"redis://h:1?master_name=m&password=a&password": "given twice",
	} {
		_, err := Open(url, Config{})
		require.ErrorIs(t, err, ErrURL, url)
		require.ErrorContains(t, err, says, url)
		require.NotContains(t, err.Error(), "secret", url)
	}
	r = open(t, "redis://h:1?cluster=true&dial_timeout=5s", Config{FixedAddress: true})
	require.Positive(t, r.ConnLife())
	require.Equal(t, 5*time.Second, r.deployment.asked[0].Options().DialTimeout)
}

// TestMovedSlotIsFollowed: a node that says MOVED is asked nothing more, although its connection is young.
func TestMovedSlotIsFollowed(t *testing.T) {
	var owner atomic.Value // the port of the node with the slot
	node := func() (f *fake, port string) {
		var mine atomic.Value
		f = startFake(t, func(args []string) string {
			at := owner.Load().(string)
			moved := fmt.Sprintf("MOVED %d 127.0.0.1:%s\r\n", clusterSlot, at)
			switch name := strings.ToUpper(args[0]); {
			case name == "CLUSTER":
				return fmt.Sprintf("*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n%s:%s\r\n%s", bulk("127.0.0.1"), at, bulk("id"))
			case at == mine.Load():
				return grants(args)
			case name == "EXEC":
				return "-EXECABORT Transaction discarded because of: " + moved
			case name == "MULTI":
				return ok
			}
			return "-" + moved
		})
		_, port, _ = net.SplitHostPort(f.addr)
		mine.Store(port)
		return f, port
	}
	a, first := node()
	_, second := node()
	r := open(t, "redis://"+a.addr+"?cluster=true", Config{})
	for _, op := range []wire.Op{wire.Extend, wire.Acquire} {
		owner.Store(first)
		req := request(op, "k", value())
		require.Eventually(t, func() bool { return r.Do(within(t), req).Outcome == wire.Granted }, patience, time.Millisecond)
		owner.Store(second)
		v := failed(t, r.Do(within(t), req), ErrMoving)
		require.Contains(t, v.Err.Error(), "MOVED")
		granted(t, r.Do(within(t), req))
	}
}
