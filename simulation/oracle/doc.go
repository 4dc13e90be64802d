// Package oracle judges what lock clients did by a checker that isn't this project's: porcupine, by Anish
// Athalye. Porcupine knows nothing of locks. It gets a model and a history of operations, each with a
// beginning and an end, and looks for an order of the operations that the model accepts. The tests require
// that it finds the same broken promises as package check: in every scenario, in random runs of every
// design, in plays of the box, and in random histories that no simulation made.
//
// # The operations
//
// Each key has a history of its own. Its operations are:
//
//   - granted: a client gets a lease. It lasts from the client's request to the answer.
//   - held: a client acts as the holder, or believes that it is. A client that finds its lease valid holds it
//     at that moment. If the record knows the client's clocks, the client holds the lease when it begins to
//     believe in it, and when it ceases to.
//   - read and write: the resource executes a request. They last from the request to the execution. In a
//     simulated run the client also holds the lease at some moment of that time. In the box it needn't,
//     because no lock can prevent a pause between the check and the request.
//
// # The models
//
// Each promise has a model of a few lines:
//
//   - two holders: no lease is granted before the last act under the lease before it. It doesn't matter when
//     that lease expired. An expired lease harms nobody until its holder acts.
//   - token order: each grant has a larger token than all grants before it.
//   - stale write: the resource executes no write after an operation of a later lease. A later lease has a
//     larger token. Without tokens, its client got the answer later.
//   - lost update: each write replaces the version that its writer has read.
//
// The history is right if any order of operations that overlap is. So of two requests for the lock at one
// time either may be granted first. Porcupine tries the orders, where package check has a rule for pairs of
// leases.
//
// # What porcupine can't see
//
// The operations have an order and no times, so porcupine sees no lock that is never free, and no slow answer.
// They leave out the servers, so it sees no validity that is longer than the servers keep the key, and no key
// that is left behind. It accepts late reads, as package check does, because a read harms nobody until a
// write follows.
package oracle
