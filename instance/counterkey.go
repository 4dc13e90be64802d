package instance

// CounterKey is the key of a resource's counter: a string beside the lock's key, in
// the same slot, which holds the last token and the set of instances that it was
// given under. Nobody but this package should write it; deleting it makes the next
// token start from the server's clock.
func CounterKey(key string) string { return "{" + key + counterSuffix }
