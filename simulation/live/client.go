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
	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// patience is how long a client waits for the resource, unless it is told otherwise.
const patience = 20 * time.Second

// replicaTimeout is how long a server waits for its replicas, where it is to.
const replicaTimeout = time.Second

// dumpFile is the file descriptor that a client dumps its heap to.
const dumpFile = 3

// client is a client process: it does what it is asked to on its input, and says on
// its output what came of it.
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
	seen   Entry // the last read
	paused map[int]chan struct{}

	handles chan string        // that have come, in a soak
	waiting context.CancelFunc // ends a wait for the lock, for one of these

	gap, looks atomic.Int64 // of watchGaps
}

// serveClient is a client process. It ends when its input does.
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
			return fmt.Errorf("a request can't be read: %w", err)
		}
		if r.Do == doGo {
			c.goOn(r.Go)
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
	cancel() // nobody listens any more
	all.Wait()
	return lines.Err()
}

func (c *client) say(a answer) {
	c.outMu.Lock()
	defer c.outMu.Unlock()
	_ = c.out.Encode(a) // to nobody, if the play is over
}

// watchGaps looks at the clock all the time. What it misses, everything in this process
// missed.
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
		c.looks.Add(1)
		last = now
	}
}

// lookAgain waits until watchGaps has looked at the clock after now.
func (c *client) lookAgain() {
	for seen := c.looks.Load(); c.looks.Load() < seen+2; {
		time.Sleep(time.Millisecond)
	}
}

func (c *client) do(ctx context.Context, r request) (answer, error) {
	switch r.Do {
	case doSetup:
		return answer{}, c.begin(ctx, *r.Setup)
	case doAcquire, doTry:
		return c.acquire(ctx, r)
	case doLook:
		return c.look(ctx)
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
		c.lookAgain()
		return answer{Gap: time.Duration(c.gap.Load())}, nil
	case doSettle:
		return answer{}, c.settle(ctx)
	case doSoak:
		return answer{}, c.soak(ctx, *r.Soak, r.ID)
	case doHandle:
		return answer{}, c.expect(ctx, r)
	case doClose:
		return answer{}, c.end(ctx)
	default:
		return answer{}, fmt.Errorf("there is nothing like %q to do", r.Do)
	}
}

// begin makes the locker, just as the simulation does, and looks around: what watches
// the servers has to have seen them before anything happens.
func (c *client) begin(ctx context.Context, s setup) error {
	c.setup = s
	c.handles = make(chan string, 64)
	var err error
	if c.ops, err = s.Resource.openLedger(s.Resource.Addr); err != nil {
		return err
	}
	if c.notes, err = s.Resource.openLedger(s.Resource.Notes); err != nil {
		return err
	}
	cfg, err := settings(s.Scenario, s.Design)
	if err != nil {
		return err
	}
	p := simulation.Process{Name: s.Who, Index: s.Index, Config: cfg.Quorum}
	p.Config.Clock, p.Config.Random, p.Config.Owner = clock.New(), rand.Reader, s.Who
	p.Config.TTL, p.Config.MaxTTL, p.Config.InstanceTimeout = s.TTL, cmp.Or(s.MaxTTL, s.TTL), s.Timeout
	p.Config.BackoffMin, p.Config.BackoffMax = 10*time.Millisecond, 100*time.Millisecond
	if c.close, err = openPlaces(&p, s.Places); err != nil {
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
	for range 2 { // the second time finds the connections open
		_ = c.verify(ctx) // what is wrong with the servers is the play's
	}
	return nil
}

// warmUp opens a connection to each server and has it learn the scripts, so that what a
// play holds up is the request that it means and not one of these.
func warmUp(ctx context.Context, p simulation.Process) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := quorum.Command{
		Key: "warm-" + p.Name, Value: strings.Repeat("0", 40), TTL: time.Second, Token: 1,
		Fence: true, CounterTTL: 10 * time.Second, Ahead: time.Second, Set: quorum.Set{Name: "warm", N: 1, Q: 1}, Clock: true,
	}
	for i, inst := range p.Instances {
		for _, op := range []quorum.Op{quorum.Acquire, quorum.Raise, quorum.Extend, quorum.Release, quorum.Restore, quorum.Release} {
			cmd.Op = op
			voted := make(chan struct{}, 1)
			inst.Send(cmd, patience, quorum.ReceiverFunc(func(quorum.Vote) { voted <- struct{}{} }))
			<-voted // whatever the vote is
		}
		_, _ = p.Redis[i].Do(ctx, "PING")
	}
}

// openPlaces fills in the servers, through both doors.
func openPlaces(p *simulation.Process, places []place) (closeAll func() error, err error) {
	var closers []func() error
	closeAll = func() error {
		var errs []error
		for _, c := range closers {
			errs = append(errs, c())
		}
		return errors.Join(errs...)
	}
	for _, at := range places {
		// Each command is bounded by who sends it, so that a design without a bound has
		// none here either.
		url := fmt.Sprintf("redis://%s/%d?read_timeout=10m", at.Addr, at.DB)
		if at.User != "" {
			url = fmt.Sprintf("redis://%s:%s@%s/%d?read_timeout=10m", at.User, at.Password, at.Addr, at.DB)
		}
		cfg := instance.Config{Name: at.Name, VouchedRunID: at.Vouched, Replicas: at.Replicas, ReplicaTimeout: replicaTimeout}
		inst, closeInst, err := open(url, at, cfg)
		if err != nil {
			return nil, errors.Join(err, closeAll())
		}
		bare := openRaw(at)
		closers = append(closers, closeInst, bare.client.Close)
		p.Instances, p.Redis = append(p.Instances, inst), append(p.Redis, bare)
	}
	return closeAll, nil
}

// open opens one instance, and gives what closes it.
func open(url string, at place, cfg instance.Config) (inst *instance.Redis, closeAll func() error, err error) {
	if at.Lifetime == 0 {
		cfg.FixedAddress = true
		if inst, err = instance.Open(url, cfg); err != nil {
			return nil, nil, err
		}
		return inst, inst.Close, nil
	}
	// No URL says how long connections live, which begins with the dial.
	client := redis.NewClient(instance.Harden(&redis.Options{
		Addr: at.Addr, DB: at.DB, Username: at.User, Password: at.Password, DialTimeout: at.Lifetime / 2, ConnMaxLifetime: at.Lifetime / 2,
	}))
	if inst, err = instance.New(client, cfg); err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return inst, func() error { return errors.Join(inst.Close(), client.Close()) }, nil
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

func (c *client) settle(ctx context.Context) error {
	coordinator := c.coordinator()
	if coordinator == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return coordinator.Settle(ctx)
}

func (c *client) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return errors.Join(c.locker.Close(ctx), c.close(), c.ops.close(), c.notes.close())
}

// mark is the number of the last entry: what comes next begins after it.
func (c *client) mark(ctx context.Context) (int, error) {
	e, err := c.notes.tell(ctx, Entry{})
	return e.Seq, err
}

// note writes an entry down.
func (c *client) note(ctx context.Context, e Entry) error {
	e.Who = c.setup.Who
	_, err := c.notes.tell(ctx, e)
	return err
}

// entry begins one about the present lease.
func (c *client) entry(what string, began int) Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := Entry{Began: began, Who: c.setup.Who, What: what}
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

func (c *client) acquire(ctx context.Context, r request) (answer, error) {
	return c.acquireUntil(ctx, r)
}

// acquireUntil asks for the lock until ctx ends. What came of it is written down all the
// same.
func (c *client) acquireUntil(ctx context.Context, r request) (answer, error) {
	asking, try := ctx, c.locker.TryAcquire
	if r.Do == doAcquire {
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, r.Patience)
		defer cancel()
		try = c.locker.Acquire
	}
	return c.gain(context.WithoutCancel(ctx), r.Key, "", func() (simulation.Lease, error) { return try(asking, r.Key) })
}

// gain asks for a lease, and writes down what came of it.
func (c *client) gain(ctx context.Context, key, words string, try func() (simulation.Lease, error)) (answer, error) {
	began, err := c.mark(ctx)
	if err != nil {
		return answer{}, err
	}
	if err := c.note(ctx, Entry{Began: began, What: wasAsked, Key: key, Words: words}); err != nil {
		return answer{}, err
	}
	lease, lost := try()
	if lost != nil {
		return answer{}, errors.Join(lost, c.note(ctx, Entry{Began: began, What: wasDenied, Key: key, Words: lost.Error()}))
	}
	c.mu.Lock()
	c.lease = lease
	c.leases++
	c.mu.Unlock()
	e := c.entry(wasAcquired, began)
	e.Words = words
	return answer{Token: lease.Token(), Validity: lease.Validity()}, c.note(ctx, e)
}

// look looks at the lease, and writes down what the holder believes.
func (c *client) look(ctx context.Context) (answer, error) {
	var a answer
	err := c.withLease(func(l simulation.Lease) error {
		began, err := c.mark(ctx)
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

var (
	errStale   = errors.New("the resource refused it: stale")
	errInvalid = errors.New("the lease is over")
)

// update reads, adds one and writes, if the lease is valid when it has read. With a
// pause it stops after the look, as if the process were stopped there.
func (c *client) update(ctx context.Context, r request) error {
	if err := c.read(ctx); err != nil {
		return err
	}
	a, err := c.look(ctx)
	switch {
	case err != nil:
		return err
	case a.Validity <= 0:
		return errInvalid
	}
	if r.Pause {
		gate := make(chan struct{})
		c.mu.Lock()
		c.paused[r.ID] = gate
		c.mu.Unlock()
		c.say(answer{ID: r.ID, Event: eventChecked})
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return c.write(ctx, r)
}

// goOn ends the pause of an update.
func (c *client) goOn(id int) {
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
	wait := patience
	if r.Patience > 0 {
		wait = r.Patience
	}
	_, err := c.operate(ctx, wasWritten, seen.Value+1, seen.Version, wait)
	return err
}

// operate is one request to the resource.
func (c *client) operate(ctx context.Context, what string, value int64, version uint64, wait time.Duration) (Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	began, err := c.mark(ctx)
	if err != nil {
		return Entry{}, err
	}
	e := c.entry(what, began)
	if e.Lease == 0 {
		return e, errNoLease
	}
	// Some designs get the token that the resource is shown by other ways than with
	// the lock.
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
	e, err = c.ops.tell(ctx, e)
	switch {
	case err != nil:
		return e, err
	case e.What == wasStale:
		return e, errStale
	case e.What != what:
		return e, errors.New(e.Words)
	}
	return e, nil
}

// release writes it down before it begins: from here on the client is no holder.
func (c *client) release(ctx context.Context) error {
	return c.withLease(func(l simulation.Lease) error {
		began, err := c.mark(ctx)
		if err != nil {
			return err
		}
		if err := c.note(ctx, c.entry(wasReleased, began)); err != nil {
			return err
		}
		return l.Release(ctx)
	})
}
