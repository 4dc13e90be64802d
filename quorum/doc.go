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
//  2. Order. Of two leases on one key the later one has the larger Token. Clocks and
//     pauses cannot change that, as long as one instance that both majorities share
//     kept its data. If none did, the servers' clocks must agree to within half of
//     MaxTTL (assumption 3). Tokens are unique per key.
//  3. Liveness. A key whose holder died is free after one TTL. An instance that is
//     dead, hung or slow delays a caller only where the round needs its vote, and by
//     Config.InstanceTimeout at most; a round that a majority decides doesn't wait
//     for it.
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
// Each assumption is followed by what enforces it, and by what is not noticed.
//
//  1. Holders notice their deadline: the time from looking at the clock to the
//     effect at the resource is shorter than the validity. Nothing can enforce that: a
//     GC pause, a stopped process, a suspended machine, or a packet that is late or
//     arrives twice breaks it.
//     A lease has a context that ends at its deadline, by the larger of two clocks.
//     Where that is too late, only a resource that checks the Token is safe.
//  2. Instances count a TTL at about the client's rate, and their clocks don't
//     jump. The drift allowance covers rates. The clock monitor notices a jump, and
//     the instance is in quarantine: its votes are ignored for MaxTTL and the drift
//     allowance on it. A client that starts after the jump can't know of it.
//  3. A vote once given stands. A server that was restarted, replaced or promoted may
//     have lost votes, and the end of counters. So each command names the run of the
//     server that it is meant for, by its replication ID and the epoch, and the server
//     compares both in the step in which it carries the command out. The epoch is when
//     clients left a mark on the server, for its name and its run (Identity.Served,
//     Identity.Epoch). The mark is gone with the data, and a client that had votes
//     of another server under the name, while they may count, leaves it anew. A server that is found in another
//     run is in quarantine, whatever it says of its disk. A client that starts knows no
//     earlier run. So it ignores the server's votes until the
//     mark is as old as a quarantine is long. A run that somebody vouches for
//     (Coordinator.Trust, instance.Config.VouchedRunID) is spared that first wait, and
//     nothing else. The
//     first grant in a new run lifts the counter to the server's clock. That is above
//     all tokens that were given before: no server counts further ahead of its own clock
//     than half of MaxTTL (Request.Ahead), and the quarantine lasts for MaxTTL. The other
//     half is for clocks: a server's clock before and after the restart, or the clock of
//     its replacement, must agree with the time that passed to within half of MaxTTL. If
//     it doesn't, tokens may fall by the excess. A server whose clock is ahead of others by
//     more than that may be unable to agree on a token with them (ErrTokenRace); Verify
//     notes such clocks. Not noticed: eviction, but Verify
//     insists on the policy noeviction; anything of a server that hides its run
//     (Hooks.Unprotected tells). And a client that starts, or
//     that asked nothing meanwhile (it was idle without the clock monitor, suspended, or cut
//     off), does not notice that a name has just come back to a server that it led to
//     before, if that server stayed in the same run and no client that had votes of
//     the other server in the last quarantine has probed it since. Where no mark can be kept (Identity.Hidden and
//     Verify tell), a client that starts waits only for a server that came up less than a
//     quarantine ago or may have been promoted: it does not notice that a name leads to
//     another server that has been up for long. Nor do commands name an epoch there.
//  4. Instances are independent. Run IDs are compared, so that one server under
//     two names has one vote. What servers share beyond that (a machine, a disk, a
//     source of power) is not noticed. Nor is a server that is two: where a replica
//     takes over and the old master goes on for some clients (split brain), each of the
//     two votes once the new one's quarantine is over.
//  5. All clients agree on the instances, the quorum and MaxTTL. The Set's fingerprint,
//     which is its name, version, N, Q and MaxTTL, is kept beside each key's counter,
//     and a client with another one is refused (ErrSetMismatch). The fingerprint does
//     not name the servers: a client that lists as many other servers isn't noticed. Nor
//     is anything with Fencing Off.
//  6. No lease is longer than MaxTTL. New, WithTerms and Resume refuse a longer TTL, and
//     one that is longer than MaxTTL less the time for which a connection may lead to an
//     old server after its address has moved (Instance.ConnLife).
//     A program that locks the same keys without this library isn't noticed.
//  7. Nobody else writes the lock's keys ("key", "{key}:redlock" and
//     "{key}:redlock:set"; the list of those who wait, "{key}:redlock:waiters", is no
//     part of the lock). Nothing notices that: give each application an account that
//     can't write the others' keys.
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
//  6. Give all clients the same instances, Set, Quorum and MaxTTL. docs/running.md
//     says how to change each of them while clients run.
//  7. Call Trust only for servers on which nothing was ever locked, and whose names have
//     led to no other server within MaxTTL. It counts for one Coordinator and the run that it finds, so don't leave it in code that runs at
//     each start: after a restart without data it would make two holders.
//
// # Waiting
//
// Goroutines of one process that want the same lock wait in a queue, and only the
// first competes on the instances. A goroutine that releases a lease hands it to the
// first waiter, without asking the instances (see Config.Cohorts), for as many turns as
// goroutines waited when the lock came to this process: two for each of them where it is
// held for moments, and more only while no other process is known to wait. Nobody's
// Release waits for a waiter's code: a waiter that has gone hands the lease on.
//
// A goroutine that has a lock and asks for it again under the lease's context is told so
// at once (ErrHeldByCaller).
//
// Processes stand in line, too: at one instance, the same for all, which calls the
// first of them when a release reaches it. One process wakes at a time, and who has just
// had the lock lets in who was called.
// It takes an Instance that is a Listener, and a connection more while somebody waits.
//
// A call is a hint and nothing else: no vote is counted, no lease given, and nothing
// taken for free because of one. Who waits looks by itself, too: after a random pause
// of up to Config.BackoffMax, and when the holder's key must have expired. So a call
// that is lost costs one pause. Where nobody can be called, all poll, and a process
// steps back after its turns (see Config.Notifications).
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
//  5. Instances that may have forgotten votes don't vote, also with appendfsync always.
//     The document leaves delayed restarts to the operator, and needs none with fsync
//     at each write.
//  6. An extension doesn't count an instance to which the lease had to be put back, nor
//     one that is in quarantine, whether or not the key is still there. It ends the lease at once when so many say
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
