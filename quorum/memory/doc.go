// Package memory is a lock server inside the process, for development, tests and programs that run
// alone: no network, no other process, nothing to install. redlock.Open takes its URLs.
//
//	locks, err := redlock.Open(quorum.Config{}, "memory://")
//
// A Server passes the contract of every other server (quorumtest/contract): leases expire, waiters
// are notified in order, and each lease has a fencing token. The names in the URLs, such as
// memory://a, are those of independent servers: the same name is the same server for the whole process.
// A few servers are no safer than one, because they end together.
//
// # How long it lives
//
// A server lives from the first Open of its name until the process ends, and not only until the last
// client is closed. If it ended with its clients, the next one would be a server that has
// forgotten: the lease of a client that is closed may still run, or may have been handed off. Then
// its votes could not count for MaxTTL, and its tokens could be lower than earlier ones. As it is,
// the server has all votes that were ever given under its name. It says so (wire.Identity.Vouched), so
// the first lock waits for nothing.
//
// What has expired is dropped. A resource's counter stays for quorum.Config.CounterTTL after its last
// lease, as on any server.
//
// # What it is not
//
// No other process sees these locks: two processes with memory:// both get the lock. That is why a
// set has memory servers only or none, why the first Open logs a warning, and why Verify has a note.
//
// Tokens rise within the process. They start from its wall clock, so the tokens of two processes
// have no order that means anything: a guard that outlives the process, such as one in a database,
// refuses those of whichever process is behind.
//
// # What tests and simulations use
//
// Data, Run and Subscriptions are a Server without its clock and lock. quorumtest.Server has the same
// and fails on demand, and the simulated servers have the same Data. So there is one implementation
// of what a server does, and the contract compares real servers with it.
package memory
