package simulation

import (
	"context"
	"time"

	"github.com/benbjohnson/clock"

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
	started  uint64
}

func (p *process) newClient(goroutine int, locker Locker, coordinator *quorum.Coordinator) *Client {
	return &Client{
		Name: p.Name, Index: p.Index, Incarnation: p.incarnation, Goroutine: goroutine, Locker: locker, Coordinator: coordinator,
		p: p, ctx: p.ctx, holdings: map[Lease]*holding{},
	}
}

// Context is the process's context. It ends when the process crashes.
func (c *Client) Context() context.Context { return c.ctx }

// Clock is the process's clock.
func (c *Client) Clock() clock.Clock { return &c.p.Process }

// Sleep waits for d on the process's clock.
func (c *Client) Sleep(d time.Duration) {
	c.p.Sleep(d)
	c.p.Exit()
}

// SleepUntil waits until d has passed since the process started, by its own clock.
func (c *Client) SleepUntil(d time.Duration) {
	if left := d - c.p.SinceStart(); left > 0 {
		c.Sleep(left)
	}
}

// Pick draws a number from 0 to n-1, n at least 1: the same one for the same seed,
// process, incarnation, goroutine and about.
func (c *Client) Pick(about uint64, n int) int {
	return int(kernel.Draw(c.p.w.Seed, kernel.TagPick, uint64(c.Index)|uint64(c.Goroutine)<<16|uint64(c.p.incarnation)<<32, about) % uint64(max(1, n)))
}

// Note adds words to the log.
func (c *Client) Note(words string) { c.record(record.Noted, nil, words, 0) }

// record logs what the workload did or was told, of a lease or of none. The number keeps the order
// within a process.
func (c *Client) record(kind record.EventKind, h *holding, words string, validity time.Duration) {
	c.records++
	order := kernel.OpOrder{Kind: kernel.IsRecord, Place: c.Goroutine, N: c.records}
	if kind == record.Acquired { // in a hand-off within a step, the predecessor released it first
		order.Kind = kernel.IsGain
	}
	c.p.Tell(order, func() {
		e := c.p.w.event(kind, c.Name, "")
		e.Goroutine, e.Words, e.Validity = c.Goroutine, words, validity
		if h != nil {
			h.happened(e)
		}
	})
}

// Go runs work on another goroutine of the process, with a Client of its own and the same
// Locker, so that both share the local wait queue. The process ends when all of its
// goroutines have returned.
func (c *Client) Go(work func(c *Client)) {
	p := c.p
	p.Exit()
	c.started++
	p.workers.Add(1)
	p.Post(kernel.OpOrder{Kind: kernel.IsSpawn, Place: c.Goroutine, N: c.started}, func() {
		p.goroutines++
		p.w.Awake = true
		other := p.newClient(p.goroutines, c.Locker, c.Coordinator)
		go func() {
			defer p.workers.Done()
			defer p.recovered()
			other.settle()
			work(other)
		}()
	})
}

// settle waits for the goroutine's turn, before each call of the library.
func (c *Client) settle() {
	c.p.Exit()
	c.await()
	c.p.Exit()
}

// await waits until all other goroutines of the process are blocked, among them those of the library that still work
// on an earlier call. The next call of the library then runs alone, so that goroutine scheduling never
// decides an order.
func (c *Client) await() {
	c.turns++
	p, n, turn := c.p, c.turns, make(chan struct{})
	p.Post(kernel.OpOrder{Kind: kernel.IsTurn, Place: c.Goroutine, N: n}, func() {
		tie := kernel.Draw(p.w.Seed, kernel.TagTurn, uint64(p.Index), uint64(c.Goroutine), n)
		p.Push(p.w.Now.Load(), tie, p.Gone, func() {
			p.w.Awake = true
			close(turn)
		})
	})
	select {
	case <-turn:
	case <-p.ctx.Done(): // it has crashed, and has no more turns
	}
}

// Letters are what lies ready for a process, such as the texts of handles. All processes of a run share them,
// as they would share a database. No lock is needed after a Sleep, because no other goroutine of the run works then.
func (c *Client) Letters(to string) *[]string {
	c.p.Exit()
	letters := c.p.w.letters
	if letters[to] == nil {
		letters[to] = new([]string)
	}
	return letters[to]
}
