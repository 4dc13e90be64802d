// Package machine is the argument why tokens rise (package settlement) as an abstract machine:
// servers with counters and runs, rounds with votes, and a few transitions. Rules say when a
// transition may happen. The rest may happen at any moment: keys go, servers restart with older
// data, counters rise for nothing.
//
// The claim: let A and B be rounds that were won, and s a server that counts for both and granted A
// first. If s's counter never fell between the moment at which it had A's last token and B's grant,
// A's last token is below B's first one. If it fell, the same holds if MaxTTL passed before B's
// grant and s's clock showed so, to within half of MaxTTL.
//
// It is checked in two ways:
//
//   - World.Explore looks at every state of a small world. So the rules imply the claim there. Tests
//     take out one rule at a time, and plant wrong effects: then the claim breaks.
//   - Check compares a run of the simulation, in which the clients are the real library, with the
//     machine. Each request that a server carried out, and each lease, must be a step of it. So
//     the code keeps the rules. Runs of mutants break one.
//
// # What each part needs
//
// The order of tokens while a common server keeps its counter needs the rules of Grant, Raise,
// Stray, Restore and Win without those of clocks, and that a server carries out no request twice.
// It needs no clock, and no free key.
//
// The order when that server lost its counter also needs that no counter is far ahead of its
// server's clock, that the first grant in a run is above the clock, that nobody asks the server for
// MaxTTL, and that its clock agrees with the time that passed.
//
// One valid lease at a time also needs that a server grants only a free key, that a key goes only
// when its lease is over, and that a server in a new run waits for the leases that it may have
// forgotten. Runs don't show when a lease is over, so only worlds check this part. In runs the
// simulation's own checks do.
//
// # Which runs
//
// Runs of clients that are the library, with its tokens: simulation.Config without a Locker, and
// with Fencing. Other designs have no tokens, or others. Their runs are none of the machine's, or
// have no wins.
package machine
