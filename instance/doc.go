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
// The lock of a resource "invoice" is the key "invoice", a string with the holder's value.
// With fencing there are two more keys in the same cluster slot: the resource's counter
// "{invoice}:redlock" in decimal, and "{invoice}:redlock:set", which describes the last
// grant:
//
//	prod@7 N=5 Q=3 MaxTTL=30s 21600000/82999 5f3c0e8d...
//
// That is the fingerprint of the set of instances; a quarter of the counter's TTL, in
// milliseconds, and the number of these quarters on the server's clock; and the run of the
// server, by its replication ID, as the client knew it. If a counter's last grant was in
// another run, the server may have restored an older counter from a snapshot or a backup. It
// is first set to the server's clock, in microseconds, if that is ahead. A lost counter
// starts there, or where the request says, if that is above the clock. No counter is raised
// further ahead of that clock than the client allows (half of quorum.Config.MaxTTL). Instead
// the grant fails with quorum.ErrCounter and sets nothing. Both keys expire together. Their
// TTL is renewed once in a period, not by each grant.
//
// While processes wait for the lock, one of the instances also has its wait queue, a list
// "{invoice}:redlock:waiters" of the channels on which they are notified. A channel's name is
// "redlock:wake:" and 26 random letters. The release on that instance takes the first one
// off and publishes the resource's name there. Without waiters it only checks that the list is
// missing. A user without the rights to this
// (SUBSCRIBE, PUBLISH, LPOP, LPUSH, RPUSH, LRANGE, LREM, EXISTS, that key and the channels
// &redlock:wake:*) still locks and releases, and polls while it waits.
//
// Each server also has a mark "{redlock}:served:" with the instance's name, see MarkKey. It
// tells a client that starts how long the name has led to the server. Every Probe reads it,
// and writes it if there is none. A user without the right to that key still locks, but
// wire.Identity.Hidden says so: a client of that user that starts cannot notice that the name
// led to another server a moment ago.
//
// # Scripts
//
// Every request is a script, for any number of keys: folder scripts has one file for each, and
// script.go says of which files each consists. Servers from Redis 5 on work, because the scripts
// read the server's clock before they write. A server without Lua is no instance: its Probe
// fails with ErrCommand, which says so. The servers' own commands to compare and delete (DELEX,
// DELIFEQ, Tair's CAD) aren't used. They save 0.1 to 0.5 microseconds of a server for each lock
// in a busy pipeline, and can neither compare the run nor notify a waiter.
//
// # Which server answers
//
// A request names the run of the server that was probed (wire.Request.Run). Its script
// first compares that with the replication ID in INFO replication, and with the mark. A server
// in another run, or a replica, does nothing, and the vote fails with a *wire.RunError. So a
// restart or a promotion shows at the next request, also behind a proxy that keeps its clients'
// connections. This takes the right to INFO. Without it the run is hidden and nothing is
// compared, and quorum.Hooks.Unprotected says so.
//
// The comparison costs a server 5 microseconds for each script, and a script does up to 256
// requests. It must be in the script. A cheaper way doesn't hold: to write the run into the
// script's text, so that only a server on which a client has loaded it for that run knows its
// SHA-1, and to look at INFO after the script, in the same exchange, for a promotion in between.
// Loading is not one step with a comparison, so a client can load the script at a server to which
// the name has just moved. From then on that server carries out the requests of every client
// that doesn't know of the move yet. INFO shows the move only if the same server answers it, and
// a proxy may send each command to another one. Before Redis 7 a replica gets its master's
// scripts, too, and a server that restarts reads them from its file.
//
// A connection stays with its server though the address has moved to another one. So
// connections are replaced after redis.Options.ConnMaxLifetime: 5 s by Harden, at most 30 s.
// That time and DialTimeout shorten the longest TTL, see Redis.ConnLife and
// Config.FixedAddress.
//
// # Connections
//
// A connection belongs to the instance and not to the request that happens to need it. It is
// made in the background, within DialTimeout for the dial, TLS and the handshake together,
// however long the requests wait for it. At ConnMaxLifetime another one is made in its place,
// while the old one is still used. An instance that is idle dials nothing: its connection ends
// with its time. The next request of a Coordinator waits for a new one, before its timeout
// begins (wire.Connector), so that TryAcquire succeeds after a pause, too, however far away
// the server is. The alternative, to keep one connection open all the time, would cost every
// idle client a handshake with each server every 5 s. A server that didn't answer lately isn't
// waited for.
//
// # Batches
//
// A single request is sent at once. Requests that many goroutines make while it is in flight
// wait, and go out together in one pipeline on one connection: the acquisitions as one
// script, the releases as another, and the extensions. So a busy instance needs one system call where
// each caller would need its own, and there is no mode to choose. With a distant server more
// batches are in flight, up to 8, and also with Config.Replicas, because WAIT blocks its
// connection.
//
// Each request has its own error. A reply that can't be read closes the connection, and the
// outcome of the requests behind it is unknown.
//
// # Lost connections
//
// An instance is back as soon as its server is, if its options come from Harden or Open. With
// other options go-redis stops dialing after Options.PoolSize failed dials, and tries again
// once a second.
//
// A server that is stopped but not gone accepts connections, in its kernel, and answers
// nothing. Requests to it fail when their time is over, and acquisitions beyond 1024 at once.
// It costs one connection and one goroutine, and is back with its first reply. A server that
// makes no connection, because it doesn't answer the handshake or its name isn't resolved,
// costs the same. A server that is gone costs one dial in 50 ms; in between all requests fail
// at once.
//
// A connection is closed if a reply was not read in time or could not be read, or if bytes
// are left over. In addition each script repeats a number that was drawn for this one command. A
// reply without it belongs to another one: the vote fails with ErrReply, and the connection is
// closed.
package instance
