package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// urls are the servers' URLs.
func (o *options) urls() ([]string, error) {
	urls := strings.FieldsFunc(o.servers, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) // a file may end its lines with CRLF
	if len(urls) == 0 {
		return nil, badUsage("no servers are given; set %s, or give -servers redis://a:6379,redis://b:6379,redis://c:6379", serversEnv)
	}
	for i, url := range urls {
		if !strings.Contains(url, "://") {
			return nil, badUsage("%s: part %d of %d is no URL; write redis://host:6379, and a comma or a blank in a password as %%2C or %%20", o.name("servers"), i+1, len(urls))
		}
	}
	return urls, nil
}

// client is a Coordinator and what it stands on.
type client struct {
	*quorum.Coordinator
	servers *instance.Group
}

// connect makes a client. What runs a command has terms; the other commands take no locks.
func (o *options) connect(s streams) (*client, error) {
	urls, err := o.urls()
	if err != nil {
		return nil, err
	}
	icfg := instance.Config{FixedAddress: o.fixed}
	if o.ca != "" {
		if icfg.TLS, err = o.readCA(); err != nil {
			return nil, err
		}
	}
	servers, err := instance.OpenAll(icfg, urls...)
	if err != nil {
		return nil, err
	}
	cfg := quorum.Config{TTL: o.ttl, MaxWait: o.wait, Quorum: o.quorum, MaxTTL: o.maxTTL, InstanceTimeout: o.timeout, Owner: o.owner}
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
	// To standard error, in words of this command.
	cfg.Hooks.Waiting = func(_ context.Context, e quorum.WaitEvent) {
		if e.Last != nil {
			s.say("%v; waiting", e)
			return
		}
		text := fmt.Sprintf("no lock can be taken for %v: %d of %d servers don't vote yet", e.For.Round(100*time.Millisecond), e.Quarantined, e.Instances)
		if e.Err != nil {
			text += " (" + e.Err.Detail + ")"
		}
		s.say("%s; waiting", text)
	}
	cfg.Hooks.Released = func(_ context.Context, e quorum.LeaseEvent) {
		if errors.Is(e.Err, quorum.ErrUnreachable) && e.Validity > 0 { // otherwise the command's error says that it was lost
			s.say("the lease was valid, but the lock may stay taken for up to %v: %v", o.ttl, e.Err)
		}
	}
	if cfg.Set, err = o.parseSet(); err != nil {
		return nil, errors.Join(err, servers.Close())
	}
	locks, err := quorum.New(cfg, instances...)
	if errors.Is(err, quorum.ErrConfig) { // it names settings, of which this is a flag with another name
		err = exitError{exitUsage, errors.New(strings.ReplaceAll(err.Error(), "set instance.Config.FixedAddress", "give -fixed-address"))}
	}
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
	//guard:look-keeps-set  a command that only looks doesn't change the set that clients have to have
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

func (o *options) readCA() (*tls.Config, error) {
	text, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, badUsage("%s: open %s: %w", o.name("ca"), shown(o.ca), innermost(err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, badUsage("%s: %s has no certificate in PEM form", o.name("ca"), shown(o.ca))
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// parseSet reads the set's NAME@VERSION, of which either may be missing.
func (o *options) parseSet() (set quorum.Set, err error) {
	if isURL(o.set) {
		return set, badUsage("%s is a URL; want a name, @ and a whole number, as in prod@7", o.name("set"))
	}
	name, version, found := strings.Cut(o.set, "@")
	set.Name = name
	if found {
		if set.Version, err = strconv.ParseUint(version, 10, 64); err != nil {
			return set, badUsage("%s is %q; want a name, @ and a whole number, as in prod@7", o.name("set"), o.set)
		}
	}
	return set, nil
}
