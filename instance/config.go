package instance

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Config configures one instance. The zero Config is ready to use.
type Config struct {
	// Name names the instance in errors, hooks and reports: up to 256 bytes of printable UTF-8.
	// Default: the client's address. The instances of one quorum need different names. Use the
	// same name for a server in all clients: marks (see MarkKey) are kept by name, so clients with
	// different names can't tell each other to which servers the name led.
	Name string

	// Replicas is the number of replicas that must have a grant before it
	// counts: 0 to 1000, default 0. With it Acquire, Raise, Extend, Restore and Pass
	// are followed by WAIT on the same connection, and a vote that is not
	// acknowledged by as many fails with quorum.ErrNotReplicated.
	//
	// It reduces what a failover to a replica can lose, but not to nothing: another replica
	// than the one with the grant may be promoted.
	Replicas int

	// ReplicaTimeout is how long the server waits for the replicas: whole
	// milliseconds, 1 ms to 1 minute. It must be below the Coordinator's InstanceTimeout;
	// otherwise missing replicas look like quorum.ErrTimeout. Default: half of what is left
	// of that timeout when the command is sent, at most 100 ms. Only used with Replicas.
	ReplicaTimeout time.Duration

	// VouchedRunID is a run ID of the server (run_id in INFO server) for which you vouch: the
	// server started with all votes that it ever gave, for example because it is new and
	// nobody has locked on it, and its address has led to no other server within
	// quorum.Config.MaxTTL. A client that starts then skips that run's quarantine. It has no
	// effect on another run, for a client that has seen another run of the server, or after the
	// server has been up for a quarantine. Don't delete the server's data before then. OpenAll
	// refuses it: give it to Open or New for each server. Up to 64 letters and digits.
	VouchedRunID string

	// FixedAddress says that the address never leads to another server while the first one
	// runs. That is true of a machine's own address, but not of a service's, a proxy's, or a
	// name that is switched. With it, TTL may be as long as quorum.Config.MaxTTL; without it,
	// TTL must be shorter by Redis.ConnLife. If it is set and the address moves all the same, two
	// clients can hold one lock for that time after the move. It has no effect on a deployment
	// (Open), whose master moves. Default false.
	FixedAddress bool

	// AddressLag is how long after the address has moved a new connection may still lead to
	// the previous server, because a resolver caches the answer (a DNS name's TTL), or a
	// proxy keeps its connections. It shortens the longest TTL, too, and must not be set with
	// FixedAddress. Not negative. Default 0: the move reaches all clients at once.
	AddressLag time.Duration

	// Credentials returns the account for each new connection to the server, for passwords that change
	// and for tokens of a cloud provider. Connections are renewed every few seconds. If it fails no
	// connection is made. It must heed its context, and may be called from several goroutines at once.
	// Only Open and OpenAll accept it, and only for URLs without a password of the server. For a
	// Cluster it is also the account for the listed nodes. Under Sentinel it is the master's, and
	// the URL's account is Sentinel's. Default: the URL's account.
	Credentials func(ctx context.Context) (username, password string, err error)

	// TLS configures TLS for a rediss:// URL: RootCAs for your own CA, Certificates if the
	// server asks for one, ServerName if the certificate has another name than the URL. It is
	// copied. Only Open and OpenAll accept it, and only for rediss://. Default: the system's CAs, the
	// URL's host, TLS 1.2 or later.
	TLS *tls.Config
}

// maxName is the longest Config.Name, in bytes.
const maxName = 256

const (
	maxReplicas           = 1000
	defaultReplicaTimeout = 100 * time.Millisecond
	maxReplicaTimeout     = time.Minute
)

// validate returns an error that names the first value that can't be used.
func (cfg Config) validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: Config."+format, append([]any{ErrConfig}, args...)...)
	}
	wait, secure := cfg.ReplicaTimeout, cfg.TLS
	if secure == nil {
		secure = &tls.Config{}
	}
	notInRunID := func(c rune) bool {
		return !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z')
	}
	switch {
	case !isName(cfg.Name):
		return bad("Name is %.300q, want up to %d bytes of printable UTF-8", cfg.Name, maxName)
	case cfg.Replicas < 0 || cfg.Replicas > maxReplicas:
		return bad("Replicas is %d, want 0 (don't wait) to %d", cfg.Replicas, maxReplicas)
	// Zero is replicaTimeout's default. WAIT itself would wait forever.
	case wait != 0 && (wait < time.Millisecond || wait > maxReplicaTimeout), wait%time.Millisecond != 0:
		return bad("ReplicaTimeout is %v, want 1ms to %v in whole milliseconds", wait, maxReplicaTimeout)
	case cfg.AddressLag < 0:
		return bad("AddressLag is %v, want zero or more", cfg.AddressLag)
	case cfg.AddressLag > 0 && cfg.FixedAddress:
		return bad("AddressLag is %v, but FixedAddress says that the address never moves; set one of them", cfg.AddressLag)
	case len(cfg.VouchedRunID) > 64 || strings.ContainsFunc(cfg.VouchedRunID, notInRunID):
		return bad("VouchedRunID is %.70q, copy the run_id of INFO server, which has 40 letters and digits", cfg.VouchedRunID)
	case secure.MinVersion != 0 && secure.MinVersion < tls.VersionTLS12:
		return bad("TLS.MinVersion is %s, which is broken; leave it zero, or use TLS 1.2 or 1.3", tls.VersionName(secure.MinVersion))
	case secure.MaxVersion != 0 && secure.MaxVersion < max(secure.MinVersion, tls.VersionTLS12):
		return bad("TLS.MaxVersion is %s, below the least that is allowed (%s); leave it zero",
			tls.VersionName(secure.MaxVersion), tls.VersionName(max(secure.MinVersion, tls.VersionTLS12)))
	}
	return nil
}

// isName reports whether a text can be an instance's name. An empty one stands for the address.
func isName(name string) bool {
	control := func(c rune) bool { return c < ' ' || c == 0x7f }
	return len(name) <= maxName && utf8.ValidString(name) && !strings.ContainsFunc(name, control)
}
