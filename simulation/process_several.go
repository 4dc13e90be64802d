package simulation

import (
	"context"
	"slices"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/record"
)

// TryAcquireAll is Coordinator.TryAcquireAll. It returns a Lease for each key, in ascending order. All
// of them are one lease: to extend or to release one of them extends or releases all.
func (c *Client) TryAcquireAll(keys ...string) ([]Lease, error) {
	return c.Gain(func(ctx context.Context) (*quorum.Lease, error) { return c.Coordinator.TryAcquireAll(ctx, keys...) }, keys...)
}

// Gain is TryAcquireAll for a function that takes a lease on one or several of the keys, such as a
// reader's of a read/write lock. The checks see the result as a lease on each key that it has.
func (c *Client) Gain(acquire func(context.Context) (*quorum.Lease, error), keys ...string) ([]Lease, error) {
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
	lease, err := acquire(c.ctx)
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
