package quorum

// ContextsOf is how many contexts a lease would end.
func ContextsOf(l *Lease) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ends)
}
