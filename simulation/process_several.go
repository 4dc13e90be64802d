package simulation

import (
	"context"
	"slices"
	"strings"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/record"
)

// AcquireAll takes the locks on several keys, and returns a Lease for each, in ascending order.
// With a Coordinator it is Coordinator.AcquireAll. Then all of them are one lease: to extend or
// to release one of them extends or releases all. Without a Coordinator the locks are acquired
// one after the other, in the order given, and released if one is refused, as users of other
// designs do it.
func (c *Client) AcquireAll(keys ...string) ([]Lease, error) {
	if c.Coordinator == nil {
		return c.each(keys, c.Acquire)
	}
	return c.gainAll(keys, c.Coordinator.AcquireAll)
}

// TryAcquireAll is Coordinator.TryAcquireAll, see AcquireAll. Other designs try one key after the
// other.
func (c *Client) TryAcquireAll(keys ...string) ([]Lease, error) {
	if c.Coordinator == nil {
		return c.each(keys, c.TryAcquire)
	}
	return c.gainAll(keys, c.Coordinator.TryAcquireAll)
}

// Gain is AcquireAll for a function that takes a lease on one or several of the keys, such as a reader's
// of a read/write lock.
func (c *Client) Gain(acquire func(context.Context) (*quorum.Lease, error), keys ...string) ([]Lease, error) {
	return c.gainAll(keys, func(ctx context.Context, _ ...string) (*quorum.Lease, error) { return acquire(ctx) })
}

// ReleaseAll releases what AcquireAll returned.
func (c *Client) ReleaseAll(leases []Lease) error {
	if _, several := leases[0].(*part); several {
		return c.Release(leases[0])
	}
	var failed error
	for _, lease := range leases {
		if err := c.Release(lease); err != nil {
			failed = err
		}
	}
	return failed
}

// each acquires one lock after the other.
func (c *Client) each(keys []string, acquire func(string) (Lease, error)) ([]Lease, error) {
	var leases []Lease
	for _, key := range keys {
		lease, err := acquire(key)
		if err != nil {
			for _, lease := range leases {
				_ = c.Release(lease) // the log has its outcome
			}
			return nil, err
		}
		leases = append(leases, lease)
	}
	slices.SortFunc(leases, func(a, b Lease) int { return strings.Compare(a.Key(), b.Key()) })
	return leases, nil
}

// gainAll requests one lease on several keys and records the result for each that it has.
func (c *Client) gainAll(keys []string, acquire func(context.Context, ...string) (*quorum.Lease, error)) ([]Lease, error) {
	c.settle()
	others := func(key string, keys []string) []string {
		return slices.DeleteFunc(slices.Clone(keys), func(other string) bool { return other == key })
	}
	var holdings []*holding
	for _, key := range slices.Sorted(slices.Values(keys)) {
		h := &holding{p: c.p, key: key, goroutine: c.Goroutine, quorum: c.Coordinator.Set().Q, also: others(key, keys)}
		holdings = append(holdings, h)
		c.record(&action{kind: record.Asked, holding: h})
	}
	lease, err := acquire(c.ctx, keys...)
	c.returned()
	if err != nil {
		for _, h := range holdings {
			c.record(&action{kind: record.Refused, holding: h, words: record.ErrorName(err)})
		}
		return nil, err
	}
	has := lease.Keys()
	holdings = slices.DeleteFunc(holdings, func(h *holding) bool { return !slices.Contains(has, h.key) })
	leases := make([]Lease, len(holdings))
	for i, h := range holdings {
		of := &part{lease, h.key, leases}
		h.also = others(h.key, has)
		leases[i], c.holdings[of] = of, h
		h.token, h.value = lease.Token(), lease.Value()
		c.record(&action{kind: record.Acquired, holding: h, validity: lease.Validity()})
	}
	return leases, nil
}
