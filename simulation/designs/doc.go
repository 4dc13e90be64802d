// Package designs collects ways to lock with Redis: the recipes of articles, hosted Redis,
// Redlock as in its document, this library, and the variants of other libraries. Each is a
// Design for runs of package simulation, so that you can check every claim about it:
//
//	d, err := designs.ByName("setpx-cad")
//	...
//	r, err := simulation.Run(seed, d.Configure(simulation.Config{}), schedule, workload)
//
// docs/reference/designs.md lists all designs, with what breaks each, and docs/choosing.md helps to choose. A row
// of the group Flaws differs in one thing from "redlock", which is the document's algorithm in two pages of code, or
// from "setpx-cad". Nearly all are in the sources, the defaults or the issues of widely used libraries, named in
// Design.Source.
//
// # Differences from the originals
//
// "redlock" and the locks on one server are Recipes: tables of commands. "redlock" sends to all servers at once,
// and takes the longer of the times that two clocks show; the document says neither. "default" and what builds on it run
// package quorum.
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
