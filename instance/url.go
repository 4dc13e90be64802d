package instance

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
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
// characters in the password as %XX. Parameters:
//
//	db              the database's number (unix only; elsewhere it is the path)
//	client_name     the connections' name in CLIENT LIST
//	dial_timeout    durations like 500ms, above 0, at most 1h
//	read_timeout
//	write_timeout
//	pool_size       the number of connections, 1 to 10000
//	skip_verify     true or false: don't check the server's certificate (rediss)
//
// Other parameters of go-redis are refused. Harden sets the options.
//
// An instance may also be a deployment, with the spelling of go-redis (ParseFailoverURL and
// ParseClusterURL):
//
//	redis://sentinel1:26379?master_name=mymaster&addr=sentinel2:26379&addr=sentinel3:26379
//	redis://user:password@node1:6379?addr=node2:6379&addr=node3:6379
//	redis://user:password@endpoint:6379?cluster=true
//
// The first is the master that Sentinel names. The URL's account is for Sentinel, username and
// password are the master's. The others are a Cluster, which gives the instance one master: that of
// one slot, in which all its locks are (deployment.go). Each new connection asks all listed
// addresses for the master. A majority of all Sentinels, listed or not, has to name the same one, or a
// majority of the listed nodes of a Cluster: list all Sentinels, three nodes or more, and no address
// that is gone. A failover is another run of the server: the instance's votes don't count for
// MaxTTL. So N deployments survive what N single servers survive, and one deployment alone gives no
// lock for MaxTTL after each failover. List the same addresses in all clients.
//
// Open does no I/O. Its error Is ErrURL or ErrConfig, and never repeats what could be a part
// of the password.
func Open(rawURL string, cfg Config) (*Redis, error) {
	opt, d, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	// Before there is a client to close.
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
		d.open(opt)
	}
	opt.ConnMaxLifetime = 2 * defaultLifetime
	opt = Harden(opt)
	// A link's connection is a new one, see link.open.
	opt.ConnMaxIdleTime, opt.OnConnect = time.Millisecond, connected
	r, err := newRedis(redis.NewClient(opt), cfg, name, true, d)
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return r, nil
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
	if merged.ServerName == "" {
		merged.ServerName = fromURL.ServerName
	}
	if merged.MinVersion == 0 {
		merged.MinVersion = fromURL.MinVersion
	}
	merged.InsecureSkipVerify = merged.InsecureSkipVerify || fromURL.InsecureSkipVerify
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
		return bad("its scheme is unknown, use redis://, rediss:// (TLS) or unix://")
	case strings.Contains(rawURL, "#"):
		return bad("it has a #; write one in the password as %%23")
	case u.Opaque != "":
		return bad("// is missing after the scheme")
	case u.User.Username() != "" && password == "":
		return bad("it has a user without a password; if what stands before the @ is the password, put a colon before it, as in redis://:password@host, else write redis://user:password@host")
	}
	var opt *redis.Options
	if u.Scheme == "unix" {
		switch {
		case u.Host != "":
			return bad("a unix:// URL has no host: the socket's path starts with a /, as in unix:///run/redis.sock")
		case strings.TrimLeft(u.Path, "/") == "":
			return bad("the socket's path is missing, as in unix:///run/redis.sock")
		}
		opt = &redis.Options{Network: "unix", Addr: path.Clean(u.Path), Username: u.User.Username(), Password: password}
	} else {
		db, port := strings.Trim(u.Path, "/"), u.Port()
		if _, err := database(db); db != "" && err != nil {
			return bad("its path: %v", err)
		}
		if port != "" && !isPort(port) {
			return bad("its port must be 1 to 65535")
		}
		if strings.ContainsAny(u.Hostname(), noHost) {
			return bad("its host has a character that no host has; list one server per URL, or the other addresses of one deployment as addr=host:port")
		}
		if hasColon(u.Hostname()) {
			return bad("its host has a colon; if a password stands before it, write an @ between password and host, as in redis://user:password@host:6379")
		}
		plain := *u
		plain.RawQuery, plain.ForceQuery = "", false
		if opt, err = redis.ParseURL(plain.String()); err != nil {
			return bad("it can't be read; write it as redis://user:password@host:6379/0")
		}
		opt.Addr = normal(u.Hostname(), port)
	}
	if validateName(opt.Addr) != nil {
		return bad("its host or path has characters that can't be printed, or is longer than %d bytes", maxName)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return bad("its parameters can't be read; write special characters as %%XX")
	}
	// Its errors repeat no value either.
	d, err := parseDeployment(opt, query)
	if err != nil {
		return bad("%v", err)
	}
	for name, values := range query {
		known, err := setParameter(opt, name, values[0])
		switch {
		case !known && err == nil:
			return bad("a parameter is unknown; there are db, client_name, dial_timeout, read_timeout, write_timeout, pool_size and skip_verify, and for deployments addr, master_name, username, password and cluster (write a ? in the password as %%3F)")
		case !known:
			return bad("parameter %s is not taken: %v", name, err)
		case len(values) > 1:
			return bad("parameter %s is given twice", name)
		case name == "db" && u.Scheme != "unix" && strings.Trim(u.Path, "/") != "":
			return bad("the database is given twice, in the path and as parameter db")
		case err != nil:
			return bad("parameter %s: %v", name, err)
		}
	}
	if err := d.complete(opt); err != nil {
		return bad("%v", err)
	}
	return opt, d, nil
}

// setParameter sets the option of a URL's parameter. known is false for a parameter that is
// not taken; the error then says why, if go-redis knows the parameter.
func setParameter(opt *redis.Options, name, value string) (known bool, err error) {
	switch name {
	case "db":
		opt.DB, err = database(value)
	case "client_name":
		opt.ClientName = value
		if strings.ContainsFunc(value, func(c rune) bool { return c <= ' ' || c > '~' }) {
			err = errors.New("want printable ASCII without spaces")
		}
	case "dial_timeout":
		opt.DialTimeout, err = duration(value)
	case "read_timeout":
		opt.ReadTimeout, err = duration(value)
	case "write_timeout":
		opt.WriteTimeout, err = duration(value)
	case "pool_size":
		if opt.PoolSize, err = strconv.Atoi(value); err != nil || opt.PoolSize < 1 || opt.PoolSize > 10000 {
			err = errors.New("want 1 to 10000")
		}
	case "skip_verify":
		skip, bad := strconv.ParseBool(value)
		switch {
		case bad != nil:
			err = errors.New("want true or false")
		case opt.TLSConfig == nil:
			err = errors.New("only rediss:// has a certificate to check")
		default:
			opt.TLSConfig.InsecureSkipVerify = skip
		}
	case "max_retries", "min_retry_backoff", "max_retry_backoff":
		return false, errors.New("a command must not be sent twice")
	case "protocol":
		return false, errors.New("the protocol is RESP2, in which a stray reply shows")
	case "idle_timeout":
		return false, errors.New("set it on a client of your own and use New")
	default:
		return false, nil
	}
	return true, err
}

func duration(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 || d > time.Hour {
		return 0, errors.New("want a duration with its unit, above 0 and at most 1h, like 500ms")
	}
	return d, nil
}

func database(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > 1<<20 || strconv.Itoa(n) != value {
		return 0, errors.New("want the database's number, like 0")
	}
	return n, nil
}

// noHost are characters that no host's name has.
const noHost = " \t@%,;"

// isHost reports whether a text can be a host's name or address.
func isHost(host string) bool {
	return host != "" && validateName(host) == nil && !strings.ContainsAny(host, noHost+"/") && !hasColon(host)
}

// hasColon reports whether a host has a colon and is no IPv6 address.
func hasColon(host string) bool {
	//guard:no-password-in-a-host  what follows a colon in a host isn't printed: it may be a password
	return strings.Contains(host, ":") && net.ParseIP(host) == nil
}

func isPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// normal returns an address in its one normal spelling, so that equal ones are recognized.
func normal(host, port string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip := net.ParseIP(host); ip != nil {
		host = ip.String()
	}
	if n, err := strconv.Atoi(port); err == nil {
		port = strconv.Itoa(n)
	}
	return net.JoinHostPort(cmp.Or(host, "localhost"), cmp.Or(port, "6379"))
}
