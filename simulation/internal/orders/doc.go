// Package orders plays a small world of the simulation in every order of its events, with the real
// library. The method is known as stateless model checking.
//
// A run is a list of choices (kernel.Order): which of the events that are due comes next? A Tree
// walks through all lists, depth first. It plays each run from the start, because goroutines can't be
// copied.
//
// # Which orders are left out
//
// Most orders differ only in ways that make no difference. So orders are divided into classes, and at
// least one order of each class is played. Two events that follow each other can be exchanged if they
// are independent: neither causes the other, and they touch no common part of the world
// (kernel.OrderStep.Touched). Orders are in one class if such exchanges lead from one to the
// other. The walk uses source sets and sleep sets (Abdulla, Aronis, Jonsson and Sagonas, "Optimal
// dynamic partial order reduction", POPL 2014):
//
//   - After a run, Tree.reverse looks at each pair of events that touch a common part, unless other
//     events already force their order. It plans a run in which the second event of the pair, with what
//     has to come before it, comes in place of the first.
//   - If an event was tried before, and nothing since then touches what it touches, it need not be
//     tried again: it is asleep (Tree.asleep). A run in which only such events are left is cut off.
//
// Why the exchange of independent events changes nothing here:
//
//   - An event happens at one place. The arrival of a request reads and changes one server, and
//     schedules its reply, which is a new event. The arrival of a reply, a timer and the next step of a
//     workload run goroutines of one process, until all of them are blocked. They read and change that
//     process alone, and schedule new requests and timers. Processes share no memory.
//   - Each process has a connection to each server, which is a part of its own. A process that sends a
//     request reads the connection. A request that opens the connection, or finds it broken, changes
//     it. Whatever changes a connection also touches its server, so an arrival there may read it.
//   - Time stands still as long as an event is due. So an exchange changes no reading of a clock, no
//     expiry and no token. The step in which time passes touches everything. Before all that is due has
//     happened, it isn't an option. Faults are the exception: beside them it is an option, and both
//     orders are tried.
//   - Randomness is a hash of its purpose, and requests are numbered by process and server. So values,
//     run IDs and names of events don't depend on the order of independent events.
//   - The checks compare what clients ask for, get, extend and release, and what the resource does.
//     These steps have a common part, so all their orders are played. "Validity beyond reality" also
//     reads a holder's own keys on the servers when a lease is acquired or extended. So what a client has
//     on a server is a part of its own, which that check touches, and each request of that client.
//     Requests of other clients don't delete its keys; if one did, the check for two holders would show
//     it.
//   - A restart or a promotion touches its server, the connections to it, and what each client has on it.
//     Neither keeps an event from happening: requests in flight still arrive, and get an error. A lost
//     key and the step of a server's clock touch the server, and what each client has on it.
//   - Such a fault may excuse a violation that comes after it (search.Registry.Findings), and yet need not
//     touch what the checks compare. If the fault is independent of the violation and of all that led to
//     it, the violation also happens without the fault. The walk without that fault shows it, unexcused;
//     of two faults, the walk with the other one.
//   - After the end of the last client no fault happens. So that end touches everything, if a fault was
//     still to come.
//   - Some events keep others from happening: a pause, a crash, or the end of a call, after which its
//     reply comes too late. The other events are then in no run that could be compared. At such a step,
//     every event that could happen is tried in its place (kernel.OrderStep.Expands).
//
// Tests compare the walk with one that leaves nothing out, in worlds small enough for that, and with
// random orders in larger ones. They also plant wrong rules for independence, which must be noticed.
//
// # What the worlds don't have
//
// Messages take no time unless a Stall holds all of them back. So a message can be late compared to
// other messages, but compared to a timer only if a fault makes it late. A fault happens once, before
// the last client has ended. Runs in which it comes so late that no client notices are not all played.
// The clients already know the servers when the choices begin, and don't read the servers' clocks while
// no lock is taken.
package orders
