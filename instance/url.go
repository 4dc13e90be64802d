package instance

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// Open makes an instance, and the client for it, from a URL:
//
//	redis://user:password@host:6379/0     TCP
//	rediss://user:password@host:6379/0    TLS, see Config.TLS
//	unix://user:password@/path/to/socket?db=0
//
// User, password, port (6379), host (localhost) and database (0) are optional. Write special
// characters in the password as %XX. Of go-redis's parameters, these are accepted:
//
//	db              the database's number (unix only; elsewhere it is the path)
//	client_name     the connections' name in CLIENT LIST
//	dial_timeout    durations like 500ms, above 0, at most 1h; also read_timeout and write_timeout
//	pool_size       the number of connections, 1 to 10000
//	skip_verify     true or false: don't check the server's certificate (rediss)
//
// An instance may also be a deployment, spelled as in go-redis (ParseFailoverURL and
// ParseClusterURL):
//
//	redis://sentinel1:26379?master_name=mymaster&addr=sentinel2:26379&addr=sentinel3:26379
//	redis://user:password@node1:6379?addr=node2:6379&addr=node3:6379
//	redis://user:password@endpoint:6379?cluster=true
//
// The first is the master that Sentinel names. The URL's account is for Sentinel, username and
// password are the master's. The others are a Cluster, which gives the instance one master: that of
// one slot, in which all its locks are. Each new connection asks all listed addresses for the
// master. A majority of all Sentinels, listed or not, has to name the same master; of a Cluster,
// a majority of the listed nodes. So list all Sentinels, or at least three nodes of the Cluster.
// List no address that is gone, and list the same addresses in all clients. A failover starts
// another run of the server: the instance's votes don't count for MaxTTL. So N deployments
// survive what N single servers survive, and one deployment alone gives no lock for MaxTTL after
// each failover.
//
// Open does no I/O. Its error Is ErrURL or ErrConfig, and never repeats what could be a part
// of the password.
func Open(rawURL string, cfg Config) (*Redis, error) {
	opt, d, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.TLS != nil {
		if opt.TLSConfig == nil {
			return nil, fmt.Errorf("%w: Config.TLS is set, but the URL of %s is not rediss://, and the password and the locks would be sent unencrypted; change the URL, or leave TLS nil", ErrConfig, opt.Addr)
		}
		opt.TLSConfig = mergeTLS(cfg.TLS, opt.TLSConfig)
	}
	if err := provide(opt, d, cfg.Credentials); err != nil {
		return nil, err
	}
	name := opt.Addr
	if d != nil {
		name, d.named = d.name(), cfg.TLS != nil && cfg.TLS.ServerName != ""
	}
	r, err := newRedis(nil, cfg, name, true, d)
	if err != nil {
		return nil, err
	}
	if d != nil {
		d.open(r.pipe.ctx, opt)
	}
	r.client = newClient(r.pipe.ctx, opt)
	return r, nil
}

// newClient makes a client whose dials end with the context. Closing the client doesn't end them: go-redis goes on
// for as long as Options.DialTimeout, although nobody waits.
func newClient(ctx context.Context, opt *redis.Options) *redis.Client {
	hard := Harden(opt)
	dial := hard.Dialer
	hard.Dialer = func(dialing context.Context, network, addr string) (net.Conn, error) {
		dialing, cancel := context.WithCancel(dialing)
		defer cancel()
		//guard:close-ends-dials  no dial goes on after Close
		defer context.AfterFunc(ctx, cancel)()
		return dial(dialing, network, addr)
	}
	return redis.NewClient(hard)
}

// provide has connections ask for their account.
func provide(opt *redis.Options, d *deployment, credentials func(context.Context) (string, string, error)) error {
	if credentials == nil {
		return nil
	}
	if opt.Password != "" {
		return fmt.Errorf("%w: Config.Credentials is set, but the URL has a password for the server, too; leave it out", ErrConfig)
	}
	opt.CredentialsProviderContext = func(ctx context.Context) (username, password string, err error) {
		defer func() {
			if p := recover(); p != nil { // go-redis may call it on any goroutine
				err = fmt.Errorf("%w: Config.Credentials panicked: %v", ErrConnection, p)
			}
		}()
		if username, password, err = credentials(ctx); err != nil {
			err = fmt.Errorf("%w: Config.Credentials: %w", ErrConnection, err)
		}
		return username, password, err
	}
	if d != nil && d.kind == wire.RoleCluster {
		d.opt.CredentialsProviderContext = opt.CredentialsProviderContext
	}
	return nil
}

// mergeTLS completes the caller's settings with those of the URL.
func mergeTLS(own, fromURL *tls.Config) *tls.Config {
	merged := own.Clone()
	merged.ServerName = cmp.Or(own.ServerName, fromURL.ServerName)
	merged.MinVersion = cmp.Or(own.MinVersion, fromURL.MinVersion)
	merged.InsecureSkipVerify = own.InsecureSkipVerify || fromURL.InsecureSkipVerify
	return merged
}

// parseURL is redis.ParseURL, but stricter. Its errors repeat nothing of the URL except the
// names of known parameters, because a password that wasn't escaped can end up in any part.
func parseURL(rawURL string) (*redis.Options, *deployment, error) {
	bad := func(format string, args ...any) (*redis.Options, *deployment, error) {
		return nil, nil, fmt.Errorf("%w: "+format, append([]any{ErrURL}, args...)...)
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return bad("it can't be read; write it as redis://user:password@host:6379/0, with special characters in the password as %%XX")
	}
	password, _ := u.User.Password()
	switch {
	case u.Scheme == "memory":
		return bad("memory:// is a server inside the process that opens it with redlock.Open: there is nothing to connect to, and no other process or command sees its locks")
	case u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix":
		return bad("its scheme is unknown; use redis://, rediss:// (TLS) or unix://")
	case strings.Contains(rawURL, "#"):
		return bad("it has a #; write one in the password as %%23")
	case u.Opaque != "":
		return bad("// is missing after the scheme")
	case u.User.Username() != "" && password == "":
		return bad("it has a user without a password; if what stands before the @ is the password, put a colon before it, as in redis://:password@host, else write redis://user:password@host")
	}
	plain := *u
	db, host, port, unix := strings.Trim(u.Path, "/"), withoutZone(u.Hostname()), u.Port(), u.Scheme == "unix"
	switch {
	case unix && u.Host != "":
		return bad("a unix:// URL has no host: the socket's path starts with a /, as in unix:///run/redis.sock")
	case unix && db == "":
		return bad("the socket's path is missing, as in unix:///run/redis.sock")
	case unix:
		plain.Path = path.Clean(u.Path)
	case db != "" && !isDatabase(db):
		return bad("its path: want the database's number, like 0")
	case port != "" && !isPort(port):
		return bad("its port must be 1 to 65535")
	case strings.ContainsAny(host, noHost):
		return bad("its host has a character that no host name can have; list one server per URL, or the other addresses of one deployment as addr=host:port")
	case hasColon(host):
		return bad("its host has a colon; if a password stands before it, write an @ between password and host, as in redis://user:password@host:6379")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return bad("its parameters can't be read; write special characters as %%XX")
	}
	own := url.Values{} // those that go-redis doesn't know
	for _, name := range []string{"addr", "master_name", "username", "password", "cluster"} {
		if query.Has(name) {
			own[name] = query[name]
			query.Del(name)
		}
	}
	for name, values := range query {
		p, known := parameters[name]
		switch {
		case !known:
			return bad("a parameter is unknown; the known ones are db, client_name, dial_timeout, read_timeout, write_timeout, pool_size and skip_verify, and for deployments addr, master_name, username, password and cluster (write a ? in the password as %%3F)")
		case p.valid == nil:
			return bad("parameter %s is not accepted: %s", name, p.want)
		case len(values) > 1:
			return bad("parameter %s is given twice", name)
		case name == "db" && !unix && db != "":
			return bad("the database is given twice, in the path and as parameter db")
		case name == "skip_verify" && u.Scheme != "rediss":
			return bad("parameter skip_verify: only rediss:// has a certificate to check")
		case !p.valid(values[0]):
			return bad("parameter %s: want %s", name, p.want)
		}
	}
	plain.RawQuery, plain.ForceQuery = query.Encode(), false
	opt, err := redis.ParseURL(plain.String())
	if err != nil {
		return bad("it can't be read; write it as redis://user:password@host:6379/0")
	}
	if !unix {
		opt.Addr = normal(u.Hostname(), u.Port())
	}
	if !isName(opt.Addr) {
		return bad("its host or path has characters that can't be printed, or is longer than %d bytes", maxName)
	}
	d, err := parseDeployment(opt, own) // its errors repeat no value either
	if err != nil {
		return bad("%v", err)
	}
	return opt, d, nil
}

// parameters are those of a URL, besides a deployment's. A value that isn't valid is refused, because go-redis
// takes some in another sense. Without valid the parameter is refused, and want says why.
var parameters = map[string]struct {
	want  string
	valid func(value string) bool
}{
	"db":            {"the database's number, like 0", isDatabase},
	"client_name":   {"printable ASCII without spaces", isClientName},
	"dial_timeout":  {wantDuration, isDuration},
	"read_timeout":  {wantDuration, isDuration},
	"write_timeout": {wantDuration, isDuration},
	"pool_size":     {"1 to 10000", func(value string) bool { return isNumber(value, 1, 10000) }},
	"skip_verify":   {"true or false", func(value string) bool { return value == "true" || value == "false" }},
	"max_retries":   {want: "a command must not be sent twice"},
	"protocol":      {want: "the protocol is RESP2, in which a stray reply shows"},
}

const wantDuration = "a duration with its unit, above 0 and at most 1h, like 500ms"

func isDuration(value string) bool {
	d, err := time.ParseDuration(value)
	return err == nil && d > 0 && d <= time.Hour
}

func isNumber(value string, least, most int) bool {
	n, err := strconv.Atoi(value)
	return err == nil && n >= least && n <= most && strconv.Itoa(n) == value
}

func isDatabase(value string) bool { return isNumber(value, 0, 1<<20) }

func isClientName(value string) bool {
	return !strings.ContainsFunc(value, func(c rune) bool { return c <= ' ' || c > '~' })
}
