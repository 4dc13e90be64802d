package instance

import (
	"crypto/tls"
	"fmt"
	"time"
	"unicode/utf8"
)

// Config says how to speak to one instance. The zero Config is a good one.
type Config struct {
	// Name names the instance in errors, hooks and reports: up to MaxName
	// bytes of printable UTF-8. Default: the client's address. The instances
	// of one quorum need different names. Give one server the same name in all clients:
	// marks (see MarkKey) are kept by name, so clients that use different names for
	// one server can't tell each other of the servers that the name led to.
	Name string

	// Dialect names the commands to speak with. Default: DialectAuto, which
	// asks the server at every Probe.
	Dialect Dialect

	// Replicas is the number of replicas that must have a grant before it
	// counts: 0 to 1000, default 0. With it Acquire, Raise, Extend and Restore
	// are followed by WAIT on the same connection, and a vote that is not
	// acknowledged by as many fails with quorum.ErrNotReplicated.
	//
	// It narrows what a failover to a replica can lose, but doesn't end it:
	// nothing makes the replica that has the grant the one that is promoted.
	Replicas int

	// ReplicaTimeout is how long the server waits for the replicas: whole
	// milliseconds, 1 ms to 1 minute. It must be below the Coordinator's
	// InstanceTimeout, or replicas that are missing show as quorum.ErrTimeout.
	// Default: half of what is left of that when the command is sent, at most
	// 100 ms. Only used with Replicas.
	ReplicaTimeout time.Duration

	// VouchedRunID is a run ID of the server (run_id in INFO server) for which you
	// vouch: it came up with all votes that were ever given, because it is new and
	// nobody has locked on it, say; and its address has led to no other server within
	// quorum.Config.MaxTTL. A client that starts then doesn't wait for that
	// run's quarantine. It spares no other run, no client that has seen another
	// run of the server before, and nobody once the server has been up for a quarantine.
	// Don't empty the server before that. OpenAll refuses it: give it to Open or New, server by
	// server. Up to 64 letters and digits.
	VouchedRunID string

	// FixedAddress says that the address never leads to another server while the first
	// one lives, as the address of a machine of its own does, and that of a service,
	// a proxy or a name that is switched does not. Then TTL may be as long as
	// quorum.Config.MaxTTL; otherwise the time for which connections live comes off,
	// see Redis.ConnLife. If it isn't so, two clients can hold one lock for that time
	// after the address has moved. Default false.
	FixedAddress bool

	// AddressLag is for how long after the address has moved a new connection of this
	// client may still lead to the server before, because a resolver remembers the answer
	// (the time to live of a DNS name), or a proxy its connections. It comes off the
	// longest TTL, too, and must not be set with FixedAddress. Not negative. Default 0:
	// the move reaches all clients at one moment.
	AddressLag time.Duration

	// TLS says whom to trust over a rediss:// URL, and who this client is: RootCAs
	// for a CA of your own, Certificates where the server asks for one, ServerName
	// where the certificate has another name than the URL. Only Open and OpenAll
	// take it, and only for rediss://: a client that is given to New has its own,
	// and a URL that would be spoken to in the clear is refused. It is copied.
	// Default: the system's CAs, the URL's host, TLS 1.2 or later.
	TLS *tls.Config
}

// MaxName is the longest Config.Name, in bytes.
const MaxName = 256

const (
	maxReplicas           = 1000
	defaultReplicaTimeout = 100 * time.Millisecond
	maxReplicaTimeout     = time.Minute
)

// validate fills in the defaults and names the first value that can't be used.
func (cfg Config) validate() (Config, error) {
	if err := validateName(cfg.Name); err != nil {
		return Config{}, err
	}
	if cfg.Dialect >= dialects {
		return Config{}, fmt.Errorf("%w: Config.Dialect is %d, use one of this package's constants", ErrConfig, cfg.Dialect)
	}
	if cfg.Replicas < 0 || cfg.Replicas > maxReplicas {
		return Config{}, fmt.Errorf("%w: Config.Replicas is %d, want 0 (don't wait) to %d", ErrConfig, cfg.Replicas, maxReplicas)
	}
	switch t := cfg.ReplicaTimeout; {
	case t == 0:
		// See batch.replicaTimeout.
	case t < time.Millisecond || t > maxReplicaTimeout:
		// WAIT with 0 waits for ever.
		return Config{}, fmt.Errorf("%w: Config.ReplicaTimeout is %v, want 1ms to %v", ErrConfig, t, maxReplicaTimeout)
	case t%time.Millisecond != 0:
		return Config{}, fmt.Errorf("%w: Config.ReplicaTimeout is %v, the server counts in whole milliseconds", ErrConfig, t)
	}
	switch {
	case cfg.AddressLag < 0:
		return Config{}, fmt.Errorf("%w: Config.AddressLag is %v, want zero or more", ErrConfig, cfg.AddressLag)
	case cfg.AddressLag > 0 && cfg.FixedAddress:
		return Config{}, fmt.Errorf("%w: Config.AddressLag is %v, but FixedAddress says that the address never moves; set one of them", ErrConfig, cfg.AddressLag)
	}
	if len(cfg.VouchedRunID) > 64 {
		return Config{}, fmt.Errorf("%w: Config.VouchedRunID has %d bytes, a run id has 40", ErrConfig, len(cfg.VouchedRunID))
	}
	for _, c := range cfg.VouchedRunID {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') {
			return Config{}, fmt.Errorf("%w: Config.VouchedRunID has the character %q, copy the run_id of INFO server", ErrConfig, c)
		}
	}
	if cfg.TLS != nil {
		if err := validateTLS(cfg.TLS); err != nil {
			return Config{}, err
		}
	}
	return cfg, nil
}

func validateTLS(c *tls.Config) error {
	if c.MinVersion != 0 && c.MinVersion < tls.VersionTLS12 {
		return fmt.Errorf("%w: Config.TLS.MinVersion is %s, which is broken; leave it zero, or use TLS 1.2 or 1.3", ErrConfig, tls.VersionName(c.MinVersion))
	}
	if c.MaxVersion != 0 && c.MaxVersion < max(c.MinVersion, tls.VersionTLS12) {
		return fmt.Errorf("%w: Config.TLS.MaxVersion is %s, below the least that is allowed (%s); leave it zero",
			ErrConfig, tls.VersionName(c.MaxVersion), tls.VersionName(max(c.MinVersion, tls.VersionTLS12)))
	}
	return nil
}

func validateName(name string) error {
	if len(name) > MaxName {
		return fmt.Errorf("%w: Config.Name has %d bytes, at most %d are allowed", ErrConfig, len(name), MaxName)
	}
	if !utf8.ValidString(name) {
		return fmt.Errorf("%w: Config.Name %q is not UTF-8", ErrConfig, name)
	}
	for _, c := range name {
		if c < ' ' || c == 0x7f {
			return fmt.Errorf("%w: Config.Name %q has a control character, use a name that can be printed", ErrConfig, name)
		}
	}
	return nil
}
