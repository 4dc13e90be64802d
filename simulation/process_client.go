package simulation

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
)

// Workload is what each client process does. It runs on a goroutine of the process and
// on those that it starts with Client.Go. Each goroutine must use only its own Client:
// real time, shared channels and shared memory are not simulated. After a crash of the
// process, the next call of a Client's method doesn't return.
type Workload func(c *Client)

// Client is a Workload's access to the world. Everything done through it is recorded and
// checked.
type Client struct {
	// Name and Index are the process's: "c1" has the index 0.
	Name  string
	Index int
	// Incarnation counts the process's incarnations from 0, see Reboot.
	Incarnation int

	// Locker is the process's lock. Coordinator is its Coordinator, nil for a Locker
	// that isn't Coordinated. The checks don't see leases that are acquired from them
	// directly.
	Locker      Locker
	Coordinator *quorum.Coordinator

	// Goroutine is 0 for the workload's first goroutine; Go counts from 1.
	Goroutine int

	p        *process
	ctx      context.Context
	holdings map[Lease]*holding
	records  uint64
	turns    uint64
	letters  uint64
	started  uint64
	stirred  bool // the library may still be working on the last request
}

func (p *process) newClient(goroutine int, locker Locker, coordinator *quorum.Coordinator) *Client {
	return &Client{
		Name: p.Name, Index: p.Index, Incarnation: p.incarnation, Goroutine: goroutine, Locker: locker, Coordinator: coordinator,
		p: p, ctx: p.ctx, holdings: map[Lease]*holding{},
	}
}

// resourcePatience is a Client's timeout for the resource's reply, by its own clock.
const resourcePatience = time.Second

// Context is the process's context. It never ends.
func (c *Client) Context() context.Context { return c.ctx }

// Clock is the process's clock.
func (c *Client) Clock() clock.Clock { return c.p.Clock }

// Sleep waits for d on the process's clock.
func (c *Client) Sleep(d time.Duration) {
	c.p.Clock.Sleep(d)
	c.stirred = false
	c.p.Exit()
}

// SleepUntil waits until d has passed since the process started, by its own clock.
func (c *Client) SleepUntil(d time.Duration) {
	if left := d - c.p.Clock.SinceStart(); left > 0 {
		c.Sleep(left)
	}
}

// Seed is the run's seed.
func (c *Client) Seed() uint64 { return c.p.w.Seed }

// Pick draws a number from 0 to n-1, n at least 1: the same one for the same seed,
// process, incarnation, goroutine and about.
func (c *Client) Pick(about uint64, n int) int {
	return int(kernel.Draw(c.p.w.Seed, kernel.TagPick, uint64(c.Index)|uint64(c.Goroutine)<<16|uint64(c.Incarnation)<<32, about) % uint64(max(1, n)))
}

// returned follows each call of the library, which may have left work in the background.
func (c *Client) returned() {
	c.stirred = true
	c.p.Exit()
}

// Note adds words to the log.
func (c *Client) Note(words string) { c.record(&action{kind: record.Noted, words: words}) }

// TryAcquire is Locker.TryAcquire.
func (c *Client) TryAcquire(key string) (Lease, error) {
	return c.acquire(key, c.Locker.TryAcquire)
}

// Acquire is Locker.Acquire. Limit the waiting time by Terms in the Config; otherwise the
// run may not end.
func (c *Client) Acquire(key string) (Lease, error) {
	return c.acquire(key, c.Locker.Acquire)
}

func (c *Client) acquire(key string, acquire func(context.Context, string) (Lease, error)) (Lease, error) {
	return c.gain(&holding{p: c.p, key: key}, func() (Lease, error) { return acquire(c.ctx, key) })
}

// gain requests a lease and records the result.
func (c *Client) gain(h *holding, acquire func() (Lease, error)) (Lease, error) {
	c.settle()
	h.goroutine = c.Goroutine
	if c.Coordinator != nil {
		h.quorum = c.Coordinator.Set().Q
	}
	c.record(&action{kind: record.Asked, holding: h})
	lease, err := acquire()
	c.returned()
	if err != nil {
		c.record(&action{kind: record.Refused, holding: h, words: record.ErrorName(err)})
		return nil, err
	}
	if lease == nil {
		panic("the Locker gave neither a lease nor an error")
	}
	if !reflect.TypeOf(lease).Comparable() {
		panic(fmt.Sprintf("a Lease of the type %T can't be compared; use a pointer", lease))
	}
	h.token, h.value, h.quorum = lease.Token(), lease.Value(), c.quorum(lease)
	if of, ok := lease.(interface{ Servers() int }); ok {
		h.servers = of.Servers()
	}
	c.holdings[lease] = h
	c.record(&action{kind: record.Acquired, holding: h, validity: lease.Validity()})
	return lease, nil
}

// quorum is how many servers should have a lease, 0 if that is unknown.
func (c *Client) quorum(lease Lease) int {
	switch of := lease.(type) {
	case *quorum.Lease, *part:
	case interface{ Quorum() int }:
		return of.Quorum()
	}
	if c.Coordinator == nil {
		return 0
	}
	return c.Coordinator.Set().Q
}

// KeepAlive calls the lease's method KeepAlive, if it has one, as a *quorum.Lease does.
func (c *Client) KeepAlive(lease Lease) {
	c.settle()
	if kept, ok := lease.(interface{ KeepAlive() }); ok {
		kept.KeepAlive()
	}
}

// Valid reports whether the lease has validity left.
func (c *Client) Valid(lease Lease) bool {
	c.settle()
	left := lease.Validity()
	c.record(&action{kind: record.Looked, holding: c.holdings[lease], validity: left})
	return left > 0
}

// Extend is Lease.Extend.
func (c *Client) Extend(lease Lease) error {
	c.settle()
	err := lease.Extend(c.ctx)
	c.returned()
	if !isLibrarys(lease) && err == nil { // a *quorum.Lease reports it by a hook
		c.p.Post(&action{kind: record.Extended, p: c.p, key: lease.Key(), token: lease.Token(), validity: lease.Validity()})
	}
	return err
}

// Release is Lease.Release.
func (c *Client) Release(lease Lease) error {
	c.settle()
	if of, several := lease.(*part); several {
		for _, lease := range of.all {
			c.record(&action{kind: record.Released, holding: c.holdings[lease]})
		}
	} else {
		c.record(&action{kind: record.Released, holding: c.holdings[lease]})
	}
	err := lease.Release(c.ctx)
	c.returned()
	if err != nil {
		c.record(&action{kind: record.Noted, words: "release: " + record.ErrorName(err)})
	}
	return err
}

// Read shows the lease's token to the resource of the lease's key and reads it. The version
// counts the resource's writes. The error is the guard's, or context.DeadlineExceeded if no
// reply arrived within a second, by the client's clock.
func (c *Client) Read(lease Lease) (value int64, version uint64, err error) {
	r := c.access(lease, access{kind: record.Read})
	return r.value, r.version, r.err
}

// Write writes the resource of the lease's key; version is that of the value that was read.
// The resource doesn't compare versions: the checks detect a difference. After
// context.DeadlineExceeded, the write may or may not have been executed.
func (c *Client) Write(lease Lease, value int64, version uint64) error {
	h := c.held(lease)
	if h.writes == 0 || h.wroteValue != value || h.wroteAsOf != version {
		h.writes++
		h.wroteValue, h.wroteAsOf = value, version
	}
	return c.access(lease, access{kind: record.Write, value: value, version: version, number: h.writes}).err
}

// held returns the checks' record of the lease.
func (c *Client) held(lease Lease) *holding {
	h := c.holdings[lease]
	if h == nil {
		panic("the lease isn't from this Client's Acquire or TryAcquire: no check knows it")
	}
	return h
}

func (c *Client) access(lease Lease, a access) accessReply {
	c.p.Exit()
	a.holding = c.held(lease)
	a.token, a.goroutine = lease.Token(), c.Goroutine
	if at, ok := lease.(interface {
		Show(context.Context) fencing.Token
	}); ok {
		a.token = at.Show(c.ctx)
		c.p.Exit()
	}
	call := &call{p: c.p, place: toResource, name: a.kind.String(), access: &a, due: c.p.Clock.Mono() + int64(resourcePatience)}
	answer := call.do()
	c.stirred = false
	c.p.Exit()
	if answer.result == nil {
		return accessReply{err: answer.vote.Err}
	}
	return *answer.result
}

// record reports an action to the checks. The number keeps the order within a process.
func (c *Client) record(r *action) {
	c.records++
	r.p, r.goroutine, r.n = c.p, c.Goroutine, c.records
	c.p.Post(r)
}

// hooks report to the checks and the counters what the library does on its own.
func (c *Client) hooks() quorum.Hooks {
	tell := func(what string) {
		c.p.Tell(kernel.OpOrder{Kind: kernel.IsReport, Key: what}, func() { c.p.w.count(what) })
	}
	return quorum.Hooks{
		Waiting: func(context.Context, quorum.WaitEvent) {}, // the log has it as Quarantined events
		Extended: func(_ context.Context, e quorum.LeaseEvent) {
			c.p.Post(&action{kind: record.Extended, p: c.p, key: e.Key, token: e.Token, validity: e.Validity})
			for _, key := range e.Also {
				c.p.Post(&action{kind: record.Extended, p: c.p, key: key, token: e.Token, validity: e.Validity})
			}
		},
		Quarantined: c.p.quarantined,
		ClockJumped: func(quorum.ClockEvent) { tell(clockJumped) },
		Unprotected: func(e quorum.UnprotectedEvent) {
			if e.Eviction == "" {
				tell(runIDHidden)
			}
		},
	}
}

// quarantined records the beginning of a quarantine.
func (p *process) quarantined(e quorum.QuarantineEvent) {
	p.Tell(kernel.OpOrder{Kind: kernel.IsReport, N: uint64(e.Err.Reason), Key: e.Instance}, func() {
		w := p.w
		w.count(map[quorum.QuarantineReason]string{quorum.Restarted: quarantineRestarted, quorum.ClockJumped: quarantineJumped}[e.Err.Reason])
		w.event(record.Quarantined, p.Name, e.Instance).Validity = e.Err.Remaining
	})
}

// part is a lease on several keys as the checks see it: as a lease on each of them.
type part struct {
	*quorum.Lease
	key string
	all []Lease
}

// Key is the part's own key.
func (p *part) Key() string { return p.key }

func isLibrarys(lease Lease) bool {
	switch lease.(type) {
	case *quorum.Lease, *part:
		return true
	}
	return false
}
