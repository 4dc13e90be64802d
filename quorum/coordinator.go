package quorum

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"
	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// Coordinator takes locks on one set of instances. It is safe for concurrent
// use; make one and keep it, for it is what watches the instances' clocks and
// restarts, queues waiters of the same resource, and delivers owed deletes.
//
// Close it when done.
type Coordinator struct {
	*core
	terms Terms
}

// core is what all views of a Coordinator share.
type core struct {
	cfg         Config
	connLife    time.Duration // the longest of an instance, see Instance
	majority    Majority
	members     []*member
	clock       clock.Clock
	reader      *drift.Reader
	background  *background
	queues      *waitQueues
	subscribers []*subscriber // per instance; nil where nobody can be called
	admission   *admission
	watching    sync.Once
	toldUntil   atomic.Int64 // the end of the wait that Hooks.Waiting was told of, by the monotonic clock

	randomMu sync.Mutex
	random   io.Reader
	drawn    [20]byte // what was drawn last
}

// New makes a Coordinator on instances: three, five or seven independent
// masters, each listed once. It does no I/O; call Verify to find out at the
// start, rather than at the first lock, whether they are fit for it.
//
// An even number of instances is allowed and buys nothing: it takes one more
// grant than the odd number below it and survives as many failures.
//
// All errors are ErrConfig.
func New(cfg Config, instances ...wire.Instance) (*Coordinator, error) {
	if len(instances) == 0 {
		return nil, fmt.Errorf("%w: no instances; give one Instance for each independent master, three or five of them", ErrConfig)
	}
	seen := make(map[string]int, len(instances))
	for i, inst := range instances {
		if inst == nil {
			return nil, fmt.Errorf("%w: instance %d is nil", ErrConfig, i)
		}
		name := inst.Name()
		if name == "" {
			return nil, fmt.Errorf("%w: instance %d has no name; errors could not say which one failed", ErrConfig, i)
		}
		//guard:one-name-one-instance  two instances of the same name are refused
		if j, twice := seen[name]; twice {
			return nil, fmt.Errorf("%w: %w: instances %d and %d are both named %q; list each server once", ErrConfig, ErrDuplicate, j, i, name)
		}
		seen[name] = i
	}
	cfg, err := cfg.complete(len(instances))
	if err != nil {
		return nil, err
	}
	reader := newReader(cfg.Clock)
	c := &core{
		cfg:        cfg,
		connLife:   connLife(instances),
		majority:   Majority{N: len(instances), Q: cfg.Quorum},
		clock:      cfg.Clock,
		reader:     reader,
		background: newBackground(),
		random:     cfg.Random,
		admission:  newAdmission(cfg.InstanceTimeout, cfg.MaxInFlight),
	}
	if err := c.validate(cfg.Terms); err != nil {
		return nil, err
	}
	c.members = newMembers(c, instances)
	c.subscribers = newSubscribers(c, instances)
	c.queues = newWaitQueues(&c.cfg, reader, !c.canNotify())
	return &Coordinator{core: c, terms: cfg.Terms}, nil
}

func connLife(instances []wire.Instance) (longest time.Duration) {
	for _, inst := range instances {
		longest = max(longest, inst.ConnLife())
	}
	return longest
}

// validate checks terms, also against the instances.
func (c *core) validate(terms Terms) error {
	if err := terms.validate(c.cfg); err != nil {
		return err
	}
	return c.covers(terms.TTL)
}

// covers refuses a TTL that is longer than what other clients wait for.
//
// Invariant: a vote of a server that an instance's address no longer leads to stands for
// no longer than MaxTTL after the move. It was asked for within connLife of the move, and
// stands for a TTL. So it has expired when the quarantine is over that others keep for the
// server to which the address leads now: they can't have seen that one before the move.
func (c *core) covers(ttl time.Duration) error {
	if err := c.cfg.covers(ttl); err != nil {
		return err
	}
	//guard:connection-life-counted  a TTL and the life of a connection together are at most MaxTTL
	if c.cfg.RestartQuarantine == On && ttl+c.connLife > c.cfg.MaxTTL {
		return fmt.Errorf("%w: TTL is %v, but MaxTTL is %v and %v of it are for connections that stay open when an address moves to another server: "+
			"lower TTL, raise MaxTTL in all clients, or set instance.Config.FixedAddress if no address ever moves while its server lives", ErrConfig, ttl, c.cfg.MaxTTL, c.connLife)
	}
	return nil
}

// newReader makes the reader of a clock: of clock.New()'s, which is the machine's own,
// the quicker one.
func newReader(c clock.Clock) *drift.Reader {
	if reflect.TypeOf(c) == reflect.TypeOf(clock.New()) {
		return drift.SystemReader()
	}
	return drift.NewReader(c)
}

func newMembers(c *core, instances []wire.Instance) []*member {
	servers := newRegistry()
	length := c.cfg.MaxTTL + c.cfg.Drift.Of(c.cfg.MaxTTL)
	members := make([]*member, len(instances))
	for i, inst := range instances {
		m := &member{
			inst: inst, name: inst.Name(),
			clock: c.clock, reader: c.reader, timeout: c.cfg.InstanceTimeout, hooks: &c.cfg.Hooks,
			servers:       servers,
			maxInFlight:   c.cfg.MaxInFlight,
			watchRestarts: c.cfg.RestartQuarantine == On,
			watchClock:    c.cfg.ClockMonitor == On,
			//guard:quarantine-length  a quarantine outlasts every lease that the server may have forgotten
			quarantine: quarantine{length: length, drift: c.cfg.Drift},
			// The drift allowance covers half its rate on either side; a clock
			// that runs off faster is as bad as one that jumps.
			monitor: drift.Monitor{MaxRate: max(c.cfg.Drift.PPM/2, 500), Tolerance: c.cfg.ClockTolerance},
		}
		m.owed = newDebts(m, c.background, c.cfg.MaxPendingDeletes, length)
		members[i] = m
	}
	return members
}

// WithTerms gives a view of the Coordinator that takes locks on other terms: change is
// called with this one's, and what it leaves alone stays. The view shares everything
// else, and is closed with the original. Errors are ErrConfig.
func (c *Coordinator) WithTerms(change func(*Terms)) (*Coordinator, error) {
	terms := c.terms
	change(&terms)
	if err := c.validate(terms); err != nil {
		return nil, err
	}
	return &Coordinator{core: c.core, terms: terms}, nil
}

// Set is the fingerprint of the set of instances as this client sends it.
func (c *Coordinator) Set() wire.Set { return c.cfg.Set }

// Terms are the terms that this view takes locks on, defaults filled in.
func (c *Coordinator) Terms() Terms { return c.terms }

// Config is the configuration in use, with the terms of this view and the defaults
// filled in. Changing the copy changes nothing.
func (c *Coordinator) Config() Config {
	cfg := c.cfg
	cfg.Terms = c.terms
	return cfg
}

// Close ends waiting calls with ErrClosed, stops keep-alives, ends the contexts
// of leases (cause ErrClosed), tries once more to deliver what instances are
// owed, and waits for all goroutines, but no longer than ctx. Leases are not
// released, for their holders may still be at work: release them before.
//
// It closes none of the instances: who opened them does. A second Close waits
// like the first.
func (c *Coordinator) Close(ctx context.Context) error {
	c.background.close()
	if err := c.background.wait(ctx); err != nil {
		return fmt.Errorf("quorum: closing: instances are still being waited for: %w", causeOf(ctx))
	}
	return nil
}

// Settle waits until nothing is under way any more: no straggler, no owed
// delete, and no lease that is kept alive or whose context is in use. It is for
// tests and orderly hand-overs.
func (c *Coordinator) Settle(ctx context.Context) error {
	if err := c.background.settle(ctx); err != nil {
		return fmt.Errorf("quorum: settling: %w", causeOf(ctx))
	}
	return nil
}

// closed reports whether Close was called.
func (c *core) closed() bool { return isClosed(c.background.done) }

// newValue draws a value that was never used before. Each round has its own: a
// late delete of one round must not hit the key of the next (scenario S9m).
func (c *core) newValue() (string, error) {
	c.randomMu.Lock()
	//guard:value-per-round  each round draws a value of its own, so that a late delete of one can't hit the key of the next
	_, err := io.ReadFull(c.random, c.drawn[:])
	raw := c.drawn
	c.randomMu.Unlock()
	if err != nil {
		return "", fmt.Errorf("quorum: Config.Random gave no randomness, without which two rounds could share a value: %w", err)
	}
	var digits [2 * len(raw)]byte
	hex.Encode(digits[:], raw[:])
	value := string(digits[:])
	if c.cfg.Owner != "" {
		value += ":" + c.cfg.Owner
	}
	return value, nil
}

// jitter draws a pause from zero to bound, evenly.
func (c *core) jitter(bound time.Duration) time.Duration {
	var raw [8]byte
	c.randomMu.Lock()
	_, err := io.ReadFull(c.random, raw[:])
	c.randomMu.Unlock()
	if err != nil {
		return bound // no harm: the round that follows reports it
	}
	var n uint64
	for _, b := range raw {
		n = n<<8 | uint64(b)
	}
	return time.Duration(n % uint64(bound+1))
}

// tellWaiting tells once that too few instances may vote, and for how long.
func (c *core) tellWaiting(ctx context.Context, key string) {
	now := c.reader.Now()
	event := WaitEvent{Key: key, Instances: len(c.members)}
	left := make([]time.Duration, len(c.members))
	for i, m := range c.members {
		m.mu.Lock()
		q := m.quarantine.check(now)
		m.mu.Unlock()
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
	told, until := c.toldUntil.Load(), int64(now.Mono+event.For)
	if event.For <= 0 || until <= told+int64(time.Second) || !c.toldUntil.CompareAndSwap(told, until) {
		return
	}
	c.cfg.Hooks.Waiting(ctx, event)
}

// watch starts the goroutine that reads the instances' clocks while no lock is
// taken: the longer ago the last reading, the larger the jump that could pass
// for a difference of rates. It ends when the Coordinator is closed.
func (c *core) watch() {
	if c.cfg.ClockMonitor == Off {
		return
	}
	c.watching.Do(func() {
		c.background.startStanding(func() {
			for {
				select {
				case <-c.background.done:
					return
				case <-c.clock.After(c.cfg.ClockEvery):
				}
				c.tick()
			}
		})
	})
}

// tick reads every instance's clock once, and has those probed that are in another run
// than they were found in.
func (c *core) tick() {
	var group errgroup.Group
	for _, m := range c.members {
		group.Go(func() error {
			m.tick()
			return nil
		})
	}
	_ = group.Wait() // no error is ever returned
}
