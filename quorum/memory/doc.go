// Package memory is a lock server inside the process, for development, tests and programs that run
// alone: no network, no other process, nothing to install. redlock.Open takes its URLs.
//
//	locks, err := redlock.Open(quorum.Config{}, "memory://")
//
// A Server passes the contract of every other server (quorumtest/contract). The names in the URLs, such
// as memory://a, are those of independent servers: the same name is the same server in the whole
// process. Several are no safer than one, because they end together. No other process sees their
// locks, and tokens of two processes aren't in the order of their leases.
//
// A server lives until the process ends, and not until its last client is closed. If it ended with
// its clients, the next one would have forgotten: a lease of a client that is closed may still run,
// or was handed off. Its votes could not count for MaxTTL. As it is, the server has every vote that it
// ever gave. It says so (wire.Identity.Vouched), so the first lock waits for nothing. What has expired
// is dropped, and a resource's counter expires when the clock has passed its first token by a
// day or more.
//
// Data, Mark and Subscriptions are a Server without its clock and lock. quorumtest.Server, which fails
// on demand, and the simulated servers are made of them, and the contract compares real servers with
// Data. So there is one implementation of what a server does.
package memory
