// Package readwrite is a read/write lock on a majority of servers, built on package quorum. Up to 16
// may read at once, or one writes.
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
// There are 16 places, each of which is the key of a lock. A reader has a lease on one of them
// (quorum.AcquireAny), a writer one lease on all of them (quorum.AcquireAll). One more key,
// NAME#next, is for the caller that is next. Who comes looks whether that key is free
// (quorum.Coordinator.Free), and takes its places if it is and they are. Otherwise it queues for
// NAME#next, and waits for its places while it has it. When it has them it releases NAME#next.
//
// # What is promised
//
// All of it holds if the assumptions of package quorum hold.
//
//   - Exclusion. While a writer's lease is valid nobody else's is. No more than Config.Readers read at once,
//     or the largest of the clients' settings. This follows from the places alone, because a lease on several keys is one on each of
//     them. NAME#next plays no part: if its holder is paused, or loses it, readers may pass it, and no more.
//     Nor does the setting: a writer takes all 16 places, also those that none of its readers would use.
//   - Nobody starves. All who have to wait do so in the queue of NAME#next, in the order in which package
//     quorum lets processes and goroutines have a lock. The one that is next is passed only by callers
//     that had looked before, each once. So a writer that is next waits for those that read
//     then, and no longer. A lease that is kept alive without end keeps it waiting, as with any lock.
//   - Nobody waits for itself, or two for each other. The caller that is next waits for callers that have
//     places, and these wait for nobody. A caller that asks under the context of a lease on the same
//     lock gets quorum.ErrHeldByCaller: it would wait for itself, or for a writer that waits for it.
//     (Coordinator.Holds says what such a context is.)
//   - Nothing stays. NAME#next is held only inside of Read and Write. If the process dies there, it is
//     free a TTL later, and so are the places of one that dies with a lease.
//   - One round, one time. A writer's lease counts from before the only round that took its places, is
//     extended as a whole, and lost as a whole: if a majority has lost any of its keys.
//
// It costs a look and a round for each place that is found taken, of two round trips, and
// two more rounds for a caller that has to wait. A writer that waits is notified of each reader that
// leaves, and asks for all places then. A writer's round has 16 keys, which takes a server some
// tens of microseconds more than one.
//
// # Tokens
//
// A writer's token is larger than that of every earlier reader and writer, and smaller than that
// of every later one, because its lease has every key. So writers' tokens rise, and each reader's token lies
// between that of the last writer before it and that of the next after it. Readers' tokens among
// each other mean nothing: those of readers at different places may be equal, or fall.
//
// What a resource can do with them (package fencing):
//
//   - Writers show their token to a guard of the resource, before they read and with each write. Then a late
//     write is refused once a later writer has shown its token: no update is lost. Readers show
//     nothing. A late write may still change what a reader reads, until the next writer comes.
//   - To refuse a late write as soon as a reader has come, keep a mark for each place: a reader shows its
//     token for Lease.Key, and a writer for all of Lease.Keys, in one step with the write. A
//     reader of one place then keeps no reader of another one out.
//   - Don't have readers show tokens to a mark that all of them share: it would refuse a valid reader whose
//     token is the lower one. That is safe, but no read/write lock.
//
// # What it can't do
//
//   - Upgrade. Two readers that want to write would wait for each other. Release, call Write, and read again.
//   - Downgrade. A lease can't give up some of its keys. Release and call Read: a writer may come between.
//   - More than 16 readers. Let goroutines of one process share a reader's lease.
//
// Clients must not lock the places by other means, and a Lock and its Config say nothing of what "read" is:
// nobody hinders a reader from writing.
package readwrite
