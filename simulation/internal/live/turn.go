//go:build unix

package live

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// load is the work of a client in a soak, until it is stopped.
type load struct {
	// Seed determines the pauses.
	Seed uint64 `json:"seed"`
	// Hold bounds the time between the read and the write, and Rest the time between two
	// turns. Both are random in each turn.
	Hold time.Duration `json:"hold"`
	Rest time.Duration `json:"rest"`
}

// cycle is the result of a turn.
type cycle struct {
	Acquired bool `json:"acquired,omitempty"`
	// Handle is the handle of a lease that was handed off, to these workers in turn.
	Handle string        `json:"handle,omitempty"`
	To     []destination `json:"to,omitempty"`
}

// destination is a receiver of a handle, with a delay.
type destination struct {
	Worker int           `json:"worker"`
	After  time.Duration `json:"after"`
}

// turnWait bounds the wait for the lock in one turn. It is shorter than any outage, so
// that its end is noticed.
const turnWait = 5 * time.Second

// soak repeatedly acquires the lock or resumes a lease, updates, and releases it or hands
// it off. It reports each acquisition and the end of each turn.
func (c *client) soak(ctx context.Context, l load, id int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := c.pausing(id)
	random := rand.New(rand.NewPCG(l.Seed, uint64(c.setup.Index)))
	for {
		var err error
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case text := <-c.handles:
			err = c.resume(ctx, text, random.IntN(6) == 0)
		case <-time.After(time.Duration(random.Int64N(int64(l.Rest) + 1))):
			err = c.wait(ctx)
		}
		if err != nil {
			continue // in the ledger
		}
		c.say(answer{ID: id, Event: eventTurn, Cycle: &cycle{Acquired: true}})
		hold := time.Duration(random.Int64N(int64(l.Hold) + 1))
		c.say(answer{ID: id, Event: eventTurn, Cycle: c.turn(ctx, hold, random)})
	}
}

// wait waits for the lock until a handle arrives.
func (c *client) wait(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	c.waiting = cancel
	received := len(c.handles) > 0
	c.mu.Unlock()
	if received {
		return errors.New("a handle has arrived")
	}
	_, err := c.acquire(ctx, request{Do: doAcquire, Key: key, Patience: turnWait})
	return err
}

// turn uses the lock. The pause is between the check of the lease and the write, where a
// delay is most harmful. The ledger has all outcomes.
func (c *client) turn(ctx context.Context, hold time.Duration, random *rand.Rand) *cycle {
	_ = c.updateAfter(ctx, request{}, func() error {
		time.Sleep(hold)
		return nil
	})
	if random.IntN(4) == 0 {
		_ = c.withLease(func(l simulation.Lease) error { return l.Extend(ctx) }) // an error shows in the next check
	}
	_, _ = c.check(ctx)
	if coordinator := c.coordinator(); coordinator != nil && random.IntN(32) == 0 {
		_, _ = coordinator.Inspect(ctx, key) // harmless at any time
		_, _ = coordinator.Verify(ctx)
	}
	if random.IntN(3) == 0 {
		if handle := c.handOff(ctx); handle != "" {
			return &cycle{Handle: handle, To: c.destinations(random)}
		}
	}
	_ = c.release(ctx)
	return &cycle{}
}

// destinations returns random receivers of a handle: mostly one client, sometimes two or
// none, immediately or late, once or twice.
func (c *client) destinations(random *rand.Rand) []destination {
	var all []destination
	for range []int{0, 1, 1, 1, 1, 1, 2, 2}[random.IntN(8)] {
		d := destination{Worker: random.IntN(workers)}
		if random.IntN(4) == 0 {
			d.After = time.Duration(random.Int64N(int64(soakMaxTTL)))
		}
		all = append(all, d)
	}
	if len(all) > 0 && random.IntN(8) == 0 {
		all = append(all, all[0])
	}
	return all
}

// handOff hands the lease off and returns the handle as text, or "". It first records the
// release, because from then on the client is no longer the holder.
func (c *client) handOff(ctx context.Context) (text string) {
	_ = c.withLease(func(l simulation.Lease) error {
		lease, ok := l.(*quorum.Lease)
		if !ok {
			return nil
		}
		began, err := c.lastEntry(ctx)
		if err != nil {
			return err
		}
		e := c.entry(wasReleased, began)
		e.Words = handedOff
		if err := c.note(ctx, e); err != nil {
			return err
		}
		handle, err := lease.HandOff(ctx)
		if err == nil {
			text, err = handle.Text()
		}
		return err
	})
	return text
}

// expect receives a handle when it arrives.
func (c *client) expect(ctx context.Context, r request) error {
	select {
	case <-time.After(r.Patience):
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case c.handles <- r.Handle:
	default: // too many; it expires
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting != nil {
		c.waiting()
	}
	return nil
}

// errReleased: a handle was released without a lease.
var errReleased = errors.New("the handle was released")

// resume resumes a lease by its handle, or releases it.
func (c *client) resume(ctx context.Context, text string, releases bool) error {
	handle, err := quorum.ParseHandle(text)
	coordinator := c.coordinator()
	switch {
	case err != nil:
		return err
	case coordinator == nil:
		return errNoLease
	case releases:
		return errors.Join(errReleased, coordinator.ReleaseHandle(ctx, handle))
	}
	_, err = c.gain(ctx, handle.Key(), resumed, func() (simulation.Lease, error) {
		lease, err := coordinator.Resume(ctx, handle)
		if err != nil {
			return nil, err
		}
		return lease, nil
	})
	return err
}
