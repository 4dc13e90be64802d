// Package instance speaks to one independent Redis, Valkey or Tair master: it
// is wire.Instance on go-redis, and with the guard in fencing/redisguard the
// only part of this library that knows go-redis.
//
// A client for a quorum differs from one for a cache. It must not send a
// command twice (a SET NX that is sent again is refused by its own first copy),
// must give up when its context ends and not 5 seconds later, and must not turn
// to another server when its own is down. So New accepts a client only with the
// options that make it so, and names the one that is wrong; Harden sets them
// all, and Open makes such a client from a URL.
//
// # What is kept on a server
//
// For a resource "invoice" there is the lock's key "invoice", a string with the
// holder's value, and with fencing two more in the same cluster slot: the resource's
// counter "{invoice}:redlock" in decimal, and "{invoice}:redlock:set", which says under
// what it was counted last:
//
//	prod@7 N=5 Q=3 MaxTTL=30s 21600000/82999 5f3c0e8d...
//
// the fingerprint of the set of instances; a quarter of the time that the counter is to
// live, in milliseconds, and how many of these the server's clock has come to; and the
// run of the server, by its replication ID, as the client knew it. A counter that was
// last granted from in another run may be older than it was, as its data may have come from a
// snapshot or a backup: it is set to the server's clock first, in microseconds, if that
// is ahead. One that was lost starts there. No counter is raised further ahead of that
// clock than the client says (half of quorum.Config.MaxTTL): a grant fails with
// quorum.ErrCounter instead, and sets nothing. Both keys expire together, and are given
// more time once in a period, rather than by each grant.
//
// While processes wait for the lock there is also, on one of the instances, a list
// "{invoice}:redlock:waiters" of the channels that they are called on, named
// "redlock:wake:" and 26 random letters. The release on that instance takes the
// first one off and publishes the resource's name there. It is a script in every
// dialect, and looks at the list alone if nobody waits. A user without the rights to
// this (SUBSCRIBE, PUBLISH, LPOP, LPUSH, RPUSH, LRANGE, LREM, EXISTS, that key and the
// channels &redlock:wake:*) locks and releases all the same, and polls while it
// waits.
//
// And there is "{redlock}:served:" with the instance's name behind it, see MarkKey. A
// client that starts learns from it how long the name has led to the server. Every Probe
// looks at it, and writes it where there is none. A user without the right to that key
// locks all the same, but wire.Identity.Hidden says so: a client of that user that
// starts can't notice that the name led to another server a moment ago.
//
// Servers from Redis 5 on will do: the scripts read the server's clock before
// they write.
//
// # Which server answers
//
// A command that counts names the run of the server that was probed (quorum.Request.Run),
// and its script compares that with the replication ID in INFO replication before it does
// anything. A server in another run, and a replica, do nothing and are a failed vote with
// a *quorum.RunError. So a restart or a promotion shows at the next command, also behind a
// proxy that keeps its clients' connections. It takes the right to INFO. Without it the run
// is hidden, nothing is compared, and quorum.Hooks.Unprotected tells.
//
// A connection goes on to its server though the address has moved to another one. So
// connections are replaced after redis.Options.ConnMaxLifetime, 5 s by Harden; New refuses
// more than 30 s. That and DialTimeout come off the longest TTL, see Redis.ConnLife and
// Config.FixedAddress. A client that was not made with Harden's options counts a
// connection's age by a clock that stands still while the machine is suspended.
//
// # How commands travel
//
// A lone command goes out at once. What many goroutines ask while it is under way
// waits for its answer, and goes out together: the acquires as one script, the
// releases as another, all in one pipeline on one connection. So a busy instance
// costs a system call where each of its callers would, and nobody chooses a mode.
// With a server that is far away more exchanges are under way at a time, up to 8; so
// it is with Config.Replicas, as WAIT holds a connection up.
//
// One command's error is its own. An answer that can't be read closes the connection,
// and the commands behind it are unknown, not lost.
//
// # Lost connections
//
// An instance is back as soon as its server is, if its options come from Harden
// or Open. With other options go-redis stops dialing once Options.PoolSize dials
// have failed, and tries again once a second.
//
// A server that is stopped rather than gone accepts connections, in its kernel,
// and answers nothing. Commands to it fail when their time is over, those that would
// be too many (1024) at once. It costs one connection and one goroutine, and is back
// with its first answer. To a server that is gone one connection is dialed in 50 ms;
// in between all commands fail at once.
//
// go-redis closes a connection whose answer was not read in time or could not
// be read, and one with bytes left over. Besides that each script repeats a
// number that was drawn for this one call: an answer without it belongs to
// another question, is a failed vote with ErrReply, and closes the connection.
// The bare SET and the dialects' own commands have no room for such a number;
// of their answers the shape is checked.
package instance
