package instance

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// deployment is a set of servers that together are one instance, because one of them is the master
// at a time: a master with replicas under Sentinel, or a Cluster.
//
// Each new connection asks all addresses of the URL where the master is, and a majority of them has
// to name the same one. Otherwise the instance has no vote. So where a network is split, a client
// beside the old master goes on with it for ConnLife at most, which comes off the longest TTL, and
// not for as long as the Sentinel beside it believes in that master.
//
// The rest is as for a name that is moved to another server: each request names the run of the
// server that was probed, and every other run is a quarantine.
type deployment struct {
	kind   string // wire.RoleSentinel or wire.RoleCluster
	addrs  []string
	master string          // its name in Sentinel
	named  bool            // Config.TLS names the servers' certificate
	asked  []*redis.Client // one for each address
	opt    redis.Options   // for them
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

// parseDeployment takes the parameters of a deployment out of a URL's, and gives opt the master's
// account. It returns nil if there are none. The spelling is go-redis's, of ParseFailoverURL and
// ParseClusterURL.
func parseDeployment(opt *redis.Options, query url.Values) (*deployment, error) {
	if !query.Has("addr") && !query.Has("master_name") && !query.Has("cluster") {
		return nil, nil
	}
	d := &deployment{kind: wire.RoleCluster, addrs: []string{opt.Addr}}
	for _, addr := range query["addr"] {
		host, port, err := net.SplitHostPort(addr)
		if n, bad := strconv.ParseUint(port, 10, 16); err != nil || host == "" || bad != nil || n == 0 {
			return nil, errors.New("parameter addr: want host:port")
		}
		if addr = normal(host, port); slices.Contains(d.addrs, addr) {
			return nil, errors.New("parameter addr: an address is listed twice")
		}
		d.addrs = append(d.addrs, addr)
	}
	one := func(name string) (string, error) {
		values := query[name]
		delete(query, name)
		if len(values) > 1 {
			return "", fmt.Errorf("parameter %s is given twice", name)
		}
		return strings.Join(values, ""), nil
	}
	delete(query, "addr")
	cluster := query.Has("cluster")
	if text, err := one("cluster"); err != nil {
		return nil, err
	} else if on, err := strconv.ParseBool(text); cluster && (err != nil || !on) {
		return nil, errors.New("parameter cluster: want true, or leave it out")
	}
	sentinel := query.Has("master_name")
	master, err := one("master_name")
	switch {
	case err != nil:
		return nil, err
	case opt.Network == "unix":
		return nil, errors.New("a unix:// URL leads to one server; addr, master_name and cluster are for redis:// and rediss://")
	case sentinel && cluster:
		return nil, errors.New("parameters master_name and cluster: a deployment is of Sentinel or a Cluster, not both")
	case sentinel && validateName(master) != nil, sentinel && master == "":
		return nil, errors.New("parameter master_name: want the master's name in Sentinel")
	case !sentinel && opt.DB != 0:
		return nil, errors.New("a Cluster has database 0 only")
	}
	d.opt = *opt
	if sentinel {
		d.kind, d.master, d.opt.DB = wire.RoleSentinel, master, 0
		// The URL's account is Sentinel's.
		if opt.Username, err = one("username"); err != nil {
			return nil, err
		}
		if opt.Password, err = one("password"); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// open makes the clients that ask, and has opt dial the master.
func (d *deployment) open(opt *redis.Options) {
	for _, addr := range d.addrs {
		asking := d.opt
		asking.Addr = addr
		asking.TLSConfig = d.tlsFor(opt.TLSConfig, addr)
		d.asked = append(d.asked, redis.NewClient(Harden(&asking)))
	}
	opt.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
		addr, err := d.locate(ctx)
		if err != nil {
			return nil, err
		}
		plain := *opt
		plain.Dialer, plain.TLSConfig = nil, d.tlsFor(opt.TLSConfig, addr)
		return dialer(&plain)(ctx, network, addr)
	}
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
		if err := client.Close(); err != nil && err != redis.ErrClosed {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// locate returns the address that a majority names.
func (d *deployment) locate(ctx context.Context) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		by, addr string
		err      error
	}
	answers := make(chan answer, len(d.asked))
	for i, client := range d.asked {
		go func() {
			addr, err := d.ask(ctx, client)
			answers <- answer{d.addrs[i], addr, err}
		}()
	}
	named, majority := map[string]int{}, len(d.asked)/2+1
	var said []string
	for range d.asked {
		a := <-answers
		if a.err != nil {
			said = append(said, fmt.Sprintf("%s: %v", a.by, a.err))
			continue
		}
		named[a.addr]++
		//guard:majority-names-the-master  a deployment's master is the one that a majority of the listed addresses names
		if named[a.addr] >= majority {
			return a.addr, nil
		}
		said = append(said, fmt.Sprintf("%s names %s", a.by, a.addr))
	}
	slices.Sort(said)
	return "", fmt.Errorf("%w: %d of the %d addresses in the URL have to name the same master: %s", ErrConnection, majority, len(d.asked), strings.Join(said, "; "))
}

// ask asks one of the servers where the master is.
func (d *deployment) ask(ctx context.Context, client *redis.Client) (string, error) {
	if d.kind == wire.RoleSentinel {
		var found []string
		cmd := redis.NewStringSliceCmd(ctx, "SENTINEL", "get-master-addr-by-name", d.master)
		err := client.Process(ctx, cmd)
		if found = cmd.Val(); errors.Is(err, redis.Nil) || err == nil && len(found) != 2 {
			return "", errors.New("it knows no master of that name")
		} else if err != nil {
			return "", err
		}
		return normal(found[0], found[1]), nil
	}
	//lint:ignore SA1019 CLUSTER SHARDS, which takes its place, is not in Redis 6
	slots, err := client.ClusterSlots(ctx).Result()
	if err != nil {
		return "", err
	}
	for _, s := range slots {
		if s.Start <= clusterSlot && clusterSlot <= s.End && len(s.Nodes) > 0 {
			host, port, err := net.SplitHostPort(s.Nodes[0].Addr)
			if err != nil || port == "" || port == "0" {
				break
			}
			if host == "" { // its own, which it doesn't know
				host, _, _ = net.SplitHostPort(client.Options().Addr)
			}
			return normal(host, port), nil
		}
	}
	return "", fmt.Errorf("it knows no master for slot %d", clusterSlot)
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
