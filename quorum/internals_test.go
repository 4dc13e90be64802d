package quorum

// LinesOf is how many keys a Coordinator keeps a local queue or a holder for.
func LinesOf(c *Coordinator) int {
	c.locals.mu.Lock()
	defer c.locals.mu.Unlock()
	return len(c.locals.lines)
}

// OrderFor is the order in which instances are asked one by one about a key.
func OrderFor(c *Coordinator, key string) []int { return c.orderFor(key) }
