// Package redsync has the API of github.com/go-redsync/redsync/v4 on package quorum. A program
// replaces the path
//
//	github.com/go-redsync/redsync/v4
//
// in its imports by
//
//	github.com/redquorum/redlock/quorum/adapters/redsync
//
// and gets what this library promises: votes of restarted servers don't count, a release notifies
// waiters, and each lock has a fencing token.
//
//	rs := redsync.New(goredis.NewPool(client), ...)
//	mutex := rs.NewMutex("orders/42")
//	if err := mutex.LockContext(ctx); err != nil { ... }
//	token, ctx := mutex.Lease().Token(), mutex.Lease().Within(ctx)
//
// Look at Lease: its Token is for the resource, and its context ends when the lock is lost. redsync
// has neither.
//
// # What is different
//
//   - Only pools of go-redis v9 (goredis.NewPool) are taken, of one master each. For a Cluster or what
//     Sentinel watches, give On a Coordinator that was opened with their URL.
//   - Hooks of the given clients, for example for tracing, are not called: see goredis.NewPool.
//   - There is no WithSetNXOnExtend, WithValue, WithGenValueFunc and WithTimeoutFactor:
//     docs/migrating.md says what to use. A WithDriftFactor above the Coordinator's is an
//     *OptionError of each call that would lock.
//   - Lock waits for as long as redsync's tries and delays would take, and is notified meanwhile.
//   - On servers that have just been set up, and on those that were restarted, nothing can be
//     locked at first, for MaxTTL: 30 s with New. Lock waits for that, and a warning is logged. TryLock
//     fails, with quorum.ErrQuarantined.
//   - An expiry above 23 s needs a Coordinator with a larger MaxTTL, for all clients of the servers, and On
//     (WithExpiry).
//   - errors.Is and errors.As find redsync's errors; ErrFailed and ErrLockAlreadyExpired are
//     wrapped, so == doesn't.
//   - Every Lock that succeeds needs its Unlock, also if the lock has ended. Otherwise each later
//     Unlock stands for the Lock before its own, see Mutex.
//   - Names have no braces, so no hash tags, and 1024 bytes at most.
//
// Both can run at once on the same servers and names, if quorum.Config.MaxTTL is at least redsync's
// expiry. A lock that redsync took has no token.
package redsync
