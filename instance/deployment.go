package instance

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// deployment is a set of servers that together are one instance, because one of them is the master
// at a time: a master with replicas under Sentinel, or a Cluster.
//
// Each new connection asks all addresses of the URL where the master is. A majority of all Sentinels,
// or of the listed nodes of a Cluster, has to name the same one, and for Sentinel in the same term.
// Otherwise the instance has no vote. So where a network is split, a client beside the old master
// goes on with it for ConnLife at most. A Cluster whose URL has one address has no majority: there the old
// master stops on its own after cluster-node-timeout. The rest is as for a name that is moved to another server.
type deployment struct {
	kind   string // wire.RoleSentinel or wire.RoleCluster
	addrs  []string
	master string          // its name in Sentinel
	named  bool            // Config.TLS names the servers' certificate
	asked  []*redis.Client // one for each address
	opt    redis.Options   // for them
	target atomic.Pointer[place]
}

// Of a Cluster one slot is used, so that the locks, the counters and the mark are on one master, and
// in one run: that of clusterTag, which is in front of all keys.
const (
	clusterTag  = "{redlock}"
	clusterSlot = 2639
)

// prefix is what stands in front of all keys.
func (d *deployment) prefix() string {
	if d == nil || d.kind != wire.RoleCluster {
		return ""
	}
	return clusterTag
}

// name is the instance's name, unless Config.Name is set.
func (d *deployment) name() string {
	first := slices.Min(d.addrs)
	if d.kind == wire.RoleCluster {
		return "cluster@" + first
	}
	return d.master + "@" + first
}

// parseDeployment makes a deployment of its parameters, and of opt, the rest of its URL. opt then has the
// master's account. It returns nil without parameters.
func parseDeployment(opt *redis.Options, query url.Values) (*deployment, error) {
	for name, values := range query {
		if name != "addr" && len(values) > 1 {
			return nil, fmt.Errorf("parameter %s is given twice", name)
		}
	}
	sentinel, cluster := query.Has("master_name"), query.Has("cluster")
	on, err := strconv.ParseBool(query.Get("cluster"))
	d := &deployment{kind: wire.RoleCluster, addrs: []string{opt.Addr}, master: query.Get("master_name"), opt: *opt}
	switch {
	case len(query) == 0:
		return nil, nil
	case !sentinel && (query.Has("username") || query.Has("password")):
		return nil, errors.New("a parameter is unknown here: username and password are the master's under Sentinel; write other accounts before the @")
	case opt.Network == "unix":
		return nil, errors.New("a unix:// URL leads to one server; addr, master_name and cluster are for redis:// and rediss://")
	case cluster && (err != nil || !on):
		return nil, errors.New("parameter cluster: want true, or leave it out")
	case sentinel && cluster:
		return nil, errors.New("parameters master_name and cluster: a deployment is under Sentinel or a Cluster, not both")
	case sentinel && (d.master == "" || !isName(d.master)):
		return nil, errors.New("parameter master_name: want the master's name in Sentinel")
	case query.Get("username") != "" && query.Get("password") == "":
		return nil, errors.New("parameter username: the password is missing")
	case !sentinel && opt.DB != 0:
		return nil, errors.New("a Cluster has database 0 only")
	}
	for _, addr := range query["addr"] {
		host, port, err := net.SplitHostPort(addr)
		if err != nil || !isHost(host) || !isPort(port) {
			return nil, errors.New("parameter addr: want host:port")
		}
		if addr = normal(host, port); slices.Contains(d.addrs, addr) {
			return nil, errors.New("parameter addr: an address is listed twice")
		}
		d.addrs = append(d.addrs, addr)
	}
	d.opt.DB = 0
	if sentinel { // the account before the @ is Sentinel's
		d.kind = wire.RoleSentinel
		opt.Username, opt.Password = query.Get("username"), query.Get("password")
	}
	return d, nil
}

// open makes the clients that ask, whose dials end with the context, and has opt dial the master.
func (d *deployment) open(ctx context.Context, opt *redis.Options) {
	for _, addr := range d.addrs {
		asking := d.opt
		asking.Addr = addr
		asking.TLSConfig = d.tlsFor(opt.TLSConfig, addr)
		d.asked = append(d.asked, newClient(ctx, &asking))
	}
	opt.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout(opt)) // a subscription's has no end
		defer cancel()
		if d.target.Load() == nil {
			if _, err := d.find(ctx); err != nil {
				return nil, err
			}
		}
		at := d.target.Load()
		plain := *opt
		plain.Dialer, plain.TLSConfig = nil, d.tlsFor(opt.TLSConfig, at.addr)
		return dialer(&plain)(ctx, network, at.addr)
	}
}

// find looks for the master, to which connections are made from then on. It returns what its term adds to
// the mark's key: a master that Sentinel brings back in the same run has no mark of its new term, so it
// counts as another run.
func (d *deployment) find(ctx context.Context) (term string, err error) {
	at, err := d.locate(ctx)
	if err != nil {
		return "", err
	}
	d.target.Store(&at)
	if at.term == "" {
		return "", nil
	}
	return "#" + at.term, nil
}

// tlsFor expects a certificate for the address, unless Config.TLS names another.
func (d *deployment) tlsFor(c *tls.Config, addr string) *tls.Config {
	if c == nil || d.named {
		return c
	}
	c = c.Clone()
	c.ServerName, _, _ = net.SplitHostPort(addr)
	return c
}

// close closes the clients that ask. It does nothing if there is no deployment.
func (d *deployment) close() error {
	if d == nil {
		return nil
	}
	var errs []error
	for _, client := range d.asked {
		errs = append(errs, closeClient(client))
	}
	return errors.Join(errs...)
}

// closeClient closes a client, which may be closed already.
func closeClient(client *redis.Client) error {
	if err := client.Close(); err != redis.ErrClosed {
		return err
	}
	return nil
}

// place is where the master is.
type place struct {
	addr string
	// term is Sentinel's configuration epoch, which grows with each failover, empty without one.
	term string
}

// locate returns the place that a majority names.
func (d *deployment) locate(ctx context.Context) (place, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		i        int
		place    place
		watchers int
		err      error
	}
	answers, said := make(chan answer, len(d.asked)), make([]string, len(d.asked))
	for i, client := range d.asked {
		said[i] = d.addrs[i] + " doesn't answer"
		go func() {
			a := answer{i: i}
			defer func() {
				if p := recover(); p != nil { // in go-redis, at an odd reply
					a.err = recovered(p)
				}
				answers <- a
			}()
			a.place, a.watchers, a.err = d.ask(ctx, client)
		}()
	}
	named, watchers, failure := map[place]int{}, len(d.asked), &unlocated{}
	for n := 0; n < len(d.asked) && ctx.Err() == nil; n++ {
		var a answer
		select {
		case a = <-answers:
		case <-ctx.Done():
			continue
		}
		if a.err != nil {
			said[a.i] = d.addrs[a.i] + ": " + a.err.Error()
			if d.kind == wire.RoleSentinel && aboutAccount(a.err) {
				said[a.i] = d.addrs[a.i] + ": this Sentinel refuses the account before the URL's @: " + a.err.Error()
			}
			if own, ok := errors.AsType[permanently](a.err); ok && own.Permanent() {
				failure.why = append(failure.why, a.err)
			}
			continue
		}
		named[a.place]++
		// Sentinels that aren't listed count, too: two majorities have to meet.
		watchers = max(watchers, a.watchers)
		//guard:majority-names-the-master  a deployment's master is the one that a majority of its Sentinels, or of the listed nodes, names
		if named[a.place] >= watchers/2+1 {
			return a.place, nil
		}
		said[a.i] = d.addrs[a.i] + " names " + a.place.addr
	}
	slices.Sort(said)
	failure.why = append(failure.why, cmp.Or(ctx.Err(), ErrConnection))
	failure.text = fmt.Sprintf("%v: %d of %d have to name the same master, and the URL lists %d: %s",
		ErrConnection, watchers/2+1, watchers, len(d.asked), strings.Join(said, "; "))
	return place{}, failure
}

// unlocated says what each server said where no majority names a master. It wraps ErrConnection or the
// context's error, and what waiting doesn't cure.
type unlocated struct {
	text string
	why  []error
}

func (e *unlocated) Error() string   { return e.text }
func (e *unlocated) Unwrap() []error { return e.why }

func isUnlocated(err error) bool {
	_, is := errors.AsType[*unlocated](err)
	return is
}

func aboutAccount(err error) bool { return errors.Is(err, ErrAuth) || errors.Is(err, ErrPermission) }

// blame says that it is the master that can't be used. The URL doesn't name it.
func (d *deployment) blame(at place, err error) error {
	if d.kind == wire.RoleCluster {
		return fmt.Errorf("at %s, the node with the locks' slot: %w", at.addr, err)
	}
	account := ""
	if aboutAccount(err) {
		account = ", whose account is username= and password= in the URL, or Config.Credentials"
	}
	return fmt.Errorf("at %s, the master that Sentinel names%s: %w", at.addr, account, err)
}

// ask asks one of the servers where the master is, and how many Sentinels there are.
func (d *deployment) ask(ctx context.Context, client *redis.Client) (at place, watchers int, err error) {
	host, port := "", ""
	if d.kind == wire.RoleSentinel {
		cmd := redis.NewMapStringStringCmd(ctx, "SENTINEL", "MASTER", d.master)
		if err := client.Process(ctx, cmd); err != nil {
			if err = explain(err); errors.Is(err, ErrCommand) {
				err = permanent("it is no Sentinel, and master_name asks Sentinels")
			}
			return place{}, 0, err
		}
		master := cmd.Val()
		host, port, at.term = master["ip"], master["port"], master["config-epoch"]
		others, bad := strconv.Atoi(master["num-other-sentinels"])
		if _, odd := strconv.ParseUint(at.term, 10, 64); odd != nil || bad != nil {
			return place{}, 0, errors.New("its answer lacks config-epoch or num-other-sentinels")
		}
		watchers = others + 1
	} else {
		cmd := redis.NewClusterSlotsCmd(ctx, "CLUSTER", "SLOTS") // CLUSTER SHARDS is not in Redis 6
		if err := client.Process(ctx, cmd); err != nil {
			return place{}, 0, explain(err)
		}
		for _, s := range cmd.Val() {
			if s.Start <= clusterSlot && clusterSlot <= s.End && len(s.Nodes) > 0 {
				host, port, _ = net.SplitHostPort(s.Nodes[0].Addr)
			}
		}
		if host == "" { // its own, which it doesn't know
			host, _, _ = net.SplitHostPort(client.Options().Addr)
		}
	}
	if !isHost(host) || !isPort(port) {
		return place{}, 0, errors.New("it knows no master")
	}
	at.addr = normal(host, port)
	return at, watchers, nil
}

// moving makes ErrMoving of ErrCluster where the instance is a Cluster.
func moving(err error, prefix string) error {
	if prefix == "" || !errors.Is(err, ErrCluster) {
		return err
	}
	var reply redis.Error
	if errors.As(err, &reply) {
		err = reply
	}
	return fmt.Errorf("%w (%w)", ErrMoving, err)
}
