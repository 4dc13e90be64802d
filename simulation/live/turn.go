//go:build unix

package live

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// load is what a client does in a soak, until it is told to stop.
type load struct {
	// Seed makes the pauses.
	Seed uint64 `json:"seed"`
	// Hold bounds the time between the read and the write, and Rest that between two
	// turns: both are drawn anew for each turn.
	Hold time.Duration `json:"hold"`
	Rest time.Duration `json:"rest"`
}

// cycle is one turn: what came of it.
type cycle struct {
	Acquired bool `json:"acquired,omitempty"`
	Written  bool `json:"written,omitempty"`
	// Stale: the guard refused the read or the write.
	Stale bool `json:"stale,omitempty"`
}

// turnWait bounds the wait for the lock in one turn: shorter than any outage, so that
// it is known when one is over.
const turnWait = 5 * time.Second

// soak takes the lock, updates and releases, over and over, and tells of each lock that
// it got and of each turn's end.
func (c *client) soak(ctx context.Context, l load, id int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	c.mu.Lock()
	c.paused[id] = stop
	c.mu.Unlock()
	random := rand.New(rand.NewPCG(l.Seed, uint64(c.setup.Index)))
	for {
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(random.Int64N(int64(l.Rest) + 1))):
		}
		if _, err := c.acquire(ctx, request{Do: doAcquire, Key: key, Patience: turnWait}); err != nil {
			continue // in the ledger
		}
		c.say(answer{ID: id, Event: eventTurn, Cycle: &cycle{Acquired: true}})
		hold := time.Duration(random.Int64N(int64(l.Hold) + 1))
		err := c.turn(ctx, hold)
		c.say(answer{ID: id, Event: eventTurn, Cycle: &cycle{Written: err == nil, Stale: errors.Is(err, errStale)}})
	}
}

// turn is what is done with the lock. The pause lies between the look at the lease and
// the write, where a holder is late at worst.
func (c *client) turn(ctx context.Context, hold time.Duration) error {
	err := c.read(ctx)
	if err == nil {
		var a answer
		if a, err = c.look(ctx); err == nil && a.Validity <= 0 {
			err = errInvalid
		}
	}
	if err == nil {
		time.Sleep(hold)
		err = c.write(ctx, request{})
	}
	_, looked := c.look(ctx)
	_ = c.release(ctx) // what it found doesn't change what was done
	return errors.Join(err, looked)
}
