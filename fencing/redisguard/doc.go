// Package redisguard keeps the marks of a fencing.Guard in Redis or Valkey, so
// that all processes which use a resource share them; and it guards writes to
// data on the same server.
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
// one slot. The braces make the resource's name the hash tag, so that keys which have
// it as theirs lie beside the mark: "{cart/7}:items" for resource "cart/7". If
// the prefix begins with a tag itself ("{shop}:fence:"), that one counts for all marks.
// Keys in different slots are refused by a cluster with CROSSSLOT, and nothing
// is changed. A redis.Ring does not notice: it runs the script where the mark
// is, so give your keys the same tag there too.
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
// A mark that is lost lets stale holders in. So the server has to keep it
// through crashes: appendonly yes with appendfsync always. With everysec the last
// second's marks are lost in a crash, with snapshots those since the last one. A
// failover to a replica that lags loses marks likewise: Redis replicates after
// it has answered. Run the guard against one master whose data survives, and
// restore marks and data from the same backup. Set maxmemory-policy to
// noeviction, or with marks that never expire to one of the volatile policies; an evicted mark is a lost one.
// FLUSHALL, FLUSHDB and RENAME of marks lose them too.
//
// The account needs EVALSHA, EVAL, GET, SET, PTTL, PEXPIRE, PERSIST and DEL on the
// marks, and what your own scripts use.
//
// This server need not be one of those that grant the lock, and is best not:
// what it must never forget is different.
package redisguard
