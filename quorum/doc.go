// Package quorum takes locks on a majority of independent masters: the Redlock
// algorithm of the Redis document, made as safe as it can be, with a fencing token
// from the same majority for what no lock of this kind can promise.
//
//	locks, err := quorum.New(quorum.Config{}, instances...)
//	...
//	err = locks.Do(ctx, "orders:42", func(ctx context.Context, lease *quorum.Lease) error {
//		return store.Write(ctx, lease.Token(), order) // refuses an older token
//	})
//
// Instances are opened by package instance. This package knows nothing of Redis:
// it sends Commands through the Instance interface and counts Votes.
//
// # What is guaranteed
//
//  1. Mutual exclusion. While a lease has validity left, no other client of the
//     same instances has one on the same key, if the assumptions below hold.
//  2. Order. Of two leases on one key the later one has the larger Token, whatever
//     clocks and pauses do, as long as an instance that both majorities share kept
//     its data; and where all of them came back with older data or none, as long as
//     their clocks agree to within a quarantine's length (assumption 3). Tokens are
//     unique per key.
//  3. Liveness. A key whose holder died is free after one TTL. A minority of
//     instances that are dead, hung or slow delays nobody beyond
//     Config.InstanceTimeout, and only where they are waited for.
//  4. Honesty. A round that was not won says which instance did what. An unknown
//     answer is never taken for a yes nor for a no. A holder is told when its lease
//     is over, at its deadline at the latest, and a release tells when there was
//     nothing left to release.
//  5. Cleanliness. What a lost round has set is deleted again on every instance,
//     also if its caller was cancelled, and is owed to those that can't be reached
//     until they answer. Close leaves no goroutine behind.
//
// # What is assumed
//
// Each assumption is followed by what the library does when it breaks.
//
//  1. Holders notice their deadline: the time from looking at the clock to the
//     effect at the resource is shorter than the validity. It isn't, in a GC pause, a
//     stopped process, a suspended machine, a delayed packet. Leases have a
//     context and take the larger of two clocks; only a resource that checks the
//     Token is safe.
//  2. Instances count a TTL at about the client's rate, and their clocks don't
//     jump. The drift allowance covers rates; the clock monitor keeps an instance
//     whose clock jumped from voting for one maximal TTL. A client that starts
//     after the jump can't know of it.
//  3. A vote once given stands. A restart without fsync on every write, or a
//     failover to a replica that lags, forgets votes, and the end of counters. The
//     quarantine keeps such an instance from voting until all it can have forgotten is
//     over; then each of its counters is lifted to its clock, once in a life, which is
//     above all tokens that were given before if server clocks differ by less than the
//     quarantine. Both need the run id: Hooks.Unprotected tells where it is hidden.
//     Eviction and FLUSHALL are not noticed: Verify insists on the policy noeviction.
//  4. Instances are independent. Run ids are compared, so that one server under
//     two names has one vote.
//  5. All clients agree on the instances and the quorum. The set's fingerprint is
//     kept beside each key's counter, and another one is refused.
//  6. All clients have the same MaxTTL, and no client's TTL is longer.
//  7. Nobody else writes the lock's keys ("key", "{key}:redlock" and
//     "{key}:redlock:set"; the line of those who wait, "{key}:redlock:waiters", is no
//     part of the lock).
//
// # The caller's duties
//
//  1. Make one Coordinator for a set of instances, keep it, and Close it.
//  2. Call Verify at the start, and look at what it says.
//  3. Do the work under the lease's context (Do hands it over), and look at
//     Validity before anything that takes long.
//  4. Hand Token to every resource that is changed under the lease, and have it
//     refuse a token lower than the largest it has seen: package fencing has guards
//     for that. Show it before reading, not only when writing.
//  5. Release leases. An error that Is ErrNotHeld means that the work went on
//     without the lock.
//  6. Give all clients the same instances by the same names, the same Set, Quorum and
//     MaxTTL.
//
// # Waiting
//
// Goroutines of one process that want the same lock stand in line, and only the
// first competes on the instances. When a lease of this process is given back while
// another goroutine waits for it, the lock passes on: without asking the instances if
// it is held for moments (see Config.Cohorts), else in one step on each of them. That
// goes for as many turns as stood in line when it came to this process, for two of each
// where it is held for moments, and for more only while no other process is known to wait.
//
// Processes stand in line, too: at one instance, the same for all, which calls the
// first of them when a release reaches it. One process wakes at a time, and who has just
// had the lock lets in who was called.
// It takes an Instance that is a Listener, and a connection more while somebody waits.
//
// A call is a hint and nothing else: no vote is counted, no lease given, and nothing
// taken for free because of one. Who waits looks by itself, too: after a random pause
// of up to Config.BackoffMax, and when the holder's key must have expired. So a call
// that is lost costs one pause. Where nobody can be called, all poll.
//
// # Differences from the Redis document
//
//  1. A round is decided at the first moment at which it can be; the document waits
//     for all instances, or their time-outs.
//  2. Elapsed time is the larger of the monotonic and the wall clock's.
//  3. A lost round is deleted on all instances but those that refused it or certainly
//     never got it: there nothing of it can be. Those that didn't answer are asked
//     again until they do.
//  4. After a round that was split between clients the next one asks one instance
//     first, in place of leaving all to random delays. Releases call who
//     waits; the document's clients poll.
//  5. Instances that may have forgotten votes don't vote. The document leaves delayed
//     restarts to the operator.
//  6. An extension doesn't count an instance to which the lease had to be put back, nor
//     one whose clock is in quarantine. It ends the lease at once when so many say
//     "not yours" that no quorum can have it; otherwise the old deadline stands.
//  7. Each lease has a fencing token, which the document only recommends.
//  8. Goroutines of one process may follow each other under one value (Config.Cohorts),
//     within the time of one round's validity.
//
// # Sources
//
// The Redis document "Distributed Locks with Redis"; M. Kleppmann, "How to do
// distributed locking" (2016); S. Sanfilippo, "Is Redlock safe?" (2016). Scenario
// numbers (S1, S7, ...) are those of package simulation.
package quorum
