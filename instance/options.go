package instance

import (
	"fmt"
	"math"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// OptionError says why a client can't be an instance. It Is ErrClientOptions.
type OptionError struct {
	// Option is the field of redis.Options, or "client" for the client itself.
	Option string
	// Got is its value, Want what it must be.
	Got, Want string
	// Why says what would go wrong.
	Why string
}

func (e *OptionError) Error() string {
	text := fmt.Sprintf("%v: %s is %s, want %s: %s", ErrClientOptions, e.Option, e.Got, e.Want, e.Why)
	if e.Option == clientOption {
		return text // which no option changes
	}
	return text + "; instance.Harden sets all options right"
}

// Unwrap returns ErrClientOptions.
func (e *OptionError) Unwrap() error { return ErrClientOptions }

// clientOption is the OptionError.Option of a client that can't be an instance with any options.
const clientOption = "client"

// Harden's values for options that are not set. The quorum's own timeouts are shorter. These
// only end what a context without a deadline left behind.
const (
	defaultDialTimeout = 2 * time.Second
	defaultIOTimeout   = 2 * time.Second
	defaultPoolSize    = 64
	defaultBuffer      = 4 << 10
	// defaultLifetime limits how long requests go to a server to which the address no longer leads, see
	// Redis.ConnLife.
	defaultLifetime = 2500 * time.Millisecond
	maxLifetime     = 30 * time.Second
)

// Harden returns a copy of opt, so that New accepts redis.NewClient's client. nil stands for
// the zero Options.
//
// It turns off retries of commands and dials, CLIENT SETINFO (DisableIdentity), which is a
// useless round trip, and the pool for pipelines. It makes the client respect contexts. It
// selects RESP2, in which a server never sends a byte that was not asked for, so that any such
// byte shows a connection that is out of step. Client-side caching and maintenance notifications
// need RESP3.
//
// Options that are not set or turned off get values: timeouts 2 s, PoolSize 64 (an instance uses 9
// connections at most), buffers 4 KiB, ConnMaxLifetime 2.5 s (also if it is above 30 s). It wraps the
// dialer, so that an instance is back as soon as its server is, and its errors say why the server refuses
// a connection.
func Harden(opt *redis.Options) *redis.Options {
	var hard redis.Options
	if opt != nil {
		hard = *opt
	}
	hard.ContextTimeoutEnabled = true
	hard.MaxRetries = -1
	hard.DialerRetries = 1
	hard.PipelinePoolSize = -1
	hard.Protocol = 2
	hard.DisableIdentity = true
	hard.ClientSideCache, hard.ClientSideCacheConfig = nil, nil
	// Otherwise NewClient looks the server's name up, and waits for that.
	hard.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if hard.ConnMaxLifetime <= 0 || hard.ConnMaxLifetime > maxLifetime {
		hard.ConnMaxLifetime = defaultLifetime
	}
	setDefault(&hard.DialTimeout, defaultDialTimeout)
	setDefault(&hard.ReadTimeout, defaultIOTimeout)
	setDefault(&hard.WriteTimeout, defaultIOTimeout)
	setDefault(&hard.PoolSize, defaultPoolSize)
	setDefault(&hard.ReadBufferSize, defaultBuffer)
	setDefault(&hard.WriteBufferSize, defaultBuffer)
	hard.Dialer = explained(dialer(&hard))
	return &hard
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// dialTimeout is the longest time in which a connection is made.
func dialTimeout(opt *redis.Options) time.Duration {
	if opt.DialTimeout > 0 {
		return opt.DialTimeout
	}
	return defaultDialTimeout
}

// add is the sum of two times that aren't negative, or the longest time if that is shorter.
func add(a, b time.Duration) time.Duration {
	return a + min(b, math.MaxInt64-a)
}

// checkClient accepts the one kind of client that can be an instance, if its options are
// right.
func checkClient(client redis.UniversalClient) (*redis.Client, error) {
	got, why := fmt.Sprintf("a %T", client), "its servers, retries and timeouts can't be checked; list independent masters, each with a *redis.Client of its own"
	switch c := client.(type) {
	case *redis.Client:
		if c != nil {
			return c, checkOptions(c)
		}
		got, why = "a nil *redis.Client", "there is no server to speak to"
	case nil:
		got, why = "nil", "there is no server to speak to"
	case *redis.ClusterClient:
		why = "a cluster sends each key to one master and its replicas, so a quorum of keys there is no quorum of masters; list independent masters, or make the whole Cluster one instance by its URL (instance.Open, redis://node:6379?cluster=true)"
	case *redis.Ring:
		why = "a ring moves keys to another server when one is down, so two clients can ask two servers for the same vote; list its servers as instances"
	}
	return nil, &OptionError{clientOption, got, "a *redis.Client of one master", why}
}

func checkOptions(client *redis.Client) error {
	opt := client.Options()
	lifetime := "unlimited"
	if opt.ConnMaxLifetime > 0 {
		lifetime = opt.ConnMaxLifetime.String()
	}
	for _, check := range []struct {
		bad bool
		OptionError
	}{
		{opt.Addr == "FailoverClient", OptionError{clientOption, "a failover client (Sentinel)", "a *redis.Client of one master",
			"it turns to another server on its own, which may lack the votes of the first; list independent masters, or make the deployment one instance by its URL (instance.Open, redis://sentinel:26379?master_name=mymaster)"}},
		{!opt.ContextTimeoutEnabled, OptionError{"ContextTimeoutEnabled", "false", "true",
			"the client would ignore deadlines, and one hung server would hold up every lock for seconds"}},
		{opt.MaxRetries != 0, OptionError{"MaxRetries", fmt.Sprint(opt.MaxRetries), "-1 (none)",
			"a SET NX that is sent again is refused by its own first copy"}},
		{opt.Protocol != 2, OptionError{"Protocol", fmt.Sprint(opt.Protocol), "2",
			"with RESP3 a server may send what was not asked for, a cached reply is no vote, and a notification moves connections to another server"}},
		{opt.DialerRetries > 1, OptionError{"DialerRetries", fmt.Sprint(opt.DialerRetries), "1",
			"each refused connection would be tried again, 0.1 s apart, while the lock waits"}},
		// redis.NewClient has changed these two: -1 has become 0, and -2 has become -1.
		{opt.ReadTimeout <= 0, OptionError{"ReadTimeout", "off", "a positive duration",
			"the client would wait forever for a reply that never comes, with -2 even beyond the context's deadline"}},
		{opt.WriteTimeout <= 0, OptionError{"WriteTimeout", "off", "a positive duration",
			"the client would wait forever for a server that reads nothing, with -2 even beyond the context's deadline"}},
		{opt.ConnMaxLifetime <= 0 || opt.ConnMaxLifetime > maxLifetime, OptionError{"ConnMaxLifetime", lifetime, "up to " + maxLifetime.String(),
			"when the address leads to another server, as a service's does after a switch, open connections would still lead to the old one, and nothing would show it"}},
	} {
		if check.bad {
			return &check.OptionError
		}
	}
	return nil
}
