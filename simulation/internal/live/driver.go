//go:build unix

package live

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/box/driver"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// design is a lock design as a client of the box.
type design struct {
	designs.Design
	config simulation.Config
}

// ErrArguments: a command line names no design.
var ErrArguments = errors.New("live: bad arguments")

// Drive is a design's driver: it answers the box's requests on in until it ends. Its arguments are the
// design's name, after flags.
func Drive(args []string, in io.Reader, out, stderr io.Writer) (err error) {
	var d design
	flags := flag.NewFlagSet("redlocksim driver [flags] DESIGN", flag.ContinueOnError)
	flags.SetOutput(stderr)
	scenario := flags.String("scenario", "", "the `ID` of a scenario that has designs and settings of its own")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil || flags.NArg() != 1 {
		return fmt.Errorf("%w: want one design; redlocksim list shows them", ErrArguments)
	}
	s, lock, err := settings(*scenario, flags.Arg(0))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrArguments, err)
	}
	d.Design = lock
	d.config, _, _ = s.Setting(lock)
	hello := driver.Hello{Name: d.Name, Version: "this checkout", Servers: driver.ManyServers, Can: []string{driver.CanExtend, driver.CanWait}}
	if d.Servers == 1 {
		hello.Servers = driver.OneServer
	}
	if d.config.Guard.Tokens() {
		hello.Can = append(hello.Can, driver.CanToken)
	}
	return driver.Run(driver.Driver{Hello: hello, Open: d.open}, in, out)
}

// settings returns a scenario and a design. Without a scenario, it returns an empty one, whose
// configuration is the design's alone.
func settings(scenario, design string) (s scenarios.Scenario, d designs.Design, err error) {
	if scenario == "" {
		d, err = designs.ByName(design)
	} else if s, err = scenarios.ByID(scenario); err == nil {
		d, err = s.Design(design)
	}
	return s, d, err
}

// longestTimeout bounds the wait for a server: a try that finds servers silent takes a few of these waits.
const longestTimeout = time.Second

// open makes a locker as the simulation does, and lets it see the servers before the first fault.
func (d design) open(client string, servers []string, ttl time.Duration) (driver.Client, error) {
	p := simulation.Process{Name: client, Config: d.config.Quorum}
	if _, err := fmt.Sscanf(client, "c%d", &p.Index); err != nil {
		return nil, err
	}
	p.Index--
	p.Config.Lab.Clock, p.Config.Lab.Random, p.Config.Owner = clock.New(), rand.Reader, client
	p.Config.TTL, p.Config.MaxTTL = ttl, ttl
	p.Config.InstanceTimeout = min((ttl / 8).Truncate(time.Millisecond), longestTimeout)
	p.Config.Lab.BackoffMin, p.Config.Lab.BackoffMax = 10*time.Millisecond, 100*time.Millisecond
	for i, addr := range servers {
		if err := reach(&p, string(rune('A'+i)), addr); err != nil {
			return nil, err
		}
	}
	locker, err := d.locker(p)
	if by, ok := locker.(simulation.Coordinated); ok && err == nil {
		for range 2 { // the second time uses open connections
			_, _ = by.Coordinator().Verify(context.Background()) // an acquisition fails for the same reason
		}
	}
	return lockClient{locker}, err
}

func (d design) locker(p simulation.Process) (simulation.Locker, error) {
	if d.config.Locker != nil {
		return d.config.Locker(p)
	}
	return simulation.Library(p)
}

// reach adds a server to a process, as an instance and as a plain Redis client. The server is
// healthy, so its run is vouched for.
func reach(p *simulation.Process, name, addr string) error {
	bare := openRaw(addr)
	// The sender bounds each command, so that a design without a timeout has none here either.
	inst, err := instance.Open(fmt.Sprintf("redis://%s/0?read_timeout=10m", addr), instance.Config{Name: name, VouchedRunID: bare.runID(), FixedAddress: true})
	p.Instances, p.Redis = append(p.Instances, inst), append(p.Redis, bare)
	return err
}

// lockClient is a locker as a client of the box.
type lockClient struct{ locker simulation.Locker }

func (c lockClient) Acquire(ctx context.Context, key string, _, wait time.Duration, _ func()) (driver.Lock, error) {
	acquire := c.locker.TryAcquire
	if wait > 0 {
		acquire = c.locker.Acquire
	}
	lease, err := acquire(ctx, key)
	if errors.Is(err, quorum.ErrTaken) {
		err = driver.Taken(err)
	}
	return lock{lease}, err
}

// lock is a lease as a lock of the box.
type lock struct{ simulation.Lease }

// Token is the one that the holder shows to the resource.
func (l lock) Token() uint64 {
	if by, ok := l.Lease.(interface {
		Show(context.Context) fencing.Token
	}); ok {
		return uint64(by.Show(context.Background()))
	}
	return uint64(l.Lease.Token())
}

func (l lock) Held() (bool, error)        { return l.Validity() > 0, nil }
func (l lock) Extend(time.Duration) error { return l.Lease.Extend(context.Background()) }
func (l lock) Release() error             { return l.Lease.Release(context.Background()) }

// raw sends plain Redis commands to a real server, as a simulation.Redis.
type raw struct{ client *redis.Client }

func openRaw(addr string) *raw {
	options := instance.Harden(&redis.Options{Addr: addr})
	// WAIT counts writes of its own connection only.
	options.PoolSize = 1
	options.ReadTimeout = 10 * time.Minute // the sender bounds each command
	return &raw{redis.NewClient(options)}
}

// runID is the server's run ID.
func (r *raw) runID() string {
	text, _ := r.client.InfoMap(context.Background(), "server").Result()
	return text["Server"]["run_id"]
}

func (r *raw) Do(ctx context.Context, args ...string) (redismodel.Reply, error) {
	words := make([]any, len(args))
	for i, arg := range args {
		words[i] = arg
	}
	value, err := r.client.Do(ctx, words...).Result()
	var answered redis.Error
	switch {
	case errors.Is(err, redis.Nil):
		return redismodel.Reply{Null: true}, nil
	case errors.As(err, &answered):
		return redismodel.Reply{Err: err}, nil
	case err != nil:
		return redismodel.Reply{}, err
	}
	switch v := value.(type) {
	case int64:
		return redismodel.Reply{Int: v}, nil
	case string:
		return redismodel.Reply{Text: v}, nil
	}
	return redismodel.Reply{}, fmt.Errorf("live: a server answered %v", value)
}
