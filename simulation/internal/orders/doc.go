// Package orders plays a small world of the simulation in every order of its events, with the real
// library: stateless model checking.
//
// A run is a list of choices, see simulation.Order: of the events that are due, which is next? A
// Tree walks through all lists depth first. It plays each run from the start, because goroutines
// can't be copied.
//
// # Which orders are left out
//
// Most orders differ only in what makes no difference, so one of each class is played. Two events
// that follow each other are exchanged if they are independent: neither causes the other, and they
// touch no common part of the world (simulation.OrderStep.Touched). Classes are told apart by
// source sets and sleep sets (Abdulla, Aronis, Jonsson and Sagonas, "Optimal dynamic partial order
// reduction", POPL 2014):
//
//   - After a run, each pair of events that touch a common part, and of which neither has to come
//     before the other for another reason, is reversed: what has to come before the second one, and
//     the second one itself, is tried in place of the first (Tree.reverse).
//   - Where an event was tried before, and nothing since then touches what it touches, it need not be
//     tried again: it is asleep (Tree.asleep). A run in which only such events are left is cut off.
//
// Why exchanging independent events is sound here:
//
//   - An event happens at one place. The arrival of a request reads and changes one server, and
//     notes its reply, which is a new event. The arrival of a reply, a timer or the next step of a
//     workload runs goroutines of one process, until all are blocked. It reads and changes that
//     process alone, and notes new requests and timers. Processes share no memory.
//   - A connection belongs to its process. A request that opens one, or finds it broken, touches
//     both the server and the process.
//   - Time stands still as long as an event is due, so that an exchange changes no reading of a
//     clock, no expiry and no token. The step in which time passes touches everything. It comes
//     after all that is due, because it isn't an option before; beside faults it is an option,
//     and both orders are tried.
//   - Randomness is a hash of what it is for, and requests are numbered by process and server. So
//     values, run IDs and names of events don't depend on the order of independent events.
//   - The checks compare what clients ask, get, extend and release, and what the resource does. These
//     steps have a common part, so that all their orders are played. One comparison is an
//     exception: "validity beyond reality" looks at the servers when a lease is acquired, and a
//     request that arrives at a server independently is played only on one side of that. Such
//     requests don't delete another client's key; if they did, "two holders" would show it.
//   - Some events keep others from happening, which then are in no run to be compared: a pause, a
//     crash, or a reply that comes too late because its call has ended. At such a step, everything
//     that could happen is tried in its place (simulation.OrderStep.Expands).
//
// Tests compare the walk with one that leaves nothing out, in worlds small enough for that, and with
// random orders in larger ones; and they plant wrong relations, which must be noticed.
//
// # What the worlds don't have
//
// Messages take no time unless a Stall holds all of them back. So a message is late compared to
// other messages, but not compared to a timer, unless a fault makes it so. A fault is at any moment
// until the clients have ended, once. Clients know the servers when the choice begins. A request
// that is paused at a reading of a clock is the subject of exhaust, which tries every reading in
// one order.
package orders
