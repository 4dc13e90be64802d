package simulation

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
)

// TryAcquire is Locker.TryAcquire.
func (c *Client) TryAcquire(key string) (Lease, error) {
	return c.gain(&holding{key: key}, func() (Lease, error) { return c.Locker.TryAcquire(c.ctx, key) })
}

// Acquire is Locker.Acquire. Limit the waiting time by Terms in the Config; otherwise the
// run may not end.
func (c *Client) Acquire(key string) (Lease, error) {
	return c.gain(&holding{key: key}, func() (Lease, error) { return c.Locker.Acquire(c.ctx, key) })
}

// gain requests a lease on one key.
func (c *Client) gain(h *holding, acquire func() (Lease, error)) (Lease, error) {
	lease, err := ask(c, acquire, h)
	if err != nil {
		return nil, err
	}
	if lease == nil {
		panic("the Locker gave neither a lease nor an error")
	}
	if of, ok := lease.(interface{ Quorum() int }); ok {
		h.quorum = of.Quorum()
	}
	if of, ok := lease.(interface{ Servers() int }); ok {
		h.servers = of.Servers()
	}
	c.has(lease, h)
	return lease, nil
}

// ask requests a lease on all these keys, and records that and a refusal.
func ask[L any](c *Client, acquire func() (L, error), all ...*holding) (lease L, err error) {
	c.settle()
	for _, h := range all {
		h.p, h.goroutine = c.p, c.Goroutine
		if c.Coordinator != nil {
			h.quorum = c.Coordinator.Set().Q
		}
		c.record(record.Asked, h, "", 0)
	}
	lease, err = acquire()
	c.p.Exit()
	if err != nil {
		for _, h := range all {
			c.record(record.Refused, h, record.ErrorName(err), 0)
		}
	}
	return lease, err
}

// has records that the client has a lease.
func (c *Client) has(lease Lease, h *holding) {
	h.token, h.value = lease.Token(), lease.Value()
	c.holdings[lease] = h
	c.record(record.Acquired, h, "", lease.Validity())
}

// TryAcquireAll is Coordinator.TryAcquireAll. It returns a Lease for each key, in ascending order. All
// of them are one lease: to extend or to release one of them extends or releases all.
func (c *Client) TryAcquireAll(keys ...string) ([]Lease, error) {
	var holdings []*holding
	for _, key := range slices.Sorted(slices.Values(keys)) {
		also := slices.DeleteFunc(slices.Clone(keys), func(other string) bool { return other == key })
		holdings = append(holdings, &holding{key: key, also: also})
	}
	lease, err := ask(c, func() (*quorum.Lease, error) { return c.Coordinator.TryAcquireAll(c.ctx, keys...) }, holdings...)
	if err != nil {
		return nil, err
	}
	leases := make([]Lease, len(holdings))
	for i, h := range holdings {
		leases[i] = &part{lease, h.key, leases}
		c.has(leases[i], h)
	}
	return leases, nil
}

// part is a lease on several keys as the checks see it: as a lease on each of them.
type part struct {
	*quorum.Lease
	key string
	all []Lease
}

// Key is the part's own key.
func (p *part) Key() string { return p.key }

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
	c.record(record.Looked, c.holdings[lease], "", left)
	return left > 0
}

// Extend is Lease.Extend.
func (c *Client) Extend(lease Lease) error {
	c.settle()
	err := lease.Extend(c.ctx)
	c.p.Exit()
	if err == nil && c.Coordinator == nil { // which reports it by a hook
		c.p.extended(lease.Key(), lease.Token(), lease.Validity())
	}
	return err
}

// Release is Lease.Release.
func (c *Client) Release(lease Lease) error {
	c.settle()
	all := []Lease{lease}
	if of, several := lease.(*part); several {
		all = of.all
	}
	for _, lease := range all {
		c.record(record.Released, c.holdings[lease], "", 0)
	}
	err := lease.Release(c.ctx)
	c.p.Exit()
	if err != nil {
		c.Note("release: " + record.ErrorName(err))
	}
	return err
}

// errNoHandles is the error of a Locker that cannot hand leases off.
var errNoHandles = errors.New("simulation: the Locker's leases can't be handed off")

// HandOff is quorum.Lease.HandOff: if it succeeds, the lease has ended here. It fails for
// other kinds of leases.
func (c *Client) HandOff(lease Lease) (quorum.Handle, error) {
	of, ok := lease.(*quorum.Lease)
	if !ok {
		return quorum.Handle{}, errNoHandles
	}
	c.settle()
	h := c.held(lease)
	handle, err := of.HandOff(c.ctx)
	c.p.Exit()
	if err != nil {
		c.Note("hand-off: " + record.ErrorName(err))
		return quorum.Handle{}, err
	}
	c.record(record.HandedOff, h, "", 0)
	return handle, nil
}

// Resume is quorum.Coordinator.Resume. The checks treat the result as a new lease that was
// requested now.
func (c *Client) Resume(handle quorum.Handle) (Lease, error) {
	if c.Coordinator == nil {
		return nil, errNoHandles
	}
	return c.gain(&holding{key: handle.Key(), resumed: true}, func() (Lease, error) { return asLease(c.Coordinator.Resume(c.ctx, handle)) })
}

// Read shows the lease's token to the resource of the lease's key and reads it. The version
// counts the resource's writes. The error is the guard's, or context.DeadlineExceeded if no
// reply arrived within a second, by the client's clock.
func (c *Client) Read(lease Lease) (value int64, version uint64, err error) {
	a := c.access(lease, access{kind: record.Read})
	return a.value, a.version, a.err
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

// resourcePatience is a Client's timeout for the resource's reply, by its own clock.
const resourcePatience = time.Second

func (c *Client) access(lease Lease, a access) access {
	p := c.p
	p.Exit()
	a.holding, a.token = c.held(lease), lease.Token()
	if at, ok := lease.(interface {
		Show(context.Context) fencing.Token
	}); ok {
		a.token = at.Show(c.ctx)
		p.Exit()
	}
	call := &call{message: message{p: p, place: toResource}, name: a.kind.String(), due: p.Mono() + int64(resourcePatience)}
	call.execute = func(_ *server, r *request) { r.reply(&answer{value: p.w.resource.execute(a, call.event(a.kind))}) }
	answer := call.do(kernel.OpOrder{N: uint64(c.Goroutine)})
	p.Exit()
	if reply, ok := answer.value.(access); ok {
		return reply
	}
	return access{err: answer.vote.Err}
}
