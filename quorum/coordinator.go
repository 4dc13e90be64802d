package quorum

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// Coordinator takes locks on one set of instances. It is safe for concurrent use. Make one
// and keep it, because it watches the instances' clocks and restarts, queues the goroutines
// that wait for the same key, and repeats deletes until they are confirmed.
//
// Close it when done. A nil or zero Coordinator takes no locks (ErrConfig). As in package context,
// a nil context panics.
type Coordinator struct {
	*core
	terms Terms
}

// core is what all views of a Coordinator share.
type core struct {
	*env
	connLife      time.Duration // the longest of any instance, see Instance.ConnLife
	servers       servers
	pending       ballots // of servers that haven't answered
	deciders      []int   // the servers in the order in which they decide a split
	values        *values
	subscriptions *subscriptions
	queues        *queues
	admission     *admission
	keeper        *keeper
	clockMonitor  *clockMonitor
	closeAlso     func() error // closes Config.CloseAlso, once
	waitReported  atomic.Int64 // the end of the quarantines that Hooks.Waiting was last called for, by the monotonic clock
	lostSince     atomic.Int64 // the start of the first of the last rounds that no quorum answered, likewise; 0: none, -1: reported
}

// none is an error if New didn't make the Coordinator.
func (c *Coordinator) none() error {
	if c == nil || c.core == nil {
		return errNoCoordinator
	}
	return nil
}

var errNoCoordinator = fmt.Errorf("%w: the Coordinator is nil, or was not made by New; look at the error that came instead of it", ErrConfig)

// New makes a Coordinator on instances: three, five or seven independent masters, each
// listed once. It does no I/O. Call Verify to find out at the start, and not at the first
// lock, whether the instances are fit for locks.
//
// An even number of instances is allowed, but no better than the odd number below it: it
// needs one more grant and survives no more failures.
//
// All errors are ErrConfig.
func New(cfg Config, instances ...wire.Instance) (*Coordinator, error) {
	if len(instances) == 0 {
		return nil, fmt.Errorf("%w: no instances; give one Instance for each independent master, three or five of them", ErrConfig)
	}
	seen := make(map[string]int, len(instances))
	for i, inst := range instances {
		if v := reflect.ValueOf(inst); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, fmt.Errorf("%w: instance %d is nil; look at the error that came instead of it", ErrConfig, i)
		}
		name := inst.Name()
		if name == "" {
			return nil, fmt.Errorf("%w: instance %d has no name; errors could not say which one failed", ErrConfig, i)
		}
		if j, twice := seen[name]; twice {
			return nil, fmt.Errorf("%w: %w: instances %d and %d are both named %q; list each server once", ErrConfig, ErrDuplicate, j, i, name)
		}
		seen[name] = i
	}
	cfg, err := cfg.complete(len(instances))
	if err != nil {
		return nil, err
	}
	c := &core{
		env: newEnv(cfg),
		closeAlso: sync.OnceValue(func() error {
			if cfg.CloseAlso == nil {
				return nil
			}
			return cfg.CloseAlso.Close()
		}),
	}
	for _, inst := range instances {
		c.connLife = max(c.connLife, inst.ConnLife())
	}
	terms := cfg.terms()
	if err := c.validate(terms); err != nil {
		return nil, err
	}
	c.servers = newServers(c.env, instances)
	for _, s := range c.servers {
		c.pending = append(c.pending, &Ballot{Instance: s.name, Vote: wire.Vote{Err: ErrPending}})
	}
	c.deciders = c.servers.inOrder()
	c.clockMonitor = &clockMonitor{env: c.env, servers: c.servers}
	c.values = &values{env: c.env, servers: c.servers}
	c.admission = newAdmission(c.env)
	c.keeper = newKeeper(c)
	c.subscriptions = newSubscriptions(c.servers)
	c.queues = newQueues(c.env, c.subscriptions)
	c.subscriptions.deliverTo(c.queues)
	return &Coordinator{core: c, terms: terms}, nil
}

// validate checks the terms against the Config and the instances.
func (c *core) validate(terms Terms) error {
	if err := terms.validate(c.cfg); err != nil {
		return err
	}
	return c.covers(terms.TTL)
}

// covers refuses a TTL that is longer than other clients wait for.
//
// Invariant: when an instance's address moves to another server, the votes of the old server
// expire within MaxTTL of the move. Each was asked for within connLife of the move and stands
// for a TTL. So it has expired when other clients end the quarantine of the new server, which
// they can't have seen before the move.
func (c *core) covers(ttl time.Duration) error {
	if ttl > c.cfg.MaxTTL {
		return fmt.Errorf("%w: TTL is %v, but MaxTTL is %v: raise MaxTTL in all clients, because an instance that was restarted stays out of the voting for as long as the longest lease", ErrConfig, ttl, c.cfg.MaxTTL)
	}
	//guard:connection-life-counted  a TTL and the life of a connection together are at most MaxTTL
	if c.cfg.Lab.RestartQuarantine == On && c.connLife > c.cfg.MaxTTL-ttl { // no sum, which could overflow
		return fmt.Errorf("%w: TTL is %v, but MaxTTL is %v and %v of that is reserved for connections that stay open when an address moves to another server: "+
			"lower TTL, raise MaxTTL in all clients, or set instance.Config.FixedAddress if no address ever moves while its server lives", ErrConfig, ttl, c.cfg.MaxTTL, c.connLife)
	}
	return nil
}

// WithTerms returns a view of the Coordinator that takes locks on other terms. change gets
// the present terms; what it leaves alone stays. The view shares everything else, and is
// closed with the original. Errors are ErrConfig.
func (c *Coordinator) WithTerms(change func(*Terms)) (*Coordinator, error) {
	if err := c.none(); err != nil {
		return nil, err
	}
	if change == nil {
		return nil, fmt.Errorf("%w: WithTerms: the function that changes the terms is nil", ErrConfig)
	}
	terms := c.terms
	change(&terms)
	if err := c.validate(terms); err != nil {
		return nil, err
	}
	return &Coordinator{core: c.core, terms: terms}, nil
}

// Set is the fingerprint of the set of instances as this client sends it.
func (c *Coordinator) Set() wire.Set { return c.Config().Set }

// Terms are the terms on which this view takes locks, with the defaults filled in.
func (c *Coordinator) Terms() Terms { return c.Config().terms() }

// Config is the configuration in use, with this view's terms and the defaults filled in. It
// is a copy: changes have no effect.
func (c *Coordinator) Config() Config {
	if c.none() != nil {
		return Config{}
	}
	return c.cfg.with(c.terms)
}

// Close ends waiting calls with ErrClosed, stops keep-alives, ends the contexts of leases
// (cause ErrClosed), sends pending deletes once more (only one of them to an instance that
// doesn't answer), and waits for all goroutines, but no longer than ctx. Close waits for each
// running Do until its work has returned and its keys are released; so the work must not call
// Close. Other leases aren't released, because their holders may still be at work: release them
// first.
//
// Then it closes Config.CloseAlso, which package redlock sets to the instances. If CloseAlso is
// nil, Close closes no instance: whoever opened the instances closes them. A second Close waits
// like the first, and returns the same error of CloseAlso.
//
// The error is ErrInterrupted with ctx's error if ctx ended first, joined with CloseAlso's.
func (c *Coordinator) Close(ctx context.Context) error {
	if err := c.none(); err != nil {
		return err
	}
	c.background.close()
	err := c.background.wait(ctx)
	if err != nil {
		calls, others := c.background.left()
		err = fmt.Errorf("%w: Close was still waiting for %s of Do and %s; keys that are left expire: %w",
			ErrInterrupted, count(calls, "call", "calls"), count(others, "request or goroutine", "requests or goroutines"), causeOf(ctx))
	}
	// Also if ctx has ended: what is under way then fails, and nothing stays open.
	if also := c.closeAlso(); also != nil {
		return errors.Join(err, also)
	}
	return err
}

// Settle waits until nothing is under way: no late vote, no pending delete, and no lease that
// is kept alive or whose context is in use. It is for tests and orderly shutdowns. A SET without
// an answer counts as under way until its key would have expired, so one slow reply can make
// Settle wait for more than MaxTTL. The error is ErrInterrupted with ctx's error.
func (c *Coordinator) Settle(ctx context.Context) error {
	if err := c.none(); err != nil {
		return err
	}
	if err := c.background.settle(ctx); err != nil {
		return fmt.Errorf("%w: settling: %w", ErrInterrupted, causeOf(ctx))
	}
	return nil
}

// noteRound takes in the end of a round, nil if it was won, and calls Hooks.Waiting if the servers let nobody have a
// lock: once for the quarantines of too many, and once for a time without a quorum.
func (c *core) noteRound(ctx context.Context, key string, started drift.Instant, lost *RoundError) {
	switch {
	case lost == nil || errors.Is(lost.Verdict, ErrTaken) || errors.Is(lost.Verdict, ErrLost):
		if c.lostSince.Load() != 0 {
			c.lostSince.Store(0)
		}
		return
	case errors.Is(lost.Verdict, ErrInterrupted) || errors.Is(lost.Verdict, ErrClosed):
		return // the caller ended it
	}
	now := c.reader.Now()
	event := WaitEvent{Key: key, Instances: len(c.servers)}
	left := make([]time.Duration, len(c.servers))
	for i, q := range c.servers.quarantines(now) {
		if q == nil {
			continue
		}
		left[i] = q.Remaining
		event.Quarantined++
		if event.Err == nil {
			event.Err = q
		}
	}
	slices.Sort(left)
	event.For = left[c.majority.Q-1] // then a quorum may vote
	if event.For > 0 {
		reported, until := c.waitReported.Load(), int64(now.Mono+event.For)
		known := reported != 0 && until <= reported+int64(time.Second) // the same wait
		if !known && c.waitReported.CompareAndSwap(reported, until) {
			c.cfg.Hooks.Waiting(ctx, event)
		}
		return
	}
	c.lostSince.CompareAndSwap(0, max(1, int64(started.Mono)))
	since := c.lostSince.Load()
	if event.Lasted = now.Mono - time.Duration(since); since > 0 && event.Lasted >= reportOutageAfter && c.lostSince.CompareAndSwap(since, -1) {
		event.Last = lost
		c.cfg.Hooks.Waiting(ctx, event)
	}
}

// reportOutageAfter is how long no quorum may answer before Hooks.Waiting says so.
const reportOutageAfter = time.Second

// Version is the version of this module in the running program: v0.1.0, or one that names a commit.
// "(devel)" if the go command has noted none, as in tests. Log it: a protection that a version
// adds works only once every client has that version.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknownVersion
	}
	return versionIn(info)
}

const unknownVersion = "(devel)"

func versionIn(program *debug.BuildInfo) string {
	for _, m := range append([]*debug.Module{&program.Main}, program.Deps...) {
		if m.Path != "github.com/redquorum/redlock" {
			continue
		}
		if m.Replace != nil {
			m = m.Replace // a folder has no version
		}
		if m.Version != "" {
			return m.Version
		}
	}
	return unknownVersion
}
