// Package readwrite is a read/write lock on a majority of servers: up to 16 callers read at once, or
// one writes. It is built on package quorum.
//
//	book, err := readwrite.New(locks, "book", readwrite.Config{})
//	...
//	lease, err := book.Read(ctx) // or Write
//	if err != nil {
//		return err
//	}
//	defer lease.Release(ctx)
//	lease.KeepAlive()
//	return read(lease.Within(ctx))
//
// # How it works
//
// The lock has 16 places. Each is the key of an ordinary lock. A reader has a lease on one of them
// (package anyof), and a writer has one lease on all of them (AcquireAll). One more key,
// NAME#next, is the turn. A new caller checks whether the turn is free (Free). If it is, and so
// are the places, the caller takes them. Otherwise it queues for the turn, waits for its places
// while it has the turn, and then releases it.
//
// # What is promised
//
// If the assumptions of package quorum hold:
//
//   - Exclusion. While a writer's lease is valid no other lease is. At most Config.Readers
//     callers read at once; if clients have different settings, the largest counts. This follows
//     from the places alone, because a lease on several keys is one on each of them. It doesn't
//     depend on the turn: if its holder is paused or loses it, other callers may pass, and
//     nothing else happens. It doesn't depend on the setting: a writer takes all 16 places, also
//     those that no reader uses.
//   - No starvation. All callers that wait, readers and writers, wait in the one queue for the turn, in
//     the order in which package quorum gives a lock to processes and goroutines. New callers hold back
//     for a BackoffMin, or an InstanceTimeout if that is less, so that they don't race the next
//     caller in the queue. A caller that looked before another one got the turn may still pass
//     it, once. So a writer that has the turn waits only for the readers of that moment. The
//     price: while a writer waits for a long read, or a client with a small Readers for one of
//     its few places, new readers wait, too. If a reader keeps its lease alive forever, all wait
//     forever, as with any lock (Terms.MaxLife prevents it).
//   - No deadlock. A caller that has the turn waits for holders of places, and these wait for nothing. A
//     caller that asks under the context of a lease on the same lock would wait for itself, or for a
//     writer that waits for it. It gets ErrHeldByCaller. Under any other context, and on another Coordinator,
//     the caller isn't known, and waits, until its own lease is over.
//   - Cleanliness. Only calls of Read and Write have the turn, and release it before they return.
//     If the process dies in such a call, the turn is free a TTL later. So are the places of a
//     holder that dies.
//   - One lease. A writer's validity counts from before the one round that took all places. Extensions
//     and loss are those of the whole lease: if a majority has lost any of its keys, it is lost.
//
// A caller that needn't wait makes two round trips: the look and a round. A reader makes one more for each
// place that it finds taken, in an order drawn at random. A caller that waits makes two more, for
// the turn. A writer that has the turn asks again when a reader leaves, so about once for each of
// them. Its round, for 16 keys, takes about twice as long as one for a single key.
//
// # Tokens
//
// A writer's token is larger than that of every earlier reader and writer, and smaller than that
// of every later one, because its lease is on every key. So the tokens of writers rise, and the token of a
// reader is between those of the last writer before it and the next one after it. The tokens of two
// readers without a writer between them have no order: at different places they may be equal, or fall.
//
// What a resource can do with them (package fencing):
//
//   - Writers show their token to the resource's guard before they read and with each write. Readers show
//     nothing. Then no update is lost: a late write is refused as soon as a later writer has
//     shown its token. Until then, it may change what a reader reads.
//   - Keep a mark for each place. A reader shows its token for Lease.Key, and a writer for each of
//     Lease.Keys, in one step with its write. Then a late write is refused as soon as any later reader has
//     shown its token, and readers don't hinder each other.
//   - One mark to which readers show their tokens, too, is wrong: it refuses a valid reader if another one with a
//     larger token came first. That is safe, but it is no read/write lock.
//
// # What it can't do
//
//   - Upgrade. Two readers that both wait to write would wait for each other. Release, call Write, and read
//     again what was read before.
//   - Downgrade. A lease can't give up some of its keys. Release, and call Read: another writer may come
//     between.
//   - More readers. Goroutines of one process can share a reader's lease.
//   - Check what the work does. A reader can write to the resource, if the resource lets it.
package readwrite
