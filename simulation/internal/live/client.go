//go:build unix

package live

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
)

// patience bounds waits by default.
const patience = 20 * time.Second

// replicaTimeout bounds the wait of a server for its replicas.
const replicaTimeout = time.Second

// dumpFile is the file descriptor for heap dumps.
const dumpFile = 3

// client is the code in a client process. It executes requests from its input and writes
// answers to its output.
type client struct {
	setup setup

	locker simulation.Locker
	close  func() error
	ops    ledger // reads and writes
	notes  ledger // everything else

	outMu sync.Mutex
	out   *json.Encoder

	mu     sync.Mutex
	lease  simulation.Lease
	leases int
	seen   entry // the last read
	paused map[int]chan struct{}

	gap, polls atomic.Int64 // of watchGaps
}

// serveClient runs a client process. It ends when its input does.
func serveClient(in io.Reader, out io.Writer) error {
	c := &client{out: json.NewEncoder(out), paused: map[int]chan struct{}{}, close: func() error { return nil }}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go c.watchGaps(ctx)
	lines := bufio.NewScanner(in)
	var all sync.WaitGroup
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("reading a request: %w", err)
		}
		if r.Do == doGo {
			c.proceed(r.Go)
			continue
		}
		all.Go(func() {
			a, err := c.do(ctx, r)
			a.ID, a.OK = r.ID, err == nil
			if err != nil {
				a.Why = err.Error()
			}
			c.say(a)
		})
	}
	cancel() // the run has ended
	all.Wait()
	return lines.Err()
}

func (c *client) say(a answer) {
	c.outMu.Lock()
	defer c.outMu.Unlock()
	_ = c.out.Encode(a) // fails if the run has ended
}

// watchGaps polls the clock. A gap in its polls is a gap for the whole process.
func (c *client) watchGaps(ctx context.Context) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		c.gap.Store(max(c.gap.Load(), int64(now.Sub(last))))
		c.polls.Add(1)
		last = now
	}
}

// pollAgain waits for the next poll of watchGaps.
func (c *client) pollAgain() {
	for seen := c.polls.Load(); c.polls.Load() < seen+2; {
		time.Sleep(time.Millisecond)
	}
}

func (c *client) do(ctx context.Context, r request) (answer, error) {
	switch r.Do {
	case doSetup:
		return answer{}, c.begin(ctx, *r.Setup)
	case doAcquire, doTry:
		return c.acquire(ctx, r)
	case doCheck:
		return c.check(ctx)
	case doUpdate:
		return answer{}, c.update(ctx, r)
	case doRead:
		return answer{}, c.read(ctx)
	case doWrite:
		return answer{}, c.write(ctx, r)
	case doExtend:
		return answer{}, c.withLease(func(l simulation.Lease) error { return l.Extend(ctx) })
	case doRelease:
		return answer{}, c.release(ctx)
	case doVerify:
		return answer{}, c.verify(ctx)
	case doFreeze:
		debug.WriteHeapDump(dumpFile)
		c.pollAgain()
		return answer{Gap: time.Duration(c.gap.Load())}, nil
	case doSettle:
		return answer{}, c.settle(ctx, cmp.Or(r.Patience, patience))
	case doClose:
		return answer{}, c.end(ctx)
	default:
		return answer{}, fmt.Errorf("unknown request %q", r.Do)
	}
}

// begin creates the locker as the simulation does, and verifies the servers, because the
// monitors must see them before the first fault.
func (c *client) begin(ctx context.Context, s setup) error {
	c.setup = s
	var err error
	if c.ops, err = s.Resource.openLedger(s.Resource.Addr); err != nil {
		return err
	}
	if c.notes, err = s.Resource.openLedger(s.Resource.Notes); err != nil {
		return err
	}
	scenario, design, err := settings(s.Scenario, s.Design)
	if err != nil {
		return err
	}
	cfg, _ := scenario.Setting(design)
	p := simulation.Process{Name: s.Who, Index: s.Index, Config: cfg.Quorum}
	p.Config.Clock, p.Config.Random, p.Config.Owner = clock.New(), rand.Reader, s.Who
	p.Config.TTL, p.Config.MaxTTL, p.Config.InstanceTimeout = s.TTL, s.TTL, s.Timeout
	p.Config.BackoffMin, p.Config.BackoffMax = 10*time.Millisecond, 100*time.Millisecond
	if c.close, err = openTargets(&p, s.Targets); err != nil {
		return err
	}
	warmUp(ctx, p)
	if cfg.Locker != nil {
		c.locker, err = cfg.Locker(p)
	} else {
		var coordinator *quorum.Coordinator
		if coordinator, err = quorum.New(p.Config, p.Instances...); err == nil {
			c.locker = simulation.Library(coordinator)
		}
	}
	if err != nil {
		return err
	}
	for range 2 { // the second time uses open connections
		_ = c.verify(ctx) // the case handles faults of servers
	}
	return nil
}

// warmUp opens a connection to each server and loads the scripts, so that a case delays
// the intended request.
func warmUp(ctx context.Context, p simulation.Process) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := wire.Request{
		Key: "warm-" + p.Name, Value: strings.Repeat("0", 40), TTL: time.Second, Fence: wire.Fence{Token: 1, On: true, TTL: 10 * time.Second, Ahead: time.Second, Set: wire.Set{Name: "warm", N: 1, Q: 1}}, Clock: true,
	}
	for i, inst := range p.Instances {
		for _, op := range []wire.Op{wire.Acquire, wire.Raise, wire.Extend, wire.Release, wire.Restore, wire.Release} {
			cmd.Op = op
			voted := make(chan struct{}, 1)
			inst.Send(cmd, patience, wire.ReceiverFunc(func(wire.Vote) { voted <- struct{}{} }))
			<-voted
		}
		_, _ = p.Redis[i].Do(ctx, "PING")
	}
}

// openTargets opens each server as an instance and as a plain Redis client.
func openTargets(p *simulation.Process, targets []target) (closeAll func() error, err error) {
	var closers []func() error
	closeAll = func() error {
		var errs []error
		for _, c := range closers {
			errs = append(errs, c())
		}
		return errors.Join(errs...)
	}
	for _, at := range targets {
		// The sender bounds each command, so that a design without a timeout has none
		// here either.
		url := fmt.Sprintf("redis://%s/%d?read_timeout=10m", at.Addr, at.DB)
		if at.User != "" {
			url = fmt.Sprintf("redis://%s:%s@%s/%d?read_timeout=10m", at.User, at.Password, at.Addr, at.DB)
		}
		inst, err := instance.Open(url, instance.Config{Name: at.Name, VouchedRunID: at.Vouched, Replicas: at.Replicas, ReplicaTimeout: replicaTimeout, FixedAddress: true})
		if err != nil {
			return nil, errors.Join(err, closeAll())
		}
		bare := openRaw(at)
		closers = append(closers, inst.Close, bare.client.Close)
		p.Instances, p.Redis = append(p.Instances, inst), append(p.Redis, bare)
	}
	return closeAll, nil
}

// coordinator is nil for designs that have none.
func (c *client) coordinator() *quorum.Coordinator {
	if built, ok := c.locker.(simulation.Coordinated); ok {
		return built.Coordinator()
	}
	return nil
}

func (c *client) verify(ctx context.Context) error {
	coordinator := c.coordinator()
	if coordinator == nil {
		return nil
	}
	_, err := coordinator.Verify(ctx)
	return err
}

func (c *client) settle(ctx context.Context, atMost time.Duration) error {
	coordinator := c.coordinator()
	if coordinator == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	return coordinator.Settle(ctx)
}

func (c *client) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return errors.Join(c.locker.Close(ctx), c.close(), c.ops.close(), c.notes.close())
}

// lastEntry returns the number of the last entry, after which the next action begins.
func (c *client) lastEntry(ctx context.Context) (int, error) {
	e, err := c.notes.record(ctx, entry{})
	return e.Seq, err
}

// note records an entry.
func (c *client) note(ctx context.Context, e entry) error {
	e.Who = c.setup.Who
	_, err := c.notes.record(ctx, e)
	return err
}

// entry returns an entry about the current lease.
func (c *client) entry(what string, began int) entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := entry{Began: began, Who: c.setup.Who, What: what}
	if c.lease != nil {
		e.Lease, e.Key, e.Token = c.leases, c.lease.Key(), c.lease.Token()
	}
	return e
}

var errNoLease = errors.New("the client has no lease")

func (c *client) withLease(do func(simulation.Lease) error) error {
	c.mu.Lock()
	lease := c.lease
	c.mu.Unlock()
	if lease == nil {
		return errNoLease
	}
	return do(lease)
}

// acquire asks for the lock until ctx ends. It records the result even then.
func (c *client) acquire(ctx context.Context, r request) (answer, error) {
	asking, try := ctx, c.locker.TryAcquire
	if r.Do == doAcquire {
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, r.Patience)
		defer cancel()
		try = c.locker.Acquire
	}
	return c.gain(context.WithoutCancel(ctx), r.Key, func() (simulation.Lease, error) { return try(asking, r.Key) })
}

// gain asks for a lease and records the result.
func (c *client) gain(ctx context.Context, key string, try func() (simulation.Lease, error)) (answer, error) {
	began, err := c.lastEntry(ctx)
	if err != nil {
		return answer{}, err
	}
	if err := c.note(ctx, entry{Began: began, What: wasAsked, Key: key}); err != nil {
		return answer{}, err
	}
	lease, lost := try()
	if lost != nil {
		return answer{}, errors.Join(lost, c.note(ctx, entry{Began: began, What: wasDenied, Key: key, Words: lost.Error()}))
	}
	c.mu.Lock()
	c.lease = lease
	c.leases++
	c.mu.Unlock()
	return answer{Validity: lease.Validity()}, c.note(ctx, c.entry(wasAcquired, began))
}

// check checks the lease and records the result.
func (c *client) check(ctx context.Context) (answer, error) {
	var a answer
	err := c.withLease(func(l simulation.Lease) error {
		began, err := c.lastEntry(ctx)
		if err != nil {
			return err
		}
		a.Validity = l.Validity()
		what := wasValid
		if a.Validity <= 0 {
			what = wasOver
		}
		return c.note(ctx, c.entry(what, began))
	})
	return a, err
}

var errInvalid = errors.New("the lease has expired")

// update reads and writes the next value, if the lease is valid after the read. With Pause
// it stops after the check, as if the process were stopped there.
func (c *client) update(ctx context.Context, r request) error {
	if err := c.read(ctx); err != nil {
		return err
	}
	a, err := c.check(ctx)
	if err == nil && a.Validity <= 0 {
		err = errInvalid
	}
	if err == nil && r.Pause {
		gate := c.pausing(r.ID)
		c.say(answer{ID: r.ID, Event: eventChecked})
		select {
		case <-gate:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		return err
	}
	return c.write(ctx, r)
}

// pausing returns a channel that proceed closes.
func (c *client) pausing(id int) <-chan struct{} {
	gate := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused[id] = gate
	return gate
}

// proceed ends a pause.
func (c *client) proceed(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if gate := c.paused[id]; gate != nil {
		close(gate)
		delete(c.paused, id)
	}
}

func (c *client) read(ctx context.Context) error {
	e, err := c.operate(ctx, wasRead, 0, 0, patience)
	if err == nil {
		c.mu.Lock()
		c.seen = e
		c.mu.Unlock()
	}
	return err
}

func (c *client) write(ctx context.Context, r request) error {
	c.mu.Lock()
	seen := c.seen
	c.mu.Unlock()
	_, err := c.operate(ctx, wasWritten, seen.Value+1, seen.Version, cmp.Or(r.Patience, patience))
	return err
}

// operate sends one request to the resource.
func (c *client) operate(ctx context.Context, what string, value int64, version uint64, wait time.Duration) (entry, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	began, err := c.lastEntry(ctx)
	if err != nil {
		return entry{}, err
	}
	e := c.entry(what, began)
	if e.Lease == 0 {
		return e, errNoLease
	}
	// Some designs do not get their token with the lock.
	err = c.withLease(func(l simulation.Lease) error {
		if by, ok := l.(interface {
			Show(context.Context) fencing.Token
		}); ok {
			e.Token = by.Show(ctx)
		}
		return nil
	})
	if err != nil {
		return e, err
	}
	e.Value, e.Version = value, version
	e, err = c.ops.record(ctx, e)
	switch {
	case err != nil:
		return e, err
	case e.What == wasStale:
		return e, errors.New("refused by the resource: stale")
	case e.What != what:
		return e, errors.New(e.Words)
	}
	return e, nil
}

// release is recorded first, because from then on the client is no longer the holder.
func (c *client) release(ctx context.Context) error {
	return c.withLease(func(l simulation.Lease) error {
		began, err := c.lastEntry(ctx)
		if err != nil {
			return err
		}
		if err := c.note(ctx, c.entry(wasReleased, began)); err != nil {
			return err
		}
		return l.Release(ctx)
	})
}
