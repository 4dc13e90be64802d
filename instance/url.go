package instance

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Open makes an instance, and the client for it, from a URL:
//
//	redis://user:password@host:6379/0     TCP
//	rediss://user:password@host:6379/0    TLS, see Config.TLS
//	unix://user:password@/path/to/socket?db=0
//
// User, password, port (6379), host (localhost) and database (0) may be left
// out. Special characters in the password are written %XX. Parameters:
//
//	db              the database's number (unix only; elsewhere it is the path)
//	client_name     the connections' name in CLIENT LIST
//	dial_timeout    durations like 500ms, above 0, at most 1h
//	read_timeout
//	write_timeout
//	pool_size       the number of connections, 1 to 10000
//	skip_verify     true or false: don't check the server's certificate (rediss)
//
// go-redis's other parameters are refused. Options are as Harden sets them.
//
// It does no I/O. It returns an error that Is ErrURL or ErrConfig; no error
// repeats what could be a part of the password.
func Open(rawURL string, cfg Config) (*Redis, error) {
	opt, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	// Before there is a client to close.
	if _, err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.TLS != nil {
		if opt.TLSConfig == nil {
			return nil, fmt.Errorf("%w: Config.TLS is set, but the URL of %s is not rediss://, and the password and the locks would go in the clear; change the URL, or leave TLS nil", ErrConfig, opt.Addr)
		}
		opt.TLSConfig = mergeTLS(cfg.TLS, opt.TLSConfig)
	}
	return newRedis(redis.NewClient(Harden(opt)), cfg, opt.Addr, true)
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

// unfit says why a parameter of redis.ParseURL isn't taken.
var unfit = map[string]string{
	"max_retries":       "a command must not be sent twice",
	"min_retry_backoff": "a command must not be sent twice",
	"max_retry_backoff": "a command must not be sent twice",
	"protocol":          "RESP2 is spoken, in which a stray answer shows",
	"idle_timeout":      "set it on a client of your own and use New",
}

// known are the parameters that are taken.
var known = map[string]func(opt *redis.Options, value string) error{
	"db": func(opt *redis.Options, value string) (err error) {
		opt.DB, err = database(value)
		return err
	},
	"client_name": func(opt *redis.Options, value string) error {
		opt.ClientName = value
		for i := range len(value) {
			if value[i] <= ' ' || value[i] > '~' {
				return fmt.Errorf("want printable ASCII without spaces")
			}
		}
		return nil
	},
	"dial_timeout":  func(opt *redis.Options, value string) error { return duration(&opt.DialTimeout, value) },
	"read_timeout":  func(opt *redis.Options, value string) error { return duration(&opt.ReadTimeout, value) },
	"write_timeout": func(opt *redis.Options, value string) error { return duration(&opt.WriteTimeout, value) },
	"pool_size": func(opt *redis.Options, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > 10000 {
			return fmt.Errorf("want 1 to 10000")
		}
		opt.PoolSize = n
		return nil
	},
	"skip_verify": func(opt *redis.Options, value string) error {
		skip, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("want true or false")
		}
		if opt.TLSConfig == nil {
			return fmt.Errorf("only rediss:// has a certificate to check")
		}
		opt.TLSConfig.InsecureSkipVerify = skip
		return nil
	},
}

func duration(field *time.Duration, value string) error {
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 || d > time.Hour {
		return fmt.Errorf("want a duration with its unit, above 0 and at most 1h, like 500ms")
	}
	*field = d
	return nil
}

func database(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > 1<<20 || strconv.Itoa(n) != value {
		return 0, fmt.Errorf("want the database's number, like 0")
	}
	return n, nil
}

// parseURL is redis.ParseURL, stricter, and without a word of the URL in its
// errors but the names of known parameters: a password that wasn't escaped can
// end up in any part.
func parseURL(rawURL string) (*redis.Options, error) {
	bad := func(format string, args ...any) (*redis.Options, error) {
		return nil, fmt.Errorf("%w: "+format, append([]any{ErrURL}, args...)...)
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return bad("it can't be read; write it as redis://user:password@host:6379/0, with special characters in the password as %%XX")
	}
	switch u.Scheme {
	case "redis", "rediss", "unix":
	default:
		return bad("its scheme is unknown, use redis://, rediss:// (TLS) or unix://")
	}
	if u.Fragment != "" || strings.Contains(rawURL, "#") {
		return bad("it has a #; write one in the password as %%23")
	}
	if u.Opaque != "" {
		return bad("// is missing after the scheme")
	}
	if password, given := u.User.Password(); u.User != nil && u.User.Username() != "" && (!given || password == "") {
		return bad("it has a user without a password; if what stands before the @ is the password, put a colon before it, as in redis://:password@host, else write redis://user:password@host")
	}
	plain := *u
	plain.RawQuery, plain.ForceQuery = "", false
	opt := &redis.Options{}
	if u.Scheme == "unix" {
		if u.Host != "" {
			return bad("a unix:// URL has no host: the socket's path starts with a /, as in unix:///run/redis.sock")
		}
		if strings.TrimLeft(u.Path, "/") == "" {
			return bad("the socket's path is missing, as in unix:///run/redis.sock")
		}
		opt.Network, opt.Addr = "unix", path.Clean(u.Path)
		opt.Username = u.User.Username()
		opt.Password, _ = u.User.Password()
	} else {
		if db := strings.Trim(u.Path, "/"); db != "" {
			if _, err := database(db); err != nil {
				return bad("its path: %v", err)
			}
		}
		if port := u.Port(); port != "" {
			if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
				return bad("its port must be 1 to 65535")
			}
		}
		if strings.ContainsAny(u.Hostname(), " \t@%,;") {
			return bad("its host has a character that no host has; list one server a URL")
		}
		if opt, err = redis.ParseURL(plain.String()); err != nil {
			return bad("it can't be read; write it as redis://user:password@host:6379/0")
		}
		opt.Addr = normal(u.Hostname(), u.Port())
	}
	if validateName(opt.Addr) != nil {
		return bad("its host or path has characters that can't be printed, or is longer than %d bytes", MaxName)
	}
	return opt, parameters(u, opt)
}

func parameters(u *url.URL, opt *redis.Options) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return fmt.Errorf("%w: its parameters can't be read; write special characters as %%XX", ErrURL)
	}
	for name, values := range query {
		if why, ok := unfit[name]; ok {
			return fmt.Errorf("%w: parameter %s is not taken: %s", ErrURL, name, why)
		}
		set, ok := known[name]
		switch {
		case !ok:
			return fmt.Errorf("%w: a parameter is unknown; there are db, client_name, dial_timeout, read_timeout, write_timeout, pool_size and skip_verify (write a ? in the password as %%3F)", ErrURL)
		case len(values) > 1:
			return fmt.Errorf("%w: parameter %s is given twice", ErrURL, name)
		case name == "db" && u.Scheme != "unix" && strings.Trim(u.Path, "/") != "":
			return fmt.Errorf("%w: the database is given twice, in the path and as parameter db", ErrURL)
		}
		if err := set(opt, values[0]); err != nil {
			return fmt.Errorf("%w: parameter %s: %v", ErrURL, name, err)
		}
	}
	return nil
}

// normal spells an address in one way, so that the same one is seen to be.
func normal(host, port string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "" {
		host = "localhost"
	}
	if ip := net.ParseIP(host); ip != nil {
		host = ip.String()
	}
	if port == "" {
		port = "6379"
	}
	if n, err := strconv.Atoi(port); err == nil {
		port = strconv.Itoa(n)
	}
	return net.JoinHostPort(host, port)
}
