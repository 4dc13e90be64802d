// Package designs collects ways to lock with Redis: the recipes of articles, hosted Redis,
// Redlock as in its document, this library with one safety feature after the other, and
// the variants of other libraries. Each is a Design for runs of package simulation, so
// that you can check every claim about it:
//
//	d, err := designs.ByName("setpx-cad")
//	...
//	r, err := simulation.Run(seed, d.Configure(simulation.Config{}), schedule, workload)
//
// # How to choose
//
// The first question is Kleppmann's: what happens if two clients hold the lock at
// once?
//
//	Some work is done twice: take "setpx-cad". One server, two commands, nothing to
//	tune. Its weaknesses show when that server restarts or fails over, and when a
//	client is slow.
//
//	The same, but it has to survive the failure of a server: take "default". Any majority
//	of the servers will do. Do not take replicas for that: after a failover both
//	clients have the lock, and neither notices.
//
//	Something breaks: take "token-admit". No lock whose holder may be late is enough
//	on its own, on Redis or elsewhere: a process can be paused, and a packet delayed,
//	after the last check of the clock. The resource has to refuse late requests, and
//	for that it needs a token, and must see it before the first read.
//
//	Something breaks, and requests may be repeated: take "idempotent".
//
//	The resource can compare and set on its own: then let it. A lock on top saves
//	work, and "setpx-cad" is good enough for that.
//
// docs/reference/designs.md lists all designs, with what breaks each. The rows of a group build on
// each other: each fixes what breaks the row before it, and something else still breaks it. The group
// Flaws has rows with one difference from "textbook", which is the document's algorithm in two pages
// of code, or from another design. Nearly all are in the sources, the defaults or the issues of widely
// used libraries, named in Design.Source.
//
// # Differences from the originals
//
// The Redlock rows run package quorum with its switches set, not another
// implementation. Where the library has no switch, a wrapper around the instances omits a
// command, or answers it. The exceptions are Textbook, because the library refuses most
// flaws, and the locks on one server, which are tables of commands.
//
// "redlock" does more than the document says: it decides as early as possible, uses the
// larger elapsed time of two clocks, and keeps deletes pending for servers that don't
// answer. Of these "textbook" has only the clocks.
//
// The locks on one server count their validity from the reply, by the monotonic clock,
// without an allowance, like code that reads the clock after the SET. Most articles don't
// use a clock at all, which is no better.
//
// # Sources
//
//   - Distributed Locks with Redis ("the Redis document"), https://redis.io/topics/distlock
//   - Redis command reference, https://redis.io/commands: SETNX, WAIT
//   - M. Kleppmann, How to do distributed locking (2016),
//     https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html
//   - S. Sanfilippo (antirez), Is Redlock safe? (2016), http://antirez.com/news/101
//   - J. Carlson, Redis in Action, 6.2,
//     https://redis.io/ebook/part-2-core-concepts/chapter-6-application-components-in-redis/6-2-distributed-locking/
//   - Alibaba Cloud, Implement high-performance distributed locks by using TairString,
//     https://www.alibabacloud.com/help/en/redis/use-cases/implementation-of-high-performance-distributed-lock-based-on-tairstring
//   - Alibaba Cloud, Change the synchronization mode of a Tair (Enterprise Edition) instance,
//     https://www.alibabacloud.com/help/en/redis/user-guide/modify-the-synchronization-mode-of-a-persistent-memory-optimized-instance
//   - Sources read, with the commit: go-redsync/redsync 5560bd2, mike-marcacci/node-redlock
//     afe5cf9, samcook/RedLock.net dcfe373, hexcowboy/rslock e5d7583, SPSCommerce/redlock-py
//     42ef491, leandromoreira/redlock-rb f176e57, redis/rueidis 0739ea9 (rueidislock),
//     redisson/redisson 04607ef (RedissonMultiLock) and 0482efe (RedissonFencedLock)
package designs
