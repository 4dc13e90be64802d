// Package redisguard keeps the marks of a fencing.Guard in Redis or Valkey, where
// all processes that use a resource share them. It also guards writes to data on
// the same server.
//
// Each operation is one Lua script, which the server runs as one step: Admit and
// Check compare and raise the mark, Set writes a key as well, and Run wraps
// scripts of your own. Check followed by a write of your own is two steps, with
// the gap that package fencing describes; use Set or Run for data on this server.
//
// # Where a mark is kept
//
// The mark of a resource is a string key, Config.Prefix + "{" + resource + "}",
// holding the token in decimal. On a cluster all keys of one operation must be in
// one slot. The braces make the resource's name the hash tag, so keys with the same
// tag are in the mark's slot: "{cart/7}:items" for resource "cart/7". If the prefix
// begins with a tag ("{shop}:fence:"), that tag applies to all marks. A cluster
// refuses keys in different slots with CROSSSLOT, and nothing is changed. New
// refuses a redis.Ring, in which each process decides on its own where a key is.
//
// # Repair
//
// A mark that is too large, or is no token at all, refuses every holder. Find out
// who wrote it. Then, while no process that held an older lease runs (see
// fencing.Guard.Forget), set the mark to the present holder's token or delete it:
//
//	redis-cli SET 'fence:{cart/7}' 1767225600000042
//	redis-cli DEL 'fence:{cart/7}'
//
// Guard.Forget deletes it as well. Guard.Key gives the key's name.
//
// # What the server must do
//
// A lost mark lets stale holders in, so the server must keep marks through
// crashes: appendonly yes with appendfsync always. With everysec, a crash loses the
// marks of the last second; with snapshots, all marks since the last snapshot. A
// failover to a lagging replica loses marks too, because Redis replicates after
// it has replied. Run the guard against one master whose data survives, and
// restore marks and data from the same backup. Set maxmemory-policy to
// noeviction, or with marks that never expire to one of the volatile policies; an evicted mark is a lost one.
// FLUSHALL, FLUSHDB and RENAME of marks lose them too.
//
// The account needs EVALSHA, EVAL, GET, SET, PTTL, PEXPIRE, PERSIST and DEL on the
// marks, and what your own scripts use.
//
// This server need not be one of the lock's servers. A separate server is better,
// because its durability requirements differ.
package redisguard
