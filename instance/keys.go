package instance

const (
	counterSuffix = "}:redlock"
	waitersSuffix = "}:redlock:waiters"
	markPrefix    = "{redlock}:served:"
)

// CounterKey is the key of a resource's counter: a string that holds the last token in decimal. Only this
// package may write it. After it is deleted, the next token starts from the server's clock.
func CounterKey(key string) string { return "{" + key + counterSuffix }

// WaitersKey is the key of a lock's wait queue: a list, on one of the instances, that exists only while
// processes wait. It is no part of the lock. Deleting it costs a notification.
func WaitersKey(key string) string { return "{" + key + waitersSuffix }

// MarkKey is the key of the mark that clients write on a server for each instance name. The mark
// is a string without expiry. It names the run of the server (its replication ID), the run's
// epoch, and the set of instances. The epoch is when a client first found the server in that run
// under the name, by the server's clock.
//
// All applications that use one name share the mark, so they need the same set. Deleting it costs all clients a
// quarantine. Only this package may write it: with a mark that is too old, clients that start trust a server
// too early. For a deployment under Sentinel (see Open), the key ends in "#" and Sentinel's
// config-epoch.
func MarkKey(name string) string { return markPrefix + name }
