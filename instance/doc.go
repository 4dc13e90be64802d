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
//	{invoice}:redlock          the counter: microseconds since 1970 where it started, and one for each try
//	{invoice}:redlock:waiters  the wait queue: the channels of the processes that wait, on one instance
//	{redlock}:served:NAME      the mark: ID@EPOCH SET, see MarkKey
//
// A counter expires after the server's clock has passed its value, and restarts from the
// clock. Only a client that waits has a wait queue kept. A user without the rights to it still
// locks and releases, and polls while it waits. A user without the right to the mark still
// locks, but wire.Identity.Hidden says what such a client doesn't notice.
//
// # Transactions and scripts
//
// An acquisition is a transaction of the server's own commands: SET NX PX, with fencing INCR
// of the counter, and what vouches for them, which are the mark, INFO replication and TIME.
// The server carries it out in one step. The client judges the reply, and deletes what it has
// set if the vote doesn't count. That costs the server less than a script, and one vouching is
// good for 64 acquisitions.
//
// What compares before it writes is a script, for any number of keys: a release, an extension,
// a raise. Folder scripts has their parts, and script.go says which parts each one has. A
// server without Lua, MULTI or EXEC is no instance: its Probe fails with ErrCommand.
//
// # Which server answers
//
// A request names the run of the server that was probed (wire.Request.Run). Scripts compare it
// first, and do nothing in another run or on a replica. An acquisition in another run fails
// with a *wire.RunError after the fact. So a restart or a promotion shows at the next request,
// also behind a proxy that keeps its clients' connections. This takes the right to INFO.
// Without it the run is hidden and nothing is compared, and quorum.Hooks.Unprotected says so.
//
// # Connections
//
// go-redis makes each connection and speaks on it. The instance takes it out of go-redis's
// pool and keeps it, as a link. Links are made in the background, within DialTimeout for the
// dial, TLS and the handshake together, however long the requests wait. At half of its
// lifetime another one is made in its place, while the old one is still used. A request waits
// for a link within its timeout, or before it begins (wire.Connector). A minute after the last
// request the links end.
//
// A connection stays with its server though the address has moved to another one. So no link
// is used for longer than twice the redis.Options.ConnMaxLifetime: 2.5 s by Open and Harden, at
// most 30 s. It counts twice because others may have used the connection before. That time and DialTimeout shorten the longest TTL, see Redis.ConnLife and
// Config.FixedAddress.
//
// # Pipelines
//
// A single request is sent at once. Requests that many goroutines make meanwhile wait, and go
// out together, up to 64 in one pipeline: extensions and raises first, then releases, then all
// acquisitions in one transaction. A busy instance needs one system call where each caller
// would need its own. Up to 3 pipelines are under way, 8 to a distant server and with
// Config.Replicas, because WAIT blocks its connection, and one more for what keeps or releases
// leases. Beyond 4096 waiting acquisitions the next ones fail with quorum.ErrOverloaded.
//
// A reply that arrived while this process stood still counts, though its time is over.
//
// # Lost connections
//
// A link ends if a reply was not read in time or could not be read. The outcome of its
// requests is unknown then. A server that hangs costs a few connections, and is back with its
// first reply. A server that is gone costs one dial in 50 ms; in between all requests fail at
// once. With other options than Harden's go-redis stops dialing after Options.PoolSize failed
// dials, and tries again once a second.
package instance
