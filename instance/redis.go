package instance

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// Redis is one independent master: a wire.Instance. Its methods may be called
// from many goroutines at once.
type Redis struct {
	name   string
	cfg    Config
	client *redis.Client
	owned  bool // Open made the client, so Close closes it

	// release and extend hold the Dialect that each is spoken in.
	release, extend atomic.Uint32
	// mute: this user may not look at the line of waiters. Until the next Probe.
	mute atomic.Bool
	// nonce numbers the calls, so that an answer can be told from another's.
	nonce atomic.Uint64
	pipe  pipe
	// calls keeps calls for use again.
	calls sync.Pool
	// markKey is MarkKey of the name.
	markKey string
	// set is the text of the Set that was used last: nearly always the same.
	set atomic.Pointer[setText]
}

var _ wire.Instance = (*Redis)(nil)

// setText keeps the spelling of a Set.
type setText struct {
	set  wire.Set
	text string
}

// New makes an instance of a client that the caller keeps and closes. It does
// no I/O and starts nothing: the first command or Probe does.
//
// It returns an *OptionError for a client that can't be an instance or whose
// options make it unfit, and an error that Is ErrConfig for a bad cfg.
//
// New adds a hook to the client, which can't be taken off again: make one instance of a
// client, not many.
func New(client redis.UniversalClient, cfg Config) (*Redis, error) {
	c, err := master(client)
	if err != nil {
		return nil, err
	}
	if cfg.TLS != nil {
		return nil, fmt.Errorf("%w: Config.TLS is set, but the client connects as its own options say; set redis.Options.TLSConfig", ErrConfig)
	}
	return make1(c, cfg, c.Options().Addr, false)
}

func make1(client *redis.Client, cfg Config, name string, owned bool) (*Redis, error) {
	cfg, err := cfg.validate()
	if err != nil {
		return nil, err
	}
	if cfg.Name != "" {
		name = cfg.Name
	} else if err := validateName(name); err != nil {
		return nil, fmt.Errorf("%w; the client's address can't serve as one, set Config.Name", err)
	}
	r := &Redis{name: name, markKey: MarkKey(name), cfg: cfg, client: client, owned: owned}
	r.pipe.r = r
	// The scripts handle it as a number, which is exact up to 2^53: there is room
	// to count up.
	r.nonce.Store(rand.Uint64() >> 16)
	if cfg.Dialect == DialectAuto {
		r.speak(DialectLua)
	} else {
		r.speak(cfg.Dialect)
	}
	client.AddHook(onceDialed{})
	return r, nil
}

// Name gives Config.Name, or the client's address.
func (r *Redis) Name() string { return r.name }

// ConnLife is how old a connection may become, counted from when its dial began (the
// client's DialTimeout, ConnMaxLifetime and ConnMaxLifetimeJitter together), and
// Config.AddressLag. 0 with Config.FixedAddress.
func (r *Redis) ConnLife() time.Duration {
	if r.cfg.FixedAddress {
		return 0
	}
	return connLife(r.client.Options()) + r.cfg.AddressLag
}

// Client gives the go-redis client, for the caller's own commands.
func (r *Redis) Client() *redis.Client { return r.client }

// Close ends the goroutines that wait for something to do, and closes the client if
// Open made it: commands fail with ErrClosed from then on. It does nothing to a client
// that was given to New. Closing again does nothing.
func (r *Redis) Close() error {
	defer r.pipe.close()
	if !r.owned {
		return nil
	}
	if err := r.client.Close(); err != nil && err != redis.ErrClosed {
		return fmt.Errorf("instance: closing %s: %w", r.name, err)
	}
	return nil
}

// Send sends one command, as wire.Instance says, together with others that are sent at
// the same time. The timeout counts by the real clock and bounds everything, dialing and
// the handshake with a hung server too.
func (r *Redis) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	if err := knownOp(cmd.Op); err != nil {
		to.Receive(wire.Vote{Unsent: true, Err: err})
		return
	}
	r.send(r.newCall(cmd), timeout, to)
}

func (r *Redis) send(c *call, timeout time.Duration, to wire.Receiver) {
	now := time.Now()
	c.to, c.deadline = to, now.Add(timeout)
	//guard:no-late-extensions  an extension that can't be answered in time isn't sent
	if c.cmd.Op == wire.Acquire || c.cmd.Op == wire.Extend {
		c.stale = now.Add(timeout / 2)
	}
	if vote, ok := r.pipe.enter(c); !ok {
		r.recycle(c)
		to.Receive(vote)
	}
}

func knownOp(op wire.Op) error {
	if op < wire.Acquire || op > wire.Tick {
		return fmt.Errorf("%w: there is no operation %v", ErrConfig, op)
	}
	return nil
}
