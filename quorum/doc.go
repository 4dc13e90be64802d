// Package quorum takes locks on a majority of independent masters. It implements the Redlock
// algorithm of the Redis document as safely as such a lock can be built. No lock of this kind can
// stop a late write, so each lease also carries a fencing token from the same majority.
//
//	locks, err := quorum.New(quorum.Config{}, instances...)
//	...
//	err = locks.Do(ctx, "orders:42", func(ctx context.Context, lease *quorum.Lease) error {
//		return store.Write(ctx, lease.Token(), order) // refuses an older token
//	})
//
// Package instance opens the instances. This package knows nothing of Redis: it sends
// Requests to an Instance and counts Votes. Package wire defines Request, Instance and Vote.
// Packages election, once and readwrite are built on this one.
//
// # What is guaranteed
//
//  1. Mutual exclusion. While a lease has validity left, no other client of the same
//     instances has a valid lease on the same key, if the assumptions below hold. A lease on
//     several keys (AcquireAll) counts as a lease on each of them.
//  2. Order. Each new lease on a key gets a larger Token than every earlier one. Clocks
//     and pauses cannot change that, as long as some instance that granted both the
//     earlier and the later lease keeps its data. If none does, the servers' clocks
//     must agree to within half of MaxTTL (assumption 3). Tokens are unique per key.
//  3. Liveness. A key whose holder died is free after one TTL. An instance that is
//     dead, hung or slow delays a caller only if the round needs its vote. The delay is at most
//     one Config.InstanceTimeout, plus another if the token is settled in a second stage, plus
//     what is left of the timeout of this client's earlier request under the key. A new
//     connection adds at most the client's DialTimeout and a probe (wire.Connector). A round that
//     a majority has decided doesn't wait for the other instances.
//  4. Honesty. The error of a lost round says what each instance answered. An unknown
//     answer counts neither as a grant nor as a refusal. A holder learns of the end of its lease
//     at the deadline at the latest, as soon as a timer can fire. Release reports if there was
//     nothing left to release.
//  5. Cleanliness. What a lost round or a released lease has set is deleted on every
//     instance, even if the caller was cancelled. For an instance that can't be reached the delete stays
//     pending until it answers. If the process ends first, the key expires. Close
//     leaves no goroutine behind.
//
// # What is assumed
//
// Each assumption is followed by what enforces it, and by what goes unnoticed.
//
//  1. Holders notice their deadline: the time from a look at the clock to the effect at
//     the resource is shorter than the validity. Nothing can enforce that: a GC pause,
//     a stopped process, a suspended machine, or a packet that is late or arrives twice
//     breaks it. A lease has a context that ends at its deadline, by whichever of two
//     clocks shows more time elapsed. Where that is too late, only a resource that
//     checks the Token is safe.
//  2. Servers count down a TTL at about the client's rate, and their clocks don't jump. The drift
//     allowance covers differences of rate. If the clock monitor notices a jump, the server is in
//     quarantine: its votes are ignored for MaxTTL plus the drift allowance on it. A client that
//     starts after the jump can't know of it.
//  3. A vote stands for its TTL. A server that was restarted, replaced or promoted may have
//     lost votes. So each request names the run of the server that it is meant for. The server
//     compares that run with its own in the same atomic step in which it carries out the request.
//     For an acquisition the client makes the comparison, with the run that the server reports
//     from that step. A server that is found in another run is in quarantine, whatever its
//     persistence settings are: its votes are ignored until every lease that it may have
//     forgotten is over. Between the two runs the server's clock, or that of its replacement,
//     must advance by the time that passed, to within half of MaxTTL. Otherwise tokens may fall
//     by the excess. How runs are told apart, and what goes unnoticed, is under "Runs of a
//     server".
//  4. Instances are independent. Run IDs are compared, so one server under two names has one
//     vote. What servers share beyond that (a machine, a disk, a power supply) goes
//     unnoticed. So does a split brain: if a replica takes over while the old master still serves
//     some clients, both vote once the new master's quarantine is over.
//  5. All clients agree on the instances, the quorum and MaxTTL. The Set's fingerprint (its
//     name, version, N, Q and MaxTTL) stands in each server's mark, and a client with another
//     fingerprint is refused (ErrSetMismatch). The fingerprint does not name the servers: a
//     client that lists the same number of different servers goes unnoticed. With
//     RestartQuarantine Off, or where no mark can be kept, any difference goes unnoticed. A
//     server that has lost its data adopts the set of the first client that finds it.
//  6. No lease is longer than MaxTTL. New, WithTerms and Resume refuse a longer TTL. They also
//     refuse a TTL longer than MaxTTL less the time for which a connection may lead to an old
//     server after its address has moved (wire.Instance.ConnLife). A program that locks the same
//     keys without this library goes unnoticed.
//  7. No other program writes the lock's keys ("key" and "{key}:redlock"; the wait queue,
//     "{key}:redlock:waiters", is no part of the lock).
//     Nothing notices such a write: give each application an account that can't write other
//     applications' keys. Also, nothing between client and server repeats a request, as a proxy
//     might. If a request were repeated, and a server lost a key meanwhile, two leases could have
//     the same token.
//
// # Runs of a server
//
// A run is a replication ID and an epoch. The epoch is the time at which a client wrote the mark
// on the server. The mark names the instance, the run and the set of instances
// (wire.Identity.Served, Mark). If the data is lost, so is the mark. A client writes a new mark
// if votes that it got from another server under the same name may still count. A newer set in
// the mark doesn't start a new run. Each acquisition reads the mark and the replication ID in the
// step in which it sets the key, and the vote counts only if both match what the client knows.
//
// Every change of either starts another run, even if nothing was lost. A master draws another
// replication ID at a promotion, but also when its first replica connects, for the first time or
// again after repl-backlog-ttl. A backup that connects as a replica counts as one. The master
// then has no vote for MaxTTL.
//
// A client that starts knows no earlier run, so it ignores the server's votes until the mark is as
// old as a quarantine is long. A run that the operator vouches for (Coordinator.Trust,
// instance.Config.VouchedRunID) is exempt from that first wait, and from nothing else.
//
// A new run may also have older counters. So a counter is raised to the server's clock before it
// counts, unless it is above every value that an earlier run may have reached (wire.Fence.Floor).
// The clock is above every token given before, for three reasons: a counter that is ahead of its
// server's clock by more than half of MaxTTL doesn't count (wire.Fence.Ahead), the quarantine
// lasts for MaxTTL, and clocks agree to within the other half, also when the mark is written. If
// a server's clock is further ahead of the others than that, the server may be unable to agree
// with them on a token (ErrUnsettled); Verify notes such clocks.
//
// These go unnoticed:
//
//   - An eviction. Verify insists on the policy noeviction.
//   - Data that reverts to an older state within a run, as after DEBUG RELOAD NOSAVE.
//   - The restart of a server that hides its run. Hooks.Unprotected reports such a server.
//   - A name that leads to another server for a while and then back to the first, which stayed in
//     the same run. A client notices nothing if it sent nothing meanwhile, because it started
//     later, was suspended or cut off, or was idle without the clock monitor. It does notice if
//     another client, which got votes from the other server within the last quarantine, has
//     probed the first server since.
//   - A name that leads to another server that has been up for a long time, where no epoch mark
//     can be kept (wire.Identity.Hidden and Verify report it). There, requests name no epoch, and
//     a client that starts observes a quarantine only if the server came up less than a
//     quarantine ago or may have been promoted.
//
// # The caller's duties
//
//  1. Make one Coordinator for a set of instances, keep it, and Close it.
//  2. Call Verify at the start, and look at its report.
//  3. Do the work under the lease's context (Do passes it to the work), and check Validity
//     before anything that takes long.
//  4. Pass the Token to every resource that is changed under the lease. The resource must
//     refuse a token lower than the largest it has seen. Package fencing has guards for
//     that. Show the token before reading, not only when writing.
//  5. Release leases. An error that Is ErrNotHeld means that the work went on without the
//     lock.
//  6. Give all clients the same instances, Set, Quorum and MaxTTL. docs/running.md says
//     how to change each of them while clients run.
//  7. Call Trust only for servers on which nothing was ever locked, and whose names have led
//     to no other server within MaxTTL. Trust counts for one Coordinator and for the run that it
//     finds. Don't leave it in code that runs at each start: after a restart without data it
//     would make two holders.
//
// # Waiting
//
// Goroutines of one process that want the same lock wait in a queue, and only the first
// competes on the instances. After a release the next goroutine in that queue goes first. Other
// processes are notified when this process has had its turns: one for each goroutine that waited
// when the process got the lock. Release never waits for a waiter's code.
//
// A goroutine that holds a lock and asks for it again under the lease's context gets an error
// at once (ErrHeldByCaller).
//
// Processes wait in a queue, too. One instance, the same for all processes, keeps that queue and
// notifies the first process in it when a release reaches the instance. So one process wakes at a
// time, and a process that has just held the lock lets the notified process in. This needs an
// Instance that is a Notifier, and one more connection while goroutines wait.
//
// A notification is only a hint: no vote is counted and no lease is given because of it. A
// waiter also polls, after a random delay of up to Config.Lab.BackoffMax, and when the holder's
// key must have expired. So a lost notification costs one delay. If an instance cannot
// notify, all processes poll, and a process steps back after its turns (see
// Config.Lab.Notifications).
//
// # Differences from the Redis document
//
//  1. A round is decided as soon as the votes allow it. The document waits for all instances
//     or their timeouts.
//  2. Elapsed time is the larger of the monotonic and the wall clock's.
//  3. After a lost round the key is deleted on all instances except those that refused the round
//     or certainly never got it: there the key can't be set. Instances that didn't answer are
//     asked again until they do.
//  4. If the votes are split between clients that try once, one of these clients goes on until it
//     has the lock. Releases notify waiters, while the document's clients poll.
//  5. Servers that may have forgotten votes don't vote, even with appendfsync always. The
//     document leaves delayed restarts to the operator, and needs none with an fsync at each
//     write.
//  6. An extension doesn't count an instance on which the lease had to be restored, nor an
//     instance in quarantine, even if the key is still there. It ends the lease at once if so
//     many instances say "not yours" that no quorum can have it. Otherwise the old deadline
//     stands.
//  7. Each lease has a fencing token, which the document only recommends.
//  8. Each SET first deletes the client's own earlier values whose deletes are still under way,
//     so that none of them blocks the SET.
//
// # Sources
//
// The Redis document "Distributed Locks with Redis"; M. Kleppmann, "How to do distributed
// locking" (2016); S. Sanfilippo, "Is Redlock safe?" (2016). Scenario numbers (S1, S7, ...)
// are those of package simulation.
package quorum
