package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum/wire"
)

var (
	// ErrConfig: an argument can't be used. The message says why.
	ErrConfig = errors.New("embedded: bad configuration")
	// ErrClosed: the Cluster was closed.
	ErrClosed = errors.New("embedded: cluster is closed")
)

// Cluster is a number of independent servers and one client for each. Its
// methods may be called from many goroutines at once. Close it when done.
type Cluster struct {
	servers   []*Server
	instances []wire.Instance
	// ends close the instances and their clients. Their types are not fields, because a package that uses a
	// Cluster would then take seconds to compile: go-redis's Client has hundreds of methods.
	ends []func() error
}

// Start starts n empty servers on free ports of 127.0.0.1. An odd number is best, see quorum.New.
//
// Every user of this machine can connect, because there is no password. StartPiped opens no
// port.
func Start(n int) (*Cluster, error) { return start(n, false) }

// StartPiped starts n empty servers without ports. Only this
// Cluster's own instances and Server.Dial reach them. They work inside a testing/synctest
// bubble, with the bubble's clock.
func StartPiped(n int) (*Cluster, error) { return start(n, true) }

func start(n int, piped bool) (*Cluster, error) {
	if n < 1 {
		return nil, fmt.Errorf("%w: %d servers, want 1 or more; three or five make a good quorum", ErrConfig, n)
	}
	c := &Cluster{}
	for i := range n {
		if err := c.add("embedded-"+strconv.Itoa(i+1), piped); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// add starts one server and makes its client.
func (c *Cluster) add(name string, piped bool) error {
	s := &Server{name: name, piped: piped}
	if err := s.Start(); err != nil {
		return err
	}
	c.servers = append(c.servers, s)
	opt := &redis.Options{Addr: s.Addr()}
	if piped {
		opt.Dialer = func(context.Context, string, string) (net.Conn, error) { return s.Dial() }
	}
	client := redis.NewClient(instance.Harden(opt))
	// A new server has given no vote. After its first restart that may not be true.
	inst, err := instance.New(client, instance.Config{Name: name, VouchedRunID: s.RunID(), FixedAddress: true})
	if err != nil {
		return errors.Join(fmt.Errorf("embedded: making the client of %s: %w", name, err), client.Close())
	}
	c.instances = append(c.instances, inst)
	c.ends = append(c.ends, func() error {
		err := inst.Close()
		if closed := client.Close(); closed != nil && !errors.Is(closed, redis.ErrClosed) {
			err = errors.Join(err, fmt.Errorf("embedded: closing the client of %s: %w", name, closed))
		}
		return err
	})
	return nil
}

// Instances returns the servers' instances for a Coordinator: named embedded-1 and so on, and
// vouched for until their first restart. Each call returns the same ones. Close closes them.
func (c *Cluster) Instances() []wire.Instance {
	return slices.Clone(c.instances)
}

// URLs returns the servers' addresses, for other clients (instance.Open). It is empty after
// StartPiped.
func (c *Cluster) URLs() []string {
	var urls []string
	for _, s := range c.servers {
		if !s.piped {
			urls = append(urls, "redis://"+s.Addr())
		}
	}
	return urls
}

// Server returns the server of Instances()[i].
func (c *Cluster) Server(i int) *Server { return c.servers[i] }

// Close closes the instances and ends the servers. It returns when their goroutines have
// ended. A second call does nothing.
func (c *Cluster) Close() error {
	var errs []error
	for _, end := range c.ends {
		errs = append(errs, end())
	}
	for _, s := range c.servers {
		s.close()
	}
	return errors.Join(errs...)
}
