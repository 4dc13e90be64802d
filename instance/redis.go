package instance

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// Redis is one independent master: a wire.Instance and a wire.Notifier. Its methods may be
// called from many goroutines at once. As in package context, a nil context panics.
type Redis struct {
	name   string
	cfg    Config
	client *redis.Client
	owned  bool // Open made the client, so Close closes it

	markKey    string      // MarkKey of the name
	prefix     string      // in front of all keys
	deployment *deployment // where the server is looked for, nil if its address is fixed in the client

	pipe  pipe
	clock serverClock
	calls sync.Pool // of *call

	expiresAt    atomic.Bool   // the server's SET knows PXAT, which Redis has from 6.2 on
	loaded       atomic.Uint32 // the scripts that the server is known to have, by their bits
	cannotNotify atomic.Bool   // this user may not use the wait queue; until the next Probe
}

var _ wire.Instance = (*Redis)(nil)

// New makes an instance of a client, which the caller keeps and closes. It does no I/O and
// starts no goroutine: the first request or Probe does.
//
// New returns an *OptionError if the client or its options can't serve a quorum, and an
// error that Is ErrConfig for a bad cfg.
func New(client redis.UniversalClient, cfg Config) (*Redis, error) {
	c, err := checkClient(client)
	if err != nil {
		return nil, err
	}
	if cfg.Credentials != nil {
		return nil, fmt.Errorf("%w: Config.Credentials is set, but the client connects as its own options say; set redis.Options.CredentialsProviderContext", ErrConfig)
	}
	if cfg.TLS != nil {
		return nil, fmt.Errorf("%w: Config.TLS is set, but the client connects as its own options say; set redis.Options.TLSConfig", ErrConfig)
	}
	return newRedis(c, cfg, c.Options().Addr, false, nil)
}

func newRedis(client *redis.Client, cfg Config, name string, owned bool, d *deployment) (*Redis, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Name != "" {
		name = cfg.Name
	} else if !isName(name) {
		return nil, fmt.Errorf("%w: the client's address %.300q can't serve as its name; set Config.Name", ErrConfig, name)
	}
	r := &Redis{name: name, cfg: cfg, client: client, owned: owned, deployment: d, prefix: d.prefix()}
	r.markKey = r.Key(MarkKey(name))
	r.calls.New = func() any { return new(call) }
	r.pipe.init(r)
	return r, nil
}

// Name returns Config.Name, or the client's address.
func (r *Redis) Name() string { return r.name }

// ConnLife is the longest time from the dial of a connection to the last request on it, plus
// Config.AddressLag. The former is the client's DialTimeout and twice its ConnMaxLifetime, with
// its jitter, because others may have used the connection before. It is 0 with
// Config.FixedAddress.
func (r *Redis) ConnLife() time.Duration {
	if r.fixed() {
		return 0
	}
	return add(r.dialTimeout(), add(r.lifetime(), r.cfg.AddressLag))
}

// fixed reports whether the address never leads to another server.
func (r *Redis) fixed() bool { return r.cfg.FixedAddress && r.deployment == nil }

// pooled is how old a connection in the client's pool may be, lifetime how old it may be for a request to be
// sent on it, and renewAfter how old it is when another one is made in its place.
func (r *Redis) pooled() time.Duration {
	opt := r.client.Options()
	return add(opt.ConnMaxLifetime, max(0, opt.ConnMaxLifetimeJitter))
}

func (r *Redis) lifetime() time.Duration   { return add(r.client.Options().ConnMaxLifetime, r.pooled()) }
func (r *Redis) renewAfter() time.Duration { return r.lifetime() / 2 }

func (r *Redis) dialTimeout() time.Duration { return dialTimeout(r.client.Options()) }

// Key returns what a key is called on the server: on a Cluster all keys are in one slot, see
// Open.
func (r *Redis) Key(key string) string { return r.prefix + key }

// Client returns the go-redis client, for the caller's own commands.
func (r *Redis) Client() *redis.Client { return r.client }

// Close closes the instance: requests that wait, and later ones, fail with ErrClosed. It closes
// the client if Open made it, and not one that was given to New. A second call does nothing.
// Neither does a call on the nil Redis that comes with an error.
func (r *Redis) Close() error {
	if r == nil {
		return nil
	}
	defer r.pipe.close()
	if !r.owned {
		return nil
	}
	if err := errors.Join(closeClient(r.client), r.deployment.close()); err != nil {
		return fmt.Errorf("instance: closing %s: %w", r.name, err)
	}
	return nil
}

// Send sends one request, as wire.Instance says, together with others that are sent at the
// same time. The timeout counts by the real clock. It includes the wait for a connection, unless
// Connect was called before.
func (r *Redis) Send(req wire.Request, timeout time.Duration, to wire.Receiver) {
	if req.Op < wire.Acquire || req.Op > wire.Dequeue {
		to.Receive(wire.Vote{Unsent: true, Err: fmt.Errorf("%w: there is no operation %v", ErrConfig, req.Op)})
		return
	}
	req.Notify = req.Notify && !r.cannotNotify.Load()
	now := time.Now()
	c := r.calls.Get().(*call)
	c.req, c.to, c.deadline = req, to, now.Add(timeout)
	if req.Op == wire.Acquire || req.Op == wire.Extend {
		c.stale = now.Add(timeout / 2)
	}
	r.pipe.enter(c, now)
}

// lockArg is the argument for a lock's key.
func (r *Redis) lockArg(key *string) any {
	if r.prefix == "" {
		return key
	}
	return r.prefix + *key
}
