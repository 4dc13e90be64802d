package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
)

// settings are the flags that have to be the same in all clients. Their defaults are in the
// environment.
var settings = []string{"servers", "max-ttl", "quorum", "set"}

// envOf is the environment variable of a setting.
func envOf(flag string) string {
	return "REDLOCK_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// serversEnv is the environment variable with the servers' URLs.
var serversEnv = envOf("servers")

// options are what the command line says.
type options struct {
	servers, ca, set, owner string
	quorum                  int
	maxTTL, timeout         time.Duration
	fixed                   bool

	json bool // verify and inspect

	ttl, wait, grace time.Duration // lock
	try              bool

	value string // release
	force bool

	key     string
	command []string
	given   []string // the flags that were given
}

// register defines the flags that all commands have.
func (o *options) register(flags *flag.FlagSet) {
	flags.StringVar(&o.servers, "servers", "", "the servers' `URLs`, separated by commas (default: the environment variable "+serversEnv+")")
	flags.DurationVar(&o.maxTTL, "max-ttl", 30*time.Second, "MaxTTL, as your programs have it (or REDLOCK_MAX_TTL)")
	flags.IntVar(&o.quorum, "quorum", 0, "how many servers make a `quorum`, if more than a majority (or REDLOCK_QUORUM)")
	flags.StringVar(&o.set, "set", "", "the set's `NAME@VERSION`, as your programs have it in Set (or REDLOCK_SET)")
	flags.StringVar(&o.ca, "ca", "", "a PEM `file` with the CA of the servers' certificates, for rediss://")
	flags.DurationVar(&o.timeout, "timeout", 0, "how long a server may take to answer (default: 1s; lock: a hundredth of -ttl, but 50ms to 500ms)")
	flags.BoolVar(&o.fixed, "fixed-address", false, "no server's address ever leads to another server: then -ttl may be as long as -max-ttl")
}

func jsonFlag(flags *flag.FlagSet, o *options) {
	flags.BoolVar(&o.json, "json", false, "print JSON for programs")
}

func (o *options) isGiven(name string) bool { return slices.Contains(o.given, name) }

// validate checks what package quorum doesn't.
func (o *options) validate(c command) error {
	if c.key {
		if strings.Contains(o.key, "redis://") || strings.Contains(o.key, "rediss://") || strings.Contains(o.key, "unix://") {
			return badUsage("the key is a URL; give servers by -servers or %s", serversEnv)
		}
		if err := quorum.ValidateKey(o.key); err != nil {
			return exitError{exitUsage, err}
		}
	}
	if o.timeout < 0 || o.isGiven("timeout") && o.timeout == 0 {
		return badUsage("-timeout is %v, want more than 0", o.timeout)
	}
	if c.command {
		return o.validateLock()
	}
	return nil
}

// urls are the servers' URLs.
func (o *options) urls() ([]string, error) {
	from := "-servers"
	if !o.isGiven("servers") {
		from = serversEnv
	}
	urls := strings.FieldsFunc(o.servers, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
	if len(urls) == 0 {
		return nil, badUsage("no servers are given; set %s, or give -servers redis://a:6379,redis://b:6379,redis://c:6379", serversEnv)
	}
	for i, url := range urls {
		if !strings.Contains(url, "://") {
			return nil, badUsage("%s: part %d of %d is no URL; write redis://host:6379, and a comma or a blank in a password as %%2C or %%20", from, i+1, len(urls))
		}
	}
	return urls, nil
}

// client is a Coordinator and what it stands on.
type client struct {
	*quorum.Coordinator
	servers *instance.Group
}

// connect makes a client. Only lock has terms; the other commands take no locks.
func (o *options) connect(s streams) (*client, error) {
	urls, err := o.urls()
	if err != nil {
		return nil, err
	}
	// MaxTTL bounds the time for which an address may still lead to another server. Without
	// a lock there is nothing to bound.
	icfg := instance.Config{FixedAddress: o.fixed || o.ttl == 0}
	if o.ca != "" {
		if icfg.TLS, err = readCA(o.ca); err != nil {
			return nil, err
		}
	}
	servers, err := instance.OpenAll(icfg, urls...)
	if err != nil {
		return nil, err
	}
	cfg := quorum.Config{Terms: quorum.Terms{TTL: o.ttl, MaxWait: o.wait}, Quorum: o.quorum, MaxTTL: o.maxTTL, InstanceTimeout: o.timeout, Owner: o.owner}
	if o.ttl == 0 {
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
	if cfg.Set, err = parseSet(o.set); err != nil {
		return nil, errors.Join(err, servers.Close())
	}
	locks, err := quorum.New(cfg, servers.Instances()...)
	if errors.Is(err, quorum.ErrConfig) { // it names settings, of which this is a flag with another name
		err = exitError{exitUsage, errors.New(strings.ReplaceAll(err.Error(), "set instance.Config.FixedAddress", "give -fixed-address"))}
	}
	if err != nil {
		return nil, errors.Join(err, servers.Close())
	}
	return &client{locks, servers}, nil
}

// close waits for what is under way, but not for long, because a server may be down.
func (c *client) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = c.Close(ctx) // keys that could not be deleted expire
	_ = c.servers.Close()
}

func readCA(path string) (*tls.Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, badUsage("-ca: open %s: %w", shown(path), innermost(err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, badUsage("-ca: %s has no certificate in PEM form", shown(path))
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// parseSet reads NAME@VERSION, of which either may be missing.
func parseSet(text string) (set quorum.Set, err error) {
	if isURL(text) {
		return set, badUsage("-set is a URL; want a name, @ and a whole number, as in prod@7")
	}
	name, version, found := strings.Cut(text, "@")
	set.Name = name
	if found {
		if set.Version, err = strconv.ParseUint(version, 10, 64); err != nil {
			return set, badUsage("-set is %q; want a name, @ and a whole number, as in prod@7", text)
		}
	}
	return set, nil
}
