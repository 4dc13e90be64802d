package instance

// MarkKey is the key of the mark that clients leave on a server, for each name of an
// instance: a string that holds the run of the server (its run ID and replication ID) and
// when a client first found it in that run under the name, by the server's clock, which is
// the run's epoch. It is in the instance's database, and does not expire. Deleting it costs
// all clients a quarantine. The braces keep it apart from the locks' keys, which have none.
//
// All applications that use one name share the mark. Nobody but this package should write
// it: a mark that is too old lets clients that start trust a server too early.
func MarkKey(name string) string { return markPrefix + name }

const markPrefix = "{redlock}:served:"
