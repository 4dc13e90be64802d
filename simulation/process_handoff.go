package simulation

import (
	"errors"
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/internal/kernel"
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

// Send sends another process a letter, such as a handle's text. It takes a message's
// latency plus delay. It reaches the incarnation of that process that exists on arrival,
// if there is one. Link faults don't affect letters: the workload itself loses, repeats
// and misdirects them.
func (c *Client) Send(to, text string, delay time.Duration) {
	c.p.Exit()
	c.letters++
	p, w, n := c.p, c.p.w, c.letters
	p.Tell(kernel.OpOrder{Kind: kernel.IsLetter, Place: c.Goroutine, N: n}, func() {
		index := slices.Index(w.cfg.processNames(), to)
		if index < 0 {
			return
		}
		w.event(record.LetterSent, p.Name, "").Words = to
		about := kernel.Draw(w.Seed, kernel.TagLetter, uint64(p.Index), uint64(p.incarnation), uint64(c.Goroutine), n)
		takes := int64(w.latency(about) + max(0, delay))
		over := func() bool { return w.running()+w.reboots == 0 }
		w.Push(w.Now.Load()+takes, about, nil, kernel.MomentOf(over, func() {
			to := w.processes[index]
			if !to.Gone() {
				to.letters = append(to.letters, text)
			}
		}))
	})
}

// Letter returns the next letter that has arrived. It doesn't wait.
func (c *Client) Letter() (text string, ok bool) {
	c.p.Exit()
	c.letters++
	p, done := c.p, make(chan struct{})
	order := kernel.OpOrder{Kind: kernel.IsMailbox, Place: c.Goroutine, N: c.letters}
	p.Always(order, func() {
		if !p.Gone() && len(p.letters) > 0 {
			text, ok = p.letters[0], true
			p.letters = p.letters[1:]
			p.w.event(record.LetterTaken, p.Name, "")
		}
		p.w.Awake = true
		close(done)
	})
	<-done
	p.Exit()
	return text, ok
}
