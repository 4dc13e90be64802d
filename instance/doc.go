// Package instance connects to one independent Redis, Valkey or Tair master. It implements
// wire.Instance with go-redis. Besides fencing/redisguard it is the only part of this
// library that uses go-redis.
//
// A client for a quorum differs from one for a cache. It must not send a command twice,
// because a SET NX that is sent again is refused by its own first copy. It must give up when
// its context ends, and not 5 seconds later. It must not turn to another server when its own
// is down. So New accepts a client only with the right options, and names the wrong one.
// Harden sets them all, and Open makes such a client from a URL.
//
// # Keys
//
//	invoice                    the lock: the holder's value, which expires with the lease
//	{invoice}:redlock          the counter: it starts at the clock, in microseconds since 1970, and each try adds one
//	{invoice}:redlock:waiters  the wait queue: the channels of the processes that wait, on one instance
//	{redlock}:served:NAME      the mark: ID@EPOCH SET, see MarkKey
//
// A counter expires after the server's clock has passed its value, and restarts from the
// clock. A user without the rights to the wait queue still locks, and polls while it waits. A
// user without the right to the mark still locks, but wire.Identity.Hidden says what such a
// client doesn't notice.
//
// # Requests
//
// An acquisition is a transaction of the server's own commands, which the client judges
// afterwards (transaction.go, judge.go). A request that compares before it writes is a script,
// for any number of keys (list.go, and folder scripts). A server without Lua, MULTI or EXEC is no
// instance: its Probe fails with ErrCommand.
//
// A request names the run of the server that was probed (wire.Request.Run). Scripts compare it
// first, and do nothing in another run or on a replica. An acquisition in another run fails
// with a *wire.RunError after the fact. So a restart or a promotion shows at the next request,
// also behind a proxy that keeps its clients' connections. This takes the right to INFO.
// Without it the run is hidden and nothing is compared, and quorum.Hooks.Unprotected says so.
//
// # Connections
//
// go-redis makes each connection and speaks on it. The instance keeps it as a link, outside of
// go-redis's pool (link.go), and sends the requests of many goroutines on it together (pipe.go).
// Links are made in the background, and a dial may take longer than the requests wait.
//
// A connection stays with its server even after the address has moved to another server. So no
// link is used for longer than twice redis.Options.ConnMaxLifetime, which is at most 30 s. Open
// and Harden set it to 2.5 s. That time and DialTimeout shorten the longest TTL, see
// Redis.ConnLife and Config.FixedAddress.
//
// A link ends if a reply was not read in time or could not be read. The outcome of its
// requests is unknown then. A server that hangs costs a few connections, and is back with its
// first reply. A server that is gone costs one dial in 50 ms; in between all requests fail at
// once. With other options than Harden's go-redis stops dialing after Options.PoolSize failed
// dials, and tries again once a second.
package instance
