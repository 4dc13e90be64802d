package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// client is a Coordinator and what it stands on.
type client struct {
	*quorum.Coordinator
	servers *instance.Group
}

// connect makes a client. What runs a command has a TTL; the other commands take no locks.
func (o *options) connect(s streams) (*client, error) {
	urls := strings.FieldsFunc(o.servers, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) // a file may end its lines with CRLF
	if len(urls) == 0 {
		return nil, badUsage("no servers are given; set %s, or give -servers redis://a:6379,redis://b:6379,redis://c:6379", serversEnv)
	}
	access := instance.Config{FixedAddress: o.fixed}
	if o.ca != "" {
		access.TLS = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		if text, err := os.ReadFile(o.ca); err != nil || !access.TLS.RootCAs.AppendCertsFromPEM(text) {
			return nil, badUsage("-ca: the file can't be read, or has no certificate in PEM form")
		}
	}
	servers, err := instance.OpenAll(access, urls...)
	if err != nil {
		return nil, err
	}
	cfg := quorum.Config{
		TTL: o.ttl, MaxTTL: o.maxTTL, MaxWait: o.wait, InstanceTimeout: o.timeout,
		Quorum: o.quorum, Set: o.set, Owner: o.owner,
	}
	if o.try {
		cfg.MaxTries = 1
	}
	instances := servers.Instances()
	if o.ttl == 0 {
		for i, server := range servers.Members() {
			instances[i] = looker{server}
		}
		cfg.TTL = min(10*time.Second, o.maxTTL)
		cfg.InstanceTimeout = cmp.Or(o.timeout, min(time.Second, cfg.TTL/4))
	}
	cfg.Hooks.Waiting = func(_ context.Context, e quorum.WaitEvent) { s.say("waiting: %v", e) }
	locks, err := quorum.New(cfg, instances...)
	if err != nil {
		return nil, errors.Join(err, servers.Close())
	}
	return &client{locks, servers}, nil
}

// looker is an instance of a command that takes no lock.
type looker struct{ *instance.Redis }

// ConnLife is 0: MaxTTL bounds the time for which an address may still lead to another server. Without
// a lock there is nothing to bound.
func (looker) ConnLife() time.Duration { return 0 }

// Probe leaves the set in the mark as it is. Otherwise a look with other settings than the programs have
// would shut them out.
func (l looker) Probe(ctx context.Context, known wire.Known) (wire.Identity, error) {
	known.Set = wire.Set{}
	return l.Redis.Probe(ctx, known)
}

// close waits for what is under way, but not for long, because a server may be down.
func (c *client) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = c.Close(ctx) // keys that could not be deleted expire
	_ = c.servers.Close()
}
