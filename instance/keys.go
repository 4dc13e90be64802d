package instance

const (
	counterSuffix = "}:redlock"
	setSuffix     = "}:redlock:set"
	waitersSuffix = "}:redlock:waiters"
	markPrefix    = "{redlock}:served:"
)

// CounterKey is the key of a resource's counter: a string in the lock's slot that holds the
// last token in decimal. Only this package may write it. After it is deleted, the next
// token starts from the server's clock.
func CounterKey(key string) string { return "{" + key + counterSuffix }

// SetKey is the key of a string in the lock's slot that belongs to the counter. It holds
// the set of instances under which the last token was given, and the run (the replication
// ID) of the server that gave it. Only this package may write it. After it is deleted, the
// next token starts from the server's clock, if that is ahead of the counter, and a client
// with any set may lock.
func SetKey(key string) string { return "{" + key + setSuffix }

// WaitersKey is the key of a lock's wait queue: a list in the lock's slot, on one of the
// instances, that exists only while processes wait. It is no part of the lock. Deleting it
// costs a notification.
func WaitersKey(key string) string { return "{" + key + waitersSuffix }

// MarkKey is the key of the mark that clients write on a server for each instance name: a
// string that holds the run of the server (its run ID and replication ID) and the run's
// epoch, which is when a client first found the server in that run under the name, by the
// server's clock. It is in the instance's database and does not expire. Deleting it costs
// all clients a quarantine. Its braces keep it apart from the locks' keys, which have none.
//
// Of a deployment (see Open) under Sentinel the key ends in "#" and Sentinel's config-epoch, and on
// a Cluster it begins as all keys do, see Redis.Key.
//
// All applications that use one name share the mark. Only this package may write it: with a
// mark that is too old, clients that start trust a server too early.
func MarkKey(name string) string { return markPrefix + name }
