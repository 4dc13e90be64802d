package quorum

// LinesOf is how many keys a Coordinator needs to keep a queue for.
func LinesOf(c *Coordinator) int {
	c.locals.mu.Lock()
	defer c.locals.mu.Unlock()
	c.locals.sweepLocked()
	return len(c.locals.queues)
}

// OrderFor is the order in which instances are asked one by one about a key.
func OrderFor(c *Coordinator, key string) []int { return c.orderFor(key) }
