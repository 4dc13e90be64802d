package quorum

// QueuesOf is the number of keys for which a Coordinator needs a wait queue.
func QueuesOf(c *Coordinator) int {
	c.queues.mu.Lock()
	defer c.queues.mu.Unlock()
	c.queues.sweepLocked()
	return len(c.queues.byKey)
}

// KeptQueues is the number of keys for which a Coordinator has a wait queue.
func KeptQueues(c *Coordinator) int {
	c.queues.mu.Lock()
	defer c.queues.mu.Unlock()
	return len(c.queues.byKey)
}

// QueueOf is the instance that has the wait queue for a key.
func QueueOf(c *Coordinator, key string) int { return c.servers.queueInstance(key) }

// ContextsOf is how many contexts a lease has.
func ContextsOf(l *Lease) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.contexts)
}

// DecisionOrder is the order in which the instances decide a split.
func DecisionOrder(c *Coordinator) []int { return c.deciders }
