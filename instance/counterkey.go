package instance

// CounterKey is the key of a resource's counter: a string beside the lock's key, in
// the same slot, which holds the last token in decimal. Nobody but this package should
// write it; deleting it makes the next token start from the server's clock.
func CounterKey(key string) string { return "{" + key + counterSuffix }

// SetKey is the key of what belongs to a resource's counter: a string in the same slot,
// which holds the set of instances that the last token was given under, and the run
// (the replication ID) of the server that gave it. Nobody but this package should write it. Deleting it makes
// the next token start from the server's clock, if that is ahead of the counter, and
// lets in a client of whatever set comes first.
func SetKey(key string) string { return "{" + key + setSuffix }

const (
	counterSuffix = "}:redlock"
	setSuffix     = "}:redlock:set"
)
