package simulation

import (
	"errors"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/record"
)

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
	c.returned()
	if err != nil {
		c.Note("hand-off: " + record.ErrorName(err))
		return quorum.Handle{}, err
	}
	c.record(&action{kind: record.HandedOff, holding: h})
	return handle, nil
}

// Resume is quorum.Coordinator.Resume. The checks treat the result as a new lease that was
// requested now.
func (c *Client) Resume(handle quorum.Handle) (Lease, error) {
	if c.Coordinator == nil {
		return nil, errNoHandles
	}
	h := &holding{p: c.p, key: handle.Key(), resumed: true}
	return c.gain(h, func() (Lease, error) { return asLease(c.Coordinator.Resume(c.ctx, handle)) })
}

// ReleaseHandle is quorum.Coordinator.ReleaseHandle.
func (c *Client) ReleaseHandle(handle quorum.Handle) error {
	if c.Coordinator == nil {
		return errNoHandles
	}
	c.settle()
	err := c.Coordinator.ReleaseHandle(c.ctx, handle)
	c.returned()
	words := "released a handle"
	if err != nil {
		words += ": " + record.ErrorName(err)
	}
	c.Note(words)
	return err
}
