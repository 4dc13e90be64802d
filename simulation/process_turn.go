package simulation

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
	c.p.exit()
	if c.stirred || c.p.several.Load() {
		c.await()
		c.p.exit()
	}
}

// await is settle without conditions.
func (c *Client) await() {
	c.stirred = false
	c.turns++
	t := &turn{client: c, n: c.turns, come: make(chan struct{})}
	c.p.post(t)
	<-t.come
}

func (t *turn) order() opOrder {
	return opOrder{process: t.client.p.index, kind: isTurn, place: t.client.Goroutine, n: t.n}
}

func (t *turn) apply(w *world) {
	p := t.client.p
	if p.gone() {
		w.awake = true
		close(t.come)
		return
	}
	p.turns = append(p.turns, t)
	w.push(w.now.Load(), draw(w.seed, tagTurn, uint64(p.index), uint64(t.client.Goroutine), t.n), p, t)
}

func (t *turn) live() bool { return !t.client.p.gone() }

func (t *turn) happen(w *world) {
	p := t.client.p
	for i, other := range p.turns {
		if other == t {
			p.turns = append(p.turns[:i], p.turns[i+1:]...)
			break
		}
	}
	w.awake = true
	close(t.come)
}

// Go runs work on another goroutine of the process, with a Client of its own and the same
// Locker, so that both share the local wait queue. The process ends when all of its
// goroutines have returned.
func (c *Client) Go(work func(c *Client)) {
	c.p.exit()
	c.p.several.Store(true)
	c.started++
	c.p.workers.Add(1)
	order := opOrder{process: c.p.index, kind: isSpawn, place: c.Goroutine, n: c.started}
	c.p.post(&notice{at: order, do: func() {
		c.p.goroutines++
		c.p.w.awake = true
		go c.p.newClient(c.p.goroutines, c.Locker, c.Coordinator).run(work)
	}})
}

// run is a goroutine that Go starts.
func (c *Client) run(work func(*Client)) {
	defer c.p.workers.Done()
	defer c.p.recovered()
	c.settle()
	work(c)
}
