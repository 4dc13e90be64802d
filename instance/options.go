package instance

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// OptionError is a client that can't be an instance as it is set up. It Is
// ErrClientOptions.
type OptionError struct {
	// Option names the field of redis.Options, or "client" for the client.
	Option string
	// Got is what it is, Want what it must be.
	Got, Want string
	// Why says what would go wrong.
	Why string
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("%v: %s is %s, want %s: %s; instance.Harden sets all options right",
		ErrClientOptions, e.Option, e.Got, e.Want, e.Why)
}

// Unwrap gives ErrClientOptions.
func (e *OptionError) Unwrap() error { return ErrClientOptions }

// Harden's values for options that are not set. The quorum's own time-outs are
// shorter: these only end what a context without a deadline left behind.
const (
	hardDialTimeout = 2 * time.Second
	hardIOTimeout   = 2 * time.Second
	hardPoolSize    = 64
	hardBuffer      = 4 << 10
	// hardLifetime bounds for how long commands go to a server that the address no longer
	// leads to, see connLife.
	hardLifetime = 5 * time.Second
	maxLifetime  = 30 * time.Second
)

// Harden returns a copy of opt with which New accepts redis.NewClient's client.
// nil stands for the zero Options.
//
// It turns off retries, of commands and of dials, client-side caching and
// maintenance notifications; makes the client heed contexts; speaks RESP2, in
// which no byte arrives unasked, so that any is a sign of a connection out of
// step; leaves out CLIENT SETINFO (DisableIdentity), a round trip that a user
// without the right to it gains nothing from; and keeps pipelines on the main
// pool. Where they are not set or turned off, the time-outs become 2 s, PoolSize
// 64, the buffers 4 KiB, and ConnMaxLifetime 5 s, if it isn't set to less than 30 s; of its
// connections an instance uses 8 at most. The dialer is wrapped, so that an instance is
// back as soon as its server is (see the package's documentation), and so that what
// answers can't fill the client's memory, or hide why it refuses the connection, while it
// is greeted.
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
	hard.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	hard.ClientSideCache = nil
	hard.ClientSideCacheConfig = nil
	hard.ClientSideCacheRefreshOnInvalidate = false
	hard.ClientSideCacheCoalesceMisses = false
	hard.ClientSideCacheInvalidationBatchWindow = 0
	if hard.ConnMaxLifetime <= 0 || hard.ConnMaxLifetime > maxLifetime {
		//guard:connections-are-renewed  no connection stays open for long after its name has moved to another server
		hard.ConnMaxLifetime = hardLifetime
	}
	for _, t := range []struct {
		timeout *time.Duration
		value   time.Duration
	}{{&hard.DialTimeout, hardDialTimeout}, {&hard.ReadTimeout, hardIOTimeout}, {&hard.WriteTimeout, hardIOTimeout}} {
		if *t.timeout <= 0 {
			*t.timeout = t.value
		}
	}
	for _, n := range []struct {
		size  *int
		value int
	}{{&hard.PoolSize, hardPoolSize}, {&hard.ReadBufferSize, hardBuffer}, {&hard.WriteBufferSize, hardBuffer}} {
		if *n.size <= 0 {
			*n.size = n.value
		}
	}
	hard.Dialer = lateDialer(greeted(dialer(&hard), connLife(&hard)))
	hard.OnConnect = greet(&hard)
	return &hard
}

// connLife is for how long after its address has moved a command may still be sent to the
// server that it led to before: the address is looked up when a dial begins.
func connLife(opt *redis.Options) time.Duration {
	return opt.DialTimeout + opt.ConnMaxLifetime + max(0, opt.ConnMaxLifetimeJitter)
}

// master takes the one kind of client that can be an instance, if its options
// let it be one.
func master(client redis.UniversalClient) (*redis.Client, error) {
	refuse := func(got, why string) (*redis.Client, error) {
		return nil, &OptionError{Option: "client", Got: got, Want: "a *redis.Client of one master", Why: why}
	}
	switch c := client.(type) {
	case nil:
		return refuse("nil", "there is no server to speak to")
	case *redis.Client:
		if c == nil {
			return refuse("a nil *redis.Client", "there is no server to speak to")
		}
		return c, checkOptions(c)
	case *redis.ClusterClient:
		return refuse("a *redis.ClusterClient", "a cluster sends each key to one master and its replicas, so a quorum of keys there is no quorum of masters; list independent masters")
	case *redis.Ring:
		return refuse("a *redis.Ring", "a ring moves keys to another server when one is down, so two clients can ask two servers for the same vote; list its servers as instances")
	case *redis.AutoPipeliner:
		return refuse("a *redis.AutoPipeliner", "it makes commands wait for others and hands out answers that can't be tied to a context; give the client itself")
	default:
		return refuse(fmt.Sprintf("a %T", client), "its retries and time-outs can't be checked; give the *redis.Client itself")
	}
}

func checkOptions(client *redis.Client) error {
	opt := client.Options()
	switch {
	case opt.Addr == "FailoverClient":
		return &OptionError{"client", "a failover client (Sentinel)", "a *redis.Client of one master",
			"it turns to another server by itself, which may lack the votes of the first; the quorum is what bears a server's loss"}
	case !opt.ContextTimeoutEnabled:
		return &OptionError{"ContextTimeoutEnabled", "false", "true",
			"the client would ignore deadlines, and one hung server would hold up every lock for seconds"}
	case opt.MaxRetries != 0:
		return &OptionError{"MaxRetries", fmt.Sprint(opt.MaxRetries), "-1 (none)",
			"a SET NX that is sent again is refused by its own first copy"}
	case opt.DialerRetries > 1:
		return &OptionError{"DialerRetries", fmt.Sprint(opt.DialerRetries), "1",
			"each refused connection would be tried again, 0.1 s apart, while the lock waits"}
	// These two after redis.NewClient's own reckoning: -1 has become 0, -2 has
	// become -1.
	case opt.ReadTimeout <= 0:
		return &OptionError{"ReadTimeout", "off", "a positive duration",
			"an answer that never comes would be waited for without end, and with -2 not even the context's deadline would count"}
	case opt.WriteTimeout <= 0:
		return &OptionError{"WriteTimeout", "off", "a positive duration",
			"a server that takes no bytes would be waited for without end, and with -2 not even the context's deadline would count"}
	case opt.ConnMaxLifetime <= 0 || opt.ConnMaxLifetime > maxLifetime:
		return &OptionError{"ConnMaxLifetime", lifetimeText(opt.ConnMaxLifetime), "up to " + maxLifetime.String(),
			"when the address leads to another server, as a service's does after a switch, open connections would go on to the old one, and nothing would tell"}
	case opt.ClientSideCache != nil:
		return &OptionError{"ClientSideCache", "set", "nil", "an answer from a cache is not a server's vote"}
	case opt.ClientSideCacheConfig != nil:
		return &OptionError{"ClientSideCacheConfig", "set", "nil", "an answer from a cache is not a server's vote"}
	// Asked of the client, not of its options: it changes those, under a lock of
	// its own, when a server knows no such notifications.
	case client.GetMaintNotificationsManager() != nil:
		return &OptionError{"MaintNotificationsConfig", "on (by default it is in auto mode)", "&maintnotifications.Config{Mode: maintnotifications.ModeDisabled}",
			"a notification would move open connections to another server, which may lack votes, and stretch time-outs"}
	}
	return nil
}

func lifetimeText(d time.Duration) string {
	if d <= 0 {
		return "unlimited"
	}
	return d.String()
}
