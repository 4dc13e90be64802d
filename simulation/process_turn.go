package simulation

import "github.com/redquorum/redlock/simulation/internal/kernel"

// turn is a workload's goroutine that waits until all other goroutines of its process are
// blocked. Its next call of the library then runs alone, so that goroutine scheduling
// never decides an order.
type turn struct {
	client *Client
	n      uint64
	come   chan struct{}
}

// settle waits for the goroutine's turn if others may be running: after a call of the
// library, which may leave work in the background, and always in a process with several
// goroutines.
func (c *Client) settle() {
	c.p.Exit()
	if c.stirred || c.p.several.Load() {
		c.await()
		c.p.Exit()
	}
}

// await is settle without conditions.
func (c *Client) await() {
	c.stirred = false
	c.turns++
	t := &turn{client: c, n: c.turns, come: make(chan struct{})}
	c.p.Post(t)
	<-t.come
}

func (t *turn) Order() kernel.OpOrder {
	return kernel.OpOrder{Process: t.client.p.Index, Kind: kernel.IsTurn, Place: t.client.Goroutine, N: t.n}
}

func (t *turn) Apply() {
	p := t.client.p
	w := p.w
	if p.Gone() {
		w.Awake = true
		close(t.come)
		return
	}
	p.turns = append(p.turns, t)
	w.Push(w.Now.Load(), kernel.Draw(w.Seed, kernel.TagTurn, uint64(p.Index), uint64(t.client.Goroutine), t.n), &p.Process, t)
}

func (t *turn) Live() bool { return !t.client.p.Gone() }

func (t *turn) Happen() {
	p := t.client.p
	for i, other := range p.turns {
		if other == t {
			p.turns = append(p.turns[:i], p.turns[i+1:]...)
			break
		}
	}
	p.w.Awake = true
	close(t.come)
}

// Go runs work on another goroutine of the process, with a Client of its own and the same
// Locker, so that both share the local wait queue. The process ends when all of its
// goroutines have returned.
func (c *Client) Go(work func(c *Client)) {
	c.p.Exit()
	c.p.several.Store(true)
	c.started++
	c.p.workers.Add(1)
	order := kernel.OpOrder{Kind: kernel.IsSpawn, Place: c.Goroutine, N: c.started}
	c.p.Always(order, func() {
		c.p.goroutines++
		c.p.w.Awake = true
		go c.p.newClient(c.p.goroutines, c.Locker, c.Coordinator).run(work)
	})
}

// run is a goroutine that Go starts.
func (c *Client) run(work func(*Client)) {
	defer c.p.workers.Done()
	defer c.p.recovered()
	c.settle()
	work(c)
}
